package dispatch

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"

	"postern/delivery"
	"postern/delivery/outbox"
	"postern/event"
	"postern/store"
)

// Publisher receives every batch event after its commit, in the order of the commits. It
// must not block.
type Publisher interface {
	PublishBatch(kind event.Kind, owner uuid.UUID, ownerSeq uint64, body []byte)
}

// RelayConfig is what a Relay needs.
type RelayConfig struct {
	Store     *store.Store
	Outbox    *outbox.Outbox // of Store
	Sender    *Sender
	URL       string        // the global webhook; empty: no batch event is delivered. See SetURL
	Workers   int           // maximum batch events in flight; 0 means 10
	Publisher Publisher     // nil: none
	Retention time.Duration // of delivered entries of the outbox; 0 keeps them

	// Ledger holds the pending deliveries, including those of the outbox, and the log of
	// all.
	Ledger *delivery.Ledger
	// Resolve returns the current destination of a lane and its status. It must not
	// block. nil: batch events go to URL, and nothing else is delivered.
	Resolve func(delivery.Lane) (event.Destination, delivery.Status)
	// PublishInstance receives every numbered event of an instance after its commit, in
	// the order of the commits. It must not block. nil: no call.
	PublishInstance func(event.Notice)

	Observe func(delivery.Lane, string, Outcome) // called after each attempt, with its URL; nil: no call
	Lost    func(delivery.Lane, int)             // called with deliveries that expired or had no room; nil: no call
	Logger  *slog.Logger                         // nil discards
}

// Relay delivers the pending deliveries in the file: batch events, and the durable events
// of instances. See the package comment for what it promises.
type Relay struct {
	cfg     RelayConfig
	log     *slog.Logger
	work    sync.WaitGroup
	senders sync.WaitGroup // and feeders of sleeping lanes, which start them

	reading context.Context // ends when Stop begins: no new entries
	stop    context.CancelFunc
	sending context.Context // ends with the deadline of Stop: outcomes are no longer stored either
	abort   context.CancelFunc

	results   chan result   // outcomes that are not stored yet
	crowded   chan struct{} // size 1: many outcomes wait, or one that a delivery waits for
	holding   atomic.Int64  // waiting outcomes that a delivery waits for
	forgotten chan uint64   // size 1: the sequence up to which events of removed batches may be removed

	newBatch  recent[outbox.Entry]
	newEvents recent[delivery.Event]

	batch    *lane // of the outbox
	url      atomic.Pointer[string]
	sends    atomic.Bool // the lane of the outbox is at work
	pool     *pool       // of all lanes but that of the outbox
	pressure pressure    // of the events of batches
	expiry   *alarm
	events   eventTail

	mu      sync.Mutex
	lanes   map[delivery.Lane]*lane // of package delivery, those that are awake
	started bool
	stopped bool // no lane wakes any more
	anew    bool // the clock was set back before the start: lanes begin with a sweep

	delivered, failed atomic.Uint64 // of the outbox
	ended             endings
	wakes             wakes
	losses            LogThrottle // failed attempts, by lane
	outages           LogThrottle // breakers that opened, by lane
	returns           LogThrottle // and that closed
}

// NewRelay returns a relay that is not started.
func NewRelay(cfg RelayConfig) *Relay {
	cfg.Workers = orDefault(cfg.Workers, 10)
	cfg.Logger = cmp.Or(cfg.Logger, slog.New(slog.DiscardHandler))
	r := &Relay{
		cfg: cfg, log: cfg.Logger.With("component", "relay"), lanes: map[delivery.Lane]*lane{},
		results: make(chan result, resultsSize), crowded: make(chan struct{}, 1), forgotten: make(chan uint64, 1),
	}
	r.pool = newPool(laneBounds, &r.senders)
	r.expiry = newAlarm()
	r.reading, r.stop = context.WithCancel(context.Background())
	r.sending, r.abort = context.WithCancel(context.Background())
	r.batch = r.outboxLane()
	r.url.Store(&cfg.URL)
	return r
}

// Start begins to publish and to deliver, including everything that is due from earlier
// runs.
func (r *Relay) Start() error {
	newest, err := r.newest()
	if err != nil {
		return err
	}
	waiting, err := r.startEvents()
	if err != nil {
		return err
	}
	r.expireFirst()
	r.started = true
	r.newBatch.since(newest)
	r.batch.board.reach(newest)
	r.batch.tick()
	if r.anew = r.cfg.Store.ClockWentBack(); r.anew {
		r.batch.board.hurry()
	}
	now := time.Now().UnixNano() // the loops have their first turn when the scheduler lets them
	r.events.ticks.Store(now)
	r.expiry.ticks.Store(now)
	r.work.Go(func() { r.tail(newest) })
	r.work.Go(r.sweep)
	if r.cfg.Retention > 0 {
		r.work.Go(r.prune)
	}
	r.startOutbox()
	r.work.Go(r.tailEvents)
	r.work.Go(r.expire)
	r.rouse(waiting)
	r.work.Go(r.settle)
	r.work.Go(func() {
		<-r.reading.Done()
		r.senders.Wait()
		close(r.results)
	})
	return nil
}

// startOutbox puts the lane of the outbox to work, once there is a global webhook.
func (r *Relay) startOutbox() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.globalURL() == "" || !r.started || r.stopped || r.sends.Load() {
		return
	}
	r.batch.tick()
	r.sends.Store(true)
	r.senders.Go(r.batch.feed)
}

// SetURL changes the global webhook for batch events, including those that wait. If url
// is empty, they wait in the file.
func (r *Relay) SetURL(url string) {
	if !r.sends.Load() {
		r.batch.tick() // it has not been silent yet
	}
	r.url.Store(&url)
	r.startOutbox()
	r.batch.change()
}

// globalURL returns the global webhook, or "" if there is none.
func (r *Relay) globalURL() string { return *r.url.Load() }

// lastWords is how long Stop still delivers to a receiver that accepts, so that it gets
// the events of the stop itself.
const lastWords = 2 * time.Second

// Stop delivers due entries for a moment and then takes no further ones. It waits for
// flights as long as the slowest accepted delivery of their lane took, or until ctx ends,
// and then cuts them off, each with a line in the log of deliveries. Undelivered entries
// stay pending in the file, and the log gives their number.
func (r *Relay) Stop(ctx context.Context) error {
	if !r.started {
		return nil
	}
	words := time.Now()
	awake := r.lastWords(ctx)
	r.mu.Lock()
	r.stopped = true
	for _, l := range r.lanes {
		awake = append(awake, l)
	}
	r.mu.Unlock()
	r.stop()
	cut := context.AfterFunc(ctx, r.abort)
	defer cut()
	for _, l := range awake {
		l.board.close()
		silence := time.AfterFunc(lastWords+l.board.longest()-time.Since(words), func() { l.hangUp(nil) })
		defer silence.Stop()
	}
	r.work.Wait()
	r.abort()
	r.tellLeft()
	return nil
}

// lastWords gives the lanes a moment for what was committed before, and returns the one
// that is always awake.
func (r *Relay) lastWords(ctx context.Context) []*lane {
	last, cancel := context.WithTimeout(ctx, lastWords)
	defer cancel()
	var moment sync.WaitGroup
	if newest, err := r.newest(); err == nil && r.globalURL() != "" {
		moment.Go(func() { r.batch.board.drain(last, newest) })
	}
	r.readEvents()
	for _, l := range r.awake() {
		moment.Go(func() { l.drain(last) })
	}
	moment.Wait()
	return []*lane{r.batch}
}

// tellLeft logs what the next start has to deliver.
func (r *Relay) tellLeft() {
	if n := r.cfg.Outbox.Counts().Of(outbox.Pending); n > 0 && r.globalURL() != "" {
		r.log.Warn("batch events are left for the next start: the global webhook has not accepted them; see to its receiver", "count", n)
	}
	waiting, err := r.backlogs()
	if err != nil {
		r.log.Error("what is left for the next start cannot be read", "error", err)
		return
	}
	n, lanes := 0, map[delivery.Lane]bool{}
	for _, b := range waiting {
		n += b.Pending
		lanes[b.Lane] = true
	}
	if n > 0 {
		r.log.Warn("durable events are left for the next start: their receivers have not accepted them; see to the receivers", "count", n, "destinations", len(lanes))
	}
}

func (r *Relay) newest() (seq uint64, err error) {
	err = r.cfg.Store.View(func(tx *store.Tx) error {
		seq, err = outbox.Newest(tx)
		return err
	})
	return seq, err
}

// resolve returns the current destination of a lane.
func (r *Relay) resolve(is delivery.Lane) (event.Destination, delivery.Status) {
	switch {
	case r.cfg.Resolve != nil:
		return r.cfg.Resolve(is)
	case is == delivery.BatchLane && r.globalURL() != "":
		return event.Destination{Target: event.TargetGlobal, URL: r.globalURL()}, delivery.Ready
	case is == delivery.BatchLane:
		return event.Destination{}, delivery.Absent
	default:
		return event.Destination{}, delivery.Paused
	}
}

// reaches reports whether the destination of a lane exists, enabled or not.
func (r *Relay) reaches(is delivery.Lane) bool {
	_, status := r.resolve(is)
	return status == delivery.Ready || status == delivery.Paused
}

// laneName identifies a lane in logs and throttles.
func laneName(is delivery.Lane) string {
	return fmt.Sprint(is.Flow, " ", is.Instance, " ", is.Target, " ", is.Endpoint)
}

// RelayStats is the state of a relay.
type RelayStats struct {
	// Of the outbox.
	Delivered uint64 // since Start
	Failed    uint64 // attempts, since Start
	InFlight  int
	Waiting   int  // due entries in memory
	Open      bool // the breaker holds deliveries back

	// Of durable instance events, all destinations together.
	Lanes         int // destinations with a delivery that may be sent
	LanesOpen     int // of these, those with an open breaker
	LanesInFlight int
	Expired       uint64 // since Start
	Removed       uint64 // cancelled with their destination, since Start

	Wakes RelayWakes // since Start

	LastTurn time.Time // of the loop with the longest silence
}

// RelayWakes counts how often the loops of a relay woke.
type RelayWakes struct {
	Outbox  uint64 // the loop that follows the outbox
	Events  uint64 // the loop that follows the stored events of instances
	Feeders uint64 // the feeders of all destinations together
	Settles uint64 // the loop that stores outcomes
}

type wakes struct {
	outbox, events, feeders, settles atomic.Uint64

	rows atomic.Uint64 // of the indexes, read by all passes
}

func (w *wakes) stats() RelayWakes {
	return RelayWakes{w.outbox.Load(), w.events.Load(), w.feeders.Load(), w.settles.Load()}
}

// Stats returns the counters.
func (r *Relay) Stats() RelayStats {
	s := RelayStats{
		Delivered: r.delivered.Load(), Failed: r.failed.Load(), Expired: r.ended.expired.Load(), Removed: r.ended.removed.Load(), Wakes: r.wakes.stats(), LastTurn: time.Now(),
	}
	s.InFlight, s.Waiting, s.Open = r.batch.board.numbers()
	if r.globalURL() != "" || r.sends.Load() {
		s.LastTurn = turned(s.LastTurn, &r.batch.ticks)
	}
	if r.started {
		s.LastTurn = turned(turned(s.LastTurn, &r.events.ticks), &r.expiry.ticks)
	}
	for _, l := range r.awake() {
		flying, _, down := l.board.numbers()
		s.Lanes++
		s.LanesInFlight += flying
		if down {
			s.LanesOpen++
		}
		s.LastTurn = turned(s.LastTurn, &l.ticks)
	}
	return s
}

// turned returns the earlier of a time and a loop's last turn.
func turned(earliest time.Time, ticks *atomic.Int64) time.Time {
	if at := time.Unix(0, ticks.Load()); at.Before(earliest) {
		return at
	}
	return earliest
}
