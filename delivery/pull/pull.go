package pull

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"regexp"
	"slices"
	"sync"
	"time"

	"postern/event"
	"postern/store"
)

// Bounds of consumers and their pages.
const (
	MaxConsumers = 16      // of an instance
	MaxWaiting   = 64      // pulls of an instance that wait for an event
	MaxLimit     = 1000    // events of a page
	maxPage      = 4 << 20 // bytes of a page, but one event at least
	aroundBody   = 256     // bytes of a page for an event without its body, at most
	maxLooked    = 20_000  // events that one pull looks at
)

// Errors of the calls. A GoneError has the oldest event.
var (
	ErrNotFound    = errors.New("there is no such consumer; its first GET makes it")
	ErrTooMany     = fmt.Errorf("the instance has %d consumers; delete one that is not used", MaxConsumers)
	ErrName        = errors.New("consumer must be 1 to 64 of A-Z, a-z, 0-9, '.', '_' and '-'")
	ErrAhead       = errors.New("sequence must be 0 to that of the newest event")
	ErrManyWaiting = fmt.Errorf("%d pulls of the instance wait for an event already", MaxWaiting)
)

// GoneError reports that the event after a consumer's position is not kept any more, or was never stored.
type GoneError struct {
	Oldest uint64 // the first event that can be read
}

// Error implements error.
func (e *GoneError) Error() string {
	return fmt.Sprintf("events after the consumer's position are not kept any more; the oldest one is %d: seek to %d or later", e.Oldest, max(e.Oldest, 1)-1)
}

// Page is what a pull reads.
type Page struct {
	Items []Item
	Next  uint64 // to acknowledge: the last event that was looked at
	More  bool   // another pull from Next would not wait
}

// Request is a pull.
type Request struct {
	Limit   int
	Wait    time.Duration
	Wants   func(event.Kind) bool // which events the page has; the others are passed over
	FromNow bool                  // a consumer that is made begins at the newest event instead of the oldest
}

// Consumers keeps the consumers of a data file. It is safe for concurrent use.
type Consumers struct {
	store *store.Store
	log   *slog.Logger
	// there reports in a commit whether an instance exists: nil, or an error.
	there func(tx *store.Tx, instance int64) error
	// emitted returns a channel that is closed after the next commit with a batch event.
	emitted func() <-chan struct{}

	mu      sync.Mutex
	waiting map[int64]int
	pulled  map[string]time.Time // the last pull by key, since the start
	unnoted map[int64]uint64     // losses that are not in the file yet

	trimmed uint64 // rows of the stream up to here were looked at; only of the goroutine of Start

	gone chan struct{} // an instance was deleted
	life context.Context
	end  context.CancelFunc
	work sync.WaitGroup
}

// New returns the consumers of a data file. there reports in a commit whether an instance exists, and emitted returns
// a channel that is closed after the next commit with a batch event.
func New(s *store.Store, there func(tx *store.Tx, instance int64) error, emitted func() <-chan struct{}, log *slog.Logger) *Consumers {
	c := &Consumers{store: s, there: there, emitted: emitted, log: log.With("component", "pull"), waiting: map[int64]int{}, pulled: map[string]time.Time{}, unnoted: map[int64]uint64{}, gone: make(chan struct{}, 1)}
	c.gone <- struct{}{} // of an earlier process
	c.life, c.end = context.WithCancel(context.Background())
	return c
}

var validName = regexp.MustCompile(`^[A-Za-z0-9._-]{1,64}$`)

// CheckName returns ErrName for a name that no consumer can have.
func CheckName(name string) error {
	if !validName.MatchString(name) {
		return ErrName
	}
	return nil
}

// Pull returns the events after a consumer's position, oldest first, and makes the consumer if there is none. While
// there is nothing it waits as long as asked. It looks at the credential of the caller again with recheck before a
// wait ends. Errors: ErrName, ErrTooMany, ErrManyWaiting, GoneError, that of recheck, and the cause of ctx's end.
func (c *Consumers) Pull(ctx context.Context, instance int64, name string, r Request, recheck func() error) (Page, error) {
	if err := CheckName(name); err != nil {
		return Page{}, err
	}
	if err := c.make(ctx, instance, name, r.FromNow); err != nil {
		return Page{}, err
	}
	c.mu.Lock()
	c.pulled[string(consumerKey(instance, name))] = c.store.Now()
	c.mu.Unlock()
	w := &look{c: c, instance: instance, name: name, r: r}
	p, err := w.again()
	if err != nil || r.Wait <= 0 || !p.waits() {
		return p, err
	}
	leave, err := c.enter(instance)
	if err != nil {
		return p, err
	}
	defer leave()
	over := time.NewTimer(r.Wait)
	defer over.Stop()
	for p.waits() && err == nil {
		select {
		case <-w.changed:
			p, err = w.again()
			continue
		case <-w.batches:
			p, err = w.again()
			continue
		case <-ctx.Done():
			return p, context.Cause(ctx)
		case <-over.C:
		}
		break
	}
	if errNow := recheck(); errNow != nil {
		err = errNow
	}
	return p, err
}

// waits reports whether a page has nothing for its caller, and there is nothing behind it.
func (p Page) waits() bool { return len(p.Items) == 0 && !p.More }

// enter counts a pull that waits. leave ends it.
func (c *Consumers) enter(instance int64) (leave func(), err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.waiting[instance] >= MaxWaiting {
		return nil, ErrManyWaiting
	}
	c.waiting[instance]++
	return func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		if c.waiting[instance]--; c.waiting[instance] == 0 {
			delete(c.waiting, instance)
		}
	}, nil
}

// make makes a consumer that does not exist.
func (c *Consumers) make(ctx context.Context, instance int64, name string, fromNow bool) error {
	err := c.store.View(func(tx *store.Tx) error {
		_, err := find(tx, instance, name)
		return err
	})
	if !errors.Is(err, ErrNotFound) {
		return err
	}
	return c.store.Update(ctx, func(tx *store.Tx) error {
		if err := c.exists(tx, instance); err != nil {
			return err
		}
		if _, err := find(tx, instance, name); !errors.Is(err, ErrNotFound) {
			return err
		}
		if n, err := tx.CountSome(consumers, store.Key(instance), MaxConsumers); err != nil || n >= MaxConsumers {
			return errors.Join(err, ErrTooMany)
		}
		at, err := newestOf(tx, instance)
		if err == nil && !fromNow {
			at, err = c.beforeOldest(tx, instance, at)
		}
		if err != nil {
			return err
		}
		rec := record{Pulled: event.At(tx.Now())}
		if err := rec.seek(tx, instance, at); err != nil {
			return err
		}
		return put(tx, instance, name, rec)
	})
}

// exists reports whether there is an instance; All always is.
func (c *Consumers) exists(tx *store.Tx, instance int64) error {
	if instance == All {
		return nil
	}
	return c.there(tx, instance)
}

// look is a pull while it waits.
type look struct {
	c        *Consumers
	instance int64
	name     string
	r        Request

	changed, batches <-chan struct{} // closed after the next commit with an event: of an instance, of a batch

	begin, seen uint64 // there is nothing for the caller between the position and the event that was seen last
}

// again reads the page. What it has seen before, it does not look at once more.
func (w *look) again() (p Page, err error) {
	c := w.c
	w.changed = c.store.Woken()
	if w.instance == All {
		w.batches = c.emitted()
	}
	c.note(w.instance)
	err = c.store.View(func(tx *store.Tx) error {
		rec, err := find(tx, w.instance, w.name)
		if err != nil {
			return err
		}
		if rec.Position != w.begin {
			w.begin, w.seen = rec.Position, rec.Position
		}
		p, err = c.page(tx, w.instance, rec, w.seen, w.r)
		return err
	})
	w.seen = p.Next
	return p, err
}

// page reads the events after a consumer's position, from one on that the caller has looked at.
func (c *Consumers) page(tx *store.Tx, instance int64, rec record, from uint64, r Request) (p Page, err error) {
	p.Next = from
	end, lossAt, err := lossAfter(tx, instance, rec)
	if err != nil {
		return p, err
	}
	newest, err := newestOf(tx, instance)
	if err != nil || from >= newest && !lossAt {
		return p, err
	}
	at, size, looked, hole := from, 0, 0, false
	err = c.eachAfter(tx, instance, from, func(e Item) bool {
		if hole = e.Sequence != at+1 || lossAt && at >= end; hole {
			return false
		}
		wanted, full := e.Body != nil && r.Wants(e.Kind), len(p.Items) == r.Limit
		if looked == maxLooked || wanted && (full || len(p.Items) > 0 && size+len(e.Body)+aroundBody > maxPage) {
			p.More = true
			return false
		}
		looked++
		if at = e.Sequence; full {
			return true // is there another one?
		}
		p.Next = at
		if wanted {
			size += len(e.Body) + aroundBody
			p.Items = append(p.Items, e)
		}
		return true
	})
	if err != nil {
		return p, err
	}
	stuck := hole || at < newest && !p.More || lossAt && at >= end
	switch {
	case stuck && at > rec.Position: // what is before the hole can be read and acknowledged
		p.More = true
	case stuck:
		return p, c.goneError(tx, instance, rec.Position)
	}
	return p, nil
}

// lossAfter returns the event after which the first loss lies that a consumer has not passed.
func lossAfter(tx *store.Tx, instance int64, rec record) (at uint64, found bool, err error) {
	r := store.Range{Prefix: store.Key(instance), From: store.Key(instance, rec.Position)}
	err = eachLoss(tx, r, func(after, total uint64) bool {
		if total > rec.Passed {
			at, found = after, true
		}
		return !found
	})
	return at, found, err
}

// goneError returns the error of a consumer whose next event is not there.
func (c *Consumers) goneError(tx *store.Tx, instance int64, position uint64) error {
	first, found, err := c.next(tx, instance, position)
	if err == nil && !found {
		first.Sequence, err = newestOf(tx, instance)
		first.Sequence++
	}
	if err != nil {
		return err
	}
	return &GoneError{first.Sequence}
}

// Wanted returns the function that reports whether a kind is one of these; nil: all are.
func Wanted(kinds []event.Kind) func(event.Kind) bool {
	return func(k event.Kind) bool { return kinds == nil || slices.Contains(kinds, k) }
}
