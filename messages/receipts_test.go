package messages

import (
	"reflect"
	"testing"
	"testing/synctest"
	"time"

	"postern/delivery/publish"
	"postern/event"
)

// A receipt that overtook its message is stored with the next commit of anybody, and
// has one of its own only when there is none.
func TestEarlyReceiptJoinsAnotherCommit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, nil)
		defer r.stop()
		id := r.create()
		overtake := func(key string) {
			r.report(id, event.Fact{Kind: event.MessagesUpdate, Data: event.Receipt{KeyIDs: []string{key}, Status: event.StatusRead}})
			r.report(id, event.Fact{Kind: event.SendMessage, Data: text(key, "1@s.whatsapp.net", true)})
			time.Sleep(receiptPause)
			synctest.Wait()
		}
		before := r.s.Stats().Commits
		overtake("A")
		if n := r.count(messageUpdates, id); n != 0 || r.s.Stats().Commits != before+1 {
			t.Fatalf("%d updates, and commits by themselves", n)
		}
		r.report(id, event.Fact{Kind: event.MessagesUpsert, Data: text("other", "1@s.whatsapp.net", false)})
		synctest.Wait()
		if n, commits := r.count(messageUpdates, id), r.s.Stats().Commits-before; n != 1 || commits != 2 {
			t.Errorf("%d updates in %d commits, want 1 in those of two messages", n, commits)
		}
		overtake("B")
		time.Sleep(publish.MaxRide)
		synctest.Wait()
		if n, commits := r.count(messageUpdates, id), r.s.Stats().Commits-before; n != 2 || commits != 4 {
			t.Errorf("%d updates in %d commits, want 2 in those of three messages and one more", n, commits)
		}
	})
}

// More receipts than wait for one message are looked for as before, and so are those of a
// message that is not stored.
func TestEarlyReceiptsAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, nil)
		defer r.stop()
		id := r.create()
		send := func(keyID string, stored bool) {
			done, found := r.a.Departing(r.source(id), keyID), int64(0)
			for range maxEarly + 3 {
				r.report(id, event.Fact{Kind: event.MessagesUpdate, Data: event.Receipt{KeyIDs: []string{keyID}, Status: event.StatusRead}})
			}
			if stored {
				m, _, err := r.a.Keep(bg, r.source(id), text(keyID, "1@s.whatsapp.net", true), Keeping{Kind: event.SendMessage})
				if err != nil {
					t.Fatal(err)
				}
				found = m.ID
			}
			done(found)
			time.Sleep(time.Second)
		}
		send("OUT", true)
		if n := len(r.published()) - 1; n != maxEarly+3 || r.count(messageUpdates, id) != maxEarly+3 {
			t.Errorf("%d updates published, %d stored", n, r.count(messageUpdates, id))
		}
		send("NOT", false)
		if n := len(r.published()); n != 0 || len(r.a.departures.all) != 0 {
			t.Errorf("%d published, %d wait", n, len(r.a.departures.all))
		}
	})
}

func TestAReceiptMakesOneUpdatePerStoredMessage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, nil)
		defer r.stop()
		id := r.create()
		for _, k := range []string{"A", "B"} {
			r.report(id, event.Fact{Kind: event.MessagesUpsert, Data: text(k, "1@s.whatsapp.net", true)})
		}
		r.published()
		at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
		r.report(id, event.Fact{Kind: event.MessagesUpdate, RequestID: "q", Data: event.Receipt{KeyIDs: []string{"A", "unknown", "B"}, Status: event.StatusDelivered, At: at}})
		notices := r.published()
		if len(notices) != 2 {
			t.Fatalf("%d events", len(notices))
		}
		for i, n := range notices {
			want := map[string]any{"messageId": float64(i + 1), "status": "delivered", "dateTime": "2026-01-02T03:04:05.000Z"}
			if got := fields(t, n.Body)["data"]; !reflect.DeepEqual(got, want) || n.Kind != event.MessagesUpdate {
				t.Errorf("%s: %v", n.Kind, got)
			}
		}
		if n := r.count(messageUpdates, id); n != 2 {
			t.Errorf("%d updates stored", n)
		}
	})
}

func TestReceiptLookupBackoff(t *testing.T) {
	for _, c := range []struct {
		after time.Duration
		found bool
	}{{0, true}, {99 * time.Millisecond, true}, {299 * time.Millisecond, true}, {301 * time.Millisecond, false}} {
		t.Run(c.after.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t, nil)
				defer r.stop()
				id := r.create()
				began := time.Now()
				r.report(id, event.Fact{Kind: event.MessagesUpdate, Data: event.Receipt{KeyIDs: []string{"K"}, Status: event.StatusRead}})
				if time.Since(began) != 0 {
					t.Errorf("the connector waited %v", time.Since(began))
				}
				time.Sleep(c.after)
				r.report(id, event.Fact{Kind: event.MessagesUpsert, Data: text("K", "1@s.whatsapp.net", true)})
				r.published()
				time.Sleep(time.Second)
				if n := r.published(); (len(n) == 1) != c.found {
					t.Errorf("%d updates", len(n))
				}
			})
		})
	}
}

func TestCloseEndsTheSearchForReceiptsMessages(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, nil)
		id := r.create()
		r.report(id, event.Fact{Kind: event.MessagesUpdate, Data: event.Receipt{KeyIDs: []string{"K"}}})
		began := time.Now()
		r.a.Close()
		if time.Since(began) != 0 {
			t.Errorf("waited %v", time.Since(began))
		}
		r.report(id, event.Fact{Kind: event.MessagesUpdate, Data: event.Receipt{KeyIDs: []string{"K"}}})
		r.stop()
	})
}

func TestReceiptWithSharedIDUpdatesOwnMessage(t *testing.T) {
	r := newRig(t, nil)
	defer r.stop()
	id := r.create()
	r.report(id, event.Fact{Kind: event.MessagesUpsert, Data: text("K", "1@s.whatsapp.net", false)})
	r.report(id, event.Fact{Kind: event.MessagesUpsert, Data: text("K", "2@s.whatsapp.net", true)})
	r.published()
	r.report(id, event.Fact{Kind: event.MessagesUpdate, Data: event.Receipt{KeyIDs: []string{"K"}, Status: event.StatusRead}})
	if got := fields(t, r.one().Body)["data"].(map[string]any)["messageId"]; got != 2.0 {
		t.Errorf("message %v", got)
	}
}
