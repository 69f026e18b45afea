package dispatch

import (
	"testing"
	"testing/synctest"
	"time"

	"postern/delivery"
	"postern/event"
)

// TestAnAttemptThatAStopCutsOffIsALineOfTheLog, and the delivery goes out again at the next
// start, at once.
func TestAnAttemptThatAStopCutsOffIsALineOfTheLog(t *testing.T) {
	inTown(t, func(t *testing.T, c *town) {
		hook := webhookLane(1)
		c.add(hook, "a", event.OrderChat)
		c.set("a", say(-1))
		e := c.emit(1, "x@c", "hello", hook)
		behind := c.emit(1, "x@c", "behind it", hook)
		synctest.Wait()
		before := c.at("a")
		c.close()
		c.set("a", nil)
		c.open(c.path)
		begin := time.Now()
		synctest.Wait()
		r, attempts := c.record(recordOf(e, 0))
		if len(attempts) < 1 || attempts[0].Error != errCutOff.Error() || attempts[0].RequestID != before[0].request || attempts[0].Status != 0 {
			t.Fatalf("%+v, %+v", r, attempts)
		}
		time.Sleep(time.Second)
		heard := c.at("a")
		if len(heard) != 3 || heard[1].body != "hello" || heard[1].id != heard[0].id || !heard[1].at.Equal(begin) {
			t.Errorf("heard %+v", heard)
		}
		if r, attempts := c.record(recordOf(e, 0)); r.State != delivery.Delivered || len(attempts) != 2 || attempts[1].RequestID != heard[1].request {
			t.Errorf("%+v, %+v", r, attempts)
		}
		if r, attempts := c.record(recordOf(behind, 0)); r.State != delivery.Delivered || len(attempts) != 1 {
			t.Errorf("%+v, %+v", r, attempts)
		}
	})
}
