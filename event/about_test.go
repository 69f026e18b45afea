package event

import (
	"encoding/json"
	"strings"
	"testing"
)

// TestAboutOfReturnsTheChatOfThePayload: a messages.update names no chat; what the event
// is made of, a receipt, does.
func TestAboutOfReturnsTheChatOfThePayload(t *testing.T) {
	for _, c := range contract {
		d, _ := Lookup(c.kind)
		if d.Family != Instance {
			continue
		}
		for _, e := range Examples(d.Kind) {
			about := AboutOf(e.Data)
			body, err := json.Marshal(e.Data)
			if err != nil {
				t.Fatal(err)
			}
			switch {
			case !strings.Contains(c.about, "chat"):
				if about != (About{}) {
					t.Errorf("%s %s is about %+v, want no chat", d.Kind, e.Name, about)
				}
			case about.Chat == "" && !isWithoutChat(d.Kind, body):
				t.Errorf("%s %s is about no chat: %s", d.Kind, e.Name, body)
			case about.Chat != "" && !strings.Contains(string(body), about.Chat):
				t.Errorf("%s %s is about %q, which it does not name: %s", d.Kind, e.Name, about.Chat, body)
			case about.LID != "" && !strings.Contains(string(body), about.LID):
				t.Errorf("%s %s is about %q, which it does not name: %s", d.Kind, e.Name, about.LID, body)
			}
		}
	}
}

// isWithoutChat tells of the variants that name none.
func isWithoutChat(kind Kind, body []byte) bool {
	switch kind {
	case ChatsUpdated:
		return !strings.Contains(string(body), `"chatJid"`)
	case SendMessage:
		return strings.Contains(string(body), `"error"`) || strings.Contains(string(body), `"keyRemoteJid":null`)
	case NewsLetter:
		return !strings.Contains(string(body), `"newsletterJid"`)
	case PresenceUpdated:
		return !strings.Contains(strings.ToLower(string(body)), `jid"`)
	case MessagesUpsert:
		return strings.Contains(string(body), `"keyRemoteJid":null`)
	default:
		return false
	}
}

func TestBothAddressesAreOneChat(t *testing.T) {
	const phone, lid, group = "4915111@s.whatsapp.net", "777@lid", "120@g.us"
	other := func(jid string) string {
		return map[string]string{phone: lid, lid: phone}[jid]
	}
	both := About{Chat: phone, LID: lid}
	for name, c := range map[string]struct{ data any }{
		"a message with both":       {Message{KeyRemoteJID: new(phone), KeyLID: new(lid)}},
		"a message by LID alone":    {&Message{KeyRemoteJID: new(lid), KeyLID: new(lid)}},
		"a message by phone alone":  {Message{KeyRemoteJID: new(phone)}},
		"a presence by LID":         {PresenceUpdate{JID: lid}},
		"a call by phone":           {Call{ChatID: phone}},
		"a receipt":                 {Receipt{Chat: phone, LID: lid}},
		"a contact by LID alone":    {ContactChange{JID: lid}},
		"a contact without a phone": {ContactChange{LID: lid}},
		"a contact as it is told":   {[]ContactUpdate{{RemoteJID: phone, LID: new(lid)}}},
	} {
		if got := AboutOf(c.data).With(other); got != both {
			t.Errorf("%s is about %+v, want %+v", name, got, both)
		}
	}
	if got := AboutOf(Call{ChatID: group}).With(other); got != (About{Chat: group}) {
		t.Errorf("a call in a group is about %+v", got)
	}
	if got := AboutOf(Call{ChatID: lid}).With(func(string) string { return "" }); got != (About{Chat: lid, LID: lid}) {
		t.Errorf("somebody whose phone is unknown is %+v", got)
	}
	asked := func(string) string { t.Error("asked for an address that is there"); return "" }
	AboutOf(Message{KeyRemoteJID: new(phone), KeyLID: new(lid)}).With(asked)
	AboutOf(QRCode{}).With(asked)
}

func TestTheAccountsOwnMessagesAreMarked(t *testing.T) {
	for _, data := range []any{
		Message{KeyFromMe: true},
		MessageDelete{KeyFromMe: true},
		MessageStar{KeyFromMe: true},
		MessageUndecryptable{KeyFromMe: true},
		MediaAnswer{KeyFromMe: true},
		SendResult{},
	} {
		if !AboutOf(data).FromMe {
			t.Errorf("%T is not the account's own", data)
		}
	}
}
