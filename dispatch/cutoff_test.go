package dispatch

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"

	"postern/delivery"
	"postern/delivery/outbox"
	"postern/event"
	"postern/store"
)

// TestAttemptCutOffByStopIsLogged, and the next start sends the delivery
// again at once.
func TestAttemptCutOffByStopIsLogged(t *testing.T) {
	t.Parallel()
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

// TestBatchEventCutOffByStopIsLogged: the outbox and the log agree on the attempt,
// and the event is due as before.
func TestBatchEventCutOffByStopIsLogged(t *testing.T) {
	t.Parallel()
	inTown(t, func(t *testing.T, c *town) {
		c.add(delivery.BatchLane, "all", event.OrderNone)
		c.set("all", say(-1))
		c.relay.SetURL("http://all/hook")
		emit(t, c.s, uuid.New(), 1)
		synctest.Wait()
		before := c.at("all")
		c.close()
		c.set("all", nil)
		c.open(c.path)
		look := func() (e outbox.Entry, r delivery.Record, attempts []delivery.Attempt) {
			t.Helper()
			if err := c.s.View(func(tx *store.Tx) (err error) {
				if e, _, err = outbox.Get(tx, 1); err == nil {
					e, err = delivery.Queued(tx, e)
				}
				return err
			}); err != nil {
				t.Fatal(err)
			}
			r, attempts = c.record(e.Record)
			return e, r, attempts
		}
		e, r, attempts := look()
		if len(before) != 1 || len(attempts) != 1 || attempts[0].Error != errCutOff.Error() || attempts[0].RequestID != before[0].request {
			t.Fatalf("%+v, %+v, %+v", before, r, attempts)
		}
		if e.State != outbox.Pending || e.Attempts != 1 || e.LastError != errCutOff.Error() || e.NextAttemptAt.After(before[0].at) || !r.NextAttemptAt.Equal(e.NextAttemptAt) {
			t.Errorf("the outbox has %+v, the log %+v", e, r)
		}
		c.relay.SetURL("http://all/hook")
		time.Sleep(time.Second)
		if e, r, attempts := look(); e.State != outbox.Delivered || r.State != delivery.Delivered || len(attempts) != 2 {
			t.Errorf("%+v, %+v, %+v", e, r, attempts)
		}
	})
}
