package instance

import (
	"errors"
	"reflect"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"postern/delivery/publish"
	"postern/event"
	"postern/messages"
	"postern/store"
)

// forget returns a Config.Forget that records the forgotten instances.
func forget(ids *[]int64) func(*store.Tx, int64) error {
	return func(_ *store.Tx, id int64) error {
		*ids = append(*ids, id)
		return nil
	}
}

// count returns how many records of a bucket belong to an instance.
func (r *rig) count(bucket string, id int64) (n int) {
	r.Helper()
	err := r.s.View(func(tx *store.Tx) error {
		return tx.Scan(bucket, store.Range{Prefix: store.Key(id)}, func(_, _ []byte) (bool, error) {
			n++
			return true, nil
		})
	})
	if err != nil {
		r.Fatal(err)
	}
	return n
}

// The table of triggers: the event that each publishes, and the status in its envelope.
func TestEnvelopeShowsStoredStatus(t *testing.T) {
	for kind, c := range map[event.ConnectionType]struct {
		connection event.Connection
		status     event.State
	}{
		event.PairSuccess:         {event.ConnectionConnecting, event.Pairing},
		event.PairError:           {event.ConnectionClose, event.ConnectionError},
		event.TypeConnected:       {event.ConnectionOpen, event.Online},
		event.TypeDisconnected:    {event.ConnectionClose, event.Reconnecting},
		event.TypeLoggedOut:       {event.ConnectionClose, event.LoggedOut},
		event.TypeStreamReplaced:  {event.ConnectionReplaced, event.StreamReplaced},
		event.TypeKeepAliveLost:   {event.ConnectionTimedOut, event.KeepAliveTimeout},
		event.TypeKeepAliveBack:   {event.ConnectionOpen, event.Online},
		event.TypeConnectFailure:  {event.ConnectionClose, event.ConnectionError},
		event.TypeManualReconnect: {event.ConnectionConnecting, event.Connecting},
		event.TypeStreamError:     {event.ConnectionClose, event.ConnectionError},
		event.TypeCATRefreshError: {event.ConnectionClose, event.ConnectionError},
	} {
		t.Run(string(kind), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t, nil, nil)
				defer r.stop()
				rec, err := r.reg.Create(bg, New{Name: "a", ExternalAttributes: []byte(`{"tenant":7}`), Mint: mint})
				if err != nil {
					t.Fatal(err)
				}
				f := connection(kind, c.connection, c.status)
				f.Link = &event.Link{JID: "49:1@s.whatsapp.net"}
				f.Reason, f.RequestID = 401, "req"
				f.Data = event.ConnectionUpdate{Type: kind, Connection: c.connection, StatusReason: 401}
				r.report(rec.ID, f)
				n := r.one()
				want := map[string]any{
					"event":     "connection.update",
					"instance":  map[string]any{"id": 1.0, "name": "a", "connectionStatus": string(c.status), "ownerJid": "49:1@s.whatsapp.net", "externalAttributes": map[string]any{"tenant": 7.0}},
					"data":      map[string]any{"type": string(kind), "connection": string(c.connection), "statusReason": 401.0},
					"timestamp": "2000-01-01T00:00:00.000Z",
				}
				if c.status == event.Online {
					want["data"].(map[string]any)["lastConnection"] = "2000-01-01T00:00:00.000Z"
				}
				if got := fields(t, n.Body); !reflect.DeepEqual(got, want) {
					t.Errorf("\n got %v\nwant %v", got, want)
				}
				if n.Kind != event.ConnectionUpdated || n.InstanceID != 1 || n.InstanceName != "a" || n.OwnerJID != "49:1@s.whatsapp.net" || n.RequestID != "req" {
					t.Errorf("notice: %+v", n)
				}
				if got := r.record(1); got.Status != c.status || got.Reason != 401 {
					t.Errorf("stored %s with reason %d", got.Status, got.Reason)
				}
				if s := r.seen(); len(s) != 1 || s[0] != c.status {
					t.Errorf("OnStatus got %v", s)
				}
			})
		})
	}
}

func TestOutdatedAndBanHaveNoConnectionUpdate(t *testing.T) {
	r := newRig(t, nil, nil)
	defer r.stop()
	id := r.create("a").ID
	for _, s := range []event.State{event.ClientOutdated, event.TemporaryBan} {
		r.report(id, event.Fact{Status: s, Reason: 405, Error: "refused"})
		if got := r.record(id); got.Status != s || got.LastError != "refused" || got.Reason != 405 {
			t.Errorf("%+v", got)
		}
	}
	if n := r.published(); len(n) != 0 {
		t.Errorf("published %v", kinds(n))
	}
}

func TestLinkUnlinkAndOnlineAreRecorded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, nil, nil)
		defer r.stop()
		id := r.create("a").ID
		r.report(id, event.Fact{Status: event.ConnectionError, Error: "before", Reason: 500})
		time.Sleep(time.Minute)
		r.report(id, event.Fact{Status: event.Online, Link: &event.Link{JID: "49:1@s.whatsapp.net", LID: "7@lid", PushName: "Ann"}})
		got := r.record(id)
		if got.OwnerJID != "49:1@s.whatsapp.net" || got.OwnerLID != "7@lid" || got.PushName != "Ann" || got.LastError != "" || got.Reason != 0 || !got.LastConnectedAt.Equal(time.Now()) {
			t.Errorf("linked: %+v", got)
		}
		since := got.LastConnectedAt
		time.Sleep(time.Minute)
		r.report(id, event.Fact{Status: event.Online, Link: &event.Link{JID: "49:1@s.whatsapp.net", LID: "7@lid"}})
		if got := r.record(id); got.LastConnectedAt != since || got.PushName != "Ann" || got.UpdatedAt != since {
			t.Errorf("online again changes nothing: %+v", got)
		}
		r.report(id, event.Fact{Status: event.LoggedOut, Unlink: true})
		if got := r.record(id); got.OwnerJID != "" || got.OwnerLID != "" || got.PushName != "" || got.LastConnectedAt != since {
			t.Errorf("unlinked: %+v", got)
		}
	})
}

func TestLastConnectionIsTheTimeOfTheLogin(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, nil, nil)
		defer r.stop()
		id := r.create("a").ID
		since := time.Now()
		for i, kind := range []event.ConnectionType{event.TypeConnected, event.TypeKeepAliveLost, event.TypeKeepAliveBack, event.TypeKeepAliveLost, event.TypeConnected} {
			state := event.Online
			if kind == event.TypeKeepAliveLost {
				state = event.KeepAliveTimeout
			}
			if i == 4 {
				since = time.Now()
			}
			r.report(id, connection(kind, event.ConnectionOpen, state))
			if got := r.record(id).LastConnectedAt; !got.Equal(since) {
				t.Errorf("after %s, %d: last connected at %v, not %v", kind, i, got, since)
			}
			time.Sleep(time.Minute)
		}
	})
}

func TestOnStatusFollowsCommitOrder(t *testing.T) {
	r := newRig(t, nil, nil)
	defer r.stop()
	id := r.create("a").ID
	done := make(chan error)
	for i := range 40 {
		go func() {
			done <- r.reg.Report(bg, id, event.Fact{Status: []event.State{event.Online, event.Reconnecting}[i%2]})
		}()
	}
	for range 40 {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
	seen := r.seen()
	if last := seen[len(seen)-1]; last != r.record(id).Status {
		t.Errorf("last published %s, stored %s", last, r.record(id).Status)
	}
	for i := 1; i < len(seen); i++ {
		if seen[i] == seen[i-1] {
			t.Fatalf("published %s twice: %v", seen[i], seen)
		}
	}
}

func TestConnectionEndReportsItsStart(t *testing.T) {
	inBubble(t, nil, func(r *rig) {
		id := r.create("a").ID
		lost := func() any {
			r.report(id, connection(event.TypeDisconnected, event.ConnectionClose, event.Reconnecting))
			return fields(t, r.one().Body)["data"].(map[string]any)["lastConnection"]
		}
		if when := lost(); when != nil {
			t.Errorf("connected at %v before it ever was", when)
		}
		r.report(id, connection(event.TypeConnected, event.ConnectionOpen, event.Online))
		r.published()
		time.Sleep(time.Hour)
		if when := lost(); when != "2000-01-01T00:00:00.000Z" {
			t.Errorf("connected at %v", when)
		}
	})
}

// The store limits the length of keys, and WhatsApp would resend forever what cannot be stored.
func TestMessageWithUnusableKeyIsDropped(t *testing.T) {
	r := newRig(t, nil, nil)
	defer r.stop()
	id := r.create("a").ID
	absurd := strings.Repeat("x", 40_000)
	for name, m := range map[string]*event.Message{
		"id": text(absurd, "1@s.whatsapp.net", false), "chat": text("K", absurd+"@s.whatsapp.net", false), "no id": text("", "1@s.whatsapp.net", false),
		"bytes in the id": text("\xff", "1@s.whatsapp.net", false),
	} {
		if err := r.reg.Report(bg, id, event.Fact{Kind: event.MessagesUpsert, Data: m}); err != nil {
			t.Errorf("absurd %s: %.100v", name, err)
		}
	}
	receipt := event.Receipt{KeyIDs: []string{absurd}, Status: event.StatusRead}
	if err := r.reg.Report(bg, id, event.Fact{Kind: event.MessagesUpdate, Data: receipt}); err != nil {
		t.Errorf("receipt: %.100v", err)
	}
	if n := r.published(); len(n) != 0 || r.count("message", id) != 0 {
		t.Errorf("published %v", kinds(n))
	}
}

func TestDisabledGateDropsMessagesAndReceipts(t *testing.T) {
	r := newRigKeeping(t, func(c *messages.Config) { c.SaveMessages, c.SaveUpdates = false, false })
	defer r.stop()
	id := r.create("a").ID
	r.report(id, event.Fact{Kind: event.MessagesUpsert, Data: text("K", "1@s.whatsapp.net", false)})
	if r.count("message", id) != 0 {
		t.Error("stored")
	}
	r.report(id, event.Fact{Kind: event.SendMessage, Data: text("S", "1@s.whatsapp.net", true)}) // has no gate
	if n := r.one(); n.Kind != event.SendMessage || r.count("message", id) != 1 {
		t.Errorf("%s, %d stored", n.Kind, r.count("message", id))
	}
	r.report(id, event.Fact{Kind: event.MessagesUpdate, Data: event.Receipt{KeyIDs: []string{"S"}, Status: event.StatusRead}})
	if n := r.published(); len(n) != 0 || r.count("message_update", id) != 0 {
		t.Errorf("published %v", kinds(n))
	}
}

// The receipts of a message that is being sent wait until it is stored, however long that takes,
// and are stored in another commit; they are published after it, in their order.
func TestEarlyReceiptsWaitForTheirMessage(t *testing.T) {
	connected(t, func(r *rig, id int64, s *session) {
		statuses := []event.UpdateStatus{event.StatusDelivered, event.StatusRead}
		s.send = func() error {
			for _, status := range statuses {
				r.report(id, event.Fact{Kind: event.MessagesUpdate, Data: event.Receipt{KeyIDs: []string{"OUT"}, Status: status}})
			}
			time.Sleep(time.Minute)
			return nil
		}
		before := r.s.Stats().Commits
		if _, err := r.sup.SendAndStore(bg, id, hello, Keeping{}); err != nil {
			t.Fatal(err)
		}
		if n := r.one(); n.Kind != event.SendMessage || r.count("message_update", id) != 0 {
			t.Fatalf("first published: %s", n.Kind)
		}
		time.Sleep(publish.MaxRide)
		synctest.Wait()
		published := r.published()
		if len(published) != 2 || r.count("message_update", id) != 2 || r.s.Stats().Commits != before+2 {
			t.Fatalf("published %v, %d stored, in %d commits", kinds(published), r.count("message_update", id), r.s.Stats().Commits-before)
		}
		for i, n := range published {
			if data := fields(t, n.Body)["data"].(map[string]any); data["messageId"] != 1.0 || data["status"] != string(statuses[i]) {
				t.Errorf("update %d: %v", i, data)
			}
		}
	})
}

func TestFailedCommitReturnsErrorWithoutEvent(t *testing.T) {
	r := newRig(t, nil, nil)
	defer r.stop()
	id := r.create("a").ID
	if err := r.s.Close(); err != nil {
		t.Fatal(err)
	}
	for _, f := range []event.Fact{
		{Kind: event.MessagesUpsert, Data: text("K", "1@s.whatsapp.net", false)},
		connection(event.TypeConnected, event.ConnectionOpen, event.Online),
		{Kind: event.MessagesUpdate, Data: event.Receipt{KeyIDs: []string{"K"}}},
	} {
		if err := r.reg.Report(bg, id, f); !errors.Is(err, store.ErrClosed) {
			t.Errorf("%s: %v", f.Kind, err)
		}
	}
	if n := r.published(); len(n) != 0 || len(r.seen()) != 0 || r.record(id).Status != event.Offline {
		t.Errorf("published %v, state %s", kinds(n), r.record(id).Status)
	}
}

func TestFactOfUnknownInstanceReturnsErrNotFound(t *testing.T) {
	r := newRig(t, nil, nil)
	defer r.stop()
	for _, f := range []event.Fact{
		{Status: event.Online},
		{Kind: event.MessagesUpsert, Data: text("K", "1@s.whatsapp.net", false)},
		{Kind: event.PresenceUpdated, Data: map[string]any{}},
	} {
		if err := r.reg.Report(bg, 9, f); !errors.Is(err, ErrNotFound) {
			t.Errorf("%s: %v", f.Kind, err)
		}
	}
}
