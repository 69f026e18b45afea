package logbook

import (
	"context"
	"time"

	"postern/delivery"
	"postern/store"
)

const repeatPause = time.Second // after an error

// repeat carries out the replays, which take turns and share the rate of one, until ctx ends.
// It first pauses as after a step, because a step may have been made right before a restart.
func (p *Replays) repeat(ctx context.Context) {
	began := time.Now()
	for rest(ctx, began.Add(p.cfg.repeatPace(p.cfg.repeatStep()))); ctx.Err() == nil; {
		began = time.Now()
		n, err := p.repeatTurn(ctx)
		pause := p.cfg.repeatPace(n)
		switch {
		case err != nil && ctx.Err() == nil:
			if p.gaps.due() {
				p.log.Warn("a replay does not go on, trying again", "error", err)
			}
			pause = repeatPause
		case err == nil && n == 0:
			select {
			case <-p.kick:
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
func (p *Replays) repeatTurn(ctx context.Context) (n int, err error) {
	var running, stopped []replayRow
	err = p.store.View(func(tx *store.Tx) error {
		return eachReplay(tx, func(r replayRow) error {
			switch {
			case r.State == ReplayRunning && (!p.ledger.LogIsOn() || r.Next < r.Matched):
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
		if err := p.sweepReplay(ctx, r); err != nil {
			return 0, err
		}
	}
	if len(running) == 0 {
		return 0, nil
	}
	p.turn++
	r := running[p.turn%len(running)]
	if !p.ledger.LogIsOn() {
		_, err := p.Cancel(ctx, 0, r.ID)
		return 1, err
	}
	if err := p.store.Admit(); err != nil {
		return 0, err
	}
	return p.repeatSome(ctx, r)
}

// repeatStep is the number of records made in one commit: those of a tenth of a second.
func (c Config) repeatStep() int { return max(1, min(c.ReplayRate/10, 250)) }

// repeatPace returns the time for n records at the rate.
func (c Config) repeatPace(n int) time.Duration {
	return time.Duration(n) * time.Second / time.Duration(c.ReplayRate)
}

// repeatSome makes the next deliveries of a replay, in one commit with its progress.
func (p *Replays) repeatSome(ctx context.Context, r replayRow) (n int, err error) {
	var originals []uint64
	to := map[delivery.Lane]delivery.Resolved{}
	err = p.store.View(func(tx *store.Tx) error {
		if originals, err = matched(tx, r, r.Next, p.cfg.repeatStep()); err != nil {
			return err
		}
		for _, id := range originals {
			if o, found, err := delivery.Find(tx, id); found && err == nil {
				to[o.Lane] = delivery.Resolved{}
			}
		}
		return nil
	})
	if err != nil {
		return 0, err
	}
	for lane := range to {
		d, status := p.ledger.Resolve(lane)
		to[lane] = delivery.Resolved{Destination: d, Status: status}
	}
	var due map[delivery.Lane][]delivery.Due
	err = p.store.Update(ctx, func(tx *store.Tx) error {
		due, err = p.repeatAll(tx, r, originals, to)
		return err
	})
	if err != nil {
		return 0, err
	}
	for lane, dues := range due {
		p.cfg.Made(lane, dues)
	}
	return len(originals), nil
}

// repeatAll returns the deliveries that may be sent at once.
func (p *Replays) repeatAll(tx *store.Tx, seen replayRow, originals []uint64, to map[delivery.Lane]delivery.Resolved) (all map[delivery.Lane][]delivery.Due, err error) {
	r, found, err := getReplay(tx, seen.ID)
	if err != nil || !found || r.State != ReplayRunning || r.Next != seen.Next {
		return nil, err
	}
	all = map[delivery.Lane][]delivery.Due{}
	for _, id := range originals {
		again, due, ok, err := p.ledger.Repeat(tx, r.ID, id, to)
		if err != nil {
			return nil, err
		}
		if ok {
			r.Sent++
		}
		if due != nil {
			all[again.Lane] = append(all[again.Lane], *due)
		}
		if !ok || again.State != delivery.Pending {
			r.Failed++
		}
	}
	r.Next += len(originals)
	r.finish(tx.Now())
	if r.Next < r.Matched {
		tx.Wake()
	}
	return all, putReplay(tx, r)
}
