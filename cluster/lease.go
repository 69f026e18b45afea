package cluster

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"postern/store"
)

// grant is the lease of an owner. It implements store.Engine.
type grant struct {
	n     *Node
	g     Grant
	until atomic.Int64 // the end of the lease by Config.Awake, in nanoseconds

	ctx  context.Context // ends with the lease
	end  context.CancelCauseFunc
	done chan struct{} // closed when renewing has ended

	mute   atomic.Bool // the database did not answer the last renewal
	from   Cell        // as it was before
	leaves bool        // the process stops to hand the cell over; of upkeep

	mu     sync.Mutex
	single chan struct{} // closed when commits wait for a second copy again; nil: they do, or need not
	copies bool          // they do
}

const (
	renewals   = 6 // in a lease
	marginPart = 5 // the part of the lease in which the owner no longer acts

	// awakeEvery is the longest wait without a look at Config.Awake: timers stand still
	// while the machine sleeps.
	awakeEvery = 500 * time.Millisecond
	// The owner asks for lastLook who follows it, and gives up lastWords before the end of
	// the lease, so that its process has ended by then.
	lastLook  = 200 * time.Millisecond
	lastWords = lastLook + 100*time.Millisecond
)

// KeepChanges is the number of changes that the database keeps for a node that was away for a
// moment, and PruneEvery how many more there are until the owner removes old ones.
const (
	KeepChanges = 5000
	PruneEvery  = 250
)

// acquire makes the node the owner and its file one that takes changes. If the error
// wraps ErrChanged or store.ErrDiverged, the file still follows.
func (n *Node) acquire(ctx context.Context, s *store.Store, seen Cell) error {
	began := n.cfg.Awake()
	mark, _, err := s.Mark()
	if err != nil {
		return err
	}
	g, err := n.cfg.Database.Acquire(ctx, n.cfg.Cell, n.member(Owner, mark.Version), seen)
	if err != nil {
		return err
	}
	o := &grant{n: n, g: g, done: make(chan struct{}), from: seen}
	o.ctx, o.end = context.WithCancelCause(context.WithoutCancel(ctx))
	o.until.Store(int64(began + n.cfg.Lease))
	n.mu.Lock()
	n.grant = o
	n.state.Cell.Epoch, n.state.Cell.Version = g.Epoch, g.Version
	n.mu.Unlock()
	// The acquisition may have waited for a second copy for longer than a lease.
	began = n.cfg.Awake()
	if r, err := o.renew(o.ctx, callTimeout); err == nil {
		o.until.Store(int64(began + n.cfg.Lease))
		o.synchronous(len(r.Synchronous) > 0)
	}
	go o.keep()
	if err := n.lead(ctx, s, g, o); err != nil {
		o.stop(err)
		n.mu.Lock()
		n.grant = nil
		n.mu.Unlock()
		return errors.Join(err, n.cfg.Database.Release(ctx, g))
	}
	go o.upkeep()
	n.become(Owner, nil)
	n.log.Info("this node owns the cell", "cell", n.cfg.Cell, "epoch", g.Epoch, "version", g.Version, "from", seen.Owner.Name, "reason", reasonOf(seen))
	return nil
}

func reasonOf(seen Cell) string {
	switch {
	case seen.Owner.Name == "":
		return "new"
	case seen.Released:
		return "released"
	}
	return "expired"
}

// lead brings the file to the version of the grant, which no other process can change any
// more, and begins to write.
func (n *Node) lead(ctx context.Context, s *store.Store, g Grant, e store.Engine) error {
	mark, _, err := s.Mark()
	if err == nil && mark.Version > g.Version {
		err = n.wentBack(mark.Version, Cell{Version: g.Version, Stamp: g.Stamp})
	}
	if err == nil {
		_, err = n.catchUp(ctx, s, mark.Version, Cell{Version: g.Version}, true)
	}
	if err != nil {
		return err
	}
	return s.Lead(ctx, e, g.Version, g.Stamp)
}

// keep renews the lease until it has ended, and then ends the process.
func (o *grant) keep() {
	defer close(o.done)
	lease := o.n.cfg.Lease
	wait := lease / renewals
	for {
		o.rest(o.ctx, wait)
		if o.ctx.Err() != nil {
			return
		}
		began, left := o.n.cfg.Awake(), o.left()-lastWords
		if left <= 0 {
			o.lost(fmt.Errorf("the lease of %s was not renewed in time", lease))
			return
		}
		r, err := o.renewHeld(min(left, lease/3))
		switch {
		case err == nil:
			o.until.Store(int64(began + lease))
			o.mute.Store(false)
			o.synchronous(len(r.Synchronous) > 0)
			o.n.compareClock(r.Now)
			wait = lease / renewals
		case errors.Is(err, store.ErrFenced):
			o.lost(err)
			return
		default:
			o.mute.Store(true)
			o.n.log.Warn("the lease was not renewed", "left", left.Round(time.Millisecond), "error", err)
			wait = lease / 50
		}
	}
}

// left returns how long the lease lasts.
func (o *grant) left() time.Duration {
	return time.Duration(o.until.Load()) - o.n.cfg.Awake()
}

// rest waits for d, until the owner gives up, or until ctx ends, by the clock that goes on
// while the machine sleeps.
func (o *grant) rest(ctx context.Context, d time.Duration) {
	end := o.n.cfg.Awake() + d
	for ctx.Err() == nil {
		d = min(end-o.n.cfg.Awake(), o.left()-lastWords)
		if d <= 0 {
			return
		}
		o.n.pause(ctx, min(d, awakeEvery))
	}
}

// renewHeld is renew for a lease that lasts. It also returns when the owner gives up, which
// is before the timeout if the machine slept.
func (o *grant) renewHeld(timeout time.Duration) (Renewal, error) {
	ctx, cancel := context.WithCancel(o.ctx)
	defer cancel()
	go func() {
		o.rest(ctx, o.n.cfg.Lease)
		cancel()
	}()
	return o.renew(ctx, timeout)
}

// upkeep renews the registration and removes changes that no node needs, until the
// lease has ended.
func (o *grant) upkeep() {
	pruned := o.g.Version
	for o.ctx.Err() == nil {
		version := o.registered()
		o.relieve()
		if version >= pruned+PruneEvery {
			pruned = version
			o.prune()
		}
		o.n.pause(o.ctx, joinEvery)
	}
}

func (o *grant) prune() {
	ctx, cancel := context.WithTimeout(o.ctx, callTimeout)
	defer cancel()
	if _, err := o.n.cfg.Database.Prune(ctx, o.n.cfg.Cell, KeepChanges); err != nil && o.ctx.Err() == nil {
		o.n.log.Warn("old changes were not removed from the database", "error", err)
	}
}

func (o *grant) renew(ctx context.Context, timeout time.Duration) (Renewal, error) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	return o.n.cfg.Database.Renew(ctx, o.g)
}

// registered renews the registration, and returns the version of the file.
func (o *grant) registered() (version uint64) {
	ctx, cancel := context.WithTimeout(o.ctx, o.n.cfg.Lease/renewals)
	defer cancel()
	if s := o.n.File(); s != nil {
		if mark, _, err := s.Mark(); err == nil {
			version = mark.Version
		}
	}
	if err := o.n.join(ctx, Owner, version); err != nil && o.ctx.Err() == nil {
		o.n.log.Warn("this node was not registered with the cell", "error", err)
	}
	return version
}

// lost ends the process, by the end of the lease if it still lasts.
func (o *grant) lost(cause error) {
	look := min(max(o.left()-(lastWords-lastLook), lastLook), time.Second)
	o.until.Store(0)
	ctx, cancel := context.WithTimeout(context.Background(), look)
	defer cancel()
	owner := "no other owner is known"
	if c, found, err := o.n.cfg.Database.Look(ctx, o.n.cfg.Cell); err == nil && found && c.Epoch != o.g.Epoch {
		owner = fmt.Sprintf("%s owns the cell since %s", c.Owner, c.Since.UTC().Format(time.RFC3339))
	}
	err := fmt.Errorf("%w: %w; %s", store.ErrFenced, cause, owner)
	o.end(err)
	o.n.cfg.Ended(err)
}

// stop ends the renewals.
func (o *grant) stop(cause error) {
	o.end(cause)
	<-o.done
}

// synchronous notes whether commits wait for a second copy.
func (o *grant) synchronous(is bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.copies = is
	if !is && o.n.cfg.AcceptLoss {
		return
	}
	switch {
	case is && o.single != nil:
		close(o.single)
		o.single = nil
		o.n.log.Info("the database server waits for a second copy again; changes go on")
	case !is && o.single == nil:
		o.single = make(chan struct{})
		o.n.log.Error("synchronous_standby_names of the database server became empty, and changes wait: name a synchronous standby in it, or set store.accept_loss")
	}
}

// isSynchronous reports whether the server waits for a second copy, or need not.
func (o *grant) isSynchronous() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.single == nil
}

// Valid implements [store.Engine].
func (o *grant) Valid() bool {
	return o.n.cfg.Awake() < time.Duration(o.until.Load())-o.n.cfg.Lease/marginPart
}

// Commit implements [store.Engine].
func (o *grant) Commit(c store.Change) error {
	o.mu.Lock()
	single := o.single
	o.mu.Unlock()
	if single != nil {
		select {
		case <-single:
		case <-o.ctx.Done():
			return store.ErrFenced
		}
	}
	began := time.Now()
	err := o.n.cfg.Database.Commit(o.ctx, o.g, c)
	if o.n.cfg.OnCommit != nil {
		o.n.cfg.OnCommit(time.Since(began))
	}
	if errors.Is(err, ErrInDoubt) {
		return fmt.Errorf("%w: the lease ended before the outcome of a commit was known", store.ErrFenced)
	}
	return err
}

// Room implements [store.Engine].
func (o *grant) Room() error {
	_, err := o.renew(o.ctx, callTimeout)
	return err
}

// Valid reports whether this node may act for the cell now.
func (n *Node) Valid() bool {
	n.mu.Lock()
	o := n.grant
	n.mu.Unlock()
	return o != nil && o.Valid()
}

// Synchronous reports whether commits wait for a second copy, or need not.
func (n *Node) Synchronous() bool {
	n.mu.Lock()
	o := n.grant
	n.mu.Unlock()
	return o == nil || o.isSynchronous()
}

// Answered reports whether the database answered the last time.
func (n *Node) Answered() bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.grant != nil {
		return !n.grant.mute.Load()
	}
	return n.state.Role != Connecting
}

// SecondCopy reports whether commits of an owner wait for a second copy.
func (n *Node) SecondCopy() bool {
	n.mu.Lock()
	o, server := n.grant, n.state.Server
	n.mu.Unlock()
	if o == nil {
		return len(server.Synchronous) > 0
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.copies
}

// Takeover returns from which node this process took the cell, and whether that one
// released it or its lease expired. It is empty for the first owner, and for a node that
// owned the cell before.
func (n *Node) Takeover() (from, reason string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.grant == nil || n.grant.from.Owner.Name == n.cfg.Name {
		return "", ""
	}
	return n.grant.from.Owner.Name, reasonOf(n.grant.from)
}

// LeaseLeft returns how long the lease of an owner lasts without a renewal, 0 for others.
func (n *Node) LeaseLeft() time.Duration {
	n.mu.Lock()
	o := n.grant
	n.mu.Unlock()
	if o == nil {
		return 0
	}
	return max(0, o.left())
}

// fatal is Options.Fatal of the file.
func (n *Node) fatal(err error) {
	n.mu.Lock()
	o := n.grant
	n.mu.Unlock()
	if o != nil {
		o.until.Store(0)
	}
	n.cfg.Ended(err)
}

// Stop hands the cell over: it ends the lease of an owner whose file is closed, and the
// registration of any node.
func (n *Node) Stop(ctx context.Context) error {
	n.mu.Lock()
	o := n.grant
	n.mu.Unlock()
	var err error
	if o != nil {
		o.stop(errors.New("this process stops"))
		err = n.cfg.Database.Release(ctx, o.g)
		if errors.Is(err, store.ErrFenced) {
			err = nil
		}
	} else {
		err = n.closeFile()
	}
	return errors.Join(err, n.cfg.Database.Leave(ctx, n.cfg.Cell, n.cfg.Name, n.run))
}
