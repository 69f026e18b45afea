package store

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	bolt "go.etcd.io/bbolt"
	berrors "go.etcd.io/bbolt/errors"

	"postern/store/clock"
	"postern/store/schema"
	"postern/store/survey"
)

// DefaultMinFree is the default of Options.MinFree: 64 MiB.
const DefaultMinFree = 64 << 20

// Options says what Open opens. The zero values of all fields but Path are usable.
type Options struct {
	Path    string          // the file; its folder is made when missing
	Buckets []schema.Bucket // of all packages but store itself
	Logger  *slog.Logger

	// Fatal is called once, when the outcome of a commit is unknown, or when a
	// transaction meets damage that the survey at the start did not find. It should end
	// the process; nil logs the reason and exits with status 3.
	Fatal func(error)

	// MinFree is how many bytes must be free on the disk for Admit to accept
	// new work; 0 means DefaultMinFree.
	MinFree uint64

	// OnCommit is called by the writer after each commit with the number of calls of
	// Update that it carried and its duration, fsync included. It must not block. nil: no
	// call.
	OnCommit func(calls int, took time.Duration)

	// Now is the clock of transactions; nil: the machine's.
	Now func() time.Time

	// SurveyFrom is a file size in bytes. A file of at least this size that was closed in
	// order and not changed since is not read as a whole at the start; 0 means 256 MiB.
	SurveyFrom int64

	// Program is the version of the program, such as v1.2.0. A release that is too old
	// for the file names it when it refuses the file. Empty: the version in the file is
	// kept.
	Program string

	// KeepBefore has Open first copy a file of an earlier release to Path with the suffix
	// ".before-upgrade", since that release cannot open the file afterwards. [DropBefore]
	// removes the copy.
	KeepBefore bool

	// Follow is the ID of the cell that the file is a copy of, see [Store.Lead]. Empty: the
	// file stands alone.
	Follow string

	// Alone has Open take a copy of a cell out of it, such as the file of a backup.
	Alone bool

	// NoSync skips every fsync, for benchmarks and tests of other packages.
	// A power cut can then lose or damage everything.
	NoSync bool
}

// Store is an open data file. All methods are safe for concurrent use.
type Store struct {
	db     *bolt.DB
	schema schema.Schema
	opts   Options
	log    *slog.Logger
	stats  counters
	space  space

	aside   asideSet
	tallies survey.Tallies // the writer's, after Open
	id      string

	mu     sync.Mutex
	queue  []*update // waiting calls, drained by the writer
	asking int       // those of them that request a commit of their own
	closed bool      // no further calls are taken
	woken  *bell

	kick         chan struct{} // size 1: the queue is not empty
	done         chan struct{} // the writer has ended
	ended        chan struct{} // Close has ended
	failed       atomic.Bool
	broken       atomic.Bool // the file is damaged, and no bbolt transaction may be ended
	unused       *bolt.Tx    // the writer's, begun and not written to
	vain         int         // how many commits pass without a wait after the last wait of gather that was in vain
	ungathered   int         // commits that pass before gather waits again
	writtenPages int64       // by commits since trimResident last released the mapping; the writer's

	resting   []func()      // functions that the writer calls between two commits; under mu
	snapshots *snapshotting // the writer's; nil: none is being made

	cell    *membership // nil: the file stands alone
	crowded bool        // the engine had no room for the last change; the writer's

	clean  bool
	unread bool // the start did not read the whole file

	headLost bool // a head page was damaged at the start

	left    left      // by the last stop; under mu
	leaving []leaving // for the next start; under mu

	durable  atomic.Int64           // the newest transaction that is on the disk
	flight   atomic.Pointer[flight] // the newest commit
	commitTx func(*bolt.Tx) error   // (*bolt.Tx).Commit
	watch    watch

	clock  *clock.Clock
	opened time.Time // with the monotonic reading of Options.Now, where it has one
}

// Open opens the file at o.Path, or creates it. It takes an exclusive lock that is held
// until Close. Errors wrap ErrLocked, ErrForeign, ErrCorrupt, ErrNewer or ErrReadOnly
// where one of them applies.
func Open(o Options) (*Store, error) {
	if o.Follow == "" {
		return openAlone(o)
	}
	return openStore(o)
}

// openAlone opens a file that stands alone. Tests with the build tag everycell make it the
// copy of a cell.
var openAlone = openStore

func openStore(o Options) (*Store, error) {
	s, err := open(o)
	if errors.Is(err, ErrNewer) && o.Program != "" {
		err = fmt.Errorf("%w; this is %s", err, o.Program)
	}
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", o.Path, advise(o.Path, err))
	}
	go s.write()
	return s, nil
}

func open(o Options) (*Store, error) {
	sch, err := withOwn(o.Buckets)
	if err != nil {
		return nil, err
	}
	o.Logger = cmp.Or(o.Logger, slog.New(slog.DiscardHandler))
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.SurveyFrom == 0 {
		o.SurveyFrom = surveyFrom
	}
	if o.MinFree == 0 {
		o.MinFree = DefaultMinFree
	}
	log := o.Logger.With("component", "store")
	if o.Fatal == nil {
		o.Fatal = func(err error) {
			log.Error("stopping for the sake of the data file; look after the disk, and start again: docs/crash.md says what the start does", "error", err)
			os.Exit(3)
		}
	}
	o.Path = target(o.Path)
	db, found, err := openFile(o.Path, sch, o.NoSync || o.Follow != "")
	if err != nil {
		return nil, err
	}
	cell, err := o.place(found)
	if err != nil {
		return nil, errors.Join(err, db.Close())
	}
	s := &Store{
		db: db, schema: sch, opts: o, log: log,
		space: space{folder: filepath.Dir(o.Path), min: o.MinFree},
		woken: newBell(),
		kick:  make(chan struct{}, 1),
		done:  make(chan struct{}),
		ended: make(chan struct{}),

		commitTx: func(btx *bolt.Tx) error { return shielded(btx.Commit) },
		watch:    watch{time.Now, time.Sleep},
		clock:    clock.New(log),
		opened:   o.Now(),
	}
	s.clean, s.unread = found.Clean(), found.Unread
	s.tellFound(found)
	if o.KeepBefore && found.Older(sch) {
		if err := keepBefore(o.Path, o.MinFree); err != nil {
			return nil, errors.Join(explain(err), db.Close())
		}
		log.Info("the data file is of an earlier release, which can be gone back to until the first orderly stop", "copy", o.Path+beforeSuffix)
	}
	if s.tallies, s.id, err = prepare(db, sch, found, o.Program); err != nil {
		return nil, errors.Join(err, db.Close())
	}
	if err := s.join(cell); err != nil {
		return nil, errors.Join(err, db.Close())
	}
	s.left = leftBy(found)
	err = db.View(func(tx *bolt.Tx) error {
		s.clock.Open(clockRecord(tx), s.opened, 0)
		return nil
	})
	if err != nil {
		return nil, errors.Join(err, db.Close())
	}
	if err := s.trust(); err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return s, nil
}

// View runs fn in a read transaction. fn sees one unchanging state of the file that is on
// disk and no older than any commit whose Update has returned. fn must be short, since
// pages that it can see are not reused until it ends, and must copy what it needs
// afterwards (Get and Scan do so). View returns ErrFailed if the outcome of the newest
// commit is unknown.
func (s *Store) View(fn func(*Tx) error) error {
	now := s.opts.Now()
	running := now.Sub(s.opened)
	tx := &Tx{schema: s.schema, now: stamp(s.clock.DateOfView(now, running)), steady: s.clock.SteadyAt(running)}
	err := shielded(func() error {
		return s.read(func(b *bolt.Tx) error {
			tx.bolt, tx.openings = b, &openings{}
			defer func() { s.stats.looked.Add(tx.openings.looked) }()
			return fn(tx)
		})
	})
	s.reportDamage(tx)
	if errors.Is(err, ErrCorrupt) {
		return s.doom(err)
	}
	if errors.Is(err, berrors.ErrDatabaseNotOpen) {
		return ErrClosed
	}
	return err
}

// Update runs fn in a write transaction and returns once its changes are on disk. See the
// package comment for what fn may do, and [WithUpdate] for what ctx may add. Update returns
// fn's error, or ErrClosed, ErrFailed or ErrDiskFull; in all these cases nothing was
// changed. If ctx ends while the call still waits for its turn, Update returns ctx's
// error and fn does not run. After that, the call always runs to its end. Update passes a
// panic of fn on to the caller.
func (s *Store) Update(ctx context.Context, fn func(*Tx) error) error {
	u := &update{fn: withCarried(ctx, fn), done: make(chan struct{})}
	if err := s.enqueue(u); err != nil {
		return err
	}
	select {
	case <-u.done:
	case <-ctx.Done():
		if u.state.CompareAndSwap(waiting, withdrawn) {
			return context.Cause(ctx)
		}
	}
	return u.wait()
}

// Submit is Update without the wait. When it returns, fn is queued before every later
// call.
func (s *Store) Submit(fn func(*Tx) error) (*Submitted, error) {
	u := &update{fn: fn, done: make(chan struct{})}
	if err := s.enqueue(u); err != nil {
		return nil, err
	}
	return &Submitted{u}, nil
}

// Attach is Submit without a commit of its own: fn is part of the next commit that
// another caller requests, or of the last one of Close. It costs no fsync, and may wait
// for long.
func (s *Store) Attach(fn func(*Tx) error) (*Submitted, error) {
	u := &update{fn: fn, rides: true, done: make(chan struct{})}
	if err := s.enqueue(u); err != nil {
		return nil, err
	}
	return &Submitted{u}, nil
}

// Hurry requests a commit for the attached call.
func (s *Store) Hurry(a *Submitted) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed || !a.u.rides || !slices.Contains(s.queue, a.u) {
		return
	}
	a.u.rides = false
	s.ask()
}

// Submitted is a call that Submit or Attach queued. Its methods may be called repeatedly,
// from any goroutine.
type Submitted struct{ u *update }

// Wait waits for the commit and returns what Update would have returned.
func (s *Submitted) Wait() error { return s.u.wait() }

// Ended is closed when Wait would return at once.
func (s *Submitted) Ended() <-chan struct{} { return s.u.done }

// Done reports whether Wait would return at once.
func (s *Submitted) Done() bool {
	select {
	case <-s.u.done:
		return true
	default:
		return false
	}
}

func (s *Store) enqueue(u *update) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.closed:
		return ErrClosed
	case s.cell != nil && s.cell.engine == nil:
		return ErrStandby
	}
	s.queue = append(s.queue, u)
	if u.rides {
		return nil
	}
	s.ask()
	return nil
}

// ask counts one more call that requests a commit, and wakes the writer. The caller holds
// s.mu.
func (s *Store) ask() {
	s.asking++
	select {
	case s.kick <- struct{}{}:
	default:
	}
}

// Woken returns a channel that is closed after the next commit that called Tx.Wake. Get
// the channel before reading the awaited state.
func (s *Store) Woken() <-chan struct{} { return s.woken.next() }

// WasClean reports whether the last process closed the file in order. It is
// true for a new file.
func (s *Store) WasClean() bool { return s.clean }

// Close commits the waiting calls, marks the file as closed in order and releases its
// lock. Later calls of Update and View return ErrClosed.
func (s *Store) Close() error {
	s.mu.Lock()
	already := s.closed
	s.closed = true
	if !already {
		close(s.kick)
	}
	s.mu.Unlock()
	<-s.done
	if already {
		<-s.ended
		return nil
	}
	defer close(s.ended)
	if s.broken.Load() {
		return ErrFailed // bbolt would wait for a transaction that cannot be ended
	}
	var err error
	if !s.failed.Load() {
		if err = s.markClean(); err == nil {
			s.leaveNote()
		}
		if s.cell != nil && !s.opts.NoSync {
			err = errors.Join(err, s.db.Sync())
		}
	} else if s.unused != nil {
		rollback(s.unused)
	}
	return errors.Join(err, s.db.Close())
}

// stamp returns the time of a transaction that begins at now.
func stamp(now time.Time) time.Time { return now.UTC().Truncate(time.Millisecond) }
