package logbook

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"postern/delivery"
	"postern/delivery/digest"
	"postern/store"
)

// Errors of this package, beside those of package delivery.
var (
	// ErrReplayRuns: another replay of the same scope runs.
	ErrReplayRuns = errors.New("a replay is running already")
	// ErrCursor: the cursor of a list is not one that a list gave.
	ErrCursor = errors.New("the cursor is not one that a list of deliveries gave")
)

// Defaults of Config.
const (
	DefaultRetention  = 72 * time.Hour
	DefaultMaxEntries = 1_000_000
	DefaultReplayRate = 50
)

// Config configures a Log. Zero values mean the defaults.
type Config struct {
	Retention  time.Duration // of records that ended
	MaxEntries int           // records that are kept at most, pending ones aside
	ReplayRate int           // records that a replay makes in a second at most

	// Made is called after a commit in which a replay made deliveries of a lane. They are due.
	// It may be nil.
	Made   func(delivery.Lane, []delivery.Due)
	Logger *slog.Logger // nil discards
}

func (c Config) withDefaults() Config {
	if c.Retention == 0 {
		c.Retention = DefaultRetention
	}
	if c.MaxEntries == 0 {
		c.MaxEntries = DefaultMaxEntries
	}
	if c.ReplayRate == 0 {
		c.ReplayRate = DefaultReplayRate
	}
	if c.Made == nil {
		c.Made = func(delivery.Lane, []delivery.Due) {}
	}
	c.Logger = cmp.Or(c.Logger, slog.New(slog.DiscardHandler))
	return c
}

// Log is the log of the deliveries of a data file. Its methods may be called from any
// goroutine.
type Log struct {
	// Replays are the replays of the log. They start and stop with it.
	Replays *Replays

	store  *store.Store
	ledger *delivery.Ledger
	digest *digest.Digest
	cfg    Config
	log    *slog.Logger

	behind behind
	repair chan uint64   // damaged blocks of the digest; a block for which there is no room is found again later
	grown  chan struct{} // size 1: records were written behind
	gaps   tellOnce

	stop context.CancelFunc
	work sync.WaitGroup
}

// New returns the log of a ledger, and sets the ledger's hooks.
func New(ledger *delivery.Ledger, cfg Config) *Log {
	cfg = cfg.withDefaults()
	l := &Log{
		store: ledger.Store(), ledger: ledger, digest: ledger.Digest(), cfg: cfg, log: cfg.Logger.With("component", "delivery"),
		behind: newBehind(), repair: make(chan uint64, 16), grown: make(chan struct{}, 1), stop: func() {},
	}
	l.Replays = &Replays{store: l.store, ledger: ledger, cfg: cfg, log: l.log, catchUp: l.catchUp, kick: make(chan struct{}, 1)}
	ledger.Hook(delivery.Hooks{Changed: l.Replays.count, Forget: l.Replays.forget, Settled: l.behind.settled})
	return l
}

// Start runs the background work until Stop.
func (l *Log) Start(context.Context) error {
	ctx, stop := context.WithCancel(context.Background())
	l.stop = stop
	l.work.Go(func() { l.writeBehind(ctx.Done()) })
	l.work.Go(func() { l.tend(ctx) })
	l.work.Go(func() { l.Replays.repeat(ctx) })
	return nil
}

// Stop ends what Start began. It first writes the records that are in memory, as far as ctx
// allows.
func (l *Log) Stop(ctx context.Context) error {
	l.stop()
	err := l.Flush(ctx)
	l.work.Wait()
	return err
}

// tellOnce limits how often the same message is logged.
type tellOnce struct {
	mu sync.Mutex
	at time.Time
}

const tellEvery = time.Minute

func (t *tellOnce) due() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if now := time.Now(); t.at.IsZero() || now.Sub(t.at) >= tellEvery {
		t.at = now
		return true
	}
	return false
}

func (l *Log) tellLost(err error) {
	if l.gaps.due() {
		l.log.Warn("deliveries are missing from the log; they were made all the same: free some space, or look after a slow disk with postern doctor", "count", l.LogDropped(), "error", err)
	}
}
