package delivery

import (
	"context"
	"errors"
	"time"

	"github.com/google/uuid"

	"postern/event"
	"postern/store"
)

// ReasonReplay is the reason of deliveries that were cancelled with their replay.
const ReasonReplay = "REPLAY_CANCELLED"

// runner makes the deliveries of replays. The replays take turns and share the rate of one.
type runner struct {
	kick chan struct{} // size 1: there may be something to do
	turn int
}

func newRunner() runner { return runner{kick: make(chan struct{}, 1)} }

const repeatPause = time.Second // after an error

// repeat carries out the replays until ctx ends. It first pauses as after a step, because a
// step may have been made right before a restart.
func (l *Ledger) repeat(ctx context.Context) {
	began := time.Now()
	for rest(ctx, began.Add(l.cfg.repeatPace(l.cfg.repeatStep()))); ctx.Err() == nil; {
		began = time.Now()
		n, err := l.repeatTurn(ctx)
		pause := l.cfg.repeatPace(n)
		switch {
		case err != nil && ctx.Err() == nil:
			if l.gaps.due() {
				l.log.Warn("a replay does not go on, trying again", "error", err)
			}
			pause = repeatPause
		case err == nil && n == 0:
			select {
			case <-l.runner.kick:
			case <-ctx.Done():
			}
			continue
		}
		rest(ctx, began.Add(pause))
	}
}

// rest returns at a time, or when ctx ends.
func rest(ctx context.Context, until time.Time) {
	timer := time.NewTimer(time.Until(until))
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}

// repeatTurn makes one step of one replay. It returns the number of records that it handled, 0
// if there is nothing to do.
func (l *Ledger) repeatTurn(ctx context.Context) (n int, err error) {
	var running, stopped []replayRow
	err = l.store.View(func(tx *store.Tx) error {
		return eachReplay(tx, func(r replayRow) error {
			switch {
			case r.State == ReplayRunning && (!l.cfg.Log || r.Next < r.Matched):
				running = append(running, r)
			case r.Sweep > 0:
				stopped = append(stopped, r)
			}
			return nil
		})
	})
	if err != nil {
		return 0, err
	}
	for _, r := range stopped {
		if err := l.sweepReplay(ctx, r); err != nil {
			return 0, err
		}
	}
	if len(running) == 0 {
		return 0, nil
	}
	l.runner.turn++
	r := running[l.runner.turn%len(running)]
	if !l.cfg.Log {
		_, err := l.CancelReplay(ctx, 0, r.ID)
		return 1, err
	}
	if err := l.store.Admit(); err != nil {
		return 0, err
	}
	return l.repeatSome(ctx, r)
}

// repeatStep is the number of records made in one commit: those of a tenth of a second.
func (c Config) repeatStep() int { return max(1, min(c.ReplayRate/10, 250)) }

// repeatPace returns the time for n records at the rate.
func (c Config) repeatPace(n int) time.Duration {
	return time.Duration(n) * time.Second / time.Duration(c.ReplayRate)
}

// destinationNow is the current configuration of a destination.
type destinationNow struct {
	event.Destination
	status Status
}

// repeatSome makes the next deliveries of a replay, in one commit with its progress.
func (l *Ledger) repeatSome(ctx context.Context, r replayRow) (n int, err error) {
	var originals []uint64
	to := map[Lane]destinationNow{}
	err = l.store.View(func(tx *store.Tx) error {
		if originals, err = matched(tx, r, r.Next, l.cfg.repeatStep()); err != nil {
			return err
		}
		for _, id := range originals {
			if o, found, err := getRecord(tx, id); found && err == nil {
				to[o.Lane] = destinationNow{}
			}
		}
		return nil
	})
	if err != nil {
		return 0, err
	}
	for lane := range to {
		d, status := l.cfg.Resolve(lane)
		to[lane] = destinationNow{d, status}
	}
	var made []Record
	err = l.store.Update(ctx, func(tx *store.Tx) error {
		made, err = l.repeatAll(tx, r, originals, to)
		return err
	})
	if err != nil {
		return 0, err
	}
	l.tellMade(made)
	return len(originals), nil
}

func (l *Ledger) repeatAll(tx *store.Tx, seen replayRow, originals []uint64, to map[Lane]destinationNow) (made []Record, err error) {
	r, found, err := getReplay(tx, seen.ID)
	if err != nil || !found || r.State != ReplayRunning || r.Next != seen.Next {
		return nil, err
	}
	for _, id := range originals {
		again, ok, err := l.repeatOne(tx, r.ID, id, to)
		if err != nil {
			return nil, err
		}
		if ok {
			r.Sent++
			made = append(made, again)
		}
		if !ok || again.State != Pending {
			r.Failed++
		}
	}
	r.Next += len(originals)
	r.finish(tx.Now())
	if r.Next < r.Matched {
		tx.Wake()
	}
	return made, putReplay(tx, r)
}

// repeatOne makes the delivery that repeats a record; ok is false if the record or its body is
// gone.
func (l *Ledger) repeatOne(tx *store.Tx, replay, id uint64, to map[Lane]destinationNow) (r Record, ok bool, err error) {
	o, found, err := getRecord(tx, id)
	if errors.Is(err, store.ErrDamaged) || err == nil && (!found || !keepsBody(tx, o)) {
		return r, false, nil
	}
	now, known := to[o.Lane]
	if err != nil || !known || now.status != Gone && !o.MadeFor(now.Destination) {
		return r, false, err
	}
	r = Record{
		ID: l.nextID(), EventID: o.EventID, Event: o.Event, Lane: o.Lane.again(), Instance: o.Instance, Name: o.Name, Batch: o.Batch,
		Chat: o.Chat, ChatLID: o.ChatLID, URL: o.URL, RequestID: uuid.NewString(), State: Pending, Bytes: o.Bytes,
		Once: !now.Durable && o.Lane.Flow != FlowBatch, CreatedAt: tx.Now(), ExpiresAt: now.until(tx.Steady()), ReplayOf: o.ID, Replay: replay, EventSeq: o.EventSeq, OutboxSeq: o.OutboxSeq, Access: o.Access,
	}
	if now.URL != "" {
		r.URL = ShownURL(now.URL)
	}
	if o.OwnBody {
		owner, body, found, err := ownBody(tx, o.ID)
		if err != nil || !found {
			return r, false, ignoreDamage(err)
		}
		r.OwnBody = true
		if err := putOwn(tx, r.ID, owner, body); err != nil {
			return r, false, err
		}
	}
	if now.status == Gone {
		r.State, r.LastError = Cancelled, ReasonRemoved
		return r, true, l.putRecord(tx, r, nil)
	}
	_, err = l.addPending(tx, r, nil)
	return r, true, err
}

// until returns when the repetition of a delivery expires: for a durable destination as for a
// new delivery, otherwise it limits the wait for its one attempt.
func (d destinationNow) until(made time.Time) time.Time {
	if d.Durable && d.MaxAge > 0 {
		return made.Add(d.MaxAge)
	}
	return made.Add(DefaultMaxAge)
}

// tellMade reports new deliveries to Config.Made.
func (l *Ledger) tellMade(made []Record) {
	by := map[Lane][]Due{}
	for _, r := range made {
		if r.State == Pending {
			by[r.Lane] = append(by[r.Lane], Due{At: r.dueAt(), Record: r.ID, Line: r.Line, Once: r.Once})
		}
	}
	for lane, dues := range by {
		l.cfg.Made(lane, dues)
	}
}
