package dispatch

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"

	"postern/delivery/outbox"
	"postern/store"
)

// inBubble runs a test in a synctest bubble with a sender whose receiver is a
// function, since a bubble's time stands still while a socket is waited for.
func inBubble(t *testing.T, name string, fn func(t *testing.T, s *file, hook *scripted)) {
	t.Helper()
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		s := openFile(t, store.Options{Path: filepath.Join(dir, name), NoSync: true, MinFree: 1})
		defer s.Close()
		fn(t, s, &scripted{status: func(emitted, int) (int, string) { return 200, "" }})
	})
}

// scripted is a RoundTripper in place of a receiver.
type scripted struct {
	mu     sync.Mutex
	status func(e emitted, try int) (status int, retryAfter string)
	tries  map[emitted][]time.Time
	flying int
	most   int
}

func (h *scripted) sender() *Sender {
	return &Sender{timeout: DefaultTimeout, wire: h}
}

func (h *scripted) RoundTrip(req *http.Request) (*http.Response, error) {
	var body struct{ Data emitted }
	if err := json.NewDecoder(req.Body).Decode(&body); err != nil {
		return nil, err
	}
	h.mu.Lock()
	if h.tries == nil {
		h.tries = map[emitted][]time.Time{}
	}
	h.tries[body.Data] = append(h.tries[body.Data], time.Now())
	status, retryAfter := h.status(body.Data, len(h.tries[body.Data]))
	h.flying++
	h.most = max(h.most, h.flying)
	h.mu.Unlock()
	if status < 0 { // no answer
		<-req.Context().Done()
	}
	time.Sleep(10 * time.Millisecond)
	h.mu.Lock()
	h.flying--
	h.mu.Unlock()
	if status <= 0 {
		return nil, fmt.Errorf("connection refused")
	}
	resp := httptest.NewRecorder()
	if retryAfter != "" {
		resp.Header().Set("Retry-After", retryAfter)
	}
	resp.WriteHeader(status)
	return resp.Result(), nil
}

func (h *scripted) at(batch uuid.UUID, n int) []time.Time {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Clone(h.tries[emitted{batch.String(), n}])
}

// peak returns the maximum number in flight at once since the last call.
func (h *scripted) peak() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	most := h.most
	h.most = h.flying
	return most
}

func (h *scripted) count() (n int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, tries := range h.tries {
		n += len(tries)
	}
	return n
}

func TestBackoffStepsAreAsDocumented(t *testing.T) {
	t.Parallel()
	inBubble(t, "b.db", func(t *testing.T, s *file, hook *scripted) {
		hook.status = func(emitted, int) (int, string) { return 404, "" } // no failure of the receiver: no breaker
		r := startRelay(t, RelayConfig{Store: s.Store, Outbox: s.Outbox, Ledger: s.ledger, URL: "http://hook/", Sender: hook.sender()})
		defer stopRelay(t, r)
		batch := uuid.New()
		emit(t, s, batch, 1)
		time.Sleep(5 * time.Hour)
		tries := hook.at(batch, 1)
		want := []time.Duration{time.Second, 5 * time.Second, 15 * time.Second, time.Minute, 5 * time.Minute, 15 * time.Minute, time.Hour, time.Hour, time.Hour}
		if len(tries) <= len(want) {
			t.Fatalf("%d tries", len(tries))
		}
		for i, base := range want {
			pause := tries[i+1].Sub(tries[i])
			if pause < base || pause > base+base/10+50*time.Millisecond {
				t.Errorf("pause %d is %v, want %v plus up to a tenth", i+1, pause, base)
			}
		}
		if e := entry(t, s, 1); e.Attempts != len(tries) || e.LastStatus != 404 || e.State != outbox.Pending || e.LastError == "" {
			t.Errorf("%+v", e)
		}
	})
}

func TestRetryAfterIsKept(t *testing.T) {
	t.Parallel()
	inBubble(t, "r.db", func(t *testing.T, s *file, hook *scripted) {
		hook.status = func(_ emitted, try int) (int, string) {
			if try == 1 {
				return 503, "600"
			}
			return 200, ""
		}
		r := startRelay(t, RelayConfig{Store: s.Store, Outbox: s.Outbox, Ledger: s.ledger, URL: "http://hook/", Sender: hook.sender()})
		defer stopRelay(t, r)
		batch := uuid.New()
		emit(t, s, batch, 1)
		time.Sleep(time.Hour)
		tries := hook.at(batch, 1)
		if len(tries) != 2 || tries[1].Sub(tries[0]) < 10*time.Minute || tries[1].Sub(tries[0]) > 11*time.Minute {
			t.Errorf("tries at %v", tries)
		}
	})
}

func TestBackoffBlocksNoLaterEntryOfItsBatch(t *testing.T) {
	t.Parallel()
	inBubble(t, "h.db", func(t *testing.T, s *file, hook *scripted) {
		hook.status = func(e emitted, try int) (int, string) {
			if e.N == 1 && try < 4 {
				return 422, ""
			}
			return 200, ""
		}
		r := startRelay(t, RelayConfig{Store: s.Store, Outbox: s.Outbox, Ledger: s.ledger, URL: "http://hook/", Sender: hook.sender()})
		defer stopRelay(t, r)
		batch := uuid.New()
		emit(t, s, batch, 1, 2, 3)
		time.Sleep(time.Minute)
		first, third := hook.at(batch, 1), hook.at(batch, 3)
		if len(first) != 4 || len(third) != 1 || third[0].Sub(first[0]) > time.Second {
			t.Errorf("first at %v, third at %v", first, third)
		}
	})
}

func TestTenAreInFlightAndOnePerBatch(t *testing.T) {
	t.Parallel()
	inBubble(t, "f.db", func(t *testing.T, s *file, hook *scripted) {
		for range 30 {
			emit(t, s, uuid.New(), 1, 2, 3)
		}
		r := startRelay(t, RelayConfig{Store: s.Store, Outbox: s.Outbox, Ledger: s.ledger, URL: "http://hook/", Sender: hook.sender()})
		defer stopRelay(t, r)
		time.Sleep(time.Minute)
		if most := hook.peak(); most != 10 || hook.count() != 90 {
			t.Errorf("%d in flight, %d deliveries", most, hook.count())
		}
		emit(t, s, uuid.New(), 1, 2, 3, 4, 5)
		time.Sleep(time.Minute)
		if most := hook.peak(); most != 1 {
			t.Errorf("%d in flight for one batch", most)
		}
	})
}

func TestFiveFailuresOpenTheBreakerForProbes(t *testing.T) {
	t.Parallel()
	inBubble(t, "k.db", func(t *testing.T, s *file, hook *scripted) {
		down := true
		hook.status = func(emitted, int) (int, string) {
			if down {
				return 0, ""
			}
			return 200, ""
		}
		r := startRelay(t, RelayConfig{Store: s.Store, Outbox: s.Outbox, Ledger: s.ledger, URL: "http://hook/", Sender: hook.sender()})
		defer stopRelay(t, r)
		for n := range 500 {
			emit(t, s, uuid.New(), n)
		}
		time.Sleep(900 * time.Millisecond)
		if n := hook.count(); n > 20 || !r.Stats().Open { // five, and what was in flight
			t.Errorf("%d tries before the first probe, %+v", n, r.Stats())
		}
		start := hook.count()
		hook.peak()
		time.Sleep(time.Hour)
		// Every 5 to 5.5 s for 15 min, then every 60 to 66 s.
		if n, most := hook.count()-start, hook.peak(); n < 163+40 || n > 181+46 || most != 1 {
			t.Errorf("%d probes in an hour, %d at a time", n, most)
		}
		hook.mu.Lock()
		down = false
		hook.mu.Unlock()
		time.Sleep(67*time.Second + 500*10*time.Millisecond/10) // the next probe, then everything
		if !delivered(t, s, 500) || r.Stats().Open {
			t.Errorf("not all delivered: %+v", r.Stats())
		}
	})
}

func TestOther4xxDoNotOpenTheBreaker(t *testing.T) {
	t.Parallel()
	inBubble(t, "4.db", func(t *testing.T, s *file, hook *scripted) {
		hook.status = func(emitted, int) (int, string) { return 410, "" }
		r := startRelay(t, RelayConfig{Store: s.Store, Outbox: s.Outbox, Ledger: s.ledger, URL: "http://hook/", Sender: hook.sender()})
		defer stopRelay(t, r)
		for n := range 50 {
			emit(t, s, uuid.New(), n)
		}
		time.Sleep(500 * time.Millisecond)
		if hook.count() != 50 || r.Stats().Open {
			t.Errorf("%d tries, %+v", hook.count(), r.Stats())
		}
	})
}

func TestAttemptsAndDueTimesSurviveARestart(t *testing.T) {
	path := filepath.Join(t.TempDir(), "p.db")
	synctest.Test(t, func(t *testing.T) {
		hook := &scripted{status: func(_ emitted, try int) (int, string) {
			if try < 3 {
				return 400, ""
			}
			return 200, ""
		}}
		batch := uuid.New()
		s := openFile(t, store.Options{Path: path, NoSync: true, MinFree: 1})
		r := startRelay(t, RelayConfig{Store: s.Store, Outbox: s.Outbox, Ledger: s.ledger, URL: "http://hook/", Sender: hook.sender()})
		emit(t, s, batch, 1)
		time.Sleep(2 * time.Second) // two tries: now and after a second
		stopRelay(t, r)
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		s = openFile(t, store.Options{Path: path, NoSync: true, MinFree: 1})
		defer s.Close()
		r = startRelay(t, RelayConfig{Store: s.Store, Outbox: s.Outbox, Ledger: s.ledger, URL: "http://hook/", Sender: hook.sender()})
		defer stopRelay(t, r)
		time.Sleep(2 * time.Second)
		if n := len(hook.at(batch, 1)); n != 2 {
			t.Errorf("%d tries: the restart forgot the backoff", n)
		}
		time.Sleep(10 * time.Second)
		if e := entry(t, s, 1); len(hook.at(batch, 1)) != 3 || e.State != outbox.Delivered || e.Attempts != 3 {
			t.Errorf("%v, %+v", hook.at(batch, 1), e)
		}
	})
}

func TestClockStepBackStrandsNoEntry(t *testing.T) {
	t.Parallel()
	inBubble(t, "c.db", func(t *testing.T, s *file, hook *scripted) {
		batch := uuid.New()
		emit(t, s, batch, 1, 2)
		err := s.Update(t.Context(), func(tx *store.Tx) error {
			return s.retry(tx, 1, time.Now().Add(1000*time.Hour), 500, "under another clock")
		})
		if err != nil {
			t.Fatal(err)
		}
		r := startRelay(t, RelayConfig{Store: s.Store, Outbox: s.Outbox, Ledger: s.ledger, URL: "http://hook/", Sender: hook.sender()})
		defer stopRelay(t, r)
		time.Sleep(time.Minute)
		if !delivered(t, s, 2) {
			t.Error("an entry is stranded in the future")
		}
	})
}
