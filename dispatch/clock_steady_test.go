package dispatch

import (
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"

	"postern/delivery"
	"postern/event"
	"postern/store"
)

// A stop of three days counts as none in steady time, which is behind the time of day from then on.
func TestExpiryGoesBySteadyTimeAfterLongStop(t *testing.T) {
	t.Parallel()
	inTown(t, func(t *testing.T, c *town) {
		hook := webhookLane(1)
		c.add(hook, "a", event.OrderChat)
		c.set("a", say(503))
		c.close()
		time.Sleep(72 * time.Hour)
		c.open(c.path)
		time.Sleep(time.Minute)
		c.age(hook, 10*time.Second)
		e := c.emit(1, "x@c", "late", hook)
		time.Sleep(9 * time.Second)
		if r, _ := c.record(recordOf(e, 0)); r.State != delivery.Pending {
			t.Errorf("%s before its time", r.State)
		}
		time.Sleep(2 * time.Second)
		if r, _ := c.record(recordOf(e, 0)); r.State != delivery.Expired {
			t.Errorf("%s after its time", r.State)
		}
	})
}

// TestTimesOfAClockAheadAreNotAwaited: events fail, or wait, under a clock that
// is ahead by less than the longest pause, and the relay starts once the clock is right.
func TestTimesOfAClockAheadAreNotAwaited(t *testing.T) {
	const ahead = 50 * time.Minute
	t.Run("batch events", func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "b.db")
		synctest.Test(t, func(t *testing.T) {
			open := func(ahead time.Duration) *file {
				s := openFile(t, store.Options{Path: path, NoSync: true, MinFree: 1, Now: func() time.Time { return time.Now().Add(ahead) }})
				return s
			}
			s := open(0)
			emit(t, s, uuid.New(), 1)
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			s = open(ahead)
			emit(t, s, uuid.New(), 2)
			emitLater(t, s, uuid.New(), 3, time.Minute)
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			s = open(0)
			defer s.Close()
			hook := &scripted{status: func(emitted, int) (int, string) { return 200, "" }}
			r := startRelay(t, RelayConfig{Store: s.Store, Outbox: s.Outbox, Ledger: s.ledger, URL: "http://hook/", Sender: hook.sender()})
			defer stopRelay(t, r)
			time.Sleep(time.Minute)
			if n := hook.count(); n != 3 {
				t.Errorf("%d of 3 events were sent", n)
			}
		})
	})
	t.Run("durable events", func(t *testing.T) {
		inTown(t, func(t *testing.T, c *town) {
			hook := webhookLane(1)
			c.add(hook, "a", event.OrderChat)
			c.set("a", say(0))
			c.close()
			c.ahead = ahead
			c.open(c.path)
			e := c.emit(1, "x@c", "00001", hook)
			c.emit(1, "y@c", "00002", hook)
			time.Sleep(10 * time.Second)
			if err := c.s.Update(t.Context(), func(tx *store.Tx) error { // as the relay does under such a clock
				return c.ledger.Reschedule(tx, recordOf(e, 0), tx.Now().Add(time.Minute))
			}); err != nil {
				t.Fatal(err)
			}
			c.close()
			c.set("a", nil)
			c.ahead = 0
			c.open(c.path)
			time.Sleep(time.Minute)
			if n := len(c.accepted("a")); n != 2 {
				t.Errorf("%d of 2 events were accepted", n)
			}
		})
	})
}

// TestFirstAttemptsWaitForNoClock: the records of a cell are dated ahead of the machine's clock as long as it is behind
// that of a former owner.
func TestFirstAttemptsWaitForNoClock(t *testing.T) {
	const ahead = 30 * time.Minute
	t.Run("batch events", func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "b.db")
		synctest.Test(t, func(t *testing.T) {
			s := openFile(t, store.Options{Path: path, NoSync: true, MinFree: 1, Now: func() time.Time { return time.Now().Add(ahead) }})
			defer s.Close()
			batch := uuid.New()
			emit(t, s, batch, make([]int, 2*lineSize)...) // before the start
			hook := &scripted{status: func(emitted, int) (int, string) { return 200, "" }}
			r := startRelay(t, RelayConfig{Store: s.Store, Outbox: s.Outbox, Ledger: s.ledger, URL: "http://hook/", Sender: hook.sender()})
			defer stopRelay(t, r)
			time.Sleep(time.Minute)
			if n := hook.count(); n != 2*lineSize {
				t.Errorf("%d of %d events were sent", n, 2*lineSize)
			}
			emit(t, s, batch, 0)
			time.Sleep(time.Second)
			if n := hook.count(); n != 2*lineSize+1 {
				t.Errorf("a later event: %d", n)
			}
		})
	})
	t.Run("durable events", func(t *testing.T) {
		inTown(t, func(t *testing.T, c *town) {
			hook := webhookLane(1)
			c.add(hook, "a", event.OrderChat)
			c.close()
			c.ahead = ahead
			c.open(c.path)
			e := c.emit(1, "x@c", "00001", hook)
			c.emit(1, "x@c", "00002", hook)
			time.Sleep(time.Second)
			if n := len(c.accepted("a")); n != 2 {
				t.Errorf("%d of 2 events were accepted", n)
			}
			time.Sleep(2 * nap)
			if _, err := c.relay.Retry(t.Context(), recordOf(e, 0), everybody); err != nil { // wakes the lane
				t.Fatal(err)
			}
			time.Sleep(time.Second)
			if n := len(c.accepted("a")); n != 3 {
				t.Errorf("%d of 3 attempts, one by hand", n)
			}
			c.set("a", say(503))
			c.emit(1, "x@c", "00003", hook)
			time.Sleep(time.Second / 2)
			if n := len(c.at("a")); n != 4 {
				t.Errorf("%d attempts: a failed one does not wait", n)
			}
		})
	})
}
