package later

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"sync"
	"time"

	"github.com/google/uuid"

	"postern/batch/schedule"
	"postern/instance"
	"postern/store"
)

// Bounds of a message that is sent later.
const (
	// MaxAhead is how far ahead the time of a send may be.
	MaxAhead = 90 * 24 * time.Hour
	// DefaultLateMax is how late a send may begin, and MinLateMax and MaxLateMax the bounds
	// of what a caller may choose.
	DefaultLateMax = 10 * time.Minute
	MinLateMax     = time.Second
	MaxLateMax     = 7 * 24 * time.Hour
)

const (
	perInstance = 4    // sends under way
	lookahead   = 1000 // due sends of an instance that are looked at for one that may leave
	endStep     = 100  // sends that end in one commit
)

// Errors of Accept, Delete and List.
var (
	ErrNotFound = errors.New("there is no such scheduled send")
	// ErrBegun: the message is being sent, or may have been.
	ErrBegun = errors.New("the scheduled message is being sent")
	// ErrTooMany is a limit of Config, which the error names.
	ErrTooMany = errors.New("too many scheduled sends")
)

// Config configures a Scheduler. Store, Registry, Supervisor and Spool are required.
type Config struct {
	Store      *store.Store
	Registry   *instance.Registry
	Supervisor *instance.Supervisor

	// Spool writes a file to the disk and returns its path; the caller removes it.
	Spool func(io.Reader) (path string, err error)

	Max      int   // sends of one instance; 0: no limit
	MaxBytes int64 // of the files of all sends, in whole pieces; 0 means 1 GiB

	// Restored reports that the file came from a backup: sends whose time has passed may
	// have left since.
	Restored bool

	Logger *slog.Logger // nil discards
}

// Scheduler keeps and performs scheduled sends. It is safe for concurrent use.
type Scheduler struct {
	cfg  Config
	log  *slog.Logger
	work sync.WaitGroup

	life context.Context // ends with Stop; no send begins afterwards
	end  context.CancelFunc

	mu       sync.Mutex
	lanes    map[int64]*lane
	alarm    *schedule.Alarm // for the earliest wake of all lanes; nil: none is set
	alarmAt  time.Time
	pieces   int // of files, kept or reserved
	accepted time.Time
}

// lane is the part of an instance that has scheduled sends. Scheduler.mu guards it.
type lane struct {
	instance int64
	count    int // sends in the file, and those being accepted
	pieces   int // of their files
	flights  map[uuid.UUID]*flight

	wake    time.Time // of the next turn; zero: none by time
	turning bool      // a turn is in progress
	again   bool      // after it, another one
}

// New returns a scheduler, to be started with Start.
func New(cfg Config) *Scheduler {
	if cfg.MaxBytes <= 0 {
		cfg.MaxBytes = 1 << 30
	}
	cfg.Logger = cmp.Or(cfg.Logger, slog.New(slog.DiscardHandler))
	s := &Scheduler{cfg: cfg, log: cfg.Logger.With("component", "scheduled_sends"), lanes: map[int64]*lane{}}
	s.life, s.end = context.WithCancel(context.Background())
	return s
}

// Start ends the sends whose outcome is unknown since the previous run, and begins to work.
func (s *Scheduler) Start(ctx context.Context) error {
	if err := s.recover(ctx); err != nil {
		return fmt.Errorf("scheduled sends: %w", err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, l := range s.lanes {
		s.kick(l)
	}
	return nil
}

// Stop begins no more sends and waits for those that have begun until ctx ends. The others
// remain for the next start.
func (s *Scheduler) Stop(ctx context.Context) error {
	s.mu.Lock()
	s.end()
	s.alarm.Stop()
	s.mu.Unlock()
	done := make(chan struct{})
	go func() {
		defer close(done)
		s.work.Wait()
	}()
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("scheduled sends still in progress: %w", context.Cause(ctx))
	}
}

// Kept returns the number of scheduled sends.
func (s *Scheduler) Kept() (n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, l := range s.lanes {
		n += l.count
	}
	return n
}

// Drop forgets an instance that was deleted.
func (s *Scheduler) Drop(instance int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	l := s.lanes[instance]
	if l == nil {
		return
	}
	delete(s.lanes, instance)
	s.pieces -= l.pieces
	for _, f := range l.flights {
		f.cancel(errGone)
	}
}

func (s *Scheduler) now() time.Time { return s.cfg.Store.Now() }

// lane returns the lane of an instance. The caller holds s.mu.
func (s *Scheduler) lane(instance int64) *lane {
	l := s.lanes[instance]
	if l == nil {
		l = &lane{instance: instance, flights: map[uuid.UUID]*flight{}}
		s.lanes[instance] = l
	}
	return l
}

// removed counts a send that is no longer in the file.
func (s *Scheduler) removed(l *lane, pieces int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.lanes[l.instance] != l {
		return // dropped
	}
	l.count--
	l.pieces -= pieces
	s.pieces -= pieces
}

// kick begins a turn of a lane, or another one after that in progress. The caller holds
// s.mu.
func (s *Scheduler) kick(l *lane) {
	l.again = true
	if l.turning || s.life.Err() != nil {
		return
	}
	l.turning = true
	s.work.Go(func() { s.turn(l) })
}

// turn looks after a lane until nothing is left to do before its wake.
func (s *Scheduler) turn(l *lane) {
	for s.mayTurn(l) {
		wake := s.look(l)
		s.mu.Lock()
		l.wake = wake
		s.mu.Unlock()
	}
}

// mayTurn reports whether a lane is to be looked after once more.
func (s *Scheduler) mayTurn(l *lane) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if l.again && s.life.Err() == nil {
		l.again = false
		return true
	}
	l.turning = false
	if l.count == 0 && len(l.flights) == 0 && s.lanes[l.instance] == l {
		delete(s.lanes, l.instance)
	}
	s.arm()
	return false
}

// arm sets the alarm for the earliest wake. The caller holds s.mu.
func (s *Scheduler) arm() {
	var at time.Time
	for _, l := range s.lanes {
		if !l.turning {
			at = earlier(at, l.wake)
		}
	}
	if s.alarm != nil && at.Equal(s.alarmAt) || s.life.Err() != nil {
		return
	}
	s.alarm.Stop()
	s.alarm, s.alarmAt = nil, at
	if !at.IsZero() {
		s.alarm = schedule.NewLook(at, s.now, s.ring)
	}
}

// ring begins the turns that are due, all if the clock was set back.
func (s *Scheduler) ring() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.life.Err() != nil {
		return
	}
	now := s.now()
	set := now.Before(s.alarmAt) // the clock was set back, and all wakes are of the clock before
	for _, l := range s.lanes {
		if set || !l.wake.IsZero() && !l.wake.After(now) {
			l.wake = time.Time{}
			s.kick(l)
		}
	}
	s.alarm = nil
	s.arm()
}

// earlier returns the earlier of two times, of which the zero time is none.
func earlier(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}
