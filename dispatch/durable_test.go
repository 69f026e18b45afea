package dispatch

import (
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"

	"postern/delivery"
	"postern/event"
	"postern/store"
)

// One test for each promise about durable events.

func TestDurableEventLeavesAtOnceForEachDestination(t *testing.T) {
	t.Parallel()
	inTown(t, func(t *testing.T, c *town) {
		hook, crm := webhookLane(1), endpointLane(1, "crm")
		c.add(hook, "a", event.OrderNone)
		c.add(crm, "b", event.OrderNone)
		time.Sleep(time.Hour) // everything sleeps
		begin := time.Now()
		e := c.emit(1, "x@c", "hello", hook, crm)
		synctest.Wait()
		for _, host := range []string{"a", "b"} {
			got := c.at(host)
			if len(got) != 1 || !got[0].at.Equal(begin) || got[0].id != e.ID.String() || got[0].body != "hello" {
				t.Errorf("%s heard %+v", host, got)
			}
		}
		time.Sleep(time.Second)
		if r, attempts := c.record(recordOf(e, 0)); r.State != delivery.Delivered || len(attempts) != 1 || attempts[0].RequestID != c.at("a")[0].request {
			t.Errorf("%+v, %+v", r, attempts)
		}
		if n := c.pending(); n != 0 {
			t.Errorf("%d wait", n)
		}
	})
}

func TestOrderChatHoldsThroughFailures(t *testing.T) {
	t.Parallel()
	inTown(t, func(t *testing.T, c *town) {
		hook := webhookLane(1)
		c.add(hook, "a", event.OrderChat)
		n := 0
		c.set("a", func(*http.Request, int) (int, http.Header) {
			n++
			return []int{200, 503, 422, 200, 0, 200, 429}[n%7], nil
		})
		for i := range 40 {
			for _, chat := range []string{"x@c", "y@c", ""} {
				c.emit(1, chat, chat+numbers(i + 1)[i], hook)
			}
		}
		time.Sleep(60 * time.Hour)
		got := map[string][]string{}
		for _, body := range c.accepted("a") {
			chat := body[:len(body)-5]
			got[chat] = append(got[chat], body)
		}
		for chat, bodies := range got {
			if len(bodies) != 40 || !slices.IsSorted(bodies) {
				t.Errorf("%q arrived %d times, in the order %v", chat, len(bodies), bodies)
			}
		}
		if len(got) != 3 || c.pending() != 0 {
			t.Errorf("%d chats, %d wait", len(got), c.pending())
		}
	})
}

func TestOrderInstanceHoldsOverAllChats(t *testing.T) {
	t.Parallel()
	inTown(t, func(t *testing.T, c *town) {
		hook := webhookLane(1)
		c.add(hook, "a", event.OrderInstance)
		c.set("a", func(_ *http.Request, try int) (int, http.Header) { return []int{503, 404, 200}[min(try-1, 2)], nil })
		for i, body := range numbers(12) {
			c.emit(1, []string{"x@c", "y@c", ""}[i%3], body, hook)
		}
		time.Sleep(2 * time.Hour)
		if got := c.accepted("a"); len(got) != 12 || !slices.IsSorted(got) {
			t.Errorf("%v", got)
		}
		if c.most["a"] != 1 {
			t.Errorf("%d in flight at once", c.most["a"])
		}
	})
}

func TestWithoutOrderARefusedEventBlocksNothing(t *testing.T) {
	t.Parallel()
	inTown(t, func(t *testing.T, c *town) {
		hook := webhookLane(1)
		c.add(hook, "a", event.OrderNone)
		c.set("a", func(req *http.Request, try int) (int, http.Header) {
			if req.ContentLength == 5 { // "bad"
				return 422, nil
			}
			return 200, nil
		})
		c.emit(1, "x@c", "bad", hook)
		c.emitAll(1, "x@c", numbers(200), hook)
		time.Sleep(time.Second)
		if got := len(c.accepted("a")); got != 200 || c.pending() != 1 {
			t.Errorf("%d accepted, %d wait", got, c.pending())
		}
		if c.most["a"] > 10 {
			t.Errorf("%d in flight", c.most["a"])
		}
	})
}

func TestDurableBackoffKeepsRetryAfter(t *testing.T) {
	t.Parallel()
	inTown(t, func(t *testing.T, c *town) {
		hook := webhookLane(1)
		c.add(hook, "a", event.OrderNone)
		c.set("a", func(_ *http.Request, try int) (int, http.Header) {
			if try == 2 {
				return 404, http.Header{"Retry-After": {"600"}}
			}
			return 404, nil
		})
		e := c.emit(1, "", "x", hook)
		time.Sleep(3 * time.Hour)
		got := c.at("a")
		for i, want := range []time.Duration{time.Second, 10 * time.Minute, 15 * time.Second, time.Minute, 5 * time.Minute, 15 * time.Minute, time.Hour} {
			if i+1 >= len(got) {
				t.Fatalf("%d attempts", len(got))
			}
			if pause := got[i+1].at.Sub(got[i].at); pause < want || pause > want+want/10+50*time.Millisecond {
				t.Errorf("pause %d is %v, want %v", i+1, pause, want)
			}
		}
		r, attempts := c.record(recordOf(e, 0))
		if r.State != delivery.Pending || len(attempts) != len(got) || r.Attempts != len(got) {
			t.Errorf("%d attempts heard, %d stored: %+v", len(got), len(attempts), r)
		}
	})
}

func TestLaterAttemptsHaveNewRequestIDs(t *testing.T) {
	t.Parallel()
	inTown(t, func(t *testing.T, c *town) {
		hook, crm := webhookLane(1), endpointLane(1, "crm")
		to := []event.Destination{c.add(hook, "a", event.OrderNone), c.add(crm, "b", event.OrderNone)}
		c.set("a", func(_ *http.Request, try int) (int, http.Header) { return []int{404, 404, 200}[try-1], nil })
		commit := func(requestID string) (e delivery.Event) {
			err := c.s.Update(t.Context(), func(tx *store.Tx) (err error) {
				e, err = c.ledger.Emit(tx, delivery.Event{Kind: event.SendMessage, Instance: 1, RequestID: requestID, Body: []byte("{}")}, true, to)
				return err
			})
			if err != nil {
				t.Fatal(err)
			}
			time.Sleep(time.Minute)
			return e
		}
		e := commit("call-1")
		a, b := c.at("a"), c.at("b")
		if len(a) != 3 || len(b) != 1 || a[0].request != "call-1" || b[0].request != "call-1" {
			t.Fatalf("%+v, %+v", a, b)
		}
		if _, err := uuid.Parse(a[1].request); err != nil || a[1].request == a[2].request || len(a[1].request) != 36 {
			t.Errorf("later ones: %q and %q", a[1].request, a[2].request)
		}
		if a[0].id != e.ID.String() || a[2].id != a[0].id || b[0].id != a[0].id {
			t.Error("webhook-id is not the same everywhere")
		}
		commit("")
		a, b = c.at("a"), c.at("b")
		if first, other := a[3].request, b[1].request; first == other || len(first) != 36 || len(other) != 36 {
			t.Errorf("without a cause: %q and %q", first, other)
		}
	})
}

func TestEachDestinationHasABreakerOfItsOwn(t *testing.T) {
	t.Parallel()
	inTown(t, func(t *testing.T, c *town) {
		dead, good := webhookLane(1), endpointLane(1, "crm")
		c.add(dead, "dead", event.OrderNone)
		c.add(good, "good", event.OrderNone)
		c.set("dead", say(0))
		for range 10 {
			c.emitAll(1, "x@c", numbers(20), dead, good)
			time.Sleep(time.Minute)
		}
		if n := len(c.accepted("good")); n != 200 {
			t.Errorf("the good one got %d", n)
		}
		// 5 to 15 open it, then a probe every 5 to 5.5 s.
		if n := len(c.at("dead")); n > 15+120 || n < 5+105 || c.relay.Stats().LanesOpen != 1 {
			t.Errorf("%d attempts at the dead one, %+v", n, c.relay.Stats())
		}
		back := time.Now()
		c.set("dead", nil)
		time.Sleep(7 * time.Second)
		if n := len(c.accepted("dead")); n != 200 || c.pending() != 0 {
			t.Errorf("%v after it was back it had %d, %d wait", time.Since(back), n, c.pending())
		}
	})
}

func TestExpiryPublishesAnEventAndReleasesFollowers(t *testing.T) {
	t.Parallel()
	inTown(t, func(t *testing.T, c *town) {
		hook := webhookLane(1)
		c.add(hook, "a", event.OrderChat)
		c.age(hook, 100*time.Second)
		c.set("a", func(req *http.Request, _ int) (int, http.Header) {
			return map[int64]int{5: 404, 7: 200}[req.ContentLength], nil
		})
		bad := c.emit(1, "x@c", "bad", hook)
		begin := time.Now()
		time.Sleep(50 * time.Second)
		c.emit(1, "x@c", "00001", hook)
		time.Sleep(49 * time.Second)
		if n := len(c.accepted("a")); n != 0 {
			t.Fatal("it did not wait")
		}
		time.Sleep(time.Second)
		synctest.Wait()
		got := c.at("a")
		if last := got[len(got)-1]; last.body != "00001" || last.at.Sub(begin) > 100*time.Second+10*time.Millisecond {
			t.Errorf("the next left %v after the first was made", last.at.Sub(begin))
		}
		time.Sleep(time.Second)
		if r, _ := c.record(recordOf(bad, 0)); r.State != delivery.Expired || r.LastStatus != 404 || c.pending() != 0 {
			t.Errorf("%+v", r)
		}
		if n := c.relay.Stats().Expired; n != 1 {
			t.Errorf("%d counted", n)
		}
	})
}

// slowly makes a host answer the body "slow" with a status after a time, and others at
// once.
func (c *town) slowly(host string, status int, after time.Duration) {
	c.set(host, func(req *http.Request, _ int) (int, http.Header) {
		if req.ContentLength != 6 {
			return 200, nil
		}
		c.mu.Unlock()
		time.Sleep(after)
		c.mu.Lock()
		return status, nil
	})
}

func TestDeliveryInFlightExpiresAndFreesItsLine(t *testing.T) {
	for status, want := range map[int]delivery.State{200: delivery.Delivered, 503: delivery.Expired} {
		inTown(t, func(t *testing.T, c *town) {
			hook := webhookLane(1)
			c.add(hook, "a", event.OrderChat)
			c.age(hook, 5*time.Second)
			c.slowly("a", status, 7*time.Second)
			slow := c.emit(1, "x@c", "slow", hook)
			time.Sleep(3 * time.Second)
			c.emit(1, "x@c", "next!", hook)
			time.Sleep(1999 * time.Millisecond)
			synctest.Wait()
			if r, _ := c.record(recordOf(slow, 0)); r.State != delivery.Pending || len(c.at("a")) != 0 {
				t.Errorf("%s before its time, %q went out", r.State, c.bodies("a"))
			}
			time.Sleep(20 * time.Millisecond)
			synctest.Wait()
			if r, _ := c.record(recordOf(slow, 0)); r.State != delivery.Expired {
				t.Errorf("%s after its time", r.State)
			}
			if got := c.bodies("a"); !slices.Equal(got, []string{"next!"}) { // the slow one is heard when it is answered
				t.Errorf("%q went out", got)
			}
			time.Sleep(10 * time.Second)
			r, attempts := c.record(recordOf(slow, 0))
			if r.State != want || r.Attempts != 1 || len(attempts) != 1 || r.LastStatus != status || (r.LastError == "") != (status == 200) {
				t.Errorf("answered %d: %+v", status, r)
			}
			if n := c.relay.Stats().Expired; n != 1 {
				t.Errorf("%d counted", n)
			}
		})
	}
}

// A kill loses the delivery in flight: the next start finds it expired or not due yet.
func TestKillWithDeliveryInFlightDelaysNoExpiry(t *testing.T) {
	for _, killed := range []time.Duration{4 * time.Second, 6 * time.Second} { // before and after its time
		for _, back := range []time.Duration{time.Second, 10 * time.Second} {
			image := filepath.Join(t.TempDir(), "killed.db")
			var slow delivery.Event
			inTown(t, func(t *testing.T, c *town) {
				hook := webhookLane(1)
				c.add(hook, "a", event.OrderInstance)
				c.age(hook, 5*time.Second)
				c.slowly("a", -1, 0)
				slow = c.emit(1, "x@c", "slow", hook)
				c.age(hook, time.Hour)
				c.emit(1, "x@c", "next!", hook)
				time.Sleep(killed)
				synctest.Wait()
				raw, err := os.ReadFile(c.path)
				if err == nil {
					err = os.WriteFile(image, raw, 0o600)
				}
				if err != nil {
					t.Fatal(err)
				}
			})
			inTown(t, func(t *testing.T, c *town) {
				c.close()
				hook := webhookLane(1)
				c.add(hook, "b", event.OrderInstance)
				c.slowly("b", 503, 0)
				time.Sleep(killed + back)
				c.open(image)
				begin, over := time.Now(), time.Until(slow.CreatedAt.Add(5*time.Second))
				if r, _ := c.record(recordOf(slow, 0)); over <= 0 && r.State != delivery.Expired {
					t.Errorf("%s after the start", r.State)
				}
				time.Sleep(max(over, 0) + 50*time.Millisecond)
				if r, _ := c.record(recordOf(slow, 0)); r.State != delivery.Expired {
					t.Errorf("killed after %v, back after %v: %s", killed, back, r.State)
				}
				if got := c.accepted("b"); killed < 5*time.Second && !slices.Equal(got, []string{"next!"}) || killed > 5*time.Second && len(got) != 0 {
					t.Errorf("killed after %v, back after %v: %q accepted %v after the start", killed, back, got, time.Since(begin))
				}
			})
		}
	}
}

func TestReenabledDestinationGetsPendingDeliveries(t *testing.T) {
	t.Parallel()
	inTown(t, func(t *testing.T, c *town) {
		hook := webhookLane(1)
		c.add(hook, "a", event.OrderChat)
		c.set("a", say(503))
		c.emitAll(1, "x@c", numbers(50), hook)
		c.emitAll(1, "y@c", numbers(50), hook)
		time.Sleep(time.Second)
		c.put(hook, delivery.Paused)
		time.Sleep(20 * time.Second) // what was in flight is back
		before := len(c.at("a"))
		time.Sleep(20 * time.Hour)
		if n := len(c.at("a")) - before; n != 0 || c.pending() != 100 {
			t.Errorf("%d went out while it was disabled, %d wait", n, c.pending())
		}
		if s := c.relay.Stats(); s.Lanes != 0 {
			t.Errorf("%d lanes are awake", s.Lanes)
		}
		c.set("a", nil)
		c.put(hook, delivery.Ready)
		time.Sleep(5 * time.Second)
		if n := len(c.accepted("a")); n != 100 || c.pending() != 0 {
			t.Errorf("%d arrived, %d wait", n, c.pending())
		}
	})
}

func TestRemovedEndpointCancelsDeliveriesAndFreesItsName(t *testing.T) {
	t.Parallel()
	inTown(t, func(t *testing.T, c *town) {
		crm := endpointLane(1, "crm")
		c.add(crm, "old", event.OrderChat)
		c.set("old", say(-1))
		all := c.emitAll(1, "x@c", numbers(1500), crm)
		time.Sleep(time.Second) // one hangs
		c.put(crm, delivery.Gone)
		time.Sleep(time.Second)
		for _, e := range []delivery.Event{all[0], all[1499]} {
			if r, _ := c.record(recordOf(e, 0)); r.State != delivery.Cancelled || r.LastError != delivery.ReasonRemoved {
				t.Errorf("%+v", r)
			}
		}
		if c.relay.Stats().Lanes != 0 {
			t.Error("the attempt under way was not cut off")
		}
		if c.pending() != 0 || c.relay.Stats().Removed != 1500 {
			t.Errorf("%d wait, %+v", c.pending(), c.relay.Stats())
		}
		if err := c.relay.Clear(t.Context(), []delivery.Lane{crm}); err != nil {
			t.Error(err)
		}
		c.add(crm, "new", event.OrderChat)
		c.put(crm, delivery.Ready)
		c.emit(1, "x@c", "again", crm)
		time.Sleep(time.Second)
		if got := c.bodies("new"); !slices.Equal(got, []string{"again"}) {
			t.Errorf("%v", got)
		}
	})
}

// TestAttemptCutOffByEndpointRemovalIsLogged: every attempt is in
// the record with the reason for its end; neither the breaker nor the operator is informed.
// An attempt that already has its answer ends with that.
func TestAttemptCutOffByEndpointRemovalIsLogged(t *testing.T) {
	for _, tried := range []int{0, 4} { // the next failure opens the breaker
		inTown(t, func(t *testing.T, c *town) {
			crm := endpointLane(1, "crm")
			c.add(crm, "old", event.OrderChat)
			c.set("old", func(_ *http.Request, try int) (int, http.Header) {
				if try <= tried {
					return 503, nil
				}
				return -1, nil
			})
			first, second := c.emit(1, "x@c", "first", crm), c.emit(1, "x@c", "second", crm)
			for len(c.at("old")) <= tried {
				time.Sleep(time.Second)
			}
			time.Sleep(time.Second)
			c.put(crm, delivery.Gone)
			time.Sleep(time.Second)
			r, attempts := c.record(recordOf(first, 0))
			if r.State != delivery.Cancelled || r.LastError != delivery.ReasonRemoved || r.Attempts != tried+1 || len(attempts) != tried+1 {
				t.Fatalf("%+v, %+v", r, attempts)
			}
			heard, last := c.at("old"), attempts[tried]
			if last.Error != errRemoved.Error() || last.RequestID != heard[tried].request || last.RequestID == "" || last.Duration < time.Second || last.Status != 0 {
				t.Errorf("%+v, the receiver heard %+v", last, heard)
			}
			if r, attempts := c.record(recordOf(second, 0)); r.State != delivery.Cancelled || len(attempts) != 0 {
				t.Errorf("the one behind it: %+v, %+v", r, attempts)
			}
			if s := c.relay.Stats(); s.Lanes != 0 || s.LanesOpen != 0 || c.pending() != 0 {
				t.Errorf("%+v, %d wait", s, c.pending())
			}
		})
	}
}

// TestReaddedEndpointHasANewBreaker, even if it is added
// again at once, with or without an attempt under way.
func TestReaddedEndpointHasANewBreaker(t *testing.T) {
	for _, status := range []int{0, -1} {
		inTown(t, func(t *testing.T, c *town) {
			crm := endpointLane(1, "crm")
			c.add(crm, "old", event.OrderNone)
			c.set("old", say(status))
			c.emitAll(1, "", numbers(50), crm)
			time.Sleep(20 * time.Minute)
			if c.relay.Stats().LanesOpen != 1 {
				t.Fatal("the breaker is closed")
			}
			c.put(crm, delivery.Gone)
			if err := c.relay.Clear(t.Context(), []delivery.Lane{crm}); err != nil {
				t.Error(err)
			}
			c.add(crm, "new", event.OrderNone)
			c.put(crm, delivery.Ready)
			begin := time.Now()
			c.emit(1, "", "again", crm)
			time.Sleep(time.Second)
			if got := c.at("new"); len(got) != 1 || got[0].body != "again" || got[0].at.Sub(begin) > 100*time.Millisecond || c.pending() != 0 {
				t.Errorf("%+v, %d wait", got, c.pending())
			}
		})
	}
}

func TestURLChangeRedirectsPendingDeliveries(t *testing.T) {
	t.Parallel()
	inTown(t, func(t *testing.T, c *town) {
		hook := webhookLane(1)
		c.add(hook, "old", event.OrderNone)
		c.set("old", say(0))
		c.emitAll(1, "", numbers(30), hook)
		time.Sleep(20 * time.Hour)
		c.add(hook, "new", event.OrderNone)
		c.relay.Changed([]delivery.Lane{hook})
		time.Sleep(time.Second)
		if n := len(c.accepted("new")); n != 30 {
			t.Errorf("%d arrived", n)
		}
	})
}
