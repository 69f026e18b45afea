package sends

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"testing"

	"postern/cli/consumer"
	"postern/e2e/rig"
	"postern/event"
)

// secretOf returns the secret of a message on the phone of a number.
func secretOf(t *testing.T, s *rig.SendScene, number, keyID string) []byte {
	t.Helper()
	s.DecryptedAs(t, number, keyID, `{}`)
	phone, _ := s.Sandbox.Phone(number)
	for _, r := range phone.Received() {
		if r.ID == keyID {
			return r.Message.GetMessageContextInfo().GetMessageSecret()
		}
	}
	return nil
}

func TestMessageHasASecretOfItsOwn(t *testing.T) {
	t.Parallel()
	s := rig.NewSendScene(t)
	var secrets [][]byte
	for _, row := range []struct{ path, body string }{
		{"text", `"textMessage":{"text":"a"}`},
		{"text", `"textMessage":{"text":"b"}`},
		{"media", `"mediaMessage":{"mediatype":"image","media":"$files/photo.jpg"}`},
		{"poll", `"pollMessage":{"name":"When?","options":["now","later"],"selectableCount":1}`},
	} {
		from := len(s.Webhooks())
		a := s.PostJSON(t, s.Fill("/instance/$name/send/"+row.path), s.Fill(`{"number":"$anne",`+row.body+`}`))
		m := s.Sent(t, from, a, `{}`)
		secret := secretOf(t, s, rig.AnneNumber, m.KeyID)
		if len(secret) != 32 {
			t.Fatalf("%s: a secret of %d bytes", row.path, len(secret))
		}
		secrets = append(secrets, secret)
		text := []byte(base64.StdEncoding.EncodeToString(secret))
		for _, w := range s.Webhooks() {
			if bytes.Contains(w.Body, text) || bytes.Contains(w.Body, []byte("essageSecret")) {
				t.Errorf("an event shows the secret: %s", w.Body)
			}
		}
		if bytes.Contains(a.Body, text) || bytes.Contains(a.Body, []byte("essageSecret")) {
			t.Errorf("the answer shows the secret: %s", a.Body)
		}
	}
	if bytes.Equal(secrets[0], secrets[1]) {
		t.Error("two messages have the same secret")
	}
	m := s.Sent(t, 0, s.PostJSON(t, s.Fill("/instance/$name/send/reaction"), s.Fill(`{"reactionMessage":{"key":{"remoteJid":"$anne@s.whatsapp.net","id":"X","fromMe":false},"reaction":"👍"}}`)), `{}`)
	if secret := secretOf(t, s, rig.AnneNumber, m.KeyID); secret != nil {
		t.Errorf("a reaction has the secret %x", secret)
	}
}

// TestPhoneEditsWithTheSecret: the account's phone encrypts its edit of a message that was sent by the API.
func TestPhoneEditsWithTheSecret(t *testing.T) {
	t.Parallel()
	s := rig.NewSendScene(t)
	m := s.Sent(t, 0, s.PostJSON(t, s.Fill("/instance/$name/send/text"), s.Fill(`{"number":"$anne","textMessage":{"text":"frist"}}`)), `{}`)
	s.DecryptedAs(t, rig.OwnNumber, m.KeyID, `{"conversation":"frist"}`)
	s.Kill() // the secret is in the file
	s.Start()
	s.AwaitOnline(rig.SceneName, s.Token)
	from := len(s.Webhooks())
	s.Do(t, rig.Act("$own", fmt.Sprintf(`{"do":"edit","to":"$anne","id":%q,"text":"first","seal":true}`, m.KeyID)))
	s.AwaitEvent(t, from, event.MessagesUpsert, fmt.Sprintf(`{"content":{"text":"first"},"metadata":{"editOf":%q}}`, m.KeyID))
}

// TestMembersReactToAnAnnouncement: phones encrypt reactions to the announcements of a community.
func TestMembersReactToAnAnnouncement(t *testing.T) {
	t.Parallel()
	s := rig.NewSendScene(t)
	s.Do(t, rig.Act("$own", `{"do":"group-create","subject":"Town","participants":["$anne"],"community":true}`))
	var groups []json.RawMessage
	s.Call(consumer.Bearer(s.Token), http.MethodGet, s.Fill("/instance/$name/groups"), nil, &groups)
	for _, raw := range groups {
		var g struct {
			ID                  string
			IsCommunityAnnounce bool
		}
		if json.Unmarshal(raw, &g) == nil && g.IsCommunityAnnounce {
			s.Vars["announcements"] = g.ID
		}
	}
	m := s.Sent(t, 0, s.PostJSON(t, s.Fill("/instance/$name/send/text"), s.Fill(`{"chat":"$announcements","textMessage":{"text":"hear"}}`)), `{}`)
	s.DecryptedAs(t, rig.AnneNumber, m.KeyID, `{"conversation":"hear"}`)
	from := len(s.Webhooks())
	s.Do(t, rig.Act("$anne", fmt.Sprintf(`{"do":"reaction","to":"$announcements","id":%q,"emoji":"👍"}`, m.KeyID)))
	s.AwaitEvent(t, from, event.MessagesUpsert, fmt.Sprintf(`{"messageType":"reactionMessage","content":{"text":"👍","key":{"id":%q}}}`, m.KeyID))
}
