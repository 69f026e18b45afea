package dispatch

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"strconv"
	"sync"

	"github.com/google/uuid"

	"postern/event"
)

// Errors of Enqueue.
var (
	// ErrQueueFull: all slots are taken; the delivery was dropped.
	ErrQueueFull = errors.New("webhook queue is full")
	// ErrQueueClosed: the program is stopping; the delivery was dropped.
	ErrQueueClosed = errors.New("webhook queue is closed")
)

// QueueConfig is what a Queue needs. Zero values mean the defaults.
type QueueConfig struct {
	Sender         *Sender
	Workers        int           // concurrent deliveries, default 10
	Size           int           // deliveries that may wait, default 1000
	PerDestination int           // in flight to one host:port while others wait, default 2
	Observe        func(Outcome) // called after each delivery; nil: nobody
	Logger         *slog.Logger
}

// Queue delivers instance events. It is safe for concurrent use.
type Queue struct {
	cfg  QueueConfig
	log  *slog.Logger
	life context.Context // ends when Close gives up on what is in flight
	end  context.CancelFunc
	work sync.WaitGroup

	losses LogThrottle // by destination

	mu      sync.Mutex
	change  *sync.Cond // a delivery was added or ended, or the queue closed
	lanes   map[string]*lane
	turn    []*lane // lanes with something waiting, in the order of their turns
	waiting int
	flying  int
	closed  bool
	stats   QueueStats
}

// QueueStats counts what a queue did since it was made.
type QueueStats struct {
	Waiting   int
	InFlight  int
	Delivered uint64
	Refused   uint64 // answered, not with 2xx
	Failed    uint64 // no answer
	Full      uint64 // dropped: no slot
	Closed    uint64 // dropped: stopping
}

// lane is one destination.
type lane struct {
	name    string // host:port
	waiting []delivery
	flying  int
	good    bool // the last delivery was accepted
}

type delivery struct {
	notice event.Notice
	url    string
	lane   *lane
}

// NewQueue starts the workers.
func NewQueue(cfg QueueConfig) *Queue {
	cfg.Workers = orDefault(cfg.Workers, 10)
	cfg.Size = orDefault(cfg.Size, 1000)
	cfg.PerDestination = orDefault(cfg.PerDestination, 2)
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	q := &Queue{cfg: cfg, log: cfg.Logger.With("component", "dispatch"), lanes: map[string]*lane{}}
	q.change = sync.NewCond(&q.mu)
	q.life, q.end = context.WithCancel(context.Background())
	for range cfg.Workers {
		q.work.Go(q.worker)
	}
	return q
}

func orDefault(n, def int) int {
	if n == 0 {
		return def
	}
	return n
}

// Enqueue takes one delivery for each URL of n and never blocks. Each
// destination is judged alone: when some found no slot, the others are
// delivered all the same and the error wraps ErrQueueFull or ErrQueueClosed.
func (q *Queue) Enqueue(n event.Notice) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	var err error
	for _, target := range n.URLs {
		err = errors.Join(err, q.add(n, target))
	}
	return err
}

func (q *Queue) add(n event.Notice, target string) error {
	switch {
	case q.closed:
		q.stats.Closed++
		return fmt.Errorf("%s for %s: %w", n.Kind, n.InstanceName, ErrQueueClosed)
	case q.waiting >= q.cfg.Size:
		q.stats.Full++
		return fmt.Errorf("%s for %s: %w", n.Kind, n.InstanceName, ErrQueueFull)
	}
	l := q.lane(destination(target))
	if len(l.waiting) == 0 {
		q.turn = append(q.turn, l)
	}
	l.waiting = append(l.waiting, delivery{n, target, l})
	q.waiting++
	q.change.Signal()
	return nil
}

func (q *Queue) lane(name string) *lane {
	l := q.lanes[name]
	if l == nil {
		l = &lane{name: name}
		q.lanes[name] = l
	}
	return l
}

// destination is the host:port of a URL.
func destination(target string) string {
	u, err := url.Parse(target)
	if err != nil {
		return target
	}
	port := u.Port()
	if port == "" {
		port = map[string]string{"http": "80", "https": "443"}[u.Scheme]
	}
	return u.Hostname() + ":" + port
}

// Close takes no more deliveries and waits for those it has. When ctx ends
// first, what is in flight is cut off and what waits is dropped and counted.
func (q *Queue) Close(ctx context.Context) error {
	q.mu.Lock()
	q.closed = true
	q.change.Broadcast()
	q.mu.Unlock()
	stop := context.AfterFunc(ctx, q.giveUp)
	defer stop()
	q.work.Wait()
	q.end()
	if n := q.Stats().Closed; n > 0 {
		q.log.Warn("webhooks dropped while stopping", "count", n)
	}
	return nil
}

func (q *Queue) giveUp() {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, l := range q.turn {
		q.stats.Closed += uint64(len(l.waiting))
		q.waiting -= len(l.waiting)
		l.waiting = nil
	}
	q.turn = nil
	q.end()
	q.change.Broadcast()
}

// Stats returns the counters.
func (q *Queue) Stats() QueueStats {
	q.mu.Lock()
	defer q.mu.Unlock()
	s := q.stats
	s.Waiting, s.InFlight = q.waiting, q.flying
	return s
}

func (q *Queue) worker() {
	for {
		d, ok := q.next()
		if !ok {
			return
		}
		o := q.cfg.Sender.Post(q.life, d.url, instanceHeaders(d.notice), d.notice.Body)
		if q.cfg.Observe != nil {
			q.cfg.Observe(o)
		}
		q.done(d, o)
	}
}

// next blocks until a delivery may go out; ok is false when the queue is
// closed and empty.
func (q *Queue) next() (d delivery, ok bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for {
		if d, ok := q.pick(); ok {
			return d, true
		}
		if q.closed && q.waiting == 0 {
			return delivery{}, false
		}
		q.change.Wait()
	}
}

// pick takes from the first lane in turn that may send, and moves it to the
// end.
func (q *Queue) pick() (delivery, bool) {
	for i, l := range q.turn {
		if !q.maySend(l) {
			continue
		}
		d := l.waiting[0]
		l.waiting[0] = delivery{}
		l.waiting = l.waiting[1:]
		q.turn = append(q.turn[:i], q.turn[i+1:]...)
		if len(l.waiting) > 0 {
			q.turn = append(q.turn, l)
		} else {
			l.waiting = nil
		}
		l.flying++
		q.waiting--
		q.flying++
		return d, true
	}
	return delivery{}, false
}

func (q *Queue) maySend(l *lane) bool {
	if l.flying < q.cfg.PerDestination {
		return true
	}
	alone := len(q.turn) == 1
	return alone && l.good
}

func (q *Queue) done(d delivery, o Outcome) {
	q.mu.Lock()
	l := d.lane
	l.flying--
	q.flying--
	l.good = o.Delivered()
	if l.flying == 0 && len(l.waiting) == 0 {
		delete(q.lanes, l.name)
	}
	switch {
	case o.Delivered():
		q.stats.Delivered++
	case o.Err != nil:
		q.stats.Failed++
	default:
		q.stats.Refused++
	}
	q.change.Broadcast()
	q.mu.Unlock()
	if !o.Delivered() {
		level, times := q.losses.Count(l.name)
		q.log.Log(q.life, level, "webhook not delivered", "event", string(d.notice.Kind), "instance", d.notice.InstanceName,
			"destination", l.name, "status", o.Status, "reason", o.Reason(), "duration", o.Duration, "count", times)
	}
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
// workers, and waits for the answer: for a test that somebody asked for.
func (q *Queue) PostNow(ctx context.Context, n event.Notice) Outcome {
	return q.cfg.Sender.Post(ctx, n.URLs[0], instanceHeaders(n), n.Body)
}
