package messages

import (
	"encoding/json"
	"reflect"
	"testing"
	"testing/synctest"

	"postern/event"
)

func TestMessageIsStoredOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, nil)
		defer r.stop()
		id := r.create()
		first, chat := text("K", "1@s.whatsapp.net", false), "1@s.whatsapp.net"
		first.PushName, first.KeyLID = new("Ann"), new("9@lid")
		r.report(id, event.Fact{Kind: event.MessagesUpsert, Data: first})
		n := r.one()
		want := map[string]any{
			"id": 1.0, "keyId": "K", "keyRemoteJid": chat, "keyLid": "9@lid", "keyFromMe": false, "keyParticipant": nil, "keyParticipantLid": nil,
			"pushName": "Ann", "messageType": "conversation", "content": map[string]any{"text": "hello"}, "messageTimestamp": 1.7e9,
			"device": nil, "isGroup": false, "metadata": nil,
		}
		if got := fields(t, n.Body)["data"]; !reflect.DeepEqual(got, want) {
			t.Errorf("\n got %v\nwant %v", got, want)
		}
		second := *first
		second.Content = json.RawMessage(`{"text":"forged"}`)
		r.report(id, event.Fact{Kind: event.MessagesUpsert, Data: &second})
		if got := fields(t, r.one().Body)["data"]; !reflect.DeepEqual(got, want) {
			t.Errorf("a second time:\n got %v\nwant %v", got, want)
		}
		if first.ID != 0 || r.count(messages, id) != 1 {
			t.Errorf("the caller's message has id %d, %d are stored", first.ID, r.count(messages, id))
		}
		r.report(id, event.Fact{Kind: event.MessagesUpsert, Data: text("K", "2@s.whatsapp.net", false)})
		if got := fields(t, r.one().Body)["data"].(map[string]any)["id"]; got != 2.0 {
			t.Errorf("the same key id in another chat got id %v", got)
		}
	})
}

func TestDamagedMessageIsStoredAgain(t *testing.T) {
	r := newRig(t, nil)
	defer r.stop()
	id := r.create()
	m := text("K", "1@s.whatsapp.net", false)
	m.Content = json.RawMessage(`{"text":"damage-this-text"}`)
	r.report(id, event.Fact{Kind: event.MessagesUpsert, Data: m})
	r.damage("damage-this-text")
	r.published()
	r.report(id, event.Fact{Kind: event.MessagesUpsert, Data: m})
	if got := fields(t, r.one().Body)["data"].(map[string]any); got["id"] != 2.0 || got["content"].(map[string]any)["text"] != "damage-this-text" {
		t.Errorf("%v", got)
	}
}
