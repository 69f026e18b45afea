package dispatch

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"

	"postern/internal/nightly"
)

// This file tests what the global webhook gets after an outage.

// order returns what arrived and was accepted, batch by batch.
func (h *scripted) order(since time.Time) map[string][]int {
	h.mu.Lock()
	defer h.mu.Unlock()
	got := map[string][]emitted{}
	last := func(e emitted) time.Time { return h.tries[e][len(h.tries[e])-1] }
	for e := range h.tries {
		if !last(e).Before(since) {
			got[e.Batch] = append(got[e.Batch], e)
		}
	}
	numbers := map[string][]int{}
	for batch, all := range got {
		slices.SortFunc(all, func(a, b emitted) int { return last(a).Compare(last(b)) })
		for _, e := range all {
			numbers[batch] = append(numbers[batch], e.N)
		}
	}
	return numbers
}

// lastTry returns when the last delivery was sent.
func (h *scripted) lastTry() (last time.Time) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, tries := range h.tries {
		if at := tries[len(tries)-1]; at.After(last) {
			last = at
		}
	}
	return last
}

// TestReceiverBackAfter30sCatchesUpWithin6s: batches continue during the
// outage. Ten deliveries take 10 ms, which is what the backlog costs a bare loop.
func TestReceiverBackAfter30sCatchesUpWithin6s(t *testing.T) {
	if testing.Short() {
		t.Skip("takes some seconds")
	}
	for name, status := range map[string]int{"refused": 0, "503": 503, "429": 429} {
		for run := range nightly.Or(1, 5) {
			t.Run(fmt.Sprint(name, run), func(t *testing.T) {
				inBubble(t, "o.db", func(t *testing.T, s *file, hook *scripted) {
					r := startRelay(t, RelayConfig{Store: s.Store, Outbox: s.Outbox, Ledger: s.ledger, URL: "http://hook/", Sender: hook.sender()})
					defer stopRelay(t, r)
					batches := make([]uuid.UUID, 40)
					sent := make([]int, len(batches))
					for i := range batches {
						batches[i] = uuid.New()
					}
					begin, total := time.Now(), 0
					for step := range 400 { // 40 s, away from 5 s to 35 s
						switch time.Sleep(time.Until(begin.Add(time.Duration(step) * 100 * time.Millisecond))); step {
						case 50:
							hook.answer(always(status, ""))
						case 350:
							hook.answer(always(200, ""))
						}
						for range 1 + rand.IntN(20) {
							i := rand.IntN(len(batches))
							emit(t, s, batches[i], sent[i])
							sent[i]++
							total++
						}
					}
					back := begin.Add(35 * time.Second)
					time.Sleep(10 * time.Second)
					if !delivered(t, s, total) {
						t.Fatalf("left: %+v, %+v", s.Counts(), r.Stats())
					}
					bare := time.Duration(total/10+1) * 10 * time.Millisecond
					if took := hook.lastTry().Sub(back); took > 6*time.Second+bare {
						t.Errorf("the last went out %v after it was back", took)
					}
					for batch, got := range hook.order(back) {
						if !slices.IsSorted(got) {
							t.Errorf("batch %s arrived in the order %v", batch, got)
						}
					}
				})
			})
		}
	}
}

func TestProbePausesAre5sThenAMinute(t *testing.T) {
	t.Parallel()
	inBubble(t, "p.db", func(t *testing.T, s *file, hook *scripted) {
		hook.status = always(0, "")
		r := startRelay(t, RelayConfig{Store: s.Store, Outbox: s.Outbox, Ledger: s.ledger, URL: "http://hook/", Sender: hook.sender()})
		defer stopRelay(t, r)
		begin := time.Now()
		for n := range 30 {
			emit(t, s, uuid.New(), n)
		}
		time.Sleep(3 * time.Hour)
		hook.mu.Lock()
		defer hook.mu.Unlock()
		var probes []time.Time
		for _, tries := range hook.tries {
			for _, at := range tries {
				if at.Sub(begin) > time.Second {
					probes = append(probes, at)
				}
			}
		}
		slices.SortFunc(probes, time.Time.Compare)
		for i := 1; i < len(probes); i++ {
			want := probeSoon
			if probes[i-1].Sub(begin) >= soonFor {
				want = probeLater
			}
			if pause := probes[i].Sub(probes[i-1]); pause < want || pause > want+want/10+20*time.Millisecond {
				t.Errorf("a pause of %v after %v, want %v plus up to a tenth", pause, probes[i-1].Sub(begin), want)
			}
		}
		if last := begin.Add(3*time.Hour - 67*time.Second); len(probes) == 0 || probes[len(probes)-1].Before(last) {
			t.Errorf("%d probes, the last too long ago", len(probes))
		}
	})
}

func TestProbeIsTheOldestAndBatchesTakeTurns(t *testing.T) {
	t.Parallel()
	inBubble(t, "t.db", func(t *testing.T, s *file, hook *scripted) {
		hook.status = always(503, "")
		r := startRelay(t, RelayConfig{Store: s.Store, Outbox: s.Outbox, Ledger: s.ledger, URL: "http://hook/", Sender: hook.sender()})
		defer stopRelay(t, r)
		batches := []uuid.UUID{uuid.New(), uuid.New(), uuid.New()}
		for _, b := range batches {
			emit(t, s, b, upTo(2*lineSize)...)
		}
		time.Sleep(time.Second)
		before := hook.count()
		time.Sleep(10 * time.Minute)
		probes, first := hook.count()-before, 0
		for _, b := range batches {
			n := len(hook.at(b, 0))
			if first += n; n < probes/3-2 {
				t.Errorf("%d of %d probes are of one batch, there are three", n, probes)
			}
		}
		if probes < 100 || first < probes {
			t.Errorf("%d probes, %d of the first events", probes, first)
		}
	})
}

// TestUnacceptableEventsDoNotBlockOthersForever: the receiver fails on the
// first event of every batch.
func TestUnacceptableEventsDoNotBlockOthersForever(t *testing.T) {
	t.Parallel()
	inBubble(t, "v.db", func(t *testing.T, s *file, hook *scripted) {
		hook.status = func(e emitted, _ int) (int, string) {
			if e.N == 0 {
				return 500, ""
			}
			return 200, ""
		}
		for range 20 {
			emit(t, s, uuid.New(), 0, 1, 2, 3)
		}
		r := startRelay(t, RelayConfig{Store: s.Store, Outbox: s.Outbox, Ledger: s.ledger, URL: "http://hook/", Sender: hook.sender()})
		defer stopRelay(t, r)
		time.Sleep(3 * time.Hour)
		if c := s.Counts(); c.Delivered != 60 || c.Pending != 20 {
			t.Errorf("%+v, %+v", c, r.Stats())
		}
	})
}

// TestBackoffEndsWhenTheReceiverIsBack: some entries failed long
// before the outage and are due in an hour.
func TestBackoffEndsWhenTheReceiverIsBack(t *testing.T) {
	t.Parallel()
	inBubble(t, "b.db", func(t *testing.T, s *file, hook *scripted) {
		hook.status = always(404, "")
		r := startRelay(t, RelayConfig{Store: s.Store, Outbox: s.Outbox, Ledger: s.ledger, URL: "http://hook/", Sender: hook.sender()})
		defer stopRelay(t, r)
		batches := make([]uuid.UUID, 30)
		for i := range batches {
			batches[i] = uuid.New()
			emit(t, s, batches[i], 0, 1)
		}
		time.Sleep(24*time.Hour + 10*time.Minute)
		hook.answer(always(503, ""))
		for _, b := range batches {
			emit(t, s, b, 2, 3)
		}
		time.Sleep(30 * time.Second)
		hook.answer(always(200, ""))
		back := time.Now()
		time.Sleep(7 * time.Second)
		if !delivered(t, s, 4*len(batches)) {
			t.Errorf("left: %+v", s.Counts())
		}
		for batch, got := range hook.order(back) {
			if fmt.Sprint(got) != "[0 1 2 3]" {
				t.Errorf("batch %s: %v", batch, got)
			}
		}
	})
}

// TestBacklogLargerThanTheBoardKeepsOrder: more entries are pending than fit in
// memory, in some batches more than a line holds.
func TestBacklogLargerThanTheBoardKeepsOrder(t *testing.T) {
	t.Parallel()
	inBubble(t, "l.db", func(t *testing.T, s *file, hook *scripted) {
		hook.status = always(0, "")
		r := startRelay(t, RelayConfig{Store: s.Store, Outbox: s.Outbox, Ledger: s.ledger, URL: "http://hook/", Sender: hook.sender()})
		defer stopRelay(t, r)
		const each = 2 * lineSize
		batches := make([]uuid.UUID, 3*boardSize/each)
		for i := range batches {
			batches[i] = uuid.New()
			emit(t, s, batches[i], 0)
		}
		time.Sleep(2 * time.Minute) // they fail one after the other
		for _, b := range batches {
			emit(t, s, b, upTo(each)[1:]...)
		}
		time.Sleep(time.Minute)
		hook.answer(always(200, ""))
		back := time.Now()
		n := each * len(batches)
		time.Sleep(6*time.Second + time.Duration(n)*time.Millisecond*2)
		if !delivered(t, s, n) {
			t.Errorf("left: %+v", s.Counts())
		}
		for batch, got := range hook.order(back) {
			if len(got) != each || !slices.IsSorted(got) {
				t.Errorf("batch %s: %v", batch, got)
			}
		}
	})
}
