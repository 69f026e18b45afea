package instance

import (
	"encoding/json"
	"fmt"
	"reflect"
	"testing"

	"postern/event"
	"postern/messages"
)

// The three gates in every combination: each controls only its own events, and messages sent by
// the API have no gate.
func TestGatesAreIndependent(t *testing.T) {
	for mask := range 8 {
		inbound, updates, people := mask&1 != 0, mask&2 != 0, mask&4 != 0
		t.Run(fmt.Sprintf("messages=%t,updates=%t,contacts=%t", inbound, updates, people), func(t *testing.T) {
			r := newRigKeeping(t, func(c *messages.Config) { c.SaveMessages, c.SaveUpdates, c.SaveContacts = inbound, updates, people })
			defer r.stop()
			id := r.create("a").ID
			for _, f := range []event.Fact{
				{Kind: event.MessagesUpsert, Data: text("in", annPhone, false)},
				{Kind: event.SendMessage, Data: text("out", annPhone, true)},
				{Kind: event.MessagesUpdate, Data: event.Receipt{KeyIDs: []string{"out"}, Status: event.StatusRead}},
				{Kind: event.ContactsUpsert, Data: met(annPhone, annLID, "Ann")},
				{Kind: event.ContactsUpdate, Data: met(annPhone, annLID, "Anna")},
				{Kind: event.MessagesStar, Data: event.MessageStar{ChatJID: annPhone}},
			} {
				r.report(id, f)
			}
			var want []event.Kind
			stored := map[string]int{"message": 1, "message_key": 1, "message_update": 0, "contact": 0, "contact_jid": 0}
			if inbound {
				want = append(want, event.MessagesUpsert)
				stored["message"], stored["message_key"] = 2, 2
			}
			want = append(want, event.SendMessage)
			if updates {
				want = append(want, event.MessagesUpdate)
				stored["message_update"] = 1
			}
			if people {
				want = append(want, event.ContactsUpsert, event.ContactsUpdate)
				stored["contact"], stored["contact_jid"] = 1, 2
			}
			want = append(want, event.MessagesStar)
			if got := kinds(r.published()); !reflect.DeepEqual(got, want) {
				t.Errorf("published %v, want %v", got, want)
			}
			for bucket, n := range stored {
				if got := r.count(bucket, id); got != n {
					t.Errorf("%s holds %d records, want %d", bucket, got, n)
				}
			}
		})
	}
}

func TestTheOwnPictureIsStoredBeforeItsEvent(t *testing.T) {
	var r *rig
	stored := ""
	r = newRig(t, func(c *Config) {
		publish := c.Publish
		c.Publish = func(n event.Notice) {
			stored = r.record(n.InstanceID).ProfilePicURL
			publish(n)
		}
	}, nil)
	defer r.stop()
	id := r.create("a").ID
	r.report(id, event.Fact{Status: event.Online, Link: &event.Link{JID: annPhone}})
	const url = "https://pps.whatsapp.net/1.jpg"
	r.report(id, event.Fact{Kind: event.ProfilePictureUpdate, Data: event.PictureUpdate{JID: annPhone, PictureID: "1"}, Picture: new(url)})
	if n := r.one(); n.Kind != event.ProfilePictureUpdate || stored != url {
		t.Errorf("at %s %q was stored", n.Kind, stored)
	}
	r.report(id, event.Fact{Kind: event.ProfilePictureUpdate, Data: event.PictureUpdate{JID: bobPhone, PictureID: "2"}})
	r.reboot()
	if got := r.record(id); got.ProfilePicURL != url {
		t.Errorf("after another's picture and a restart: %+v", got)
	}
	r.published()
	r.report(id, event.Fact{Kind: event.ProfilePictureUpdate, Data: event.PictureUpdate{JID: annPhone, Remove: true}, Picture: new("")})
	if r.one(); stored != "" {
		t.Errorf("removed: %q", stored)
	}
	r.report(id, event.Fact{Picture: new(url)})
	r.report(id, event.Fact{Status: event.LoggedOut, Unlink: true})
	if got := r.record(id); got.ProfilePicURL != "" || len(r.published()) != 0 {
		t.Errorf("unlinked: %+v", got)
	}
}

func TestAnUnstoredPictureMakesNoEvent(t *testing.T) {
	r := newRig(t, nil, nil)
	defer r.stop()
	id := r.create("a").ID
	if err := r.s.Close(); err != nil {
		t.Fatal(err)
	}
	f := event.Fact{Kind: event.ProfilePictureUpdate, Data: event.PictureUpdate{JID: annPhone}, Picture: new("https://pps.whatsapp.net/1.jpg")}
	if err := r.reg.Report(bg, id, f); err == nil || len(r.published()) != 0 || r.record(id).ProfilePicURL != "" {
		t.Errorf("%v, %+v", err, r.record(id))
	}
}

func TestDeletedMessageEventHasItsID(t *testing.T) {
	r := newRig(t, nil, nil)
	defer r.stop()
	id := r.create("a").ID
	both := text("K", annPhone, false)
	both.KeyLID = new(annLID)
	broken := text("D", annPhone, false)
	broken.Content = json.RawMessage(`{"text":"damage-this-text"}`)
	for _, m := range []*event.Message{text("K", bobPhone, false), both, broken} {
		r.report(id, event.Fact{Kind: event.MessagesUpsert, Data: m})
	}
	r.damage("damage-this-text")
	r.published()
	for _, c := range []struct {
		key, chat string
		want      any
	}{
		{"K", bobPhone, 1.0},
		{"K", annPhone, 2.0},
		{"K", annLID, 2.0},
		{"K", "493@s.whatsapp.net", nil},
		{"unknown", annPhone, nil},
		{"D", annPhone, nil}, // damaged
		{"", "", nil},
	} {
		r.report(id, event.Fact{Kind: event.MessagesDelete, Data: event.MessageDelete{ChatJID: c.chat, MessageID: c.key}})
		n := r.one()
		data := fields(t, n.Body)["data"].(map[string]any)
		if data["id"] != c.want || data["messageId"] != c.key || n.Kind != event.MessagesDelete {
			t.Errorf("%q in %q: %s %v, want id %v", c.key, c.chat, n.Kind, data, c.want)
		}
	}
	if n := r.count("message_key", id); n != 3 {
		t.Errorf("%d messages are left", n)
	}
}

func TestDeletedMessageIsPublishedDespiteLookupFailure(t *testing.T) {
	r := newRig(t, nil, nil)
	defer r.stop()
	id := r.create("a").ID
	r.report(id, event.Fact{Kind: event.MessagesUpsert, Data: text("K", annPhone, false)})
	r.published()
	if err := r.s.Close(); err != nil {
		t.Fatal(err)
	}
	r.report(id, event.Fact{Kind: event.MessagesDelete, Data: event.MessageDelete{ChatJID: annPhone, MessageID: "K"}})
	if got := fields(t, r.one().Body)["data"].(map[string]any); got["id"] != nil || got["messageId"] != "K" {
		t.Errorf("%v", got)
	}
}

func TestStatusInstanceShowsTheStateThatItStored(t *testing.T) {
	for kind, state := range map[event.InstanceStatusType]event.State{
		event.StatusClientOutdated: event.ClientOutdated,
		event.StatusTemporaryBan:   event.TemporaryBan,
	} {
		t.Run(string(kind), func(t *testing.T) {
			r := newRig(t, nil, nil)
			defer r.stop()
			id := r.create("a").ID
			r.report(id, event.Fact{
				Kind: event.StatusInstance, Status: state, Reason: 405, Error: "refused",
				Data: event.InstanceStatus{Type: kind, Message: "refused"},
			})
			n := r.one()
			body := fields(t, n.Body)
			want := map[string]any{"type": string(kind), "message": "refused"}
			if body["instance"].(map[string]any)["connectionStatus"] != string(state) || !reflect.DeepEqual(body["data"], want) || n.Kind != event.StatusInstance {
				t.Errorf("%s", n.Body)
			}
			if got := r.record(id); got.Status != state || got.Reason != 405 || got.LastError != "refused" {
				t.Errorf("%+v", got)
			}
		})
	}
}
