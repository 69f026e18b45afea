package pace

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"sync"
	"time"

	"postern/event"
	"postern/store"
	"postern/store/schema"
)

const (
	bucket = "pacing"
	heads  = "pacing_heads"
)

// Buckets returns the buckets of this package.
func Buckets() []schema.Bucket {
	return []schema.Bucket{
		{Name: bucket, Owner: "pace", Key: "instance id + kind + number", Value: "limits of an instance, and what left, by kind", Needs: schema.References(schema.Sized(0), "", readable), Of: schema.FirstID},
		{Name: heads, Owner: "pace", Key: "instance id", Value: "how much left and may leave, and what left last", Needs: schema.References(decodeHeads, countedAsSent), Of: schema.FirstID},
	}
}

// Store is the part of a [store.Store] that a Pacer uses.
type Store interface {
	View(fn func(*store.Tx) error) error
	Update(ctx context.Context, fn func(*store.Tx) error) error
	Submit(fn func(*store.Tx) error) (*store.Submitted, error)
	Attach(fn func(*store.Tx) error) (*store.Submitted, error)
}

// Config configures a Pacer. Store is required.
type Config struct {
	Store Store
	// Location is the zone of limits without one; nil means UTC.
	Location *time.Location
	// Person returns one name for the person at a JID, the same for all their JIDs, from
	// memory; empty: not a person. nil: no JID is a person's.
	Person func(jid string) string
	// IsNew reports whether the person at a JID is a new contact of the instance: no
	// message and no token from them is stored. It is called only where new contacts are
	// limited. nil: none is new.
	IsNew func(instance int64, jid string) bool
	// Changed is called when an instance may send sooner than a refusal said. It must not
	// block. It may be nil.
	Changed func(instance int64)

	// Now is the clock; nil: time.Now. Its values should have a monotonic reading, which
	// measures minutes and hours.
	Now func() time.Time
	// Date is the wall clock; nil: Now.
	Date func() time.Time

	Logger *slog.Logger // nil discards

	now func() moment // nil: derived from Now
}

// Pacer holds the limits of all instances. It is safe for concurrent use.
type Pacer struct {
	cfg Config
	log *slog.Logger

	setting sync.Mutex // serializes Set

	mu      sync.RWMutex
	books   map[int64]*ledger
	holders map[string]int64 // instance where a sender has, or may have, its place
}

// clocks returns moments of clock, with the wall clock date, or clock if date is nil.
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

// Open reads all limits and departures, and records what may have left before a crash.
func Open(ctx context.Context, cfg Config) (*Pacer, error) {
	cfg.Logger = cmp.Or(cfg.Logger, slog.New(slog.DiscardHandler))
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

// Close withdraws the grants of all instances, so that the next start has exact counts.
// If it fails, as on a full disk with [store.ErrDiskFull], the next start counts granted
// messages as sent.
func (p *Pacer) Close() error {
	p.mu.RLock()
	defer p.mu.RUnlock()
	var err error
	for _, l := range p.books {
		err = errors.Join(err, l.close())
	}
	return err
}

// ledger returns the ledger of an instance, nil if no limits were ever set.
func (p *Pacer) ledger(instance int64) *ledger {
	p.mu.RLock()
	defer p.mu.RUnlock()
	return p.books[instance]
}

// Limits returns the limits of an instance.
func (p *Pacer) Limits(instance int64) Limits {
	l := p.ledger(instance)
	if l == nil {
		return Limits{}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.limits
}

// Status returns the usage of an instance's limits, nil if none are set.
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

// Set replaces the limits of an instance and returns them as stored. A warm-up without a
// start keeps the former start, or begins now. exists reports in the commit whether the
// instance still exists. Errors: an event.RuleError, ErrGone and those of the store.
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

// beginning returns the warm-up with a start.
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

// ErrGone reports that the instance was deleted in the meantime.
var ErrGone = errors.New("pace: the instance is gone")

func (p *Pacer) replace(ctx context.Context, instance int64, limits Limits, exists func(*store.Tx) bool) (Limits, error) {
	p.setting.Lock()
	defer p.setting.Unlock()
	l, isNew := p.ledger(instance), false
	if l == nil {
		var err error
		if l, isNew, err = p.open(instance); err != nil {
			return Limits{}, fmt.Errorf("limits of instance %d: %w", instance, err)
		}
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

// open returns the ledger of an instance that has none in memory: what Keep stored, or a
// new one.
func (p *Pacer) open(instance int64) (l *ledger, isNew bool, err error) {
	l = newLedger(p, instance)
	err = p.cfg.Store.View(func(tx *store.Tx) error {
		f, err := foundOf(tx, instance)
		if isNew = f == nil; err == nil && !isNew {
			l.restore(p.cfg.now(), f)
		}
		return err
	})
	return l, isNew, err
}

// Settle records what has left and withdraws the grant of an instance that does not send,
// so that the file has exact counts. If it fails, granted messages count as sent.
func (p *Pacer) Settle(instance int64) error {
	if l := p.ledger(instance); l != nil {
		return l.close()
	}
	return nil
}

// Forget deletes the stored state of an instance, in the commit that deletes the
// instance.
func Forget(tx *store.Tx, instance int64) error {
	_, err := tx.DeletePrefix(bucket, store.Key(instance))
	return errors.Join(err, tx.Delete(heads, store.Key(instance)))
}

// Drop removes a deleted instance from memory.
func (p *Pacer) Drop(instance int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.books, instance)
}

// draw returns a random time between two messages.
func (j *Jitter) draw() time.Duration {
	if j == nil {
		return 0
	}
	return time.Duration(j.Min+rand.Int64N(j.Max-j.Min+1)) * time.Millisecond
}
