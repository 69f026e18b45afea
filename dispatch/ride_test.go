package dispatch

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"

	"postern/event"
)

// TestOutcomesAwaitingACommitBlockNoOther: the next delivery of an order waits for
// the outcome before it, and not for outcomes of neighbours that are not urgent.
func TestOutcomesAwaitingACommitBlockNoOther(t *testing.T) {
	took := func(neighbour bool) (took time.Duration) {
		inTown(t, func(t *testing.T, c *town) {
			ordered, other := webhookLane(1), endpointLane(2, "crm")
			c.add(ordered, "ordered", event.OrderInstance)
			c.add(other, "other", event.OrderNone)
			if neighbour {
				c.emitAll(2, "x@c", numbers(5000), other)
				time.Sleep(time.Second)
			}
			begin := time.Now()
			c.emitAll(1, "x@c", numbers(100), ordered)
			for len(c.at("ordered")) < 100 {
				time.Sleep(time.Millisecond)
			}
			if took = time.Since(begin); neighbour && len(c.at("other")) == 5000 {
				t.Error("the neighbour had nothing to do")
			}
		})
		return took
	}
	if alone, beside := took(false), took(true); beside > alone*5/4 {
		t.Errorf("a hundred events in their order take %v beside a neighbour, %v alone", beside, alone)
	}
}

// late receives batch events, and sleeps for each.
type late time.Duration

func (l late) PublishBatch(event.Kind, uuid.UUID, uint64, []byte) { time.Sleep(time.Duration(l)) }

// TestEntryFoundByAPassIsPostedOnce: the tail reaches the entry when it is
// already delivered.
func TestEntryFoundByAPassIsPostedOnce(t *testing.T) {
	t.Parallel()
	inBubble(t, "p.db", func(t *testing.T, s *file, hook *scripted) {
		r := startRelay(t, RelayConfig{Store: s.Store, Outbox: s.Outbox, Ledger: s.ledger, URL: "http://hook/", Sender: hook.sender(), Publisher: late(time.Second)})
		defer stopRelay(t, r)
		batch := uuid.New()
		emit(t, s, batch, 1)
		synctest.Wait()
		if _, err := r.RetryAll(t.Context()); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute)
		if tries := hook.at(batch, 1); len(tries) != 1 {
			t.Errorf("posted %d times: %v", len(tries), tries)
		}
	})
}

// TestRetryLeavesAfterTheLastOutcomeIsStored: the retry is one more attempt,
// at once, and not that of the backoff.
func TestRetryLeavesAfterTheLastOutcomeIsStored(t *testing.T) {
	for _, answer := range []int{404, 200} {
		inTown(t, func(t *testing.T, c *town) {
			lane := webhookLane(1)
			c.add(lane, "a", event.OrderNone)
			c.set("a", say(answer))
			e := c.emit(1, "x@c", "hello", lane)
			time.Sleep(10*time.Millisecond + gatherFor + rideFor/2) // it was answered, and waits for a commit
			r, err := c.relay.Retry(t.Context(), recordOf(e, 0), everybody)
			if err != nil || r.Attempts != 1 {
				t.Fatalf("%+v, %v", r, err)
			}
			time.Sleep(500 * time.Millisecond)
			if n := len(c.at("a")); n != 2 {
				t.Errorf("answered %d: %d attempts", answer, n)
			}
		})
	}
}

// TestRecentForgetsTheOrderOfWhatWasTaken although the first value stays.
func TestRecentForgetsTheOrderOfWhatWasTaken(t *testing.T) {
	var r recent[string]
	for n := range uint64(100_000) {
		r.put(n, "x", 1)
		if n > 0 {
			r.take(n)
		}
	}
	if what, there := r.take(0); what != "x" || !there || len(r.order) > 1000 {
		t.Errorf("%q, %t, %d in line", what, there, len(r.order))
	}
}
