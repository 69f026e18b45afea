package receivers

import (
	"cmp"
	"context"
	"errors"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"postern/delivery"
	"postern/delivery/outbox"
	"postern/event"
	"postern/store"
)

// ErrNotFound reports that there is no such receiver.
var ErrNotFound = errors.New("there is no such receiver")

// Place is a configured destination.
type Place struct {
	Lane    delivery.Lane
	Name    string // of the instance, empty for the global webhook
	URL     string
	Enabled bool
	Durable bool          // its events are stored
	MaxAge  time.Duration // of its durable events; 0: no end
}

// Pulling is a consumer that pulls.
type Pulling struct {
	Instance int64 // 0: of all events
	Name     string
	Consumer string
	Lag      uint64
	Oldest   time.Time // when the oldest event that waits was made
	LastPull time.Time
}

// InMemory is what waits in memory for a lane.
type InMemory struct {
	Waiting int
	Oldest  time.Time
}

// Config configures a Book. All fields are required.
type Config struct {
	Store   *store.Store
	Outbox  *outbox.Outbox
	Health  *Health
	Pauses  *Pauses
	Resolve Resolver

	// Places returns the configured destinations of an instance, 0: the global webhook; of all, with All.
	Places func(instance int64) []Place
	// Pulling returns the consumers of an instance, 0: of all events; of all, with All.
	Pulling func(instance int64) ([]Pulling, error)
	// InMemory returns what waits in memory.
	InMemory func() map[delivery.Lane]InMemory
	// Probe returns when a lane with an open breaker is tried next.
	Probe func(delivery.Lane) time.Time
}

// All stands for all instances and the global webhook.
const All int64 = -1

// Book lists receivers. It is safe for concurrent use.
type Book struct {
	Config
	mu      sync.Mutex
	count   map[int64]int // what waits, by instance; nil: never counted
	counted time.Time
}

// Row is a receiver with what is known of it.
type Row struct {
	ID       ID
	URL      string // without its query; empty for a consumer
	Origin   string // scheme, host and port; empty for a consumer
	Target   Target
	Endpoint string // its id, or the name of the consumer
	Instance int64
	Name     string // of the instance
	Durable  bool
	Enabled  bool

	Standing
	Paused time.Time // until then; zero: it is not

	Waiting int           // of both flows
	Oldest  time.Time     // when the oldest that waits was made
	Next    time.Time     // the next attempt; zero: none is set
	MaxAge  time.Duration // of what is durable; 0: no end

	Day   Day
	Hours []Hour
}

// waiting is what waits for a receiver.
type waiting struct {
	n            int
	oldest, next time.Time
}

func (w *waiting) add(n int, oldest, next time.Time) {
	w.n += n
	w.oldest, w.next = earlier(w.oldest, oldest), earlier(w.next, next)
}

// earlier returns the earlier of two times; zero is none.
func earlier(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}

// List returns the receivers of an instance, 0: the global webhook, or of All; FAILING first, then those with the oldest
// that waits. A row has no Hours.
func (b *Book) List(instance int64) ([]Row, error) {
	waits, err := b.waits(instance)
	if err != nil {
		return nil, err
	}
	var rows []Row
	for _, p := range b.Places(instance) {
		id := Of(p.Lane)
		w := waits[id]
		if p.Enabled || w.n > 0 {
			rows = append(rows, b.row(id, p, w))
		}
	}
	pulling, err := b.Pulling(instance)
	for _, p := range pulling {
		rows = append(rows, ofConsumer(p))
	}
	slices.SortStableFunc(rows, compare)
	return rows, err
}

// Waiting returns how many events wait for the receivers of an instance. All are counted together, at most once a
// second: callers may ask often, and counting goes through whatever waits in memory.
func (b *Book) Waiting(instance int64) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if old := time.Since(b.counted); b.count != nil && old < time.Second {
		return b.count[instance], nil
	}
	count := map[int64]int{}
	for lane, w := range b.InMemory() {
		count[lane.Instance] += w.Waiting
	}
	err := b.Store.View(func(tx *store.Tx) error {
		lanes, err := delivery.Backlogs(tx)
		for _, l := range lanes {
			count[l.Lane.Instance] += l.Pending
		}
		return err
	})
	if err != nil {
		return 0, err
	}
	b.count, b.counted = count, time.Now()
	return count[instance], nil
}

// Wrong returns the receivers that fail, have lost events, or have events that wait, in no order. Its cost depends on
// their number alone.
func (b *Book) Wrong() ([]Row, error) {
	waits, err := b.waits(All)
	if err != nil {
		return nil, err
	}
	for _, id := range b.Health.wrong() {
		if _, known := waits[id]; !known {
			waits[id] = waiting{}
		}
	}
	var rows []Row
	for id, w := range waits {
		for _, p := range b.Places(id.Instance()) {
			if Of(p.Lane) == id && (p.Enabled || w.n > 0) {
				rows = append(rows, b.row(id, p, w))
			}
		}
	}
	pulling, err := b.Pulling(All)
	for _, p := range pulling {
		if p.Lag > 0 {
			rows = append(rows, ofConsumer(p))
		}
	}
	return rows, err
}

func compare(a, b Row) int {
	return cmp.Or(rank(a)-rank(b), compareTimes(a.Oldest, b.Oldest), cmp.Compare(a.Instance, b.Instance), cmp.Compare(a.ID, b.ID))
}

func rank(r Row) int {
	if r.State == Failing {
		return 0
	}
	return 1
}

// compareTimes orders by time, with none last.
func compareTimes(a, b time.Time) int {
	switch {
	case a.IsZero() && b.IsZero():
		return 0
	case a.IsZero():
		return 1
	case b.IsZero():
		return -1
	}
	return a.Compare(b)
}

// Row returns one receiver, with Hours. Errors: ErrNotFound.
func (b *Book) Row(id ID) (Row, error) {
	p, ok := id.parts()
	if !ok {
		return Row{}, ErrNotFound
	}
	rows, err := b.List(p.instance)
	if err != nil {
		return Row{}, err
	}
	i := slices.IndexFunc(rows, func(r Row) bool { return r.ID == id })
	if i < 0 {
		return Row{}, ErrNotFound
	}
	r := rows[i]
	if r.Target != TargetConsumer {
		r.Hours = b.Health.Hours(id, b.url(id))
	}
	return r, nil
}

// url returns the address of a receiver now.
func (b *Book) url(id ID) string {
	for _, lane := range id.lanes() {
		if to, _ := b.Resolve(lane); to.URL != "" {
			return to.URL
		}
	}
	return ""
}

func (b *Book) row(id ID, p Place, w waiting) Row {
	target, _ := id.parts()
	r := Row{
		ID: id, URL: delivery.ShownURL(p.URL), Origin: Origin(p.URL), Target: target.target, Endpoint: target.name, Instance: target.instance, Name: p.Name,
		Durable: p.Durable || id == Global, Enabled: p.Enabled, Standing: b.Health.Standing(id, p.URL, w.n > 0), Paused: b.Pauses.Until(id),
		Waiting: w.n, Oldest: w.oldest, Next: w.next,
	}
	if p.Durable {
		r.MaxAge = p.MaxAge
	}
	if !p.Enabled {
		r.State, r.Since, r.Failures = Idle, time.Time{}, 0
	}
	if !r.Paused.IsZero() {
		r.State = Paused
	}
	if !p.Enabled || r.State == Paused {
		r.Next = time.Time{}
	} else if w.n > 0 {
		for _, lane := range id.lanes() {
			if probe := b.Probe(lane); !probe.IsZero() {
				r.Next = probe
			}
		}
	}
	r.Day = b.Health.Day(id, p.URL)
	return r
}

func ofConsumer(p Pulling) Row {
	r := Row{ID: OfConsumer(p.Instance, p.Consumer), Target: TargetConsumer, Endpoint: p.Consumer, Instance: p.Instance, Name: p.Name, Durable: true, Enabled: true, Waiting: int(min(p.Lag, 1<<31)), Oldest: p.Oldest} //nolint:gosec // bounded
	r.State = Idle
	if !p.LastPull.IsZero() {
		r.Last, r.Success = p.LastPull, p.LastPull
		r.State = OK
	}
	return r
}

// Origin returns scheme, host and port of an address.
func Origin(raw string) string {
	u, err := url.Parse(raw)
	if err != nil || u.Host == "" {
		return ""
	}
	host := strings.ToLower(u.Host)
	if u.Port() == "" {
		host += map[string]string{"http": ":80", "https": ":443"}[strings.ToLower(u.Scheme)]
	}
	return strings.ToLower(u.Scheme) + "://" + host
}

// waits returns what waits for the receivers of an instance, or of All.
func (b *Book) waits(instance int64) (map[ID]waiting, error) {
	all := map[ID]waiting{}
	add := func(id ID, n int, oldest, next time.Time) {
		w := all[id]
		w.add(n, oldest, next)
		all[id] = w
	}
	wanted := func(lane delivery.Lane) bool { return instance == All || lane.Instance == instance }
	for lane, w := range b.InMemory() {
		if wanted(lane) {
			add(Of(lane), w.Waiting, w.Oldest, time.Time{})
		}
	}
	err := b.Store.View(func(tx *store.Tx) error {
		lanes, err := delivery.Backlogs(tx)
		for _, l := range lanes {
			if err != nil || !wanted(l.Lane) || l.Pending == 0 {
				continue
			}
			var oldest, next time.Time
			if oldest, next, err = ends(tx, l.Lane); err == nil {
				add(Of(l.Lane), l.Pending, oldest, next)
			}
		}
		return err
	})
	if err != nil || instance > 0 {
		return all, err
	}
	pending, oldest, err := b.Outbox.Backlog()
	if err == nil && pending > 0 {
		var next time.Time
		err = b.Store.View(func(tx *store.Tx) (err error) {
			next, err = nextDue(tx, delivery.OutboxLane)
			return err
		})
		add(Global, int(pending), oldest, next)
	}
	return all, err
}

// ends returns when the oldest delivery that may be sent in a lane was made, and when the next is due.
func ends(tx *store.Tx, lane delivery.Lane) (oldest, next time.Time, err error) {
	first, err := first(tx, lane)
	if err != nil {
		return oldest, next, err
	}
	next, err = nextDue(tx, lane)
	return first.CreatedAt, next, err
}

// first returns the oldest delivery of a lane that may be sent.
func first(tx *store.Tx, lane delivery.Lane) (r delivery.Record, err error) {
	heads, err := delivery.PendingAfter(tx, lane, 0, 1)
	if err != nil || len(heads) == 0 {
		return r, err
	}
	r, _, err = delivery.Find(tx, heads[0].Record)
	return r, delivery.IgnoreDamage(err)
}

func nextDue(tx *store.Tx, lane delivery.Lane) (at time.Time, err error) {
	due, err := delivery.DueAfter(tx, lane, delivery.Due{}, 1)
	if len(due) > 0 {
		at = due[0].At
	}
	return at, err
}

// Seed makes the durable receivers FAILING whose oldest waiting delivery has failed three times before the start.
func (b *Book) Seed() error {
	return b.Store.View(func(tx *store.Tx) error {
		lanes, err := delivery.Backlogs(tx)
		if err != nil {
			return err
		}
		for _, l := range lanes {
			r, err := first(tx, l.Lane)
			if err != nil {
				return err
			}
			b.seed(Of(l.Lane), r)
		}
		due, err := delivery.DueAfter(tx, delivery.OutboxLane, delivery.Due{}, 1)
		if err != nil || len(due) == 0 {
			return err
		}
		r, _, err := delivery.Find(tx, due[0].Record)
		b.seed(Global, r)
		return delivery.IgnoreDamage(err)
	})
}

func (b *Book) seed(id ID, r delivery.Record) {
	if r.Attempts >= failingFrom && !r.LastAttemptAt.IsZero() {
		b.Health.Seed(id, b.url(id), r.Attempts, r.LastAttemptAt, r.LastStatus, r.LastError)
	}
}

// Changed forgets what is known of destinations that were removed, disabled or moved.
func (b *Book) Changed(lanes []delivery.Lane) {
	b.Pauses.Check(b.Resolve, lanes)
	for _, lane := range lanes {
		id := Of(lane)
		to, status := b.Resolve(lane)
		if status != delivery.Ready && b.Pauses.Until(id).IsZero() || !b.Health.at(id, to.URL) {
			b.Health.Reset(id)
		}
	}
}

// at reports whether what is known of a receiver is about this address, or nothing is known.
func (h *Health) at(id ID, url string) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	s := h.of[id]
	return s == nil || s.url == "" || s.url == url
}

// Pause pauses what is durable of a receiver. Errors: ErrNotFound, ErrNoAddress, ErrNotDurable.
func (b *Book) Pause(ctx context.Context, id ID, d time.Duration) (Row, error) {
	r, err := b.Row(id)
	switch {
	case err != nil:
		return r, err
	case r.Target == TargetConsumer:
		return r, ErrNoAddress
	case !r.Durable:
		return r, ErrNotDurable
	}
	if _, err := b.Pauses.Pause(ctx, id, d); err != nil {
		return r, err
	}
	return b.Row(id)
}

// Errors of Pause.
var (
	ErrNoAddress  = errors.New("a consumer that pulls has no address: it reads whenever it asks")
	ErrNotDurable = errors.New("nothing of this receiver is durable, so nothing can wait: set enabled to false instead, or durable to true")
)

// Resume ends a pause. Errors: ErrNotFound, ErrNoAddress.
func (b *Book) Resume(ctx context.Context, id ID) (Row, error) {
	r, err := b.Row(id)
	switch {
	case err != nil:
		return r, err
	case r.Target == TargetConsumer:
		return r, ErrNoAddress
	}
	if err := b.Pauses.Resume(ctx, id); err != nil {
		return r, err
	}
	return b.Row(id)
}

// Destination returns where a receiver is now, and the lanes that lead there. Errors: ErrNotFound, ErrNoAddress.
func (b *Book) Destination(id ID) (to event.Destination, lanes []delivery.Lane, err error) {
	r, err := b.Row(id)
	switch {
	case err != nil:
		return to, nil, err
	case r.Target == TargetConsumer:
		return to, nil, ErrNoAddress
	}
	lanes = id.lanes()
	to, _ = b.Resolve(lanes[0])
	return to, lanes, nil
}
