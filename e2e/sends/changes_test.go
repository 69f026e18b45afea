package sends

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"postern/cli/consumer"
	"postern/e2e/rig"
	"postern/event"
)

// TestMessageIsPinnedAndKept is seen at the other phone, with the key of the message and the time.
func TestMessageIsPinnedAndKept(t *testing.T) {
	t.Parallel()
	s := timed{rig.NewSendScene(t)}
	s.set(t, "$anne", "$own", week)
	m := s.text(t, "$anne", "important")
	for _, row := range []struct{ path, body, answer, phone string }{
		{
			"pin-message", `"pinned":true`, `{"messageType":"pinInChatMessage","content":{"type":"PIN_FOR_ALL"}}`,
			`{"pinInChatMessage":{"key":{"ID":"` + m.KeyID + `","fromMe":true},"type":"PIN_FOR_ALL"},"messageContextInfo":{"messageAddOnDurationInSecs":604800}}`,
		},
		{
			"pin-message", `"pinned":true,"duration":2592000`, `{}`,
			`{"messageContextInfo":{"messageAddOnDurationInSecs":2592000}}`,
		},
		{"pin-message", `"pinned":false`, `{}`, `{"pinInChatMessage":{"key":{"ID":"` + m.KeyID + `"},"type":"UNPIN_FOR_ALL"}}`},
		{"keep-message", `"keep":true`, `{"messageType":"keepInChatMessage"}`, `{"keepInChatMessage":{"key":{"ID":"` + m.KeyID + `"},"keepType":"KEEP_FOR_ALL"}}`},
		{"keep-message", `"keep":false`, `{}`, `{"keepInChatMessage":{"key":{"ID":"` + m.KeyID + `"},"keepType":"UNDO_KEEP_FOR_ALL"}}`},
	} {
		a := s.PostJSON(t, s.Fill("/instance/$name/chat/"+row.path), fmt.Sprintf(`{"messageId":%d,%s}`, m.ID, row.body))
		sent := s.Sent(t, 0, a, row.answer)
		s.DecryptedAs(t, rig.AnneNumber, sent.KeyID, row.phone)
		if secret := secretOf(t, s.SendScene, rig.AnneNumber, sent.KeyID); secret != nil {
			t.Errorf("%s has a secret", row.path)
		}
	}
	for body, want := range map[string]int{
		fmt.Sprintf(`{"messageId":%d,"pinned":true,"duration":60}`, m.ID): 422, fmt.Sprintf(`{"messageId":%d,"pinned":false,"duration":86400}`, m.ID): 422,
		`{"messageId":999,"pinned":true}`: 404, fmt.Sprintf(`{"messageId":%d}`, m.ID): 400,
	} {
		if a := s.PostJSON(t, s.Fill("/instance/$name/chat/pin-message"), body); a.Status != want {
			t.Errorf("%s: %d %s", body, a.Status, a.Body)
		}
	}
}

// TestExpirationIsSetAndFollowed sets the timer of a person's chat and of a group's, over a kill.
func TestExpirationIsSetAndFollowed(t *testing.T) {
	t.Parallel()
	s := timed{rig.NewSendScene(t)}
	s.Do(t, rig.Act("$own", `{"do":"group-create","subject":"Timed","participants":["$anne","$bob"]}`).As("g"))
	for chat, phone := range map[string]string{"$anne": rig.AnneNumber, "$g.group": rig.BobNumber} {
		set := func(seconds int) {
			t.Helper()
			a := s.PostJSON(t, s.Fill("/instance/$name/chat/expiration"), s.Fill(fmt.Sprintf(`{"chat":%q,"seconds":%d}`, chat, seconds)))
			if a.Status != http.StatusOK || !strings.Contains(string(a.Body), fmt.Sprintf(`"seconds":%d`, seconds)) {
				t.Fatalf("%s: %d %s", chat, a.Status, a.Body)
			}
		}
		set(86400)
		s.disappears(t, chat, phone, "at once", 86400)
		s.Kill()
		s.Start()
		s.AwaitOnline(rig.SceneName, s.Token)
		s.disappears(t, chat, phone, "after a kill", 86400)
		set(0)
		s.stays(t, chat, phone, "switched off")
	}
	for _, number := range []string{rig.AnneNumber, rig.BobNumber} {
		if n := s.without(t, number); n != 0 {
			t.Errorf("%d messages to %s came without the timer", n, number)
		}
	}
	if a := s.PostJSON(t, s.Fill("/instance/$name/chat/expiration"), s.Fill(`{"chat":"$anne","seconds":60}`)); a.Status != http.StatusUnprocessableEntity {
		t.Errorf("a minute: %d %s", a.Status, a.Body)
	}
}

func TestDeletionsOnTheAccountsDevices(t *testing.T) {
	t.Parallel()
	s := timed{rig.NewSendScene(t)}
	first, second := s.text(t, "$anne", "first"), s.text(t, "$anne", "second")
	stored := func(m rig.SentMessage) bool {
		a := s.PostJSON(t, s.Fill("/instance/$name/db/messages"), fmt.Sprintf(`{"filter":{"keyId":%q}}`, m.KeyID))
		return strings.Contains(string(a.Body), m.KeyID)
	}
	remove := func(path string) {
		t.Helper()
		if status, answer := s.Raw(consumer.Bearer(s.Token), http.MethodDelete, s.Fill(path), ""); status != http.StatusNoContent {
			t.Fatalf("%s: %d %s", path, status, answer)
		}
	}
	from := len(s.Webhooks())
	remove(fmt.Sprintf("/instance/$name/chat/delete-for-me?messageId=%d", first.ID))
	s.AwaitEvent(t, from, event.MessagesDelete, fmt.Sprintf(`{"messageId":%q,"keyFromMe":true}`, first.KeyID))
	if stored(first) || !stored(second) {
		t.Error("the deleted message is stored, or the other is not")
	}
	from = len(s.Webhooks())
	if a := s.PostJSON(t, s.Fill("/instance/$name/chat/unread"), s.Fill(`{"chat":"$anne","unread":true}`)); a.Status != http.StatusNoContent {
		t.Fatalf("%d %s", a.Status, a.Body)
	}
	s.AwaitEvent(t, from, event.ChatsUpdated, `{"type":"mark.read","read":false}`)
	from = len(s.Webhooks())
	remove("/instance/$name/chats/$anne")
	s.AwaitEvent(t, from, event.ChatsDelete, `{}`)
	if !stored(second) {
		t.Error("a message is gone without stored=true")
	}
	remove("/instance/$name/chats/$anne?stored=true")
	if stored(second) {
		t.Error("a message is there after stored=true")
	}
}

func TestVoiceMessageIsReportedAsPlayed(t *testing.T) {
	t.Parallel()
	s := rig.NewSendScene(t)
	s.Do(t, rig.Act("$anne", `{"do":"text","to":"$own","text":"stands for a voice message","id":"VOICE1"}`))
	a := s.PostJSON(t, s.Fill("/instance/$name/chat/read-message"), s.Fill(`{"chat":"$anne","keyIds":["VOICE1"],"played":true}`))
	if a.Status != http.StatusOK {
		t.Fatalf("%d %s", a.Status, a.Body)
	}
	phone, _ := s.Sandbox.Phone(rig.AnneNumber)
	s.Await("the receipt", func() bool { return phone.WasPlayed("VOICE1") })
}
