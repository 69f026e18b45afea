package dispatch

import (
	"context"
	"net/http"
	"path/filepath"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"

	"postern/delivery"
	"postern/delivery/outbox"
	"postern/event"
	"postern/internal/nightly"
	"postern/store"
)

// One test for each promise about the outbox that no other file of this package covers.

// always is a receiver with one answer.
func always(status int, retryAfter string) func(emitted, int) (int, string) {
	return func(emitted, int) (int, string) { return status, retryAfter }
}

func TestDeliveryStartsAtOnceAfterTheCommit(t *testing.T) {
	t.Parallel()
	inBubble(t, "a.db", func(t *testing.T, s *file, hook *scripted) {
		r := startRelay(t, RelayConfig{Store: s.Store, Outbox: s.Outbox, Ledger: s.ledger, URL: "http://hook/", Sender: hook.sender()})
		defer stopRelay(t, r)
		time.Sleep(3 * time.Second) // the loops are at rest
		batch, begin := uuid.New(), time.Now()
		emit(t, s, batch, 1)
		synctest.Wait()
		if tries := hook.at(batch, 1); len(tries) != 1 || !tries[0].Equal(begin) {
			t.Errorf("tries at %v, committed at %v", tries, begin)
		}
	})
}

func TestNoTransactionIsOpenDuringHTTP(t *testing.T) {
	g := newGate(t)
	s := openStore(t, filepath.Join(t.TempDir(), "p.db"))
	r := NewRelay(RelayConfig{Store: s.Store, Outbox: s.Outbox, Ledger: s.ledger, URL: g.URL, Sender: NewSender(SenderConfig{})})
	if err := r.Start(); err != nil {
		t.Fatal(err)
	}
	emit(t, s, uuid.New(), 1)
	eventually(t, "in flight", func() bool { return g.flying.Load() == 1 })
	emit(t, s, uuid.New(), 2) // no write transaction
	closed := make(chan error, 1)
	go func() { closed <- s.Close() }() // waits for every read transaction
	select {
	case err := <-closed:
		if err != nil || g.flying.Load() == 0 {
			t.Errorf("%v, %d in flight", err, g.flying.Load())
		}
	case <-time.After(10 * time.Second):
		t.Error("a transaction is open while the receiver is waited for")
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := r.Stop(ctx); err != nil {
		t.Error(err)
	}
}

func TestPauseExceedsItsTableByATenth(t *testing.T) {
	for failures, base := range map[int]time.Duration{
		1: time.Second, 2: 5 * time.Second, 3: 15 * time.Second, 4: time.Minute, 5: 5 * time.Minute, 6: 15 * time.Minute, 7: time.Hour, 8: time.Hour, 100_000: time.Hour,
	} {
		shortest, longest := time.Duration(1<<62), time.Duration(0)
		for range 2000 {
			pause := backoff(failures)
			shortest, longest = min(shortest, pause), max(longest, pause)
		}
		if shortest < base || longest > base+base/10 || longest-shortest < base/20 {
			t.Errorf("after %d failures: %v to %v, want %v plus up to a tenth", failures, shortest, longest, base)
		}
	}
}

func TestQueueRetryAfterIsAtMostAnHour(t *testing.T) {
	for _, c := range []struct {
		name   string
		status int
		value  func(now time.Time) string
		want   time.Duration // the pause at least; at most a tenth more, or a second for dates
	}{
		{"a redirect", 302, seconds("90"), 90 * time.Second},
		{"a refusal", 400, seconds("90"), 90 * time.Second},
		{"unauthorized", 401, seconds("90"), 90 * time.Second},
		{"too many", 429, seconds("90"), 90 * time.Second},
		{"a fault", 500, seconds("90"), 90 * time.Second},
		{"a date", 404, func(now time.Time) string { return now.Add(2 * time.Minute).UTC().Format(http.TimeFormat) }, 2*time.Minute - time.Second},
		{"longer than an hour", 503, seconds("86400"), time.Hour},
		{"a date in a year", 503, func(now time.Time) string { return now.AddDate(1, 0, 0).UTC().Format(http.TimeFormat) }, time.Hour},
		{"shorter than the backoff", 503, seconds("0"), time.Second},
		{"nonsense", 503, seconds("soon"), time.Second},
	} {
		t.Run(c.name, func(t *testing.T) {
			inBubble(t, "r.db", func(t *testing.T, s *file, hook *scripted) {
				hook.status = func(_ emitted, try int) (int, string) {
					if try == 1 {
						return c.status, c.value(time.Now())
					}
					return 200, "3600"
				}
				r := startRelay(t, RelayConfig{Store: s.Store, Outbox: s.Outbox, Ledger: s.ledger, URL: "http://hook/", Sender: hook.sender()})
				defer stopRelay(t, r)
				batch := uuid.New()
				emit(t, s, batch, 1)
				time.Sleep(5 * time.Hour)
				tries := hook.at(batch, 1)
				if len(tries) != 2 {
					t.Fatalf("%d tries: Retry-After of a 2xx means nothing", len(tries))
				}
				if pause := tries[1].Sub(tries[0]); pause < c.want || pause > c.want+c.want/10+2*time.Second {
					t.Errorf("a pause of %v, want %v", pause, c.want)
				}
			})
		})
	}
}

func seconds(value string) func(time.Time) string { return func(time.Time) string { return value } }

func TestAnEntryIsNeverGivenUp(t *testing.T) {
	t.Parallel()
	inBubble(t, "g.db", func(t *testing.T, s *file, hook *scripted) {
		hook.status = always(404, "")
		r := startRelay(t, RelayConfig{Store: s.Store, Outbox: s.Outbox, Ledger: s.ledger, URL: "http://hook/", Sender: hook.sender(), Retention: time.Hour})
		defer stopRelay(t, r)
		emit(t, s, uuid.New(), 1)
		days := nightly.Or(3, 14)
		time.Sleep(time.Duration(days) * 24 * time.Hour)
		e := entry(t, s, 1)
		if e.State != outbox.Pending || e.Attempts != hook.count() || e.Attempts < days*24*10/11 || e.LastStatus != 404 {
			t.Fatalf("after %d days: %+v", days, e)
		}
		hook.answer(always(200, ""))
		time.Sleep(67 * time.Minute)
		if n := hook.count() - e.Attempts; n != 1 {
			t.Errorf("sent %d times once it was accepted", n)
		}
	})
}

func TestFiveFailuresExceptOther4xxOpenTheBreaker(t *testing.T) {
	const entries = 40
	for name, c := range map[string]struct {
		status int // 0: no connection, -1: no answer in time
		opens  bool
	}{
		"no connection": {0, true}, "timeout": {-1, true}, "500": {500, true}, "503": {503, true}, "429": {429, true},
		"301": {301, false}, "400": {400, false}, "401": {401, false}, "404": {404, false}, "410": {410, false}, "422": {422, false},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, "b.db", func(t *testing.T, s *file, hook *scripted) {
				hook.status = always(c.status, "")
				for n := range entries {
					emit(t, s, uuid.New(), n)
				}
				r := startRelay(t, RelayConfig{Store: s.Store, Outbox: s.Outbox, Ledger: s.ledger, URL: "http://hook/", Sender: hook.sender()})
				time.Sleep(900 * time.Millisecond)
				if c.status < 0 {
					time.Sleep(DefaultTimeout)
				}
				// Ten were in flight when the fifth failed, or nine and what came after four.
				if n := hook.count(); r.Stats().Open != c.opens || c.opens && n > 5+10 || !c.opens && n != entries {
					t.Errorf("open: %v after %d tries", r.Stats().Open, n)
				}
				ctx, cancel := context.WithCancel(t.Context())
				cancel()
				_ = r.Stop(ctx)
			})
		})
	}
}

func TestOnSuccessEverythingDueGoesOut(t *testing.T) {
	t.Parallel()
	inBubble(t, "s.db", func(t *testing.T, s *file, hook *scripted) {
		hook.status = always(503, "")
		r := startRelay(t, RelayConfig{Store: s.Store, Outbox: s.Outbox, Ledger: s.ledger, URL: "http://hook/", Sender: hook.sender()})
		defer stopRelay(t, r)
		time.Sleep(time.Second)
		const n = 3 * boardSize / 2
		batch := [3]uuid.UUID{uuid.New(), uuid.New(), uuid.New()}
		for _, b := range batch {
			emit(t, s, b, upTo(n/3)...)
		}
		time.Sleep(5 * time.Hour)
		before := hook.count()
		hook.answer(always(200, ""))
		time.Sleep(66 * time.Minute) // the next probe
		if got := hook.count() - before; got != n || s.Counts().Pending != 0 {
			t.Errorf("%d went out, %d are pending", got, s.Counts().Pending)
		}
		first, last := hook.span(before)
		if took := last.Sub(first); took > n/3*11*time.Millisecond+5*time.Second {
			t.Errorf("it took %v", took)
		}
	})
}

// TestWeekOfOutageCostsOneAttemptAMinute: the backlog is larger than the
// memory of the lane. The attempts of all entries add up to those that the receiver saw.
func TestWeekOfOutageCostsOneAttemptAMinute(t *testing.T) {
	if testing.Short() {
		t.Skip("lives through a week")
	}
	inBubble(t, "w.db", func(t *testing.T, s *file, hook *scripted) {
		hook.status = always(0, "")
		const n = 2*boardSize + 100
		for i := range 10 {
			emit(t, s, uuid.New(), upTo(n/10+i%2)...)
		}
		r := startRelay(t, RelayConfig{Store: s.Store, Outbox: s.Outbox, Ledger: s.ledger, URL: "http://hook/", Sender: hook.sender()})
		defer stopRelay(t, r)
		days := nightly.Or(1, 7)
		time.Sleep(time.Duration(days) * 24 * time.Hour)
		// 5 to 15 open the breaker; a probe every 5 to 5.5 s for 15 minutes, then every 60 to 66 s.
		minutes := days*24*60 - 15
		if got := hook.count(); got < 5+163+minutes*10/11 || got > 15+181+minutes {
			t.Errorf("%d attempts in %d days", got, days)
		}
		attempts := 0
		for _, e := range pendingEntries(t, s) {
			attempts += e.Attempts
		}
		if attempts != hook.count() {
			t.Errorf("%d attempts are noted, the receiver saw %d", attempts, hook.count())
		}
	})
}

func pendingEntries(t *testing.T, s *file) (all []outbox.Entry) {
	t.Helper()
	err := s.View(func(tx *store.Tx) (err error) {
		all, err = outbox.List(tx, outbox.Query{State: outbox.Pending, Limit: 1 << 20})
		for i := 0; i < len(all) && err == nil; i++ {
			all[i], err = delivery.Queued(tx, all[i])
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func TestEntriesOfADisabledWebhookAreNeverSent(t *testing.T) {
	path := filepath.Join(t.TempDir(), "p.db")
	synctest.Test(t, func(t *testing.T) {
		s := openStore(t, path, replayOnly)
		emit(t, s, uuid.New(), 1, 2)
		_ = s.Close()
		s = openStore(t, path)
		defer s.Close()
		hook := &scripted{status: always(200, "")}
		r := startRelay(t, RelayConfig{Store: s.Store, Outbox: s.Outbox, Ledger: s.ledger, URL: "http://hook/", Sender: hook.sender()})
		defer stopRelay(t, r)
		if _, err := r.RetryNow(t.Context(), 1); err == nil {
			t.Error("a disabled entry can be retried")
		}
		if n, err := r.RetryAll(t.Context()); n != 0 || err != nil {
			t.Errorf("%d retried, %v", n, err)
		}
		emit(t, s, uuid.New(), 3)
		time.Sleep(24 * time.Hour)
		if hook.count() != 1 || s.Counts() != (outbox.Counts{Delivered: 1, Disabled: 2}) {
			t.Errorf("%d sent, %+v", hook.count(), s.Counts())
		}
	})
}

func TestOnlyEntriesThatEndedLongAgoArePruned(t *testing.T) {
	path := filepath.Join(t.TempDir(), "p.db")
	synctest.Test(t, func(t *testing.T) {
		s := openStore(t, path, replayOnly)
		emit(t, s, uuid.New(), 1)
		_ = s.Close()
		s = openStore(t, path)
		defer s.Close()
		hook := &scripted{status: func(e emitted, _ int) (int, string) {
			if e.N == 3 {
				return 404, ""
			}
			return 200, ""
		}}
		r := startRelay(t, RelayConfig{Store: s.Store, Outbox: s.Outbox, Ledger: s.ledger, URL: "http://hook/", Sender: hook.sender(), Retention: 24 * time.Hour})
		defer stopRelay(t, r)
		emit(t, s, uuid.New(), 2, 3)
		time.Sleep(23*time.Hour + 50*time.Minute)
		if got := s.Counts(); got != (outbox.Counts{Pending: 1, Delivered: 1, Disabled: 1}) {
			t.Errorf("within the retention: %+v", got)
		}
		time.Sleep(nightly.Or[time.Duration](2, 30) * 24 * time.Hour)
		if got := s.Counts(); got != (outbox.Counts{Pending: 1}) {
			t.Errorf("after the retention: %+v", got)
		}
	})
}

// answer changes the answers of the receiver.
func (h *scripted) answer(status func(emitted, int) (int, string)) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.status = status
}

// span returns the times of the first and the last attempt after the first n.
func (h *scripted) span(n int) (first, last time.Time) {
	h.mu.Lock()
	defer h.mu.Unlock()
	var all []time.Time
	for _, tries := range h.tries {
		all = append(all, tries...)
	}
	slices.SortFunc(all, time.Time.Compare)
	return all[n], all[len(all)-1]
}

func TestAttemptEventHasTheFinalBytes(t *testing.T) {
	hook := newReceiver(t)
	s := openStore(t, filepath.Join(t.TempDir(), "p.db"))
	var at time.Time
	change(t, s, func(tx *store.Tx) error {
		at = tx.Now()
		return s.Emit(tx, outbox.Emission{Kind: event.BatchProgress, Owner: owner, Batch: uuid.New(), Data: emitted{"b", 7}})
	})
	startRelay(t, RelayConfig{Store: s.Store, Outbox: s.Outbox, Ledger: s.ledger, URL: hook.URL})
	eventually(t, "delivered", func() bool { return delivered(t, s, 1) })
	want := `{"event":"message.batch.progress","data":{"Batch":"b","N":7},"timestamp":"` + event.At(at).String() + `"}`
	if got := string(entry(t, s, 1).Body); got != want || len(hook.received()) != 1 || hook.received()[0].N != 7 {
		t.Errorf("%s, want %s", got, want)
	}
}

func TestEntriesWithoutMemoryAreDeliveredLater(t *testing.T) {
	t.Parallel()
	inBubble(t, "m.db", func(t *testing.T, s *file, hook *scripted) {
		hook.status = always(503, "")
		r := startRelay(t, RelayConfig{Store: s.Store, Outbox: s.Outbox, Ledger: s.ledger, URL: "http://hook/", Sender: hook.sender()})
		defer stopRelay(t, r)
		time.Sleep(time.Second)
		const n = boardSize + 300
		change(t, s, func(tx *store.Tx) error {
			for i := range n {
				e := outbox.Emission{Kind: event.BatchProgress, Owner: owner, Batch: uuid.New(), Data: emitted{"b", i}}
				if err := s.Emit(tx, e); err != nil {
					return err
				}
			}
			return nil
		})
		time.Sleep(10 * time.Minute)
		hook.answer(always(200, ""))
		time.Sleep(time.Hour)
		if !delivered(t, s, n) {
			t.Errorf("left: %+v", s.Counts())
		}
	})
}
