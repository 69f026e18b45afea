package dispatch

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"time"
)

// grace is how long a stop waits for a destination that is known to hang.
const grace = 2 * time.Second

// glance is how often a stop checks for destinations that are no longer worth waiting
// for.
const glance = 50 * time.Millisecond

// Close accepts no more deliveries and waits for the queued ones until ctx ends, less the
// time that the log of deliveries and other parts need to stop behind it. It gives
// up a destination that hung last time, and logs what was left, once that has accepted
// nothing for two seconds. Any other has the time of a delivery, after which it hangs or
// is worth waiting for.
func (q *Queue) Close(ctx context.Context) error {
	if ends, is := ctx.Deadline(); is {
		var cancel context.CancelFunc
		ctx, cancel = context.WithDeadline(ctx, ends.Add(-min(grace, time.Until(ends)/4)))
		defer cancel()
	}
	q.plan.mu.Lock()
	q.closed = true
	q.closing = time.Now()
	q.plan.mu.Unlock()
	done := make(chan struct{})
	go func() {
		q.work.Wait()
		close(done)
	}()
	look := time.NewTicker(glance)
	defer look.Stop()
	for open := true; open; {
		select {
		case <-look.C:
			q.giveUp(false)
		case <-ctx.Done():
			q.giveUp(true)
			<-done
			open = false
		case <-done:
			open = false
		}
	}
	q.end()
	q.tellLeftovers()
	return nil
}

// giveUp drops the deliveries that wait for destinations that are known to hang, or for
// all, and cuts off those in flight to them.
func (q *Queue) giveUp(all bool) {
	q.plan.mu.Lock()
	defer q.plan.mu.Unlock()
	now := time.Now()
	for a := range q.flights {
		silent := min(now.Sub(q.closing), now.Sub(a.began), now.Sub(a.host.answered))
		if all || a.host.standing == hung && silent > grace {
			a.cancel()
			delete(q.flights, a)
			q.left.add(a.host.name, 1)
			q.abandon(a.host)
		}
	}
	for _, l := range slices.Clone(q.plan.holders) {
		silent := min(now.Sub(q.closing), now.Sub(l.answered))
		if all || l.standing == hung && silent > grace {
			q.abandon(l)
		}
	}
}

// abandon drops the deliveries that wait for the host. The caller holds q.plan.mu.
func (q *Queue) abandon(l *host[posting]) {
	dropped := q.plan.drop(l)
	for _, d := range dropped {
		d.drop(ErrQueueClosed)
	}
	q.stats.Closed += uint64(len(dropped))
	q.left.add(l.name, len(dropped))
}

// leftovers counts by destination the deliveries that a stop left.
type leftovers map[string]int

func (l leftovers) add(destination string, n int) {
	if n > 0 {
		l[destination] += n
	}
}

// maxTold bounds the destinations that the log of a stop names.
const maxTold = 10

func (q *Queue) tellLeftovers() {
	q.plan.mu.Lock()
	defer q.plan.mu.Unlock()
	names := slices.SortedFunc(maps.Keys(q.left), func(a, b string) int {
		return cmp.Or(cmp.Compare(q.left[b], q.left[a]), cmp.Compare(a, b))
	})
	total := 0
	for i, name := range names {
		total += q.left[name]
		if i < maxTold {
			q.log.Warn("webhooks left at the stop: the destination accepts none; see to its receiver", "destination", name, "count", q.left[name])
		}
	}
	if total > 0 {
		q.log.Warn("webhooks dropped while stopping; those of an endpoint with durable delivery wait for the next start instead", "count", total, "destinations", len(names))
	}
}
