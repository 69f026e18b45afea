package logbook

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"time"

	"postern/delivery"
	"postern/event"
	"postern/store"
)

// MaxReplay is how many records one replay repeats at most.
const MaxReplay = 100_000

// DefaultReplayStates are the states that a replay selects if the request names none.
func DefaultReplayStates() []delivery.State {
	return []delivery.State{delivery.Failed, delivery.Dropped, delivery.Expired}
}

// ReplayRequest selects deliveries to be repeated.
type ReplayRequest struct {
	Instance int64 // 0: all, and batch events
	NoGlobal bool  // without what went to the global webhook
	From, To time.Time
	Events   []event.Kind     // empty: all
	States   []delivery.State // empty: DefaultReplayStates; pending deliveries are never selected
	Target   event.Target
	Endpoint *string
	Limit    int  // 0: MaxReplay
	NoCodes  bool // without credentials

	// Keep is called in the commit that stores the replay, to store something with it, and may be
	// called twice. If it fails, Replay returns its error. It may be nil.
	Keep func(*store.Tx, Replay) error
}

// ReplayState is the state of a replay.
type ReplayState string

// The states of a replay.
const (
	ReplayRunning   ReplayState = "RUNNING"
	ReplayDone      ReplayState = "DONE"      // all that matched was sent and ended
	ReplayCancelled ReplayState = "CANCELLED" // it was stopped, and its pending deliveries are cancelled
)

// Replay is an accepted request and its progress.
type Replay struct {
	ID       uint64
	Instance int64
	Matched  int // records that were selected and could be sent
	Sent     int // those of which a delivery was made
	// The outcomes of these deliveries. A delivery that could not be sent because its record or
	// body was gone counts as failed.
	Delivered, Failed int
	State             ReplayState
	CreatedAt         time.Time
}

// Replays keeps the replays of a log. A replay stores the list of the records that it repeats,
// and its progress.
type Replays struct {
	store   *store.Store
	ledger  *delivery.Ledger
	cfg     Config
	log     *slog.Logger
	catchUp func(context.Context) error // of the log

	kick chan struct{} // size 1: there may be something to do
	turn int
	gaps tellOnce
}

// Start starts to repeat the deliveries that the request selects, the oldest first. If the
// request selects none, the replay is DONE at once. The error is ErrReplayRuns while another
// replay of the same instance runs or, for a replay of all instances, another such replay;
// and ErrLogOff.
func (p *Replays) Start(ctx context.Context, q ReplayRequest) (Replay, error) {
	if !p.ledger.LogIsOn() {
		return Replay{}, delivery.ErrLogOff
	}
	if err := p.catchUp(ctx); err != nil {
		return Replay{}, err
	}
	if err := p.store.View(func(tx *store.Tx) error { return noneRuns(tx, q.Instance) }); err != nil {
		return Replay{}, err
	}
	ids, err := p.selected(ctx, q)
	if err != nil {
		return Replay{}, err
	}
	var made replayRow
	err = p.store.Update(ctx, func(tx *store.Tx) error {
		made, err = makeReplay(tx, q, ids)
		return err
	})
	if err == nil {
		signal(p.kick)
	}
	return made.Replay, err
}

// makeReplay stores a replay of the given records.
func makeReplay(tx *store.Tx, q ReplayRequest, ids []uint64) (r replayRow, err error) {
	if err := noneRuns(tx, q.Instance); err != nil {
		return r, err
	}
	r.NoGlobal = q.NoGlobal
	r.Replay = Replay{Instance: q.Instance, Matched: len(ids), State: ReplayRunning, CreatedAt: tx.Now()}
	if r.ID, err = tx.NextID(replays); err != nil {
		return r, err
	}
	r.finish(tx.Now())
	if err := errors.Join(putReplay(tx, r), putMatched(tx, r.ID, ids)); err != nil || q.Keep == nil {
		return r, err
	}
	return r, q.Keep(tx, r.Replay)
}

// noneRuns returns ErrReplayRuns while a replay of the instance runs.
func noneRuns(tx *store.Tx, instance int64) error {
	return eachReplay(tx, func(r replayRow) error {
		if r.Instance == instance && r.State == ReplayRunning {
			return ErrReplayRuns
		}
		return nil
	})
}

// finish ends a replay that has nothing left to do.
func (r *replayRow) finish(now time.Time) {
	if r.State == ReplayRunning && r.Delivered+r.Failed >= r.Matched {
		r.State, r.EndedAt = ReplayDone, now
	}
}

// selectStep is the number of records that one read checks.
const selectStep = 5000

// selected returns the records that a request selects and that can be sent.
func (p *Replays) selected(ctx context.Context, q ReplayRequest) (ids []uint64, err error) {
	sel := delivery.Selection{
		Filter: delivery.Filter{Instance: q.Instance, NoGlobal: q.NoGlobal, States: q.States, Target: q.Target, Endpoint: q.Endpoint, From: q.From, To: q.To},
		Events: q.Events, Fresh: true,
	}
	if q.NoCodes {
		if sel.Events = withoutCodes(q.Events); len(sel.Events) == 0 {
			return nil, nil
		}
	}
	if len(sel.States) == 0 {
		sel.States = DefaultReplayStates()
	}
	sel.States = slices.DeleteFunc(slices.Clone(sel.States), func(s delivery.State) bool { return s == delivery.Pending })
	if len(sel.States) == 0 {
		return nil, nil
	}
	limit := MaxReplay
	if q.Limit > 0 {
		limit = min(q.Limit, limit)
	}
	to := p.ledger.Destinations()
	for next := uint64(1); next > 0 && len(ids) < limit && ctx.Err() == nil; {
		err := p.store.View(func(tx *store.Tx) error {
			some, after, err := p.selectSome(tx, sel, to, next, limit-len(ids))
			ids, next = append(ids, some...), after
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	return ids, ctx.Err()
}

// withoutCodes returns these events, or all if there are none, except credentials.
func withoutCodes(asked []event.Kind) []event.Kind {
	if len(asked) == 0 {
		for _, d := range event.Catalogue() {
			asked = append(asked, d.Kind)
		}
	}
	return slices.DeleteFunc(slices.Clone(asked), event.Kind.IsCredential)
}

// selectSome checks the next records of a selection. after is where to continue, 0 at the end.
func (p *Replays) selectSome(tx *store.Tx, sel delivery.Selection, to delivery.Destinations, from uint64, limit int) (found []uint64, after uint64, err error) {
	seen := 0
	err = p.ledger.Each(tx, sel, from, 0, func(id uint64) (bool, error) {
		if seen++; seen > selectStep || len(found) == limit {
			after = id
			return false, nil
		}
		r, is, err := delivery.Find(tx, id)
		if is && sel.Holds(tx, r) && to.Replayable(tx, r) {
			found = append(found, id)
		}
		return true, delivery.IgnoreDamage(err)
	})
	return found, after, err
}

// Status returns a replay; ErrNotFound if there is none. With an instance it finds only
// replays of that instance.
func (p *Replays) Status(_ context.Context, instance int64, id uint64) (Replay, error) {
	var r replayRow
	err := p.store.View(func(tx *store.Tx) (err error) {
		r, err = replayOf(tx, instance, id)
		return err
	})
	return r.Replay, err
}

func replayOf(tx *store.Tx, instance int64, id uint64) (replayRow, error) {
	r, found, err := getReplay(tx, id)
	if err == nil && (!found || instance != 0 && r.Instance != instance) {
		return replayRow{}, delivery.ErrNotFound
	}
	return r, err
}

// Cancel stops a replay; one that has ended does not change. Its pending deliveries are
// cancelled soon after.
func (p *Replays) Cancel(ctx context.Context, instance int64, id uint64) (Replay, error) {
	var r replayRow
	err := p.store.Update(ctx, func(tx *store.Tx) (err error) {
		if r, err = replayOf(tx, instance, id); err != nil || r.State != ReplayRunning {
			return err
		}
		r.State, r.EndedAt, r.Sweep = ReplayCancelled, tx.Now(), 1
		return putReplay(tx, r)
	})
	if err == nil {
		signal(p.kick)
	}
	return r.Replay, err
}
