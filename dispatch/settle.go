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
	at      time.Time // when it went out
	url     string
	next    time.Time // of the next attempt, when it was not accepted

	followed bool // the next of its line is under way already
}

// attempt is the result as the log has it.
func (r result) attempt() delivery.Attempt {
	return delivery.Attempt{
		StartedAt: r.at, Duration: r.outcome.Duration, Status: r.outcome.Status, Error: r.outcome.Reason(),
		RequestID: requestID(r.parcel.headers), Answer: r.outcome.Answer, URL: delivery.ShownURL(r.url),
	}
}

// resultsSize is how many outcomes may wait to be stored while workers send on.
// It bounds what a crash can make the relay deliver a second time, and how many
// outcomes share a commit.
const resultsSize = 128

// report sends an outcome on its way to the file.
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

// pressed tells that outcomes which wait for a commit must not wait longer, for
// those behind them.
func (r *Relay) pressed() bool { return len(r.results) >= plenty || r.holding.Load() > 0 }

// settle writes outcomes into the file, as many in one commit as there are.
func (r *Relay) settle() {
	group := make([]result, 0, cap(r.results))
	for first := range r.results {
		r.wakes.settles.Add(1)
		group = r.collect(append(group[:0], first))
		r.record(group)
		clear(group)
	}
}

// gatherFor is how long an outcome waits for others to share its commit. It is
// added to what a crash can repeat, and to nothing else.
const gatherFor = 2 * time.Millisecond

// collect adds to a group what else comes within a moment.
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

// recordPause is the time between two tries to store outcomes.
const recordPause = time.Second

// record stores the outcomes. While that fails, for example because the disk
// is full, it is tried again: the entries must not be sent twice for it. Once the
// relay takes no further entries it is not: what is stopped after it needs the
// time, and the next start sends them as after a crash.
func (r *Relay) record(group []result) {
	for i, g := range group {
		if !g.outcome.Delivered() {
			// The file keeps whole milliseconds; the next one, so that it is never early.
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

// rideFor is how long outcomes wait for the commit of somebody else, before they
// ask for one. It is added to what a crash can repeat.
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

// noteCutOff has the log know of an attempt that Stop cut off. It goes with whatever is
// committed next, at the latest when the store closes: the stop waits for nothing.
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

// ride commits what becomes of a group: with the next commit of anybody, unless
// none comes for a while, something waits for it, or there are many outcomes. They
// are known and are written even while stopping.
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

// await waits for the commit of somebody else, as long as there is time.
func (r *Relay) await(sub *store.Submitted) {
	enough := time.NewTimer(rideFor)
	defer enough.Stop()
	for !r.pressed() {
		select {
		case <-sub.Ended():
			return
		case <-enough.C:
			return
		case <-r.crowded: // maybe by what is in this commit
		case <-r.reading.Done():
			return
		}
	}
}

// holdsOthers tells that something waits until the file has the outcome: in a
// lane with an order the next of the line, unless that is under way, and behind a
// failure the next of the batch.
func (r result) holdsOthers() bool { return r.parcel.inLine && !r.followed || r.outcome.Down() }

// became tells the lane what the file says of an attempt.
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
	case urged: // the file has another time for it by now, maybe
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
