package dispatch

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"

	"postern/event"
	"postern/store"
)

// Publisher takes every batch event after its commit, in the order of the
// commits. It must not block.
type Publisher interface {
	PublishBatch(kind event.Kind, owner uuid.UUID, ownerSeq uint64, body []byte)
}

// RelayConfig is what a Relay needs.
type RelayConfig struct {
	Store     *store.Store
	Sender    *Sender
	URL       string        // the global webhook; empty: nothing is delivered
	Workers   int           // deliveries in flight at most; 0 means 10
	Publisher Publisher     // nil: nobody
	Retention time.Duration // of delivered entries
	Logger    *slog.Logger
}

// Relay delivers the outbox. See the package comment for what it promises.
type Relay struct {
	cfg   RelayConfig
	log   *slog.Logger
	board *board
	work  sync.WaitGroup
	ticks atomic.Int64 // Unix nanoseconds of the feeder's last turn

	reading context.Context // ends when Stop begins: no new entries
	stop    context.CancelFunc
	sending context.Context // ends when Stop gives up on what is in flight
	abort   context.CancelFunc

	refill  chan struct{} // size 1: look into the due index again
	backlog atomic.Bool   // more is due than fits on the board
	results chan result   // outcomes on their way to the file

	delivered, failed atomic.Uint64
}

// RelayStats is the state of a relay.
type RelayStats struct {
	Delivered uint64 // since Start
	Failed    uint64 // attempts, since Start
	InFlight  int
	Waiting   int       // due entries in memory
	Open      bool      // the breaker holds deliveries back
	LastTurn  time.Time // of the loop that looks for due entries
}

// result is one finished attempt.
type result struct {
	line    *line
	entry   store.OutboxEntry
	outcome Outcome
}

// NewRelay returns a relay that does nothing yet.
func NewRelay(cfg RelayConfig) *Relay {
	cfg.Workers = orDefault(cfg.Workers, 10)
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	r := &Relay{
		cfg: cfg, log: cfg.Logger.With("component", "relay"), board: newBoard(),
		refill:  make(chan struct{}, 1),
		results: make(chan result, cfg.Workers), // a worker never waits for a commit to send the next
	}
	r.reading, r.stop = context.WithCancel(context.Background())
	r.sending, r.abort = context.WithCancel(context.Background())
	return r
}

// Start begins to publish and to deliver, with everything that is due from
// earlier lives of the file.
func (r *Relay) Start() error {
	var newest uint64
	err := r.cfg.Store.View(func(tx *store.Tx) error {
		newest = tx.OutboxNewest()
		return nil
	})
	if err != nil {
		return err
	}
	r.work.Go(func() { r.tail(newest) })
	if r.cfg.Retention > 0 {
		r.work.Go(r.prune)
	}
	if r.cfg.URL == "" {
		return nil
	}
	r.work.Go(r.feed)
	var senders sync.WaitGroup
	for range r.cfg.Workers {
		senders.Go(r.send)
	}
	r.work.Go(r.settle)
	r.work.Go(func() {
		senders.Wait()
		close(r.results)
	})
	return nil
}

// lastWords is how long Stop goes on delivering to a receiver that accepts, so
// that it hears of the stop itself.
const lastWords = 2 * time.Second

// Stop delivers what is due for a moment, takes no further entries and waits
// for those in flight. When ctx ends they are cut off. Whatever was not
// delivered stays pending in the file.
func (r *Relay) Stop(ctx context.Context) error {
	if r.cfg.URL != "" {
		last, cancel := context.WithTimeout(ctx, lastWords)
		r.offerDue()
		r.board.drain(last)
		cancel()
	}
	r.stop()
	r.board.close()
	cancel := context.AfterFunc(ctx, r.abort)
	defer cancel()
	r.work.Wait()
	r.abort()
	return nil
}

// Stats returns the counters.
func (r *Relay) Stats() RelayStats {
	b := r.board
	b.mu.Lock()
	defer b.mu.Unlock()
	return RelayStats{
		Delivered: r.delivered.Load(), Failed: r.failed.Load(),
		InFlight: b.flying, Waiting: len(b.known) - b.flying, Open: b.breaker.open(),
		LastTurn: time.Unix(0, r.ticks.Load()),
	}
}

// tailStep is how many new entries are read at once.
const tailStep = 256

// tail follows the outbox by sequence: it publishes every new entry.
func (r *Relay) tail(after uint64) {
	for {
		wake := r.cfg.Store.Wake()
		entries, err := r.newEntries(after)
		if err != nil {
			r.log.Error("outbox cannot be read", "error", err)
		}
		for _, e := range entries {
			after = e.Seq
			if r.cfg.Publisher != nil {
				r.cfg.Publisher.PublishBatch(e.Kind, e.Owner, e.OwnerSeq, e.Body)
			}
		}
		if len(entries) == tailStep {
			continue
		}
		select {
		case <-wake:
		case <-r.reading.Done():
			return
		}
	}
}

func (r *Relay) newEntries(after uint64) (entries []store.OutboxEntry, err error) {
	err = r.cfg.Store.View(func(tx *store.Tx) error {
		entries, err = tx.OutboxAfter(after, tailStep)
		return err
	})
	return entries, err
}

// idle is how long the feeder sleeps at most, so that its turns can be watched
// and a changed clock is noticed.
const idle = 10 * time.Second

// feed puts due entries on the board: after a commit that emitted, when an
// entry's time has come, and when the board has room again.
func (r *Relay) feed() {
	for {
		wake := r.cfg.Store.Wake()
		r.ticks.Store(time.Now().UnixNano())
		pause := r.offerDue()
		if r.backlog.Load() {
			wake = nil // room is what is waited for, not more entries
		}
		timer := time.NewTimer(pause)
		select {
		case <-wake:
		case <-r.refill:
		case <-timer.C:
		case <-r.reading.Done():
			timer.Stop()
			return
		}
		timer.Stop()
	}
}

// offerDue reads the due index from its front, puts what is due on the board
// and returns the time until the next entry is due, or idle. While more is due
// than fits, it reads only when half of the board is free, so that a backlog
// of any length is read once and not at every turn.
func (r *Relay) offerDue() (pause time.Duration) {
	if r.backlog.Load() && r.board.room() < boardSize/2 {
		return idle
	}
	var rows []store.Due
	err := r.cfg.Store.View(func(tx *store.Tx) (err error) {
		rows, err = tx.OutboxDue(store.Due{}, boardSize+1)
		return err
	})
	if err != nil {
		r.log.Error("outbox cannot be read", "error", err)
		return time.Second
	}
	rows, pause = due(rows, time.Now())
	r.backlog.Store(!r.board.offer(rows))
	return pause
}

// due cuts rows, which are in order of time, before the first that is yet to
// come, and returns the time until then, or idle. A time further away than any
// pause was written under a clock that was ahead; such a row is due.
func due(rows []store.Due, now time.Time) (ready []store.Due, pause time.Duration) {
	for i, row := range rows {
		if ahead := row.At.Sub(now); ahead > 0 && ahead <= longestPause {
			return rows[:i], min(ahead, idle)
		}
	}
	return rows, idle
}

// send is a worker: it takes entries from the board and posts them.
func (r *Relay) send() {
	for {
		l, seq, ok := r.board.next()
		if !ok {
			return
		}
		entry, pending := r.load(seq)
		if !pending {
			r.board.skipped()
			r.board.settled(l, seq)
			continue
		}
		o := r.cfg.Sender.Post(r.sending, r.cfg.URL, batchHeaders(entry.Kind), entry.Body)
		if r.sending.Err() != nil {
			r.board.skipped()
			r.board.settled(l, seq)
			continue // cut off by Stop: the entry stays as it was
		}
		if r.board.answered(o) {
			r.log.Warn("the global webhook is down; trying it now and then", "status", o.Status, "reason", o.Reason())
		}
		r.results <- result{l, entry, o}
	}
}

func (r *Relay) load(seq uint64) (entry store.OutboxEntry, pending bool) {
	err := r.cfg.Store.View(func(tx *store.Tx) (err error) {
		var found bool
		entry, found, err = tx.Outbox(seq)
		pending = found && entry.State == store.OutboxPending
		return err
	})
	if err != nil {
		r.log.Error("outbox entry cannot be read and is left out", "sequence", seq, "error", err)
		return entry, false
	}
	return entry, pending
}

// settle writes outcomes into the file, as many in one commit as there are.
func (r *Relay) settle() {
	for first := range r.results {
		group := []result{first}
		for len(group) < cap(r.results)+1 {
			select {
			case next, ok := <-r.results:
				if ok {
					group = append(group, next)
					continue
				}
			default:
			}
			break
		}
		r.record(group)
	}
}

func (r *Relay) record(group []result) {
	now := time.Now()
	next := make([]time.Time, len(group))
	for i, g := range group {
		if !g.outcome.Delivered() {
			next[i] = now.Add(max(backoff(g.entry.Attempts+1), g.outcome.RetryAfter))
		}
	}
	// The outcome is known and must be written even while stopping.
	err := r.cfg.Store.Update(context.Background(), func(tx *store.Tx) error {
		var err error
		for i, g := range group {
			if g.outcome.Delivered() {
				err = errors.Join(err, tx.OutboxDelivered(g.entry.Seq, g.outcome.Status))
			} else {
				err = errors.Join(err, tx.OutboxRetry(g.entry.Seq, next[i], g.outcome.Status, g.outcome.Reason()))
			}
		}
		return err
	})
	if err != nil {
		r.log.Error("outcome of deliveries not stored; they will be repeated", "count", len(group), "error", err)
	}
	again := r.backlog.Load()
	for _, g := range group {
		r.count(g)
		r.board.settled(g.line, g.entry.Seq)
		again = again || !g.outcome.Delivered()
	}
	if again {
		r.nudge()
	}
}

func (r *Relay) count(g result) {
	if g.outcome.Delivered() {
		r.delivered.Add(1)
		return
	}
	r.failed.Add(1)
	r.log.Warn("batch event not delivered, trying again", "event", string(g.entry.Kind), "sequence", g.entry.Seq,
		"attempts", g.entry.Attempts+1, "status", g.outcome.Status, "reason", g.outcome.Reason())
}

func (r *Relay) nudge() {
	select {
	case r.refill <- struct{}{}:
	default:
	}
}

// batchHeaders are the headers of a batch event.
func batchHeaders(kind event.Kind) http.Header {
	return http.Header{
		"Content-Type":    {"application/json"},
		"User-Agent":      {"Service-MessageBatch-Webhook/1.0"},
		"x-request-id":    {uuid.NewString()},
		"x-webhook-event": {string(kind)},
	}
}
