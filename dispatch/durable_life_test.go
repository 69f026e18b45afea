package dispatch

import (
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"

	"postern/delivery"
	"postern/delivery/logbook"
	"postern/event"
	"postern/internal/nightly"
	"postern/store"
)

// This file tests the effect of a kill, a stop, many lanes and damage on durable events.

// TestKillsKeepOrderAndIDs copies
// the file at each commit, as a kill would leave it, and delivers from the copy.
func TestKillsKeepOrderAndIDs(t *testing.T) {
	if testing.Short() {
		t.Skip("kills at many commits")
	}
	dir := t.TempDir()
	var images int
	ids := map[string]string{} // by body
	inTown(t, func(t *testing.T, c *town) {
		c.atCommit(func() {
			images++
			raw, err := os.ReadFile(c.path)
			if err == nil {
				err = os.WriteFile(filepath.Join(dir, fmt.Sprint(images)), raw, 0o600)
			}
			if err != nil {
				t.Error(err)
			}
		})
		c.close()
		c.open(c.path)
		town3(c)
		c.set("a", func(_ *http.Request, try int) (int, http.Header) { return []int{503, 200, 200}[try%3], nil })
		for i := range 12 {
			for _, chat := range []string{"x@c", "y@c"} {
				body := fmt.Sprintf("%s%05d", chat, i)
				ids[body] = c.emit(1, chat, body, lanes3()...).ID.String()
				time.Sleep(7 * time.Millisecond)
			}
		}
		time.Sleep(time.Hour)
		if c.pending() != 0 {
			t.Fatal("not all delivered")
		}
		c.atCommit(nil)
	})
	if images < 30 {
		t.Fatalf("%d commits", images)
	}
	for n := 1; n <= images; n += nightly.Or(5, 1) {
		inTown(t, func(t *testing.T, c *town) {
			c.close()
			town3(c)
			c.open(filepath.Join(dir, fmt.Sprint(n)))
			before := c.pending()
			time.Sleep(time.Hour)
			if left := c.pending(); left != 0 {
				t.Errorf("image %d: %d of %d wait", n, left, before)
			}
			arrived := 0
			for _, host := range []string{"a", "b", "d"} {
				got := map[string][]string{}
				for _, h := range c.at(host) {
					arrived++
					if ids[h.body] != h.id {
						t.Errorf("image %d: %s came as %s, was emitted as %s", n, h.body, h.id, ids[h.body])
					}
					got[h.body[:3]] = append(got[h.body[:3]], h.body)
				}
				for chat, bodies := range got {
					if host != "b" && !slices.IsSorted(bodies) { // b has no order
						t.Errorf("image %d: %s of %s heard %v", n, chat, host, bodies)
					}
				}
			}
			if arrived != before {
				t.Errorf("image %d: %d arrived, %d waited", n, arrived, before)
			}
		})
	}
}

func lanes3() []delivery.Lane {
	return []delivery.Lane{webhookLane(1), endpointLane(1, "crm"), delivery.GlobalLane}
}

func town3(c *town) {
	c.add(webhookLane(1), "a", event.OrderChat)
	c.add(endpointLane(1, "crm"), "b", event.OrderNone)
	c.add(delivery.GlobalLane, "d", event.OrderInstance)
}

func TestLaneSleepsAfterAnIdleMinute(t *testing.T) {
	inTown(t, func(t *testing.T, c *town) {
		time.Sleep(time.Minute)
		before := runtime.NumGoroutine()
		for i := range 50 {
			is := webhookLane(int64(i + 1))
			c.add(is, fmt.Sprint("h", i), event.OrderNone)
			c.emit(int64(i+1), "", "x", is)
		}
		time.Sleep(30 * time.Second)
		if s := c.relay.Stats(); s.Lanes != 50 {
			t.Errorf("%d awake", s.Lanes)
		}
		time.Sleep(45 * time.Second)
		synctest.Wait()
		// The count is of the whole process, where the runtime may start one of its own; a lane
		// that stays awake would be 50.
		if s, n := c.relay.Stats(), runtime.NumGoroutine(); s.Lanes != 0 || n > before+5 {
			t.Errorf("%d awake, %d goroutines more", s.Lanes, n-before)
		}
		c.emit(1, "", "again", webhookLane(1))
		synctest.Wait()
		if got := c.bodies("h0"); len(got) != 2 {
			t.Errorf("%v", got)
		}
	})
}

// TestThousandHangingReceiversCostNothing: all are tried for the first time
// at once, as after a start.
func TestThousandHangingReceiversCostNothing(t *testing.T) {
	if testing.Short() {
		t.Skip("takes some seconds")
	}
	inTown(t, func(t *testing.T, c *town) {
		good := webhookLane(1)
		c.add(good, "good", event.OrderNone)
		c.emit(1, "", "first", good)
		time.Sleep(time.Second)
		for i := range 1000 {
			is := webhookLane(int64(i + 2))
			host := fmt.Sprint("dead", i)
			c.add(is, host, event.OrderNone)
			c.set(host, say(-1))
			c.emitAll(int64(i+2), "", numbers(nightly.Or(3, 20)), is)
		}
		sent := map[string]time.Time{}
		for i := range nightly.Or(300, 600) {
			body := fmt.Sprint("live", i)
			sent[body] = time.Now()
			c.emit(1, "", body, good)
			time.Sleep(time.Second)
		}
		var worst time.Duration
		for _, h := range c.at("good") {
			if at, is := sent[h.body]; is {
				worst = max(worst, h.at.Sub(at))
				delete(sent, h.body)
			}
		}
		if len(sent) != 0 || worst > 50*time.Millisecond {
			t.Errorf("%d are missing, the slowest took %v", len(sent), worst)
		}
		if s := c.relay.Stats(); s.LanesInFlight > 2*mostFlights {
			t.Errorf("%+v", s)
		}
		for i := range 1000 {
			if len(c.at(fmt.Sprint("dead", i))) == 0 {
				t.Fatalf("dead%d was never tried", i)
			}
		}
	})
}

func TestHangingReceiversDelayNoBatchEvent(t *testing.T) {
	t.Parallel()
	inTown(t, func(t *testing.T, c *town) {
		c.add(delivery.BatchLane, "global", event.OrderNone)
		c.relay.SetURL("http://global/hook")
		for i := range int64(3 * mostFlights) {
			is, host := webhookLane(i+1), fmt.Sprint("dead", i)
			c.add(is, host, event.OrderNone)
			c.set(host, say(-1))
			c.emitAll(i+1, "", numbers(5), is)
		}
		time.Sleep(2 * patience)
		batch := uuid.New()
		for i := range 30 {
			emit(t, c.s, batch, i)
			time.Sleep(time.Second)
			if n := len(c.at("global")); n != i+1 {
				t.Fatalf("%d of %d batch events left within a second", n, i+1)
			}
		}
	})
}

func TestRetryOfEndedDeliveryIgnoresTheBreaker(t *testing.T) {
	t.Parallel()
	inTown(t, func(t *testing.T, c *town) {
		hook := webhookLane(1)
		c.add(hook, "a", event.OrderChat)
		c.age(hook, 10*time.Second)
		c.set("a", say(0))
		old := c.emit(1, "x@c", "old", hook)
		time.Sleep(time.Minute)
		c.age(hook, 72*time.Hour)
		c.emitAll(1, "x@c", numbers(20), hook)
		c.emitAll(1, "y@c", numbers(20), hook)
		time.Sleep(2 * time.Hour)
		if c.relay.Stats().LanesOpen != 1 {
			t.Fatal("the breaker is closed")
		}
		before, begin := len(c.at("a")), time.Now()
		r, err := c.relay.Retry(t.Context(), recordOf(old, 0), everybody)
		if err != nil || r.State != delivery.Pending || r.Former != delivery.Expired {
			t.Fatalf("%+v, %v", r, err)
		}
		time.Sleep(time.Second)
		if got := c.at("a")[before:]; len(got) == 0 || got[0].body != "old" || !got[0].at.Equal(begin) || got[0].id != old.ID.String() {
			t.Errorf("%+v", got)
		}
		if r, attempts := c.record(r.ID); r.State != delivery.Expired || len(attempts) != r.Attempts || r.Attempts < 2 {
			t.Errorf("when it fails: %+v", r)
		}
		c.set("a", nil)
		if _, err := c.relay.Retry(t.Context(), recordOf(old, 0), everybody); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Second)
		if r, _ := c.record(r.ID); r.State != delivery.Delivered {
			t.Errorf("when it is accepted: %+v", r)
		}
		if n := c.pending(); n != 0 {
			t.Errorf("its success let out nothing else: %d wait", n)
		}
		if _, err := c.relay.Retry(t.Context(), 1<<40, everybody); !errors.Is(err, delivery.ErrNotFound) {
			t.Error(err)
		}
	})
}

func TestARetryOfWhatWaitsGoesOutNow(t *testing.T) {
	t.Parallel()
	inTown(t, func(t *testing.T, c *town) {
		hook := webhookLane(1)
		c.add(hook, "a", event.OrderChat)
		c.set("a", say(404))
		e := c.emit(1, "x@c", "x", hook)
		behind := c.emit(1, "x@c", "y", hook)
		time.Sleep(10 * time.Hour)
		before := len(c.at("a"))
		third := c.emit(1, "x@c", "z", hook)
		for range 2 { // while nothing is accepted the order holds, and the answer says who is waited for
			r, err := c.relay.Retry(t.Context(), recordOf(third, 0), everybody)
			if err != nil || r.ID != recordOf(third, 0) || r.State != delivery.Pending || r.WaitsFor != recordOf(e, 0) || !r.Replayable {
				t.Fatalf("%+v, %v", r, err)
			}
			time.Sleep(time.Second)
			if got := c.bodies("a")[before:]; !slices.Equal(got, []string{"x"}) {
				t.Errorf("%v", got)
			}
			before = len(c.at("a"))
		}
		c.set("a", nil)
		if r, err := c.relay.Retry(t.Context(), recordOf(behind, 0), everybody); err != nil || r.WaitsFor != recordOf(e, 0) {
			t.Fatalf("%+v, %v", r, err)
		}
		time.Sleep(time.Second)
		if got := c.bodies("a")[before:]; !slices.Equal(got, []string{"x", "y", "z"}) {
			t.Errorf("%v", got)
		}
		if r, _ := c.record(recordOf(e, 0)); r.State != delivery.Delivered {
			t.Errorf("%+v", r)
		}
		if r, err := c.relay.Retry(t.Context(), recordOf(third, 0), everybody); err == nil && r.WaitsFor != 0 {
			t.Errorf("what had ended waits for %d", r.WaitsFor)
		}
	})
}

func TestWhatCannotBeReadKeepsNothingFromLeaving(t *testing.T) {
	t.Parallel()
	inTown(t, func(t *testing.T, c *town) {
		hook := webhookLane(1)
		c.add(hook, "a", event.OrderChat)
		c.put(hook, delivery.Paused)
		first := c.emit(1, "x@c", "first", hook)
		c.emit(1, "x@c", "second", hook)
		err := c.s.Update(t.Context(), func(tx *store.Tx) error { return tx.Put("delivery_event", store.Key(first.Seq), []byte{9}) })
		if err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		c.relay.newEvents.take(first.Seq) // the tail read it before
		c.put(hook, delivery.Ready)
		time.Sleep(time.Second)
		if got := c.bodies("a"); !slices.Equal(got, []string{"second"}) || c.pending() != 0 {
			t.Errorf("%v, %d wait", got, c.pending())
		}
	})
}

func TestPendingDeliveriesLeaveAfterARestart(t *testing.T) {
	t.Parallel()
	inTown(t, func(t *testing.T, c *town) {
		town3(c)
		c.set("a", say(-1))
		c.emitAll(1, "x@c", numbers(5), lanes3()...)
		begin := time.Now()
		c.close()
		if took := time.Since(begin); took > lastWords+50*time.Millisecond {
			t.Errorf("the stop took %v", took)
		}
		if len(c.accepted("b")) != 5 || len(c.accepted("d")) != 5 {
			t.Errorf("those that accept had %v and %v", c.accepted("b"), c.accepted("d"))
		}
		c.set("a", nil)
		c.open(c.path)
		time.Sleep(time.Second)
		if got := c.accepted("a"); len(got) != 5 || !slices.IsSorted(got) || c.pending() != 0 {
			t.Errorf("%v, %d wait", got, c.pending())
		}
	})
}

func TestNumberedEventsArePublishedInCommitOrder(t *testing.T) {
	t.Parallel()
	inTown(t, func(t *testing.T, c *town) {
		for i := range 200 {
			c.emit(int64(i%3+1), "", fmt.Sprint(i), []delivery.Lane{}...)
		}
		synctest.Wait()
		last := map[int64]uint64{}
		for i, n := range c.told {
			if string(n.Body) != fmt.Sprintf("%q", strconv.Itoa(i)) || n.Sequence != last[n.InstanceID]+1 {
				t.Fatalf("%d is %+v", i, n)
			}
			last[n.InstanceID] = n.Sequence
		}
		if len(c.told) != 200 {
			t.Errorf("%d published", len(c.told))
		}
	})
}

func TestCancelledBacklogReleasesWhatFollows(t *testing.T) {
	t.Parallel()
	inTown(t, func(t *testing.T, c *town) {
		c.close()
		c.config.DurableMaxBytes = 1400
		c.open(c.path)
		hook := webhookLane(1)
		c.add(hook, "a", event.OrderChat)
		c.set("a", say(404))
		all := c.emitAll(1, "x@c", numbers(300), hook) // 2100 bytes
		time.Sleep(5 * time.Second)
		if r, _ := c.record(recordOf(all[0], 0)); r.State != delivery.Cancelled || r.LastError != delivery.ReasonCapacity {
			t.Errorf("%+v", r)
		}
		c.set("a", nil)
		time.Sleep(time.Hour)
		if got := c.accepted("a"); len(got) != 200 || got[0] != "00100" || !slices.IsSorted(got) || c.pending() != 0 {
			t.Errorf("%d arrived, %d wait", len(got), c.pending())
		}
	})
}

// TestNewRelayIsNotReportedAsStalled: before the first turn of its loops,
// the relay reports no silence.
func TestNewRelayIsNotReportedAsStalled(t *testing.T) {
	t.Parallel()
	inTown(t, func(t *testing.T, c *town) {
		if silent := time.Since(c.relay.Stats().LastTurn); silent > time.Second {
			t.Errorf("a loop is said to be silent for %v", silent)
		}
	})
}

// TestReplayArrivesInTheOrderAskedFor: one that is refused holds up those behind it, and no live event.
func TestReplayArrivesInTheOrderAskedFor(t *testing.T) {
	inTown(t, func(t *testing.T, c *town) {
		hook := webhookLane(1)
		c.add(hook, "a", event.OrderChat)
		c.age(hook, 10*time.Second)
		c.set("a", say(503))
		c.emitAll(1, "x@c", numbers(20), hook)
		time.Sleep(2 * time.Minute)
		c.age(hook, time.Hour)
		refused := 0
		c.set("a", func(req *http.Request, _ int) (int, http.Header) {
			if refused++; refused <= 3 {
				return 503, nil
			}
			return 200, nil
		})
		if got, err := c.log.Replays.Start(t.Context(), logbook.ReplayRequest{Instance: 1}); err != nil || got.Matched != 20 {
			t.Fatalf("%+v %v", got, err)
		}
		time.Sleep(10 * time.Millisecond)
		c.close()
		c.open(c.path)
		c.emit(1, "x@c", "live", hook)
		time.Sleep(5 * time.Minute)
		got := c.accepted("a")
		replayed := slices.DeleteFunc(slices.Clone(got), func(body string) bool { return body == "live" })
		if !slices.Equal(slices.Compact(replayed), numbers(20)) {
			t.Errorf("arrived: %v", got)
		}
		if last := slices.Index(got, "00019"); slices.Index(got, "live") < 0 || slices.Index(got, "live") > last {
			t.Errorf("the live event waited: %v", got)
		}
	})
}
