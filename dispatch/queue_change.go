package dispatch

import (
	"postern/delivery"
	"postern/event"
)

// Changed tells that further endpoints may lead elsewhere than before, or were
// removed: what waits in memory goes to where they lead now, or is cancelled. What
// is on its way, and what waits for an instance's own webhook, stays as it was.
func (q *Queue) Changed(lanes []delivery.Lane) {
	if q.cfg.Resolve == nil {
		return
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, is := range lanes {
		if is.Target != event.TargetEndpoint || q.plan.waiting == 0 {
			continue
		}
		to, status := q.cfg.Resolve(is)
		if status == delivery.Paused {
			continue // it was enabled when these were made
		}
		for _, d := range q.plan.withdraw(func(d posting) bool { return d.isFor(is) && (status == delivery.Gone || !sameAccess(d.to, to)) }) {
			if status == delivery.Gone {
				q.stats.Removed++
				d.entry.Done(delivery.Cancelled, delivery.Attempt{Error: delivery.ReasonRemoved})
				continue
			}
			d.to, d.host, d.moved = to, q.plan.host(destination(to.URL)), true
			q.plan.add(d)
		}
	}
	q.launch()
}

// isFor tells whether the delivery is one of a further endpoint.
func (d posting) isFor(is delivery.Lane) bool {
	return d.to.Target == is.Target && d.to.Endpoint == is.Endpoint && d.notice.InstanceID == is.Instance
}
