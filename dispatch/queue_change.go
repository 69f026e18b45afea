package dispatch

import (
	"postern/delivery"
	"postern/event"
)

// Changed reports lanes that may lead to a new address, or were removed. A delivery in
// memory that waits for a further endpoint goes to its current address, or is cancelled.
// A credential that waits for a former destination is cancelled too. Deliveries in
// flight, and all others that wait for an instance's own or the global webhook, do not
// change.
func (q *Queue) Changed(lanes []delivery.Lane) {
	if q.cfg.Resolve == nil {
		return
	}
	q.plan.mu.Lock()
	defer q.plan.mu.Unlock()
	for _, is := range lanes {
		if is == delivery.BatchLane || q.plan.waiting == 0 {
			continue
		}
		to, status := q.cfg.Resolve(is)
		q.withhold(is, to, status)
		if is.Target != event.TargetEndpoint {
			continue
		}
		if status != delivery.Ready && status != delivery.Gone {
			continue // the endpoint was enabled when these were made
		}
		for _, d := range q.plan.withdraw(func(d posting) bool { return d.isFor(is) && (status == delivery.Gone || !sameAccess(d.to, to)) }) {
			if status == delivery.Gone {
				q.stats.Removed++
				d.entry.Done(delivery.Cancelled, delivery.Attempt{Error: delivery.ReasonRemoved})
				continue
			}
			d.to, d.moved = to, true
			q.plan.add(q.plan.host(destination(to.URL)), d)
		}
	}
	q.launch()
}

// withhold cancels the credentials that wait for a former destination of a lane. The
// caller holds q.plan.mu.
func (q *Queue) withhold(is delivery.Lane, to event.Destination, status delivery.Status) {
	if status != delivery.Gone && to.URL == "" {
		return // it leads nowhere now, or its address is unknown
	}
	for _, d := range q.plan.withdraw(func(d posting) bool {
		return d.isFor(is) && d.notice.Kind.IsCredential() && (status == delivery.Gone || d.to.Access() != to.Access())
	}) {
		q.stats.Removed++
		d.entry.Withhold()
	}
}

// isFor reports whether the delivery belongs to a lane.
func (d posting) isFor(is delivery.Lane) bool {
	return d.to.Target == is.Target && d.to.Endpoint == is.Endpoint && (is.Target == event.TargetGlobal || d.notice.InstanceID == is.Instance)
}
