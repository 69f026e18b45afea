package delivery

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"postern/delivery/digest"
	"postern/delivery/outbox"
	"postern/event"
	"postern/store"
)

// Errors of this package.
var (
	// ErrNotFound: there is no such record or replay.
	ErrNotFound = errors.New("there is no such delivery")
	// ErrBodyGone: the body of the delivery is not in the file any more.
	ErrBodyGone = errors.New("the body of the delivery is not kept any more")
	// ErrEndpointGone: the destination of the delivery was removed, or has no URL.
	ErrEndpointGone = errors.New("the destination of the delivery is not there any more")
	// ErrLogOff: the log is off, and only pending durable deliveries are known.
	ErrLogOff = errors.New("the log of deliveries is off")
)

// Bodies says for which deliveries of the in-memory flow the log keeps the body.
type Bodies string

// Whose bodies are kept.
const (
	BodiesFailed Bodies = "failed" // of all that were not delivered; the default
	BodiesAll    Bodies = "all"
	BodiesNone   Bodies = "none"
)

// Defaults of Config.
const (
	DefaultDurableMaxBytes = 1 << 30
	DefaultMaxAge          = 72 * time.Hour // of a destination without one
)

// Config configures a Ledger. Zero values mean the defaults, except for Log.
type Config struct {
	Log             bool   // records of what ended are kept
	Bodies          Bodies // default BodiesFailed
	DurableMaxBytes int64  // bodies of pending deliveries, each destination counted

	// Outbox has the batch events of the same file. nil: there are none.
	Outbox *outbox.Outbox
	// GlobalURL is what the log shows of batch events. See SetGlobalURL.
	GlobalURL string
	// Resolve returns the current configuration of a destination. It must not block and must not
	// use the store.
	Resolve func(Lane) (event.Destination, Status)
	// Ended is called after a commit in which the ledger itself ended deliveries: for lack of
	// room, or because their instance was deleted, their replay was stopped or their body
	// withheld. It may be nil.
	Ended func([]Ended)
	// Changed is called with new and changed records after their commit, by the store's writer:
	// it must not block, and must not use the store. It may keep its argument. It may be nil.
	Changed func([]Changed)
	Logger  *slog.Logger // nil discards
}

// Changed is a record that is new or has changed.
type Changed struct {
	ID       uint64
	Instance string // the name of whose event it is, empty for a batch event
	Global   bool   // it goes to the global webhook
}

func (c Config) withDefaults() Config {
	if c.Bodies == "" {
		c.Bodies = BodiesFailed
	}
	if c.DurableMaxBytes == 0 {
		c.DurableMaxBytes = DefaultDurableMaxBytes
	}
	if c.Resolve == nil {
		c.Resolve = func(Lane) (event.Destination, Status) { return event.Destination{}, Paused }
	}
	if c.Ended == nil {
		c.Ended = func([]Ended) {}
	}
	c.Logger = cmp.Or(c.Logger, slog.New(slog.DiscardHandler))
	return c
}

// Ledger holds the deliveries of a data file. Its methods may be called from any goroutine;
// those that take a Tx, inside the transaction.
type Ledger struct {
	store *store.Store
	cfg   Config
	log   *slog.Logger
	ids   atomic.Uint64          // the last record id that was given
	url   atomic.Pointer[string] // of the global webhook
	work  sync.WaitGroup

	digest *digest.Digest
	unread bool // the digest, by this start
	hooks  Hooks

	tidy
}

// Hooks are what the log above a ledger does with it (package logbook).
type Hooks struct {
	// Changed is called in each commit that changes a record that a replay made; now is nil if
	// the record is removed.
	Changed func(tx *store.Tx, now, old *Record) error
	// Forget removes what the log has of a deleted instance beside its records.
	Forget func(tx *store.Tx, instance int64) error
	// Settled reports whether the file has the end of every delivery that it records as pending
	// in memory.
	Settled func() bool
}

// Hook sets the hooks. It must be called once, before the ledger is used.
func (l *Ledger) Hook(h Hooks) { l.hooks = h }

// SetGlobalURL sets the URL that the log shows for batch events from now on.
func (l *Ledger) SetGlobalURL(url string) { l.url.Store(&url) }

// Open opens the Ledger of a data file and registers it for batch events. It reads little;
// damaged indexes are rebuilt.
func Open(s *store.Store, cfg Config) (*Ledger, error) {
	cfg = cfg.withDefaults()
	l := &Ledger{store: s, cfg: cfg, log: cfg.Logger.With("component", "delivery")}
	l.url.Store(&cfg.GlobalURL)
	l.kicks = make(chan struct{}, 1)
	err := s.View(func(tx *store.Tx) error {
		last, err := tx.LastID(records)
		l.ids.Store(last)
		return err
	})
	if err != nil {
		return nil, err
	}
	if err := l.mend(); err != nil {
		return nil, err
	}
	if err := l.openDigest(); err != nil {
		return nil, fmt.Errorf("delivery: open the digest: %w", err)
	}
	if err := l.adopt(adoptStep); err != nil {
		return nil, err
	}
	if cfg.Outbox != nil {
		cfg.Outbox.OnEmit(l.EmitBatch)
	}
	return l, nil
}

// Start runs the background work until Stop.
func (l *Ledger) Start(context.Context) error {
	l.startTidy()
	return nil
}

// Stop ends what Start began.
func (l *Ledger) Stop(ctx context.Context) error {
	l.stopTidy(ctx)
	l.work.Wait()
	return nil
}

// NextID returns the id for a new record.
func (l *Ledger) NextID() uint64 { return l.ids.Add(1) }

// LogIsOn reports whether records of what ended are kept.
func (l *Ledger) LogIsOn() bool { return l.cfg.Log }

// Store returns the file of the ledger.
func (l *Ledger) Store() *store.Store { return l.store }

// Digest returns the digest of the records.
func (l *Ledger) Digest() *digest.Digest { return l.digest }

// Resolve returns the current configuration of a destination.
func (l *Ledger) Resolve(lane Lane) (event.Destination, Status) { return l.cfg.Resolve(lane) }

// Freed reports deliveries that ended in a commit to Config.Ended, which releases those behind them.
func (l *Ledger) Freed(ended []Ended) {
	if len(ended) > 0 {
		l.cfg.Ended(ended)
	}
}
