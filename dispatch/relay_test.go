package dispatch

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"postern/delivery"
	"postern/delivery/logbook"
	"postern/delivery/outbox"
	"postern/event"
	"postern/store"
)

// receiver is a global webhook with answers that a test sets.
type receiver struct {
	*httptest.Server
	mu     sync.Mutex
	answer func(e emitted) int // nil: 200
	header http.Header
	got    []emitted
}

// emitted identifies an event of these tests by batch and number.
type emitted struct {
	Batch string
	N     int
}

func newReceiver(t testing.TB) *receiver {
	r := &receiver{}
	r.Server = httptest.NewServer(http.HandlerFunc(r.handle))
	t.Cleanup(r.Close)
	return r
}

func (r *receiver) handle(w http.ResponseWriter, req *http.Request) {
	var body struct{ Data emitted }
	if err := json.NewDecoder(req.Body).Decode(&body); err != nil {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.got = append(r.got, body.Data)
	maps.Copy(w.Header(), r.header)
	if r.answer != nil {
		w.WriteHeader(r.answer(body.Data))
	}
}

func (r *receiver) received() []emitted {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.got)
}

func (r *receiver) set(answer func(emitted) int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.answer = answer
}

// file is a data file with its outbox and its deliveries, without a log.
type file struct {
	*store.Store
	*outbox.Outbox
	ledger *delivery.Ledger
}

// retry stores a failed attempt of an entry.
func (s *file) retry(tx *store.Tx, seq uint64, at time.Time, status int, reason string) error {
	e, _, err := outbox.Head(tx, seq)
	if err == nil {
		_, _, err = s.ledger.Settle(tx, e.Record, delivery.Attempt{StartedAt: tx.Now(), Status: status, Error: reason}, false, at)
	}
	return err
}

// reschedule moves an entry to another time.
func (s *file) reschedule(tx *store.Tx, seq uint64, at time.Time) error {
	e, _, err := outbox.Head(tx, seq)
	return errors.Join(err, s.ledger.Reschedule(tx, e.Record, at))
}

func openStore(t testing.TB, path string, change ...func(*file)) *file {
	t.Helper()
	s := openFile(t, store.Options{Path: path, NoSync: true, MinFree: 1})
	for _, c := range change {
		c(s)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

// openFile opens a file that the caller closes.
func openFile(t testing.TB, o store.Options) *file {
	t.Helper()
	s := openBare(t, o)
	var err error
	if s.ledger, err = delivery.Open(s.Store, delivery.Config{Outbox: s.Outbox}); err != nil {
		t.Fatal(err)
	}
	return s
}

// openBare is openFile without the deliveries.
func openBare(t testing.TB, o store.Options) *file {
	t.Helper()
	o.Buckets = slices.Concat(delivery.Buckets(), logbook.Buckets())
	s, err := store.Open(o)
	if err != nil {
		t.Fatal(err)
	}
	box, err := outbox.Open(s)
	if err != nil {
		t.Fatal(err)
	}
	return &file{Store: s, Outbox: box}
}

func replayOnly(s *file) { s.SetDelivery(false) }

func emit(t testing.TB, s *file, batch uuid.UUID, numbers ...int) {
	t.Helper()
	err := s.Update(t.Context(), func(tx *store.Tx) error {
		for _, n := range numbers {
			e := outbox.Emission{Kind: event.BatchProgress, Owner: owner, Batch: batch, Data: emitted{batch.String(), n}}
			if err := s.Emit(tx, e); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

var owner = uuid.MustParse("0196f0a0-0000-7000-8000-000000000001")

func startRelay(t testing.TB, cfg RelayConfig) *Relay {
	t.Helper()
	if cfg.Sender == nil {
		cfg.Sender = NewSender(SenderConfig{})
	}
	r := NewRelay(cfg)
	if err := r.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { stopRelay(t, r) })
	return r
}

func stopRelay(t testing.TB, r *Relay) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	if err := r.Stop(ctx); err != nil {
		t.Error(err)
	}
}

func entry(t testing.TB, s *file, seq uint64) (e outbox.Entry) {
	t.Helper()
	err := s.View(func(tx *store.Tx) (err error) {
		if e, _, err = outbox.Get(tx, seq); err == nil {
			e, err = delivery.Queued(tx, e)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func delivered(t testing.TB, s *file, n int) bool {
	t.Helper()
	done := 0
	err := s.View(func(tx *store.Tx) error {
		entries, err := outbox.After(tx, 0, n+1)
		for _, e := range entries {
			if e.State == outbox.Delivered {
				done++
			}
		}
		return err
	})
	return err == nil && done == n
}

func TestBatchEventsArriveInOrder(t *testing.T) {
	hook := newReceiver(t)
	s := openStore(t, filepath.Join(t.TempDir(), "p.db"))
	old := uuid.New()
	for n := range 150 { // more than a line holds, from before the relay starts
		emit(t, s, old, n)
	}
	startRelay(t, RelayConfig{Store: s.Store, Outbox: s.Outbox, Ledger: s.ledger, URL: hook.URL})
	batches := []uuid.UUID{old}
	for range 20 {
		batches = append(batches, uuid.New())
	}
	for n := range 20 {
		for _, b := range batches {
			emit(t, s, b, 1000+n)
		}
	}
	total := 150 + 20*len(batches)
	eventually(t, "all delivered", func() bool { return delivered(t, s, total) })
	last := map[string]int{}
	got := hook.received()
	for _, e := range got {
		if before, seen := last[e.Batch]; seen && e.N <= before {
			t.Errorf("batch %s: %d after %d", e.Batch, e.N, before)
		}
		last[e.Batch] = e.N
	}
	if len(got) != total {
		t.Errorf("%d deliveries of %d events", len(got), total)
	}
}

func TestBatchWithManyEventsLeavesRoom(t *testing.T) {
	hook := newReceiver(t)
	s := openStore(t, filepath.Join(t.TempDir(), "p.db"))
	giant, small := uuid.New(), uuid.New()
	numbers := make([]int, 3*boardSize)
	for i := range numbers {
		numbers[i] = i
	}
	emit(t, s, giant, numbers...)
	emit(t, s, small, 1, 2, 3)
	var mu sync.Mutex
	giantDone, position := 0, 0
	hook.set(func(e emitted) int {
		mu.Lock()
		defer mu.Unlock()
		if e.Batch == giant.String() {
			giantDone++
		} else if e.N == 3 {
			position = giantDone
		}
		return 200
	})
	startRelay(t, RelayConfig{Store: s.Store, Outbox: s.Outbox, Ledger: s.ledger, URL: hook.URL})
	eventually(t, "all delivered", func() bool { return s.Counts().Pending == 0 && delivered(t, s, len(numbers)+3) })
	mu.Lock()
	defer mu.Unlock()
	if position > 200 {
		t.Errorf("the small batch was through after %d events of the giant one", position)
	}
	if got := hook.received(); len(got) != len(numbers)+3 {
		t.Errorf("%d deliveries", len(got))
	}
}

func TestDisabledEntriesAreNeverSentAndStillPublished(t *testing.T) {
	if testing.Short() {
		t.Skip("waits for seconds")
	}
	hook := newReceiver(t)
	s := openStore(t, filepath.Join(t.TempDir(), "p.db"), replayOnly)
	p := &published{}
	r := startRelay(t, RelayConfig{Store: s.Store, Outbox: s.Outbox, Ledger: s.ledger, URL: hook.URL, Publisher: p})
	emit(t, s, uuid.New(), 1, 2, 3)
	eventually(t, "published", func() bool { return p.count() == 3 })
	stopRelay(t, r)
	if n := len(hook.received()); n != 0 {
		t.Errorf("%d disabled entries were sent", n)
	}
}

type published struct {
	mu   sync.Mutex
	seqs []uint64
}

func (p *published) PublishBatch(_ event.Kind, _ uuid.UUID, seq uint64, _ []byte) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.seqs = append(p.seqs, seq)
}

func (p *published) count() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.seqs)
}

func TestEventsArePublishedOnceInCommitOrder(t *testing.T) {
	s := openStore(t, filepath.Join(t.TempDir(), "p.db"))
	emit(t, s, uuid.New(), 1, 2) // before the relay: not live any more
	p := &published{}
	startRelay(t, RelayConfig{Store: s.Store, Outbox: s.Outbox, Ledger: s.ledger, Publisher: p})
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for n := range 50 {
				emit(t, s, uuid.New(), n)
			}
		})
	}
	wg.Wait()
	eventually(t, "all published", func() bool { return p.count() == 400 })
	for i, seq := range p.seqs {
		if seq != uint64(i+3) {
			t.Fatalf("event %d has sequence %d", i, seq)
		}
	}
}

func TestManualRetriesIgnoreTheBackoff(t *testing.T) {
	t.Parallel()
	inBubble(t, "n.db", func(t *testing.T, s *file, hook *scripted) {
		hook.status = func(_ emitted, try int) (int, string) {
			if try == 1 {
				return 500, "3600"
			}
			return 200, ""
		}
		r := startRelay(t, RelayConfig{Store: s.Store, Outbox: s.Outbox, Ledger: s.ledger, URL: "http://hook/", Sender: hook.sender()})
		defer stopRelay(t, r)
		for n := range 12 { // opens the breaker too
			emit(t, s, uuid.New(), n)
		}
		time.Sleep(time.Second)
		if _, err := r.RetryNow(t.Context(), 1); err != nil {
			t.Fatal(err)
		}
		time.Sleep(30 * time.Second)
		if e := entry(t, s, 1); e.State != outbox.Delivered {
			t.Errorf("after RetryNow: %+v, %+v", e, r.Stats())
		}
		if _, err := r.RetryAll(t.Context()); err != nil {
			t.Fatal(err)
		}
		time.Sleep(30 * time.Second)
		if !delivered(t, s, 12) {
			t.Errorf("after RetryAll: %+v", r.Stats())
		}
	})
}

func TestDeliveredEntriesArePrunedAfterTheRetention(t *testing.T) {
	t.Parallel()
	inBubble(t, "x.db", func(t *testing.T, s *file, hook *scripted) {
		r := startRelay(t, RelayConfig{Store: s.Store, Outbox: s.Outbox, Ledger: s.ledger, URL: "http://hook/", Sender: hook.sender(), Retention: time.Hour})
		defer stopRelay(t, r)
		emit(t, s, uuid.New(), 1, 2, 3)
		time.Sleep(30 * time.Minute)
		if !delivered(t, s, 3) {
			t.Fatal("not delivered")
		}
		time.Sleep(time.Hour)
		if !delivered(t, s, 0) {
			t.Error("not pruned")
		}
	})
}

func TestStopKeepsInFlightDeliveriesPending(t *testing.T) {
	g := newGate(t)
	s := openStore(t, filepath.Join(t.TempDir(), "p.db"))
	r := NewRelay(RelayConfig{Store: s.Store, Outbox: s.Outbox, Ledger: s.ledger, URL: g.URL, Sender: NewSender(SenderConfig{})})
	if err := r.Start(); err != nil {
		t.Fatal(err)
	}
	emit(t, s, uuid.New(), 1)
	eventually(t, "in flight", func() bool { return g.flying.Load() == 1 })
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if err := r.Stop(ctx); err != nil {
		t.Fatal(err)
	}
	if e := entry(t, s, 1); e.State != outbox.Pending || e.Attempts != 0 {
		t.Errorf("%+v", e)
	}
}

// TestStopWaitsTwoSecondsAndReportsTheRest, with a hanging receiver
// and with a slow one that accepts, for which the stop waits.
func TestStopWaitsTwoSecondsAndReportsTheRest(t *testing.T) {
	for name, c := range map[string]struct {
		before  time.Duration // the receiver's time for an answer before the stop, 0 for none
		after   time.Duration // and from then on, 0 for never
		longest time.Duration
		left    string
	}{
		"never tried":   {0, 0, lastWords, "count=20"},
		"good before":   {10 * time.Millisecond, 0, lastWords + 10*time.Millisecond, "count=20"},
		"slow and good": {3 * time.Second, 3 * time.Second, lastWords + 3*time.Second, "count=10"},
	} {
		inBubble(t, strings.ReplaceAll(name, " ", "")+".db", func(t *testing.T, s *file, _ *scripted) {
			slow := newCrowd()
			var logs bytes.Buffer
			r := startRelay(t, RelayConfig{
				Store: s.Store, Outbox: s.Outbox, Ledger: s.ledger, URL: "http://hook/", Sender: &Sender{timeout: DefaultTimeout, wire: slow},
				Logger: slog.New(slog.NewTextHandler(&logs, nil)),
			})
			slow.set("hook", never)
			if c.before > 0 {
				slow.set("hook", in(c.before, 200))
				emit(t, s, uuid.New(), 1)
				time.Sleep(time.Minute)
			}
			slow.set("hook", never)
			if c.after > 0 {
				slow.set("hook", in(c.after, 200))
			}
			for range 20 {
				emit(t, s, uuid.New(), 1) // ten of them are in flight
			}
			ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
			defer cancel()
			begin := time.Now()
			if err := r.Stop(ctx); err != nil {
				t.Error(err)
			}
			if took := time.Since(begin); took > c.longest+50*time.Millisecond {
				t.Errorf("%s: the stop took %v", name, took)
			}
			if !strings.Contains(logs.String(), "left for the next start") || !strings.Contains(logs.String(), c.left) {
				t.Errorf("%s: no %q in\n%s", name, c.left, logs.String())
			}
		})
	}
}

func TestEventWakesEachRelayLoop(t *testing.T) {
	hook := newReceiver(t)
	s := openStore(t, filepath.Join(t.TempDir(), "p.db"))
	r := startRelay(t, RelayConfig{Store: s.Store, Outbox: s.Outbox, Ledger: s.ledger, URL: hook.URL})
	if n := r.Stats().Wakes.Settles; n != 0 {
		t.Errorf("%d outcomes were stored before there was an event", n)
	}
	for n := range 2 { // the first may come before the first look
		emit(t, s, uuid.New(), n)
		eventually(t, "delivered", func() bool { return delivered(t, s, n+1) })
	}
	eventually(t, "each loop was woken", func() bool {
		got := r.Stats().Wakes
		return got.Outbox >= 1 && got.Feeders >= 1 && got.Settles == 2 && got.Events == 0
	})
}
