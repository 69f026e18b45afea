package pace

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"sync"
	"time"

	"postern/event"
	"postern/store"
)

const (
	bucket = "pacing"
	heads  = "pacing_heads"
)

// Buckets returns the buckets of this package.
func Buckets() []store.Bucket {
	return []store.Bucket{
		{Name: bucket, Owner: "pace", Key: "instance id + kind + number", Value: "limits of an instance, and what left, by kind", Needs: recordNeeds, Of: store.FirstID},
		{Name: heads, Owner: "pace", Key: "instance id", Value: "how much left and may leave, and what left last", Needs: headNeeds, Of: store.FirstID},
	}
}

// Store is what a Pacer needs of a [store.Store].
type Store interface {
	View(fn func(*store.Tx) error) error
	Update(ctx context.Context, fn func(*store.Tx) error) error
	Submit(fn func(*store.Tx) error) (*store.Submitted, error)
	Attach(fn func(*store.Tx) error) (*store.Submitted, error)
}

// Config is what a Pacer needs. Store is required.
type Config struct {
	Store Store
	// Location is the zone of limits that name none; nil means UTC.
	Location *time.Location
	// Person tells the one name of the person at a JID, whichever of their JIDs
	// that is, from memory; empty: it is no person's. nil: nobody is a person.
	Person func(jid string) string
	// IsNew reports whether the person at a JID is a new contact of the instance:
	// nothing that they wrote is stored, and no token of theirs. It is asked only
	// where new contacts are limited. nil: nobody is new.
	IsNew func(instance int64, jid string) bool
	// Changed is told that an instance may send sooner than a refusal said. It
	// must not block. nil: nobody is told.
	Changed func(instance int64)

	// Now is the clock; nil: time.Now. What it returns should have a monotonic
	// reading, by which minutes and hours are measured.
	Now func() time.Time
	// Date is what the clock on the wall counts as showing; nil: Now.
	Date func() time.Time

	Logger *slog.Logger // nil discards

	now func() moment // nil: by Now
}

// Pacer holds the limits of all instances. Its methods may be called from any
// goroutine.
type Pacer struct {
	cfg Config
	log *slog.Logger

	setting sync.Mutex // held by Set

	mu      sync.RWMutex
	books   map[int64]*ledger
	holders map[string]int64 // where a sender has, or may have, its place
}

// clocks reads what the wall shows off date, or off clock when that is nil.
func clocks(clock, date func() time.Time) func() moment {
	started := clock()
	if date == nil {
		return func() moment {
			now := clock()
			return moment{now, now.Sub(started)}
		}
	}
	return func() moment { return moment{date(), clock().Sub(started)} }
}

// Open reads all limits and what left, and notes what may have left unnoted
// before a crash.
func Open(ctx context.Context, cfg Config) (*Pacer, error) {
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	if cfg.Location == nil {
		cfg.Location = time.UTC
	}
	if cfg.Person == nil {
		cfg.Person = func(string) string { return "" }
	}
	if cfg.IsNew == nil {
		cfg.IsNew = func(int64, string) bool { return false }
	}
	if cfg.Changed == nil {
		cfg.Changed = func(int64) {}
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	if cfg.now == nil {
		cfg.now = clocks(cfg.Now, cfg.Date)
	}
	p := &Pacer{cfg: cfg, log: cfg.Logger.With("component", "pace"), books: map[int64]*ledger{}, holders: map[string]int64{}}
	if err := p.load(ctx); err != nil {
		return nil, fmt.Errorf("pace: %w", err)
	}
	return p, nil
}

// Close withdraws the grants of all instances, so that the next start knows
// exactly what left. Where it fails, as on a full disk with [store.ErrDiskFull],
// the next start counts what was granted as having left.
func (p *Pacer) Close() error {
	p.mu.RLock()
	defer p.mu.RUnlock()
	var err error
	for _, l := range p.books {
		err = errors.Join(err, l.close())
	}
	return err
}

// ledger returns that of an instance, nil when no limits were ever set.
func (p *Pacer) ledger(instance int64) *ledger {
	p.mu.RLock()
	defer p.mu.RUnlock()
	return p.books[instance]
}

// Limits returns what is set for an instance.
func (p *Pacer) Limits(instance int64) Limits {
	l := p.ledger(instance)
	if l == nil {
		return Limits{}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.limits
}

// Status tells how an instance stands to its limits; nil: none are set.
func (p *Pacer) Status(instance int64) *Status {
	l := p.ledger(instance)
	if l == nil {
		return nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.limits == (Limits{Timezone: l.limits.Timezone}) {
		return nil
	}
	s := l.status(p.cfg.now())
	return &s
}

// Set replaces the limits of an instance and returns them as they are kept: a
// warm-up that does not say when it began keeps the former one's beginning, or
// begins now. exists tells in the commit whether the instance is still there.
// Errors: a RuleError, ErrGone and those of the store.
func (p *Pacer) Set(ctx context.Context, instance int64, limits Limits, exists func(*store.Tx) bool) (Limits, error) {
	if err := limits.Check(); err != nil {
		return Limits{}, err
	}
	l, err := p.replace(ctx, instance, limits, exists)
	if err != nil {
		return Limits{}, err
	}
	p.cfg.Changed(instance)
	return l, nil
}

// beginning returns a warm-up that says when it began, or begins.
func (w *WarmUp) beginning(before *WarmUp, now time.Time) *WarmUp {
	if w == nil {
		return nil
	}
	begun := *w
	switch {
	case w.StartedAt != "":
		begun.StartedAt = event.At(w.began()).String()
	case before != nil:
		begun.StartedAt = before.StartedAt
	default:
		begun.StartedAt = event.At(now).String()
	}
	return &begun
}

// ErrGone is returned for an instance that was deleted meanwhile.
var ErrGone = errors.New("pace: the instance is gone")

func (p *Pacer) replace(ctx context.Context, instance int64, limits Limits, exists func(*store.Tx) bool) (Limits, error) {
	p.setting.Lock()
	defer p.setting.Unlock()
	l, isNew := p.ledger(instance), false
	if l == nil {
		l, isNew = newLedger(p, instance), true
	}
	limits.WarmUp = limits.WarmUp.beginning(l.limits.WarmUp, p.cfg.now().wall)
	zone, err := limits.zone(p.cfg.Location)
	if err != nil {
		return Limits{}, err
	}
	err = p.cfg.Store.Update(ctx, func(tx *store.Tx) error {
		if !exists(tx) {
			return ErrGone
		}
		if isNew {
			if err := tx.Put(heads, headKey(instance), head{}.encode(moment{}, nil)); err != nil {
				return err
			}
		}
		return store.PutJSON(tx, bucket, limitsKey(instance), limits)
	})
	if err != nil {
		return Limits{}, fmt.Errorf("limits of instance %d: %w", instance, err)
	}
	l.mu.Lock()
	l.limits, l.zone, l.calendar = limits, zone, calendar{}
	l.mu.Unlock()
	p.mu.Lock()
	p.books[instance] = l
	p.mu.Unlock()
	return limits, nil
}

// Forget deletes what is kept of an instance, in the commit that deletes it.
func Forget(tx *store.Tx, instance int64) error {
	_, err := tx.DeletePrefix(bucket, store.Key(instance))
	return errors.Join(err, tx.Delete(heads, store.Key(instance)))
}

// Drop forgets an instance that was deleted.
func (p *Pacer) Drop(instance int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.books, instance)
}

// draw is a random time between two messages.
func (j *Jitter) draw() time.Duration {
	if j == nil {
		return 0
	}
	return time.Duration(j.Min+rand.Int64N(j.Max-j.Min+1)) * time.Millisecond
}
