package dispatch

import (
	"errors"
	"slices"
	"time"

	"postern/delivery"
	"postern/store"
)

// result is one finished attempt.
type result struct {
	lane    *lane
	flight  flight
	parcel  parcel
	outcome Outcome
	at      time.Time // when it was sent
	url     string
	next    time.Time // of the next attempt, if it was not accepted

	followed bool // the next of its line is already in flight
}

// attempt returns the result in the form of the log.
func (r result) attempt() delivery.Attempt {
	return delivery.Attempt{
		StartedAt: r.at, Duration: r.outcome.Duration, Status: r.outcome.Status, Error: r.outcome.Reason(),
		RequestID: requestID(r.parcel.headers), Answer: r.outcome.Answer, URL: delivery.ShownURL(r.url),
	}
}

// resultsSize bounds the outcomes that may wait to be stored while workers continue. It
// limits what a crash can make the relay deliver a second time, and how many outcomes
// share a commit.
const resultsSize = 128

// report queues an outcome to be stored.
func (r *Relay) report(g result) {
	if g.holdsOthers() {
		r.holding.Add(1)
	}
	r.results <- g
	if r.pressed() {
		select {
		case r.crowded <- struct{}{}:
		default:
		}
	}
}

// pressed reports whether outcomes that ride must be committed now, because deliveries
// wait for them.
func (r *Relay) pressed() bool { return len(r.results) >= plenty || r.holding.Load() > 0 }

// settle stores outcomes, as many in one commit as are waiting.
func (r *Relay) settle() {
	group := make([]result, 0, cap(r.results))
	for first := range r.results {
		r.wakes.settles.Add(1)
		group = r.collect(append(group[:0], first))
		r.record(group)
		clear(group)
	}
}

// gatherFor is how long an outcome waits for others to share its commit. It only adds to
// what a crash can repeat.
const gatherFor = 2 * time.Millisecond

// collect adds to a group the outcomes that arrive within a moment.
func (r *Relay) collect(group []result) (all []result) {
	defer func() {
		for _, g := range all {
			if g.holdsOthers() {
				r.holding.Add(-1)
			}
		}
	}()
	enough := time.NewTimer(gatherFor)
	defer enough.Stop()
	for len(group) < cap(r.results) {
		select {
		case next, ok := <-r.results:
			if !ok {
				return group
			}
			group = append(group, next)
		case <-enough.C:
			return group
		}
	}
	return group
}

// recordPause is the time between two attempts to store outcomes.
const recordPause = time.Second

// record stores the outcomes. If that fails, for example because the disk is full, it
// tries again, so that the entries are not sent twice. Once the relay takes no further
// entries, it does not try again: the parts that stop after it need the time, and the
// next start sends the entries as after a crash.
func (r *Relay) record(group []result) {
	for i, g := range group {
		if !g.outcome.Delivered() {
			// The file keeps whole milliseconds; this rounds up, so that an attempt is
			// never early.
			group[i].next = time.Now().Add(max(backoff(g.parcel.attempts+1), g.outcome.RetryAfter) + time.Millisecond)
		}
	}
	became := make([]settled, len(group))
	for r.store(group, became) != nil && r.reading.Err() == nil {
		select {
		case <-time.After(recordPause):
		case <-r.reading.Done():
		}
	}
	nudge := map[*lane]bool{}
	for i, g := range group {
		r.became(g, became[i])
		nudge[g.lane] = true
	}
	for l := range nudge {
		l.nudge()
	}
}

// rideFor is how long outcomes wait for the commit of another caller before they request
// one. It adds to what a crash can repeat.
const rideFor = 20 * time.Millisecond

// plenty is how many outcomes are worth a commit of their own.
const plenty = 16

func (r *Relay) store(group []result, became []settled) error {
	err := r.ride(group, func(tx *store.Tx) error { return settleAll(tx, group, became) })
	switch {
	case err != nil && r.reading.Err() != nil:
		r.log.Warn("outcomes of deliveries not stored; the next start sends these events once more, under the same ids", "count", len(group), "error", err)
	case err != nil:
		r.log.Error("outcomes of deliveries not stored, trying again", "count", len(group), "error", err)
	}
	return err
}

// noteCutOff records in the log an attempt that Stop cut off. It rides with the next
// commit, at the latest when the store closes, so that the stop does not wait.
func (r *Relay) noteCutOff(g result) {
	if _, err := r.cfg.Store.Attach(func(tx *store.Tx) error { return g.lane.file.cutOff(tx, g) }); err != nil {
		r.log.Warn("an attempt that was cut off is not in the log of deliveries", "error", err)
	}
}

func settleAll(tx *store.Tx, group []result, became []settled) (err error) {
	for i, g := range group {
		// A damaged entry can be neither marked nor sent again; the store reports it.
		if became[i], err = g.lane.file.settle(tx, g); err != nil && !errors.Is(err, store.ErrDamaged) {
			return err
		}
	}
	return nil
}

// ride commits the outcomes of a group with the next commit of another caller. It
// requests a commit if none comes for a while, if a delivery waits for an outcome, or if
// there are many. The outcomes are known, and are written even while stopping.
func (r *Relay) ride(group []result, fn func(*store.Tx) error) error {
	sub, err := r.cfg.Store.Attach(fn)
	if err != nil {
		return err
	}
	if len(group) < plenty && !slices.ContainsFunc(group, result.holdsOthers) {
		r.await(sub)
	}
	r.cfg.Store.Hurry(sub)
	return sub.Wait()
}

// await waits for the commit of another caller, as long as there is time.
func (r *Relay) await(sub *store.Submitted) {
	enough := time.NewTimer(rideFor)
	defer enough.Stop()
	for !r.pressed() {
		select {
		case <-sub.Ended():
			return
		case <-enough.C:
			return
		case <-r.crowded: // possibly by an outcome in this commit
		case <-r.reading.Done():
			return
		}
	}
}

// holdsOthers reports whether a delivery waits until the outcome is in the file: in a
// lane with an order the next of the line, unless that is in flight, and after a failure
// the next of the batch.
func (r result) holdsOthers() bool { return r.parcel.inLine && !r.followed || r.outcome.Down() }

// became applies to the lane the stored effect of an attempt.
func (r *Relay) became(g result, s settled) {
	l, kept, urged := g.lane, false, false
	l.follow(s.follows)
	if s.ended {
		urged = l.board.over(g.flight, g.outcome)
	} else {
		kept, urged = l.board.settled(g.flight, g.outcome)
	}
	if l.outbox() {
		r.count(g.outcome)
	} else if s.state == string(delivery.Expired) {
		r.ended.expired.Add(1)
	}
	switch {
	case urged: // the file may have another time for it by now
		l.askForPass()
	case !s.ended && !kept:
		l.handBack(row{At: s.next, Seq: g.flight.seq, Line: g.flight.line.batch})
	}
	if !g.outcome.Delivered() && !errors.Is(g.outcome.Err, errRemoved) {
		r.tellLoss(g, s)
	}
}

func (r *Relay) count(o Outcome) {
	if o.Delivered() {
		r.delivered.Add(1)
	} else {
		r.failed.Add(1)
	}
}

func (r *Relay) tellLoss(g result, s settled) {
	o := g.outcome
	level, times := r.losses.Count(g.lane.name())
	if g.lane.outbox() {
		r.log.Log(r.reading, level, "batch event not delivered, trying again", "event", string(g.parcel.kind), "sequence", g.flight.seq,
			"attempts", g.parcel.attempts+1, "status", o.Status, "reason", o.Reason(), "cause", o.cause(), "count", times)
		return
	}
	about := g.lane.attrs(g.url, "event", string(g.parcel.kind), "delivery_id", g.flight.seq,
		"attempts", g.parcel.attempts+1, "status", o.Status, "reason", o.Reason(), "cause", o.cause(), "count", times)
	if s.ended {
		r.log.Log(r.reading, level, "durable event not delivered", append(about, "state", s.state)...)
	} else {
		r.log.Log(r.reading, level, "durable event not delivered, trying again", about...)
	}
}
