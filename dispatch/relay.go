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
	Retention time.Duration // of delivered entries; 0 keeps them
	Observe   func(Outcome) // called after each attempt; nil: nobody
	Logger    *slog.Logger  // nil discards
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
	sending context.Context // ends with the time of Stop: outcomes are no longer stored either
	abort   context.CancelFunc
	posting context.Context // ends when Stop gives up on what is in flight
	hangUp  context.CancelFunc

	nudges     chan struct{}    // size 1: the feeder has something to do
	retries    chan store.Due   // entries that failed, on their way to the feeder
	fresh      chan []store.Due // new entries, on their way to the feeder
	passWanted atomic.Bool      // the due index must be read again
	results    chan result      // outcomes on their way to the file
	forgotten  chan uint64      // size 1: up to where events of removed batches may go

	delivered, failed atomic.Uint64
	losses            LogThrottle // failed attempts
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
	flight  flight
	entry   store.OutboxEntry
	outcome Outcome
}

// resultsSize is how many outcomes may wait to be stored while workers send on.
// It bounds what a crash can make the relay deliver a second time, and how many
// outcomes share a commit.
const resultsSize = 128

// NewRelay returns a relay that does nothing yet.
func NewRelay(cfg RelayConfig) *Relay {
	cfg.Workers = orDefault(cfg.Workers, 10)
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	r := &Relay{
		cfg: cfg, log: cfg.Logger.With("component", "relay"), board: newBoard(),
		nudges:  make(chan struct{}, 1),
		retries: make(chan store.Due),
		fresh:   make(chan []store.Due),
		results: make(chan result, resultsSize), forgotten: make(chan uint64, 1),
	}
	r.reading, r.stop = context.WithCancel(context.Background())
	r.sending, r.abort = context.WithCancel(context.Background())
	r.posting, r.hangUp = context.WithCancel(r.sending)
	return r
}

// Start begins to publish and to deliver, with everything that is due from
// earlier lives of the file.
func (r *Relay) Start() error {
	newest, err := r.newest()
	if err != nil {
		return err
	}
	r.board.reach(newest)
	r.ticks.Store(time.Now().UnixNano())
	r.work.Go(func() { r.tail(newest) })
	r.work.Go(r.sweep)
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
// for those in flight as long as the slowest accepted one took, or until ctx
// ends; then they are cut off. Whatever was not delivered stays pending in the
// file, and the log says how much that is.
func (r *Relay) Stop(ctx context.Context) error {
	words := time.Now()
	if newest, err := r.newest(); err == nil && r.cfg.URL != "" {
		last, cancel := context.WithTimeout(ctx, lastWords)
		r.board.drain(last, newest)
		cancel()
	}
	r.stop()
	r.board.close()
	cut := context.AfterFunc(ctx, r.abort)
	defer cut()
	silence := time.AfterFunc(lastWords+r.board.longest()-time.Since(words), r.hangUp)
	defer silence.Stop()
	r.work.Wait()
	r.abort()
	if n := r.cfg.Store.OutboxCounts().Of(store.OutboxPending); n > 0 && r.cfg.URL != "" {
		r.log.Warn("batch events are left for the next start: the global webhook has not accepted them", "count", n)
	}
	return nil
}

func (r *Relay) newest() (seq uint64, err error) {
	err = r.cfg.Store.View(func(tx *store.Tx) error {
		seq = tx.OutboxNewest()
		return nil
	})
	return seq, err
}

// Stats returns the counters.
func (r *Relay) Stats() RelayStats {
	b := r.board
	b.mu.Lock()
	defer b.mu.Unlock()
	return RelayStats{
		Delivered: r.delivered.Load(), Failed: r.failed.Load(),
		InFlight: b.flying, Waiting: len(b.known) - b.flying, Open: b.breaker.open,
		LastTurn: time.Unix(0, r.ticks.Load()),
	}
}

// send is a worker: it takes entries from the board and posts them.
func (r *Relay) send() {
	for {
		f, ok := r.board.next()
		if !ok {
			return
		}
		entry, ready, err := r.load(f)
		if !ready {
			r.board.skipped(f, errors.Is(err, store.ErrDamaged))
			r.postpone(entry)
			continue
		}
		o := r.cfg.Sender.Post(r.posting, r.cfg.URL, batchHeaders(entry.Kind), entry.Body)
		if r.cfg.Observe != nil {
			r.cfg.Observe(o)
		}
		if r.posting.Err() != nil && !o.Delivered() {
			r.board.skipped(f, false)
			continue // cut off by Stop: the entry stays as it was
		}
		opened, closed := r.board.answered(f, o)
		if opened {
			r.nudge() // to fill the board anew
			r.log.Warn("the global webhook is down; trying it now and then", "status", o.Status, "reason", o.Reason(), "cause", o.cause())
		}
		if closed {
			r.nudge()
			r.log.Info("the global webhook is back")
		}
		r.results <- result{f, entry, o}
	}
}

// load reads an entry. ready is false when it is not to be sent now: it was
// delivered meanwhile, or its time has not come after all.
func (r *Relay) load(f flight) (entry store.OutboxEntry, ready bool, err error) {
	err = r.cfg.Store.View(func(tx *store.Tx) error {
		entry, _, err = tx.Outbox(f.seq)
		return err
	})
	if err != nil {
		r.log.Error("outbox entry cannot be read and is left out", "sequence", f.seq, "error", err)
		return entry, false, err
	}
	return entry, entry.State == store.OutboxPending && (f.anyway || isDue(entry.NextAttemptAt, time.Now())), nil
}

// postpone hands the feeder an entry that was on the board before its time, as
// happens when the clock went back: nothing else would remember it.
func (r *Relay) postpone(e store.OutboxEntry) {
	if e.State != store.OutboxPending {
		r.nudge()
		return
	}
	select {
	case r.retries <- store.Due{At: e.NextAttemptAt, Seq: e.Seq, Batch: e.Batch}:
	case <-r.reading.Done():
	}
}

// settle writes outcomes into the file, as many in one commit as there are.
func (r *Relay) settle() {
	for first := range r.results {
		r.record(r.collect(first))
	}
}

// gatherFor is how long an outcome waits for others to share its commit. It is
// added to what a crash can repeat, and to nothing else.
const gatherFor = 2 * time.Millisecond

// collect adds to first what else comes within a moment.
func (r *Relay) collect(first result) []result {
	group := []result{first}
	enough := time.NewTimer(gatherFor)
	defer enough.Stop()
	for len(group) < cap(r.results) {
		select {
		case next, ok := <-r.results:
			if !ok {
				return group
			}
			group = append(group, next)
		case <-enough.C:
			return group
		}
	}
	return group
}

// recordPause is the time between two tries to store outcomes.
const recordPause = time.Second

// record stores the outcomes. While that fails, for example because the disk
// is full, it is tried again: the entries must not be sent twice for it.
func (r *Relay) record(group []result) {
	next := make([]time.Time, len(group))
	for i, g := range group {
		if !g.outcome.Delivered() {
			// The file keeps whole milliseconds; the next one, so that it is never early.
			next[i] = time.Now().Add(max(backoff(g.entry.Attempts+1), g.outcome.RetryAfter) + time.Millisecond)
		}
	}
	for r.store(group, next) != nil && r.sending.Err() == nil {
		select {
		case <-time.After(recordPause):
		case <-r.sending.Done():
		}
	}
	for i, g := range group {
		kept := r.board.settled(g.flight, g.outcome)
		if g.outcome.Delivered() {
			r.delivered.Add(1)
			continue
		}
		r.failed.Add(1)
		level, times := r.losses.Count("")
		r.log.Log(r.reading, level, "batch event not delivered, trying again", "event", string(g.entry.Kind), "sequence", g.entry.Seq,
			"attempts", g.entry.Attempts+1, "status", g.outcome.Status, "reason", g.outcome.Reason(), "cause", g.outcome.cause(), "count", times)
		if kept {
			continue
		}
		select {
		case r.retries <- store.Due{At: next[i], Seq: g.entry.Seq, Batch: g.entry.Batch}:
		case <-r.reading.Done():
		}
	}
	r.nudge()
}

func (r *Relay) store(group []result, next []time.Time) error {
	// The outcome is known and must be written even while stopping.
	err := r.cfg.Store.Update(context.Background(), func(tx *store.Tx) error {
		for i, g := range group {
			// A damaged entry can be neither marked nor sent again; the store reports it.
			if err := note(tx, g, next[i]); err != nil && !errors.Is(err, store.ErrDamaged) {
				return err
			}
		}
		return nil
	})
	if err != nil {
		r.log.Error("outcomes of deliveries not stored, trying again", "count", len(group), "error", err)
	}
	return err
}

func note(tx *store.Tx, g result, next time.Time) error {
	if g.outcome.Delivered() {
		return tx.OutboxDelivered(g.entry.Seq, g.outcome.Status)
	}
	return tx.OutboxRetry(g.entry.Seq, next, g.outcome.Status, g.outcome.Reason())
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
