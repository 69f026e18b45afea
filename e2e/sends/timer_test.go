package sends

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"testing"

	"postern/cli/consumer"
	"postern/e2e/rig"
	"postern/event"
)

const week = 604800

// timed is a program whose chats have disappearing timers.
type timed struct{ *rig.SendScene }

// without returns how many messages a phone got without the timer of their chat.
func (s timed) without(t *testing.T, number string) int {
	t.Helper()
	s.Do(t, rig.Route(http.MethodGet, "/sandbox/phones/"+number, "").As("phone"))
	n, err := strconv.Atoi(s.Vars["phone.withoutTimer"])
	if err != nil {
		t.Fatal(s.Vars["phone.*"])
	}
	return n
}

// text sends one and returns its stored message.
func (s timed) text(t *testing.T, chat, text string) rig.SentMessage {
	t.Helper()
	return s.Sent(t, 0, s.PostJSON(t, s.Fill("/instance/$name/send/text"), fmt.Sprintf(`{"chat":%q,"textMessage":{"text":%q}}`, s.Fill(chat), text)), `{}`)
}

// disappears sends a text and checks that the phone got it with a timer, and that the answer shows it.
func (s timed) disappears(t *testing.T, chat, phone, text string, seconds int) {
	t.Helper()
	a := s.PostJSON(t, s.Fill("/instance/$name/send/text"), fmt.Sprintf(`{"chat":%q,"textMessage":{"text":%q}}`, s.Fill(chat), text))
	m := s.Sent(t, 0, a, fmt.Sprintf(`{"messageType":"extendedTextMessage","content":{"text":%q,"contextInfo":{"expiration":%d}}}`, text, seconds))
	s.DecryptedAs(t, phone, m.KeyID, fmt.Sprintf(`{"extendedTextMessage":{"text":%q,"contextInfo":{"expiration":%d}}}`, text, seconds))
}

// stays sends a text and checks that it has no timer.
func (s timed) stays(t *testing.T, chat, phone, text string) {
	t.Helper()
	a := s.PostJSON(t, s.Fill("/instance/$name/send/text"), fmt.Sprintf(`{"chat":%q,"textMessage":{"text":%q}}`, s.Fill(chat), text))
	m := s.Sent(t, 0, a, fmt.Sprintf(`{"messageType":"conversation","content":{"text":%q}}`, text))
	s.DecryptedAs(t, phone, m.KeyID, fmt.Sprintf(`{"conversation":%q}`, text))
}

// set has a phone set the timer of its chat with another one, and waits until the instance has the setting.
func (s timed) set(t *testing.T, phone, with string, seconds int) {
	t.Helper()
	s.Do(t, rig.Act(phone, fmt.Sprintf(`{"do":"set-timer","to":%q,"seconds":%d}`, s.Fill(with), seconds)))
	s.settled(t)
}

// settled waits until the instance has acknowledged all that was sent to it.
func (s timed) settled(t *testing.T) {
	t.Helper()
	s.Await("an empty queue", func() bool {
		s.Do(t, rig.Route(http.MethodGet, "/sandbox/phones/"+rig.OwnNumber, "").As("queue"))
		return strings.Contains(s.Vars["queue.*"], `"queued":0`)
	})
}

func TestMessageHasTheTimerOfItsChat(t *testing.T) {
	t.Parallel()
	for name, env := range map[string][]string{"messages are saved": nil, "messages are not saved": {"DATABASE_SAVE_DATA_NEW_MESSAGE=false"}} {
		t.Run(name, func(t *testing.T) {
			s := timed{rig.NewSendScene(t, env...)}
			s.stays(t, "$anne", rig.AnneNumber, "no timer yet")
			s.set(t, "$anne", "$own", week)
			s.disappears(t, "$anne", rig.AnneNumber, "for a week", week)
			s.disappears(t, s.Vars["anneLID"], rig.AnneNumber, "by LID", week)
			s.stays(t, "$bob", rig.BobNumber, "another chat")
			s.set(t, "$own", "$anne", 86400)
			s.disappears(t, "$anne", rig.AnneNumber, "for a day, by the own phone", 86400)
			s.Kill()
			s.Start()
			s.AwaitOnline(rig.SceneName, s.Token)
			s.disappears(t, "$anne", rig.AnneNumber, "after a kill", 86400)
			// A message without the field ends nothing, only the setting 0 does.
			s.Do(t, rig.Act("$anne", `{"do":"message","to":"$own","content":{"reactionMessage":{"text":"👍","key":{"remoteJID":"$own@s.whatsapp.net","ID":"X","fromMe":true}}}}`))
			s.settled(t)
			s.disappears(t, "$anne", rig.AnneNumber, "still", 86400)
			s.set(t, "$anne", "$own", 0)
			s.stays(t, "$anne", rig.AnneNumber, "switched off")
			if n := s.without(t, rig.AnneNumber) + s.without(t, rig.OwnNumber); n != 0 {
				t.Errorf("%d messages came without the timer", n)
			}
		})
	}
}

func TestTimerOfAnIgnoredChatIsLearnt(t *testing.T) {
	t.Parallel()
	s := timed{rig.NewSendScene(t)}
	s.Call(consumer.Bearer(s.Token), http.MethodPut, s.Fill("/instance/$name/settings"), map[string]any{"ignore": map[string]any{"jids": []string{rig.AnneNumber}}}, nil)
	s.set(t, "$anne", "$own", week)
	s.disappears(t, "$anne", rig.AnneNumber, "to an ignored chat", week)
}

// TestTimerIsLearntFromAMessage: the setting was made before the account was linked.
func TestTimerIsLearntFromAMessage(t *testing.T) {
	t.Parallel()
	s := timed{rig.NewSendScene(t)}
	from := len(s.Webhooks())
	s.Do(t, rig.Act("$anne", `{"do":"message","to":"$own","content":{"extendedTextMessage":{"text":"timed","contextInfo":{"expiration":86400,"ephemeralSettingTimestamp":"1700000000"}}}}`))
	s.AwaitEvent(t, from, event.MessagesUpsert, `{"content":{"text":"timed"}}`)
	s.disappears(t, "$anne", rig.AnneNumber, "as that message", 86400)
	// An older setting that comes later does not win.
	from = len(s.Webhooks())
	s.Do(t, rig.Act("$anne", `{"do":"message","to":"$own","content":{"extendedTextMessage":{"text":"late","contextInfo":{"expiration":604800,"ephemeralSettingTimestamp":"1600000000"}}}}`))
	s.AwaitEvent(t, from, event.MessagesUpsert, `{"content":{"text":"late"}}`)
	s.disappears(t, "$anne", rig.AnneNumber, "the newest setting", 86400)
}

func TestMessageToAGroupHasItsTimer(t *testing.T) {
	t.Parallel()
	s := timed{rig.NewSendScene(t)}
	s.Do(t, rig.Act("$anne", `{"do":"group-create","subject":"Timed","participants":["$own","$bob"],"ephemeralSeconds":86400}`).As("g"))
	s.disappears(t, "$g.group", rig.BobNumber, "at once", 86400)
	from := len(s.Webhooks())
	s.Do(t, rig.Act("$anne", `{"do":"group-update","group":"$g.group","ephemeralSeconds":604800}`))
	s.AwaitEvent(t, from, event.GroupsUpdate, `[{"partial":{"ephemeralDuration":604800}}]`)
	s.disappears(t, "$g.group", rig.BobNumber, "after a change", week)
	from = len(s.Webhooks())
	s.Do(t, rig.Act("$anne", `{"do":"group-update","group":"$g.group","ephemeralSeconds":0}`))
	s.AwaitEvent(t, from, event.GroupsUpdate, `[{"partial":{"ephemeralDuration":0}}]`)
	s.stays(t, "$g.group", rig.BobNumber, "switched off")
	if n := s.without(t, rig.BobNumber); n != 0 {
		t.Errorf("%d messages came without the timer", n)
	}
}

// TestEveryKindHasTheTimer sends each kind; the phone counts those without.
func TestEveryKindHasTheTimer(t *testing.T) {
	t.Parallel()
	s := timed{rig.NewSendScene(t)}
	forwarded := s.text(t, "$bob", "to be forwarded")
	s.set(t, "$anne", "$own", week)
	const has = `"contextInfo":{"expiration":604800}`
	for _, row := range []struct{ path, body, phone string }{
		{"text", `"textMessage":{"text":"a"}`, `{"extendedTextMessage":{` + has + `}}`},
		{"link", `"linkMessage":{"link":"https://example.org","title":"A"}`, `{"extendedTextMessage":{` + has + `}}`},
		{"media", `"mediaMessage":{"mediatype":"image","media":"$files/photo.jpg","caption":"c"}`, `{"imageMessage":{` + has + `}}`},
		{"media", `"mediaMessage":{"mediatype":"document","media":"$files/photo.jpg","fileName":"a.pdf"}`, `{"documentMessage":{` + has + `}}`},
		{"ptt", `"audioMessage":{"audio":"$files/note.ogg"}`, `{"audioMessage":{` + has + `}}`},
		{"sticker", `"stickerMessage":{"sticker":"$files/sticker.webp"}`, `{"stickerMessage":{` + has + `}}`},
		{"contact", `"contactMessage":[{"fullName":"Bob","phoneNumber":"$bob"}]`, `{"contactMessage":{` + has + `}}`},
		{"location", `"locationMessage":{"latitude":1.5,"longitude":2.5}`, `{"locationMessage":{` + has + `}}`},
		{"poll", `"pollMessage":{"name":"When?","options":["now","later"],"selectableCount":1}`, `{"pollCreationMessage":{` + has + `}}`},
		{"forward", fmt.Sprintf(`"messageId":%d`, forwarded.ID), `{"extendedTextMessage":{"text":"to be forwarded",` + has + `}}`},
	} {
		body := s.Fill(`{"number":"$anne",` + row.body + `}`)
		a := s.PostJSON(t, s.Fill("/instance/$name/send/"+row.path), body)
		if a.Status != http.StatusOK {
			t.Errorf("%s: %d %s", row.path, a.Status, a.Body)
			continue
		}
		m := s.Sent(t, 0, a, `{}`)
		s.DecryptedAs(t, rig.AnneNumber, m.KeyID, row.phone)
	}
	b := batchOf(t, s.SendScene, "text", `{"text":"from a batch"}`)
	s.DecryptedAs(t, rig.AnneNumber, s.SentID(t, b.ID, rig.AnneNumber), `{"extendedTextMessage":{`+has+`}}`)
	s.DecryptedAs(t, rig.BobNumber, s.SentID(t, b.ID, rig.BobNumber), `{"conversation":"from a batch"}`)
	if n := s.without(t, rig.AnneNumber); n != 0 {
		t.Errorf("%d messages came without the timer", n)
	}
}

// TestEditKeepsTypeAndTimer edits a text that was sent with a timer, and one that was sent before it.
func TestEditKeepsTypeAndTimer(t *testing.T) {
	t.Parallel()
	s := timed{rig.NewSendScene(t)}
	before := s.text(t, "$anne", "before")
	s.set(t, "$anne", "$own", week)
	with := s.text(t, "$anne", "with")
	s.set(t, "$anne", "$own", 0)
	for m, text := range map[rig.SentMessage]string{before: "before, edited", with: "with, edited"} {
		a := s.Request(t, http.MethodPost, s.Fill("/instance/$name/chat/edit-message"), "application/json", strings.NewReader(fmt.Sprintf(`{"messageId":%d,"text":%q}`, m.ID, text)))
		if a.Status/100 != 2 {
			t.Fatalf("%d %s", a.Status, a.Body)
		}
		phone, _ := s.Sandbox.Phone(rig.AnneNumber)
		s.Await("the edit on the phone", func() bool {
			for _, r := range phone.Received() {
				if r.ID == m.KeyID && r.Shown == text {
					return true
				}
			}
			return false
		})
	}
	phone, _ := s.Sandbox.Phone(rig.AnneNumber)
	for _, r := range phone.Received() {
		p := r.Message.GetEditedMessage().GetMessage().GetProtocolMessage()
		if p.GetKey().GetID() == with.KeyID && p.GetEditedMessage().GetExtendedTextMessage().GetContextInfo().GetExpiration() != week {
			t.Errorf("the edit has no timer: %v", r.Message)
		}
		if p.GetKey().GetID() == before.KeyID && p.GetEditedMessage().Conversation == nil {
			t.Errorf("the edit of a plain text is another type: %v", r.Message)
		}
	}
}
