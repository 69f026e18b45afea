package dispatch

import (
	"net/http"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"postern/delivery"
	"postern/event"
	"postern/store"
)

// emitCode commits a pairing code of instance 1.
func (c *town) emitCode(is delivery.Lane) (e delivery.Event) {
	c.t.Helper()
	c.mu.Lock()
	to := c.to[is]
	c.mu.Unlock()
	err := c.s.Update(c.t.Context(), func(tx *store.Tx) (err error) {
		e, err = c.ledger.Emit(tx, delivery.Event{Kind: event.QRCodeUpdated, Instance: 1, Name: "i1", Body: []byte(`"code"`)}, true, []event.Destination{to})
		return err
	})
	if err != nil {
		c.t.Fatal(err)
	}
	return e
}

// A code that the commit of the change did not see is withheld when it is about to be
// sent.
func TestCodeForAFormerDestinationIsNeverSent(t *testing.T) {
	t.Parallel()
	inTown(t, func(t *testing.T, c *town) {
		hook := webhookLane(1)
		c.add(hook, "old", event.OrderInstance)
		c.put(hook, delivery.Paused)
		code := c.emitCode(hook)
		c.emit(1, "x@c", "behind", hook)
		c.add(hook, "evil", event.OrderInstance)
		c.put(hook, delivery.Ready)
		time.Sleep(time.Second)
		if got := c.bodies("evil"); !slices.Equal(got, []string{"behind"}) || len(c.at("old")) != 0 || c.pending() != 0 {
			t.Errorf("the new URL got %q, %d wait", got, c.pending())
		}
		if r, _ := c.record(recordOf(code, 0)); r.State != delivery.Cancelled || r.LastError != delivery.ReasonChanged {
			t.Errorf("%+v", r)
		}
	})
}

func TestWithholdingFreesTheLineAtOnce(t *testing.T) {
	t.Parallel()
	inTown(t, func(t *testing.T, c *town) {
		hook := webhookLane(1)
		c.add(hook, "old", event.OrderInstance)
		c.set("old", say(503))
		c.emitCode(hook)
		c.emit(1, "x@c", "behind", hook)
		time.Sleep(20 * time.Second)
		to := c.add(hook, "new", event.OrderInstance)
		var ended []delivery.Ended
		err := c.s.Update(t.Context(), func(tx *store.Tx) (err error) {
			ended, err = c.ledger.Withhold(tx, hook, to.Access())
			return err
		})
		if err != nil || len(ended) != 1 {
			t.Fatalf("%+v, %v", ended, err)
		}
		c.ledger.Freed(ended)
		c.relay.Changed([]delivery.Lane{hook})
		time.Sleep(50 * time.Millisecond)
		synctest.Wait()
		if got := c.bodies("new"); !slices.Equal(got, []string{"behind"}) || c.pending() != 0 {
			t.Errorf("%q, %d wait", got, c.pending())
		}
	})
}

func TestQueuedCodesForAFormerDestinationAreCancelled(t *testing.T) {
	t.Parallel()
	inTown(t, func(t *testing.T, c *town) {
		for _, is := range []delivery.Lane{webhookLane(1), endpointLane(1, "crm"), delivery.GlobalLane} {
			to := c.add(is, "old", event.OrderNone)
			q := NewQueue(QueueConfig{Sender: &Sender{timeout: DefaultTimeout, wire: c}, Workers: 1, PerDestination: 1, Log: c.log, Resolve: c.resolve})
			c.set("old", func(*http.Request, int) (int, http.Header) {
				c.mu.Unlock()
				time.Sleep(5 * time.Second)
				c.mu.Lock()
				return 200, nil
			})
			send := func(kind event.Kind, body string) {
				t.Helper()
				if err := q.Enqueue(event.Notice{Kind: kind, InstanceID: 1, InstanceName: "i1", Body: []byte(body), To: []event.Destination{to}}); err != nil {
					t.Fatal(err)
				}
			}
			send(event.MessagesUpsert, `"first"`) // keeps the worker
			send(event.QRCodeUpdated, `"code"`)
			send(event.MessagesUpsert, `"other"`)
			synctest.Wait()
			q.Changed([]delivery.Lane{is})
			if n := q.Stats().Waiting; n != 2 {
				t.Errorf("%s: %d wait after a change that leaves the URL as it is", is.Target, n)
			}
			c.add(is, "evil", event.OrderNone)
			q.Changed([]delivery.Lane{is})
			if s := q.Stats(); s.Waiting != 1 || s.Removed != 1 {
				t.Errorf("%s: %+v", is.Target, s)
			}
			time.Sleep(time.Minute)
			if got := append(c.bodies("old"), c.bodies("evil")...); slices.Contains(got, "code") {
				t.Errorf("%s: %q went out", is.Target, got)
			}
			if err := q.Close(t.Context()); err != nil {
				t.Error(err)
			}
			list, err := c.log.List(t.Context(), delivery.Filter{Event: event.QRCodeUpdated, Target: is.Target}, "", 10)
			if err != nil || len(list.Records) != 1 || list.Records[0].State != delivery.Cancelled || list.Records[0].LastError != delivery.ReasonChanged || list.Records[0].Replayable {
				t.Errorf("%s: %+v, %v", is.Target, list.Records, err)
			}
		}
	})
}
