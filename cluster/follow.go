package cluster

import (
	"context"
	"errors"
	"fmt"
	"time"

	"postern/store"
)

// watch is what a standby knows of the owner's lease.
type watch struct {
	epoch, beat uint64
	since       time.Duration // when it saw them first, by Config.Awake; negative: it has not looked
}

// missed notes that a look failed: beats may have been missed.
func (w *watch) missed() { w.since = -1 }

// expired reports whether the same beat has been seen for a whole lease.
func (w *watch) expired(c Cell, now, lease time.Duration) bool {
	if w.since < 0 || c.Epoch != w.epoch || c.Beat != w.beat {
		*w = watch{epoch: c.Epoch, beat: c.Beat, since: now}
	}
	return now-w.since >= lease
}

// vacant reports whether the cell may be taken without waiting.
func (c Cell) vacant() bool { return c.Owner.Name == "" || c.Released }

// follow keeps the file at the version of the cell until this node owns it.
func (n *Node) follow(ctx context.Context) (*store.Store, error) {
	s, err := n.openFile(ctx)
	if err != nil {
		return nil, err
	}
	w, joined, examined := watch{since: -1}, n.cfg.Awake()-joinEvery, n.cfg.Awake()
	for {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		cell, err := n.step(ctx, s)
		if errors.Is(err, store.ErrDiverged) {
			if s, err = n.reload(ctx, err); err != nil {
				return nil, err
			}
			w.missed()
			continue
		}
		if err != nil {
			return nil, err
		}
		now := n.cfg.Awake()
		if now-joined >= joinEvery {
			if err := n.registered(ctx, s); err != nil {
				return nil, err
			}
			joined = now
		}
		if now-examined >= lookEvery {
			n.glance(ctx)
			examined = now
		}
		expired := w.expired(cell, now, n.cfg.Lease)
		n.mu.Lock()
		n.renewed = w.since
		n.mu.Unlock()
		switch {
		case cell.Left:
			return nil, fmt.Errorf("%w of the database: `postern migrate --to URL --force` moves a file in again", ErrLeft)
		case (cell.vacant() || expired) && !n.yields(ctx):
			if err = n.acquire(ctx, s, cell); err == nil {
				return s, nil
			}
			switch {
			case errors.Is(err, ErrChanged):
			case errors.Is(err, store.ErrDiverged):
				if s, err = n.reload(ctx, err); err != nil {
					return nil, err
				}
			default:
				return nil, err
			}
			w.missed()
		}
		n.pause(ctx, pollEvery)
	}
}

// glance examines the server again. Other calls report its failures.
func (n *Node) glance(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	if _, err := n.examine(ctx); err != nil {
		n.log.Debug("the database was not examined", "error", err)
	}
}

// step looks at the cell and applies what is new in it.
func (n *Node) step(ctx context.Context, s *store.Store) (Cell, error) {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	cell, found, err := n.cfg.Database.Look(ctx, n.cfg.Cell)
	switch {
	case err != nil:
		return cell, err
	case !found:
		return cell, fmt.Errorf("%w: it has no cell %q any more", ErrUnfit, n.cfg.Cell)
	case cell.ID != s.ID():
		return cell, store.ErrOtherCell
	}
	mark, _, err := s.Mark()
	if err != nil {
		return cell, err
	}
	n.note(cell, mark)
	if mark.Version > cell.Version {
		return cell, n.wentBack(mark.Version, cell)
	}
	level, full := mark.Version >= cell.Version, n.measure(s)
	if !level && !full {
		level, err = n.catchUp(ctx, s, mark.Version, cell, false)
	}
	if errors.Is(err, store.ErrDiskFull) && !away(err) {
		n.filled()
		n.measure(s)
		err = nil
	}
	if err != nil {
		return cell, err
	}
	if level {
		n.mu.Lock()
		n.level = n.cfg.Awake()
		n.mu.Unlock()
	}
	n.become(Standby, nil)
	return cell, nil
}

// note keeps what the node saw, for [Node.State].
func (n *Node) note(cell Cell, mark store.CellMark) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.state.Cell = cell
	n.state.Behind = cell.Version - min(mark.Version, cell.Version)
}

func (n *Node) wentBack(version uint64, cell Cell) error {
	return fmt.Errorf("%w: the file has version %d, and the cell is at version %d of %s; the database lost acknowledged commits: `postern migrate --to URL --force` with the newest file brings them back", ErrWentBack, version, cell.Version, cell.Stamp.UTC().Format(time.RFC3339))
}

// catchUp applies the changes after a version up to that of the cell, and reports whether
// it got there. durable: no failover of the database undoes them. Others wait until they
// are in every copy, which may take as long as a copy is away.
func (n *Node) catchUp(ctx context.Context, s *store.Store, version uint64, cell Cell, durable bool) (level bool, err error) {
	for version < cell.Version {
		changes, err := n.changes(ctx, version, durable)
		if err != nil || changes == nil {
			return false, err
		}
		if err := s.Apply(changes); err != nil {
			return false, err
		}
		version = changes[len(changes)-1].Version
	}
	return true, nil
}

// changes returns the next changes that may be applied; nil: they are not in every copy
// yet.
func (n *Node) changes(ctx context.Context, version uint64, durable bool) ([]store.Change, error) {
	if !durable && n.held != nil {
		return n.held.wait(n)
	}
	changes, complete, err := n.cfg.Database.Changes(ctx, n.cfg.Cell, version, changesStep)
	if err != nil {
		return nil, err
	}
	if !complete || len(changes) == 0 {
		return nil, fmt.Errorf("%w: the changes after version %d are no longer kept", store.ErrDiverged, version)
	}
	if durable {
		return changes, nil
	}
	n.held = &held{changes: changes, done: make(chan struct{})}
	go n.held.pass(n.life, n.cfg)
	return n.held.wait(n)
}

// held are changes that wait until they are in every copy of the database. One call waits
// for that, however long it takes: each call holds a connection at the server.
type held struct {
	changes []store.Change
	done    chan struct{} // closed when err is final
	err     error
}

func (h *held) pass(ctx context.Context, cfg Config) {
	defer close(h.done)
	h.err = cfg.Database.Barrier(ctx, cfg.Cell)
}

// wait waits a moment, and returns the changes if they may be applied.
func (h *held) wait(n *Node) ([]store.Change, error) {
	t := time.NewTimer(barrierWait)
	defer t.Stop()
	select {
	case <-h.done:
		n.held = nil
		if h.err != nil {
			return nil, h.err
		}
		return h.changes, nil
	case <-t.C:
		return nil, nil
	}
}

func (n *Node) registered(ctx context.Context, s *store.Store) error {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	mark, _, err := s.Mark()
	if err != nil {
		return err
	}
	return n.join(ctx, Standby, mark.Version)
}

// openFile opens the file as a copy of the cell. A file that cannot be followed is loaded
// from the database.
func (n *Node) openFile(ctx context.Context) (*store.Store, error) {
	if s := n.File(); s != nil {
		return s, nil
	}
	cell, found, err := n.look(ctx)
	if err != nil || !found {
		return nil, errors.Join(err, missing(found, n.cfg.Cell))
	}
	s, err := store.Open(n.options(cell))
	if errors.Is(err, store.ErrDiverged) || errors.Is(err, store.ErrCorrupt) {
		return n.load(ctx, err)
	}
	if err != nil {
		return nil, err
	}
	n.mu.Lock()
	n.file = s
	n.mu.Unlock()
	return s, nil
}

func (n *Node) look(ctx context.Context) (c Cell, found bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	return n.cfg.Database.Look(ctx, n.cfg.Cell)
}

func missing(found bool, cell string) error {
	if found {
		return nil
	}
	return fmt.Errorf("%w: there is no cell %q", ErrUnreachable, cell)
}

func (n *Node) options(cell Cell) store.Options {
	o := n.cfg.File
	o.Follow = cell.ID
	o.Fatal = n.fatal
	return o
}

// reload replaces a file that differs from the cell.
func (n *Node) reload(ctx context.Context, cause error) (*store.Store, error) {
	if err := n.closeFile(); err != nil {
		n.log.Warn("the data file that is replaced was not closed in order", "error", err)
	}
	return n.load(ctx, cause)
}

// load builds the file from the rows in the database.
func (n *Node) load(ctx context.Context, cause error) (*store.Store, error) {
	n.become(Loading, nil)
	n.log.Info("loading the data file from the database", "cell", n.cfg.Cell, "reason", cause)
	began := n.cfg.Awake()
	cell, found, err := n.look(ctx)
	if err != nil || !found {
		return nil, errors.Join(err, missing(found, n.cfg.Cell))
	}
	rows := 0
	err = store.Load(n.options(cell), cell.Version, func(put func(store.Row) error) (uint64, error) {
		err := n.cfg.Database.Rows(ctx, n.cfg.Cell, func(r store.Row) error {
			rows++
			return put(r)
		})
		if err != nil {
			return 0, err
		}
		last, _, err := n.look(ctx)
		if err != nil {
			return 0, err
		}
		return last.Version, n.cfg.Database.Barrier(ctx, n.cfg.Cell)
	})
	if err != nil {
		return nil, err
	}
	n.log.Info("loaded the data file", "rows", rows, "took", (n.cfg.Awake() - began).Round(time.Millisecond))
	return n.openFile(ctx)
}
