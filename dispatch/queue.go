package dispatch

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/google/uuid"

	"postern/delivery"
	"postern/delivery/logbook"
	"postern/event"
)

// Errors of Enqueue.
var (
	// ErrQueueFull: all places are taken, and no destination holds more of them; the
	// delivery was dropped.
	ErrQueueFull = errors.New("webhook queue is full")
	// ErrQueueClosed: the program is stopping; the delivery was dropped.
	ErrQueueClosed = errors.New("webhook queue is closed")
)

// QueueConfig is what a Queue needs. Zero values mean the defaults.
type QueueConfig struct {
	Sender         *Sender
	Workers        int // concurrent deliveries, and of one destination at most, default 10
	Size           int // deliveries that may wait, default 1000
	PerDestination int // in flight to one host:port while others wait, default 2
	// Log keeps records of the deliveries, which none of them waits for. nil: no log.
	Log *logbook.Log
	// Resolve returns the current destination of a lane and its status. It must not
	// block. nil: a delivery goes to the address that it had when it came.
	Resolve func(delivery.Lane) (event.Destination, delivery.Status)
	Observe func(event.Notice, event.Destination, Outcome) // called after each delivery; nil: no call
	Lost    func(event.Notice, event.Destination)          // called for each delivery that found no place; nil: no call
	Logger  *slog.Logger
}

// Queue delivers instance events. It is safe for concurrent use.
type Queue struct {
	cfg      QueueConfig
	log      *slog.Logger
	life     context.Context // ends with Close
	end      context.CancelFunc
	tests    context.Context // ends with Interrupt
	endTests context.CancelFunc
	work     sync.WaitGroup

	losses LogThrottle // by destination
	drops  LogThrottle // by destination

	plan *plan[posting]
	// The plan's lock guards these.
	flights map[*attempt]bool
	closed  bool
	closing time.Time // when closed was set
	left    leftovers
	stats   QueueStats
}

// QueueStats counts what a queue did since it was made.
type QueueStats struct {
	Waiting   int
	InFlight  int
	Delivered uint64
	Refused   uint64 // answered with another status than 2xx
	Failed    uint64 // no answer
	Full      uint64 // dropped: no place
	Closed    uint64 // dropped: stopping
	Removed   uint64 // cancelled: its endpoint was removed, or it is a credential for a former destination
}

// posting is a delivery.
type posting struct {
	notice event.Notice // its RequestID is the delivery's own
	to     event.Destination
	entry  *logbook.Entry // of the log
	moved  bool           // the URL differs from the entry's
	since  time.Time      // it waits
}

// attempt is a delivery in flight.
type attempt struct {
	posting
	*slot[posting]
	ctx    context.Context // ends when the answer is no longer awaited
	cancel context.CancelFunc
}

// NewQueue returns a queue that is ready to deliver.
func NewQueue(cfg QueueConfig) *Queue {
	cfg.Workers = orDefault(cfg.Workers, 10)
	cfg.Size = orDefault(cfg.Size, 1000)
	cfg.PerDestination = orDefault(cfg.PerDestination, 2)
	cfg.Logger = cmp.Or(cfg.Logger, slog.New(slog.DiscardHandler))
	q := &Queue{cfg: cfg, log: cfg.Logger.With("component", "dispatch"), flights: map[*attempt]bool{}, left: leftovers{}}
	q.plan = newPlan[posting](bounds{slots: cfg.Workers, tries: cfg.Workers, share: cfg.PerDestination, slow: cfg.Workers}, q.launch)
	q.life, q.end = context.WithCancel(context.Background())
	q.tests, q.endTests = context.WithCancel(q.life)
	return q
}

func orDefault(n, def int) int {
	if n == 0 {
		return def
	}
	return n
}

// Enqueue takes one delivery for each destination of n and never blocks. Each destination
// is treated separately: if some find no place, the others are delivered all the same and
// the error wraps ErrQueueFull or ErrQueueClosed. A delivery that loses its place to n is
// logged and counted here.
func (q *Queue) Enqueue(n event.Notice) error {
	if n.ID == uuid.Nil {
		n.ID = uuid.New()
	}
	dropped, err := q.take(n)
	for _, d := range dropped {
		d.drop(ErrQueueFull)
		q.lose(d)
		to := destination(d.to.URL)
		level, times := q.drops.Count(to)
		q.log.Log(q.life, level, "webhook dropped", "event", string(d.notice.Kind), "instance", d.notice.InstanceName,
			"destination", to, "error", ErrQueueFull, "count", times)
	}
	return err
}

func (q *Queue) take(n event.Notice) (dropped []posting, err error) {
	q.plan.mu.Lock()
	defer q.plan.mu.Unlock()
	for _, to := range n.To {
		n := n
		if to.Body != nil {
			n.Body = to.Body
		}
		d := q.posting(n, to)
		if e := q.place(d, &dropped); e != nil {
			d.drop(e)
			if errors.Is(e, ErrQueueFull) {
				q.lose(d)
			}
			err = errors.Join(err, fmt.Errorf("%s for %s: %w", n.Kind, n.InstanceName, e))
			continue
		}
		q.launch()
	}
	return dropped, err
}

// posting returns the delivery of a notice to one of its destinations.
func (q *Queue) posting(n event.Notice, to event.Destination) posting {
	if n.RequestID == "" {
		n.RequestID = uuid.NewString()
	}
	d := posting{notice: n, to: to, since: time.Now()}
	if q.cfg.Log != nil {
		d.entry = q.cfg.Log.Queued(n, to)
	}
	return d
}

// lose reports a delivery that found no place.
func (q *Queue) lose(d posting) {
	if q.cfg.Lost != nil {
		q.cfg.Lost(d.notice, d.to)
	}
}

// drop records in the log that the delivery was never attempted.
func (d posting) drop(why error) {
	d.entry.Done(delivery.Dropped, delivery.Attempt{Error: why.Error()})
}

// place finds a place for d, if necessary by taking that of another delivery.
func (q *Queue) place(d posting, dropped *[]posting) error {
	at := q.plan.host(destination(d.to.URL))
	if q.closed {
		q.stats.Closed++
		return ErrQueueClosed
	}
	if q.plan.waiting >= q.cfg.Size {
		q.stats.Full++
		other, ok := q.plan.displace(at)
		if !ok {
			return ErrQueueFull
		}
		*dropped = append(*dropped, other)
	}
	q.plan.add(at, d)
	return nil
}

// Stats returns the counters.
func (q *Queue) Stats() QueueStats {
	q.plan.mu.Lock()
	defer q.plan.mu.Unlock()
	s := q.stats
	s.Waiting, s.InFlight = q.plan.waiting, q.plan.flying
	return s
}

// InMemory is what waits in memory for a destination.
type InMemory struct {
	Waiting int
	Oldest  time.Time
}

// Waiting returns what waits by lane.
func (q *Queue) Waiting() map[delivery.Lane]InMemory {
	all := map[delivery.Lane]InMemory{}
	q.plan.mu.Lock()
	defer q.plan.mu.Unlock()
	for _, h := range q.plan.holders {
		for _, d := range h.waiting {
			lane := delivery.LaneOf(d.notice.InstanceID, d.to)
			w := all[lane]
			w.Waiting++
			if w.Oldest.IsZero() || d.since.Before(w.Oldest) {
				w.Oldest = d.since
			}
			all[lane] = w
		}
	}
	return all
}

// launch starts a worker for each delivery that may be sent. The caller holds q.plan.mu.
func (q *Queue) launch() {
	for a := q.begin(); a != nil; a = q.begin() {
		q.work.Go(func() { q.deliver(a) })
	}
}

// begin returns the next attempt, or nil if none may begin. The caller holds q.plan.mu.
func (q *Queue) begin() *attempt {
	s := q.plan.begin()
	if s == nil {
		return nil
	}
	a := &attempt{posting: s.what, slot: s}
	a.ctx, a.cancel = context.WithCancel(q.life)
	q.flights[a] = true
	return a
}

// deliver is a worker: it continues as long as deliveries may be sent.
func (q *Queue) deliver(a *attempt) {
	for a != nil {
		at := time.Now()
		o := q.cfg.Sender.Send(a.ctx, a.to, a.notice.ID, instanceHeaders(a.notice), a.notice.Body)
		a.note(at, o)
		if q.cfg.Observe != nil {
			q.cfg.Observe(a.notice, a.to, o)
		}
		if !o.Delivered() {
			level, times := q.losses.Count(a.host.name)
			q.log.Log(q.life, level, "webhook not delivered", "event", string(a.notice.Kind), "instance", a.notice.InstanceName,
				"destination", a.host.name, "status", o.Status, "reason", o.Reason(), "cause", o.cause(), "duration", o.Duration, "count", times)
		}
		a = q.landed(a, o)
	}
}

// note records in the log how the attempt ended.
func (a *attempt) note(at time.Time, o Outcome) {
	state := delivery.Failed
	if o.Delivered() {
		state = delivery.Delivered
	}
	about := delivery.Attempt{
		Number: 1, StartedAt: at, Duration: o.Duration, Status: o.Status, Error: o.Reason(), RequestID: a.notice.RequestID, Answer: o.Answer,
	}
	if a.moved {
		about.URL = a.to.URL
	}
	a.entry.Done(state, about)
}

// landed notes the outcome and returns the worker's next attempt, if any.
func (q *Queue) landed(a *attempt, o Outcome) *attempt {
	q.plan.mu.Lock()
	defer q.plan.mu.Unlock()
	a.cancel()
	delete(q.flights, a)
	switch {
	case o.Delivered():
		q.stats.Delivered++
	case o.Err != nil:
		q.stats.Failed++
	default:
		q.stats.Refused++
	}
	q.plan.answered(a.slot, o)
	q.plan.leave(a.slot)
	next := q.begin()
	q.launch() // a success may allow more than the next one
	return next
}

// PostNow sends a notice to its first destination at once, bypassing the queue and its
// workers, and waits for the answer or for Interrupt. It serves tests that a user
// requests.
func (q *Queue) PostNow(ctx context.Context, n event.Notice) Outcome {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(q.tests, cancel)()
	if n.ID == uuid.Nil {
		n.ID = uuid.New()
	}
	return q.cfg.Sender.Send(ctx, n.To[0], n.ID, instanceHeaders(n), n.Body)
}

// Interrupt ends all current and later waits of PostNow.
func (q *Queue) Interrupt() { q.endTests() }
