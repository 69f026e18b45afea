package batch

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/google/uuid"

	"postern/batch/record"
	"postern/batch/table"
	"postern/event"
	"postern/store"
)

// diskRetry is how long a worker waits before it tries again to commit on a
// full disk.
const diskRetry = time.Second

// Engine runs the batches. Its methods are safe for concurrent use.
type Engine struct {
	cfg  Config
	stop chan struct{} // closed when Stop begins
	hard chan struct{} // closed when Stop waits for sends no longer

	life     context.Context // ends when Stop begins
	end      context.CancelFunc
	removals chan struct{} // size 1: a batch was withdrawn

	// random draws from 0 to n-1 for a batch. Tests make it repeatable.
	random func(batch uuid.UUID, n int64) int64
	newID  func() (uuid.UUID, error) // of version 7
	now    func() time.Time          // the machine's clock

	open      openBatches
	creations creations
	appends   appends

	work  sync.WaitGroup // workers, the sweep and the removal of batches
	sends sync.WaitGroup // calls of Fleet.Send

	mu      sync.Mutex
	workers map[uuid.UUID]*worker // batches that run or wait for something
	changes map[int64]uint64      // how often each instance changed since New
	gates   map[int64]uint64      // how often what its gate answers may have
	running bool                  // between Start and Stop
}

// New returns an engine that accepts API calls; its workers begin with Start.
func New(cfg Config) (*Engine, error) {
	cfg, err := cfg.withDefaults()
	if err != nil {
		return nil, err
	}
	e := &Engine{
		cfg: cfg, workers: map[uuid.UUID]*worker{}, changes: map[int64]uint64{}, gates: map[int64]uint64{},
		stop: make(chan struct{}), hard: make(chan struct{}), removals: make(chan struct{}, 1),
		random: func(_ uuid.UUID, n int64) int64 { return rand.Int64N(n) }, newID: uuid.NewV7, now: cfg.Store.Now,
	}
	e.life, e.end = context.WithCancel(context.Background())
	return e, nil
}

// Start recovers the batches of the last process, one commit per batch that
// was running, and starts the workers. It is called once. Finished batches
// cost it nothing.
func (e *Engine) Start(ctx context.Context) error {
	var openBatches, unfinished []uuid.UUID
	err := e.cfg.Store.View(func(tx *store.Tx) (err error) {
		if openBatches, err = record.IDs(tx, record.BucketOpen); err != nil {
			return err
		}
		unfinished, err = record.IDs(tx, record.BucketCreating)
		return err
	})
	if err != nil {
		return fmt.Errorf("batch: read open batches: %w", err)
	}
	for _, id := range openBatches {
		err := e.found(ctx, id)
		if errors.Is(err, store.ErrDamaged) || errors.Is(err, ErrNotFound) {
			e.cfg.Logger.Error("a damaged batch is left alone; restore a backup if it is needed", "batch", id, "error", err)
			continue
		}
		if err != nil {
			return fmt.Errorf("batch %s: recover: %w", id, err)
		}
	}
	e.mu.Lock()
	e.running = true
	e.mu.Unlock()
	for _, id := range openBatches {
		e.wake(id)
	}
	e.work.Go(func() { e.sweepAll(unfinished) })
	e.work.Go(e.remove)
	if counted, err := e.counted(); err != nil {
		return fmt.Errorf("batch: read how far batches are counted: %w", err)
	} else if !counted {
		e.work.Go(e.countAll)
	}
	if e.cfg.Retention > 0 {
		e.work.Go(e.expire)
	}
	return nil
}

func (e *Engine) sweepAll(unfinished []uuid.UUID) {
	for _, id := range unfinished {
		if e.stopping() {
			return
		}
		if err := e.sweep(id); err != nil {
			e.cfg.Logger.Warn("an unfinished creation could not be swept, the next start tries again", "batch", id, "error", err)
		}
	}
}

// found settles a batch that was running when its process ended. Whether the
// item in SENDING arrived is unknown, so it becomes UNKNOWN.
func (e *Engine) found(ctx context.Context, id uuid.UUID) error {
	var b *full
	err := e.cfg.Store.View(func(tx *store.Tx) (err error) {
		b, err = load(tx, id)
		return err
	})
	if err != nil {
		return err
	}
	_ = e.open.add(b.spec.Owner, id, 0) // it is there, whatever the limit is by now
	in := table.Input{On: table.OnFound}
	if e.cfg.Restored && e.sentSince(b) {
		in.On = table.OnRestored
	}
	if in.On == table.OnFound && !table.Busy(b.Status) {
		return nil
	}
	states := e.states(b.spec)
	var status event.BatchStatus
	err = e.cfg.Store.Update(ctx, func(tx *store.Tx) error {
		c := *b
		c.Shares, c.Recent = slices.Clone(b.Shares), slices.Clone(b.Recent)
		c.Fence++
		in := in
		var item *subject
		if c.Counts.Sending > 0 {
			r, err := c.loadOrLost(tx, c.Current)
			if err != nil {
				return err
			}
			o := unknown("the process ended before the result was stored")
			if r.Between() && in.On == table.OnFound {
				o = calledOff()
			}
			in.Item = o.move
			if err := c.end(tx, &r, o); err != nil {
				return err
			}
			item = &subject{c.Current, r}
		}
		err := e.step(tx, &c, in, states, item)
		status = c.Status
		return err
	})
	if errors.Is(err, errUnchanged) {
		return nil
	}
	e.committed(b.spec.Owner, id, status, err)
	return err
}

// sentSince reports whether a batch of a file that was restored from a backup may have
// sent anything since: any except one whose window opens only later.
func (e *Engine) sentSince(b *full) bool {
	switch b.Status {
	case event.BatchIsScheduled, event.BatchWaitingForWindow:
		return b.NextRunAt != 0 && b.NextRunAt <= e.now().UnixMilli()
	default:
		return true
	}
}

// committed follows a commit of a batch, unless err is one: it is reported, and it is
// none of the unfinished ones any more when the commit made it final.
func (e *Engine) committed(owner, id uuid.UUID, status event.BatchStatus, err error) {
	if err != nil {
		return
	}
	if table.Final(status) {
		e.open.drop(owner, id)
	}
	e.cfg.Changed(owner, id, false)
}

// Stop brings every batch to a safe point: it waits ShutdownTimeout for sends
// in flight, then ends their items as UNKNOWN, and interrupts running
// batches. It returns ctx's error when a worker, or a send that ignores its
// context, does not end in time.
func (e *Engine) Stop(ctx context.Context) error {
	e.mu.Lock()
	if !e.running {
		e.mu.Unlock()
		return nil
	}
	close(e.stop)
	e.end()
	for _, w := range e.workers {
		w.launch()
	}
	e.running = false
	e.mu.Unlock()

	limit := time.AfterFunc(e.cfg.ShutdownTimeout, func() { close(e.hard) })
	defer limit.Stop()
	done := make(chan struct{})
	go func() {
		defer close(done)
		e.work.Wait()
		e.sends.Wait()
	}()
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("batch: stop: %w", context.Cause(ctx))
	}
}

func (e *Engine) stopping() bool {
	select {
	case <-e.stop:
		return true
	default:
		return false
	}
}

// InstanceChanged must be called after a new state of an instance was stored, or its account
// was restricted or a restriction ended. It wakes the
// batches that wait for the instance, and never blocks.
func (e *Engine) InstanceChanged(id int64, s event.State) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.changes[id]++
	e.gateChanged(id, s)
}

// GateChanged must be called when the gate of an instance in state s may open sooner
// than it reported, though the instance has not changed: a batch for which it
// could not send still does not use it. It never blocks.
func (e *Engine) GateChanged(id int64, s event.State) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.gateChanged(id, s)
}

func (e *Engine) gateChanged(id int64, s event.State) {
	e.gates[id]++
	if s != event.Online || !e.running {
		return
	}
	for _, w := range e.workers {
		if w.running || w.waiting && slices.Contains(w.instances, id) {
			w.launch()
		}
	}
}

// changesOf reports how often an instance has changed.
func (e *Engine) changesOf(id int64) uint64 {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.changes[id]
}

// gatesOf reports how often the answers of an instance's gate may have changed.
func (e *Engine) gatesOf(id int64) uint64 {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.gates[id]
}

// wake makes a worker check the batch, now or when it has finished its
// current step. Before Start and after Stop it does nothing.
func (e *Engine) wake(id uuid.UUID) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if !e.running {
		return
	}
	w := e.workers[id]
	if w == nil {
		w = e.newWorker(id)
	}
	w.launch()
	select {
	case w.nudge <- struct{}{}:
	default:
	}
}

// begin makes a worker check a batch that was just created, as b, which is not
// read again for it. A batch that waits for its window needs no check.
func (e *Engine) begin(b *full) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if !e.running {
		return
	}
	w := e.workers[b.id]
	if w != nil { // a call found it in a list and changed it
		w.launch()
		return
	}
	w = e.newWorker(b.id)
	made := *b
	w.b, w.fresh = &made, true
	if r, waits := w.shut(); waits {
		w.idle(r)
		return
	}
	w.launch()
}

// newWorker creates the worker of a batch that has none. Engine.mu is held.
func (e *Engine) newWorker(id uuid.UUID) *worker {
	w := &worker{e: e, id: id, nudge: make(chan struct{}, 1)}
	e.workers[id] = w
	return w
}

// states returns the connection states of a batch's instances, in order.
func (e *Engine) states(s *record.Spec) []event.State {
	all := make([]event.State, len(s.Instances))
	for i, ref := range s.Instances {
		_, state, ok := e.cfg.Fleet.Instance(ref.ID)
		if !ok {
			state = event.Offline
		}
		all[i] = state
	}
	return all
}

// update commits, and on a full disk retries until Stop gives up.
func (e *Engine) update(fn func(*store.Tx) error) error {
	for {
		err := e.cfg.Store.Update(context.Background(), fn)
		if !errors.Is(err, store.ErrDiskFull) {
			return err
		}
		e.cfg.Logger.Warn("no room for a batch's progress, trying again; free some space", "error", err)
		retry := time.NewTimer(diskRetry)
		select {
		case <-retry.C:
		case <-e.hard:
			retry.Stop()
			return err
		}
	}
}
