package dispatch

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/google/uuid"

	"postern/event"
)

// Errors of Enqueue.
var (
	// ErrQueueFull: all places are taken, and no destination holds more of them;
	// the delivery was dropped.
	ErrQueueFull = errors.New("webhook queue is full")
	// ErrQueueClosed: the program is stopping; the delivery was dropped.
	ErrQueueClosed = errors.New("webhook queue is closed")
)

// QueueConfig is what a Queue needs. Zero values mean the defaults.
type QueueConfig struct {
	Sender         *Sender
	Workers        int           // concurrent deliveries, and of one destination at most, default 10
	Size           int           // deliveries that may wait, default 1000
	PerDestination int           // in flight to one host:port while others wait, default 2
	Observe        func(Outcome) // called after each delivery; nil: nobody
	Logger         *slog.Logger
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

	mu      sync.Mutex
	plan    *plan
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
	Refused   uint64 // answered, not with 2xx
	Failed    uint64 // no answer
	Full      uint64 // dropped: no place
	Closed    uint64 // dropped: stopping
}

type delivery struct {
	notice event.Notice
	url    string
	lane   *lane
}

// attempt is a delivery on its way.
type attempt struct {
	delivery
	ctx    context.Context // ends when nobody waits for the answer any more
	cancel context.CancelFunc
	began  time.Time
	number uint64
	alarm  *time.Timer // goes off when it is late; nil when it is from the start
	late   bool
	landed bool
}

// NewQueue returns a queue that delivers from now on.
func NewQueue(cfg QueueConfig) *Queue {
	cfg.Workers = orDefault(cfg.Workers, 10)
	cfg.Size = orDefault(cfg.Size, 1000)
	cfg.PerDestination = orDefault(cfg.PerDestination, 2)
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	q := &Queue{cfg: cfg, log: cfg.Logger.With("component", "dispatch"), plan: newPlan(cfg.Workers, cfg.PerDestination), flights: map[*attempt]bool{}, left: leftovers{}}
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

// Enqueue takes one delivery for each URL of n and never blocks. Each
// destination is judged alone: when some found no place, the others are
// delivered all the same and the error wraps ErrQueueFull or ErrQueueClosed. A
// delivery that loses its place to n is logged and counted here.
func (q *Queue) Enqueue(n event.Notice) error {
	dropped, err := q.take(n)
	for _, d := range dropped {
		level, times := q.drops.Count(d.lane.name)
		q.log.Log(q.life, level, "webhook dropped", "event", string(d.notice.Kind), "instance", d.notice.InstanceName,
			"destination", d.lane.name, "error", ErrQueueFull, "count", times)
	}
	return err
}

func (q *Queue) take(n event.Notice) (dropped []delivery, err error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, target := range n.URLs {
		d := delivery{n, target, q.plan.lane(destination(target))}
		if e := q.place(d, &dropped); e != nil {
			err = errors.Join(err, fmt.Errorf("%s for %s: %w", n.Kind, n.InstanceName, e))
			continue
		}
		q.launch()
	}
	return dropped, err
}

// place finds a place for d, if need be that of another.
func (q *Queue) place(d delivery, dropped *[]delivery) error {
	if q.closed {
		q.stats.Closed++
		return ErrQueueClosed
	}
	if q.plan.waiting >= q.cfg.Size {
		q.stats.Full++
		other, ok := q.plan.displace(d.lane)
		if !ok {
			return ErrQueueFull
		}
		*dropped = append(*dropped, other)
	}
	q.plan.add(d)
	return nil
}

// Stats returns the counters.
func (q *Queue) Stats() QueueStats {
	q.mu.Lock()
	defer q.mu.Unlock()
	s := q.stats
	s.Waiting, s.InFlight = q.plan.waiting, q.plan.flying
	return s
}

// launch starts a worker for each delivery that may go out. The caller holds
// q.mu.
func (q *Queue) launch() {
	for a := q.begin(); a != nil; a = q.begin() {
		q.work.Go(func() { q.deliver(a) })
	}
}

// begin is the next attempt, nil when none may begin. The caller holds q.mu.
func (q *Queue) begin() *attempt {
	d, number, ok := q.plan.take()
	if !ok {
		return nil
	}
	a := &attempt{delivery: d, began: time.Now(), number: number, late: d.lane.suspect()}
	a.ctx, a.cancel = context.WithCancel(q.life)
	q.flights[a] = true
	if a.late {
		q.plan.overdue(a.lane) // its worker is lent from the start
	} else {
		a.alarm = time.AfterFunc(patience, func() { q.overdue(a) })
	}
	return a
}

// overdue lends the worker of a late attempt to others.
func (q *Queue) overdue(a *attempt) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if !a.landed {
		a.late = true
		q.plan.overdue(a.lane)
		q.launch()
	}
}

// deliver is a worker: it goes on as long as something may go out.
func (q *Queue) deliver(a *attempt) {
	for a != nil {
		o := q.cfg.Sender.Post(a.ctx, a.url, instanceHeaders(a.notice), a.notice.Body)
		if q.cfg.Observe != nil {
			q.cfg.Observe(o)
		}
		if !o.Delivered() {
			level, times := q.losses.Count(a.lane.name)
			q.log.Log(q.life, level, "webhook not delivered", "event", string(a.notice.Kind), "instance", a.notice.InstanceName,
				"destination", a.lane.name, "status", o.Status, "reason", o.Reason(), "cause", o.cause(), "duration", o.Duration, "count", times)
		}
		a = q.landed(a, o)
	}
}

// landed notes the outcome and returns the worker's next attempt, if any.
func (q *Queue) landed(a *attempt, o Outcome) *attempt {
	q.mu.Lock()
	defer q.mu.Unlock()
	if a.landed = true; a.alarm != nil {
		a.alarm.Stop()
	}
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
	q.plan.landed(a.lane, a.number, a.late, o)
	next := q.begin()
	q.launch() // a success may allow more than the one that follows
	return next
}

// instanceHeaders are the headers of an instance event. The names are written
// as they shall be on the wire.
func instanceHeaders(n event.Notice) http.Header {
	id := n.RequestID
	if id == "" {
		id = uuid.NewString()
	}
	return http.Header{
		"Content-Type":    {"application/json"},
		"User-Agent":      {"Service-Webhook/1.0"},
		"x-request-id":    {id},
		"x-owner-jid":     {n.OwnerJID},
		"x-instance-name": {n.InstanceName},
		"x-instance-id":   {strconv.FormatInt(n.InstanceID, 10)},
		"x-webhook-event": {string(n.Kind)},
	}
}

// PostNow sends a notice to its first address at once, past the queue and its
// workers, and waits for the answer, until Interrupt: for a test that somebody
// asked for.
func (q *Queue) PostNow(ctx context.Context, n event.Notice) Outcome {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(q.tests, cancel)()
	return q.cfg.Sender.Post(ctx, n.URLs[0], instanceHeaders(n), n.Body)
}

// Interrupt ends the waits of PostNow, now and later.
func (q *Queue) Interrupt() { q.endTests() }
