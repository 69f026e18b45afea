package pull

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"regexp"
	"slices"
	"sort"
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

// State is a consumer.
type State struct {
	Name          string
	Position      uint64
	Lag           uint64 // events after it
	OldestWaiting time.Time
	LastPull      time.Time
	LastAck       time.Time
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
	if err == nil {
		err = recheck()
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

// Ack moves a consumer's position forward, never back. Errors: ErrNotFound, ErrAhead.
func (c *Consumers) Ack(ctx context.Context, instance int64, name string, sequence uint64) (State, error) {
	return c.move(ctx, instance, name, func(tx *store.Tx, rec *record, newest uint64) error {
		if sequence > newest {
			return ErrAhead
		}
		if sequence >= rec.Position {
			rec.Position, rec.Acked = sequence, event.At(tx.Now())
		}
		return nil
	})
}

// Seek moves a consumer's position anywhere; 0 is before the oldest event. Errors: ErrNotFound, ErrAhead.
func (c *Consumers) Seek(ctx context.Context, instance int64, name string, sequence uint64) (State, error) {
	return c.move(ctx, instance, name, func(tx *store.Tx, rec *record, newest uint64) (err error) {
		if sequence > newest {
			return ErrAhead
		}
		if sequence == 0 {
			if sequence, err = c.beforeOldest(tx, instance, newest); err != nil {
				return err
			}
		}
		return rec.seek(tx, instance, sequence)
	})
}

// seek moves the position. Losses that the consumer has reached before or passes now are not reported again.
func (r *record) seek(tx *store.Tx, instance int64, to uint64) error {
	passed, err := lost(tx, instance, max(r.Position, to))
	r.Position, r.Passed = to, max(r.Passed, passed)
	return err
}

func (c *Consumers) beforeOldest(tx *store.Tx, instance int64, newest uint64) (uint64, error) {
	oldest, err := c.oldestOf(tx, instance)
	if err != nil || oldest == 0 {
		return newest, err
	}
	return oldest - 1, nil
}

// SeekTime moves a consumer before the first event that was made at a time or later. The error is ErrNotFound.
func (c *Consumers) SeekTime(ctx context.Context, instance int64, name string, at time.Time) (State, error) {
	return c.move(ctx, instance, name, func(tx *store.Tx, rec *record, newest uint64) error {
		low, err := c.beforeOldest(tx, instance, newest)
		if err != nil {
			return err
		}
		// Times ascend with the numbers.
		n := sort.Search(int(newest-low), func(i int) bool { //nolint:gosec // fewer than are in the file
			next, found, errNext := c.next(tx, instance, low+uint64(i)) //nolint:gosec // not negative
			err = errors.Join(err, errNext)
			return !found || !next.CreatedAt.Before(at)
		})
		to := low + uint64(n) //nolint:gosec // not negative
		next, found, errNext := c.next(tx, instance, to)
		if err = errors.Join(err, errNext); err != nil {
			return err
		}
		if to = newest; found {
			to = next.Sequence - 1 // behind events that are not kept
		}
		return rec.seek(tx, instance, to)
	})
}

// next returns the first event after a number that is kept.
func (c *Consumers) next(tx *store.Tx, instance int64, number uint64) (next Item, found bool, err error) {
	err = c.eachAfter(tx, instance, number, func(i Item) bool {
		next, found = i, true
		return false
	})
	return next, found, err
}

// move changes a consumer in a commit.
func (c *Consumers) move(ctx context.Context, instance int64, name string, change func(*store.Tx, *record, uint64) error) (s State, err error) {
	err = c.store.Update(ctx, func(tx *store.Tx) error {
		rec, err := find(tx, instance, name)
		if err != nil {
			return err
		}
		newest, err := newestOf(tx, instance)
		if err != nil {
			return err
		}
		before := rec
		if err := change(tx, &rec, newest); err != nil {
			return err
		}
		if s, err = c.stateOf(tx, instance, name, rec, newest); err != nil || rec == before {
			return err
		}
		if at := c.lastPull(instance, name); !at.IsZero() {
			rec.Pulled = event.At(at)
		}
		return put(tx, instance, name, rec)
	})
	return s, err
}

func (c *Consumers) lastPull(instance int64, name string) time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.pulled[string(consumerKey(instance, name))]
}

// stateOf returns a consumer as it is shown.
func (c *Consumers) stateOf(tx *store.Tx, instance int64, name string, rec record, newest uint64) (State, error) {
	s := State{Name: name, Position: rec.Position, LastPull: rec.Pulled.Time, LastAck: rec.Acked.Time}
	if at := c.lastPull(instance, name); at.After(s.LastPull) {
		s.LastPull = at
	}
	if newest > rec.Position {
		s.Lag = newest - rec.Position
	}
	next, _, err := c.next(tx, instance, rec.Position)
	s.OldestWaiting = next.CreatedAt
	return s, err
}

// List returns the consumers of an instance by name.
func (c *Consumers) List(instance int64) (all []State, err error) {
	err = c.store.View(func(tx *store.Tx) error {
		newest, err := newestOf(tx, instance)
		if err != nil {
			return err
		}
		var names []string
		err = tx.Walk(consumers, store.Range{Prefix: store.Key(instance)}, func(k []byte) (bool, error) {
			names = append(names, string(k[8:]))
			return true, nil
		})
		for _, name := range names {
			rec, errFind := find(tx, instance, name)
			if errors.Is(errFind, store.ErrDamaged) {
				continue
			}
			s, errState := c.stateOf(tx, instance, name, rec, newest)
			if err = errors.Join(err, errFind, errState); err != nil {
				return err
			}
			all = append(all, s)
		}
		return err
	})
	return all, err
}

// Delete removes a consumer. The error is ErrNotFound.
func (c *Consumers) Delete(ctx context.Context, instance int64, name string) error {
	err := c.store.Update(ctx, func(tx *store.Tx) error {
		if _, err := find(tx, instance, name); err != nil && !errors.Is(err, store.ErrDamaged) {
			return err
		}
		return tx.Delete(consumers, consumerKey(instance, name))
	})
	if err == nil {
		c.mu.Lock()
		delete(c.pulled, string(consumerKey(instance, name)))
		c.mu.Unlock()
	}
	return err
}

// NoteLost notes in a commit that n events of an instance that should have been stored are delivered from memory: the
// commit of their cause, so that no crash hides the loss.
func (c *Consumers) NoteLost(tx *store.Tx, instance int64, n int) error {
	tx.Wake()
	return c.addLoss(tx, instance, uint64(n)) //nolint:gosec // not negative
}

// Lost is NoteLost for an event that has no cause in the file. The note is in the file before Lost returns or, if the
// disk has no room for it, before a later pull of the instance is answered.
func (c *Consumers) Lost(instance int64) {
	c.mu.Lock()
	c.unnoted[instance]++
	c.mu.Unlock()
	c.note(instance)
}

// note writes the losses of an instance that are not in the file yet.
func (c *Consumers) note(instance int64) {
	c.mu.Lock()
	n := c.unnoted[instance]
	delete(c.unnoted, instance)
	c.mu.Unlock()
	if n == 0 {
		return
	}
	err := c.store.Update(context.Background(), func(tx *store.Tx) error {
		if c.exists(tx, instance) != nil {
			return nil
		}
		return c.NoteLost(tx, instance, int(n)) //nolint:gosec // of this process
	})
	if err != nil {
		c.log.Warn("events that were not stored could not be noted for consumers, trying again", "instance_id", instance, "count", n, "error", err)
		c.mu.Lock()
		c.unnoted[instance] += n
		c.mu.Unlock()
	}
}

// Wanted returns the function that reports whether a kind is one of these; nil: all are.
func Wanted(kinds []event.Kind) func(event.Kind) bool {
	return func(k event.Kind) bool { return kinds == nil || slices.Contains(kinds, k) }
}
