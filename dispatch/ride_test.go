package dispatch

import (
	"testing"
	"time"

	"postern/event"
)

// TestOutcomesThatWaitForACommitHoldUpNoOther: what comes next in an order waits for
// its own outcome, and not for those of neighbours that have time.
func TestOutcomesThatWaitForACommitHoldUpNoOther(t *testing.T) {
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
