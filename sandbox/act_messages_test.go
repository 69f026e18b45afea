package sandbox

import (
	"net/http"
	"strings"
	"testing"

	"go.mau.fi/whatsmeow/proto/waConsumerApplication"
	"go.mau.fi/whatsmeow/proto/waE2E"
	"go.mau.fi/whatsmeow/types"
	"go.mau.fi/whatsmeow/types/events"

	"postern/sandbox/phone"
)

// hasID matches the content of a message, and in groups not the sender key that comes with it.
func hasID(id string) func(*events.Message) bool {
	return func(m *events.Message) bool {
		return m.Info.ID == id && m.Message.GetSenderKeyDistributionMessage() == nil
	}
}

// refusedAct returns the status of an act that should be refused.
func refusedAct(t *testing.T, s *Server, phone, body string) int {
	t.Helper()
	var answer controlError
	return call(t, s, "POST", "/sandbox/phones/"+phone+"/act", body, &answer)
}

func TestTextsHaveTheirIDsAndSides(t *testing.T) {
	s, own, anne, c := withContacts(t)
	sent := does(t, s, anneNumber, `{"do":"text","to":"`+ownNumber+`","text":"hello","id":"3A01"}`)
	m := wait(c, 1, isText("hello"))
	if sent["id"] != "3A01" || m.Info.ID != "3A01" || m.Info.Chat != anne.LID() || m.Info.Sender != anne.LID() || m.Info.SenderAlt != anne.JID() ||
		m.Info.IsFromMe || m.Info.IsGroup || m.Info.PushName != anne.PushName() || m.Info.Type != "text" || m.Info.Timestamp.IsZero() {
		t.Errorf("of a contact: %+v", m.Info)
	}
	sent = does(t, s, ownNumber, `{"do":"text","to":"`+anneNumber+`","text":"from the phone"}`)
	m = wait(c, 1, isText("from the phone"))
	if m.Info.ID != sent["id"] || m.Info.Chat != anne.LID() || m.Info.RecipientAlt != anne.JID() || m.Info.Sender != own.LID() || !m.Info.IsFromMe ||
		m.Info.DeviceSentMeta == nil || m.Info.DeviceSentMeta.DestinationJID != anne.LID().String() {
		t.Errorf("of the own phone: %+v", m.Info)
	}
	receive(t, anne, "from the phone")
}

func TestMessageActSendsAnyMessage(t *testing.T) {
	s, _, _, c := withContacts(t)
	for _, test := range []struct {
		content, kind string
		has           func(*events.Message) bool
	}{
		{
			`{"locationMessage":{"degreesLatitude":52.5,"name":"Home"}}`, "text",
			func(m *events.Message) bool { return m.Message.GetLocationMessage().GetName() == "Home" },
		},
		{
			`{"liveLocationMessage":{"degreesLatitude":1,"caption":"walking"}}`, "text",
			func(m *events.Message) bool { return m.Message.GetLiveLocationMessage().GetCaption() == "walking" },
		},
		{
			`{"contactMessage":{"displayName":"Bob","vcard":"BEGIN:VCARD"}}`, "media",
			func(m *events.Message) bool { return m.Message.GetContactMessage().GetDisplayName() == "Bob" },
		},
		{
			`{"contactsArrayMessage":{"contacts":[{"displayName":"Bob"}]}}`, "media",
			func(m *events.Message) bool { return len(m.Message.GetContactsArrayMessage().GetContacts()) == 1 },
		},
		{
			`{"buttonsResponseMessage":{"selectedButtonID":"b1"}}`, "media",
			func(m *events.Message) bool {
				return m.Message.GetButtonsResponseMessage().GetSelectedButtonID() == "b1"
			},
		},
		{
			`{"listResponseMessage":{"title":"L"}}`, "media",
			func(m *events.Message) bool { return m.Message.GetListResponseMessage().GetTitle() == "L" },
		},
		{
			`{"templateButtonReplyMessage":{"selectedID":"t1"}}`, "text",
			func(m *events.Message) bool { return m.Message.GetTemplateButtonReplyMessage().GetSelectedID() == "t1" },
		},
		{
			`{"interactiveMessage":{"body":{"text":"I"}}}`, "text",
			func(m *events.Message) bool { return m.Message.GetInteractiveMessage().GetBody().GetText() == "I" },
		},
		{
			`{"albumMessage":{"expectedImageCount":2}}`, "text",
			func(m *events.Message) bool { return m.Message.GetAlbumMessage().GetExpectedImageCount() == 2 },
		},
		{
			`{"eventMessage":{"name":"Party"}}`, "text",
			func(m *events.Message) bool { return m.Message.GetEventMessage().GetName() == "Party" },
		},
		{
			`{"viewOnceMessageV2":{"message":{"imageMessage":{"caption":"once","viewOnce":true}}}}`, "media",
			func(m *events.Message) bool {
				return m.IsViewOnceV2 && m.Message.GetImageMessage().GetCaption() == "once"
			},
		},
		{
			`{"ephemeralMessage":{"message":{"extendedTextMessage":{"text":"gone soon"}}}}`, "text",
			func(m *events.Message) bool {
				return m.IsEphemeral && m.Message.GetExtendedTextMessage().GetText() == "gone soon"
			},
		},
	} {
		id := does(t, s, anneNumber, `{"do":"message","to":"`+ownNumber+`","content":`+test.content+`}`)["id"]
		if m := wait(c, 1, hasID(id)); !test.has(m) || m.Info.Type != test.kind {
			t.Errorf("%s: a %s %v", test.content, m.Info.Type, m.RawMessage)
		}
	}
}

func TestReactionEditAndDeletionNameTheirMessage(t *testing.T) {
	s, own, _, c := withContacts(t)
	sent := does(t, s, anneNumber, `{"do":"text","to":"`+ownNumber+`","text":"hello"}`)["id"]
	theirs := wait(c, 1, hasID(sent)).Info.ID
	id := does(t, s, anneNumber, `{"do":"reaction","to":"`+ownNumber+`","id":"3AOWN","emoji":"👍"}`)["id"]
	m := wait(c, 1, hasID(id))
	if r := m.Message.GetReactionMessage(); r.GetText() != "👍" || r.GetKey().GetID() != "3AOWN" || r.GetKey().GetFromMe() ||
		r.GetKey().GetRemoteJID() != own.LID().String() || r.GetSenderTimestampMS() == 0 || m.Info.Type != "reaction" {
		t.Errorf("reaction %v of type %q", r, m.Info.Type)
	}
	id = does(t, s, anneNumber, `{"do":"reaction","to":"`+ownNumber+`","id":"`+theirs+`","fromMe":true}`)["id"]
	if r := wait(c, 1, hasID(id)).Message.GetReactionMessage(); r.GetText() != "" || !r.GetKey().GetFromMe() {
		t.Errorf("reaction taken back: %v", r)
	}
	id = does(t, s, anneNumber, `{"do":"edit","to":"`+ownNumber+`","id":"`+theirs+`","text":"hello!"}`)["id"]
	m = wait(c, 1, hasID(id))
	if e := m.Message.GetProtocolMessage(); !m.IsEdit || m.Info.Edit != types.EditAttributeMessageEdit || e.GetKey().GetID() != theirs ||
		e.GetEditedMessage().GetConversation() != "hello!" {
		t.Errorf("edit %+v", m)
	}
	id = does(t, s, anneNumber, `{"do":"revoke","to":"`+ownNumber+`","id":"`+theirs+`"}`)["id"]
	m = wait(c, 1, hasID(id))
	if r := m.Message.GetProtocolMessage(); m.Info.Edit != types.EditAttributeSenderRevoke || r.GetType() != waE2E.ProtocolMessage_REVOKE || r.GetKey().GetID() != theirs {
		t.Errorf("deletion %+v", m)
	}
}

func TestGroupReactionAndDeletionNameTheAuthor(t *testing.T) {
	s, own, anne, bob, c := groupNet(t, Config{})
	group := madeByAct(t, s).String()
	wait(c, 1, every[*events.JoinedGroup])
	sent := does(t, s, bobNumber, `{"do":"text","to":"`+group+`","text":"hello"}`)["id"]
	wait(c, 1, hasID(sent))
	receive(t, anne, "hello")
	id := does(t, s, anneNumber, `{"do":"reaction","to":"`+group+`","id":"`+sent+`","emoji":"x"}`)["id"]
	if k := wait(c, 1, hasID(id)).Message.GetReactionMessage().GetKey(); k.GetParticipant() != bob.LID().String() || k.GetRemoteJID() != group || k.GetFromMe() {
		t.Errorf("reaction to %v", k)
	}
	id = does(t, s, anneNumber, `{"do":"reaction","to":"`+group+`","id":"3AOWN","emoji":"x","participant":"`+ownNumber+`"}`)["id"]
	if k := wait(c, 1, hasID(id)).Message.GetReactionMessage().GetKey(); k.GetParticipant() != own.LID().String() {
		t.Errorf("reaction to %v", k)
	}
	id = does(t, s, anneNumber, `{"do":"revoke","to":"`+group+`","id":"`+sent+`","participant":"`+bobNumber+`"}`)["id"]
	m := wait(c, 1, hasID(id))
	if k := m.Message.GetProtocolMessage().GetKey(); m.Info.Edit != types.EditAttributeAdminRevoke || k.GetParticipant() != bob.LID().String() || k.GetFromMe() {
		t.Errorf("deletion by an admin: %+v", m)
	}
}

func TestMessengerTextComesAsFBMessage(t *testing.T) {
	s, _, anne, c := withContacts(t)
	id := does(t, s, anneNumber, `{"do":"fb-message","to":"`+ownNumber+`","text":"from Messenger"}`)["id"]
	m := wait(c, 1, every[*events.FBMessage])
	content, ok := m.Message.(*waConsumerApplication.ConsumerApplication)
	if !ok || content.GetPayload().GetContent().GetMessageText().GetText() != "from Messenger" {
		t.Fatalf("content %v", m.Message)
	}
	if m.Info.ID != id || m.Info.Chat != anne.LID() || m.Info.Sender != anne.LID() || m.Info.PushName != anne.PushName() || m.FBApplication == nil {
		t.Errorf("message %+v", m)
	}
	does(t, s, anneNumber, `{"do":"text","to":"`+ownNumber+`","text":"after"}`)
	wait(c, 1, isText("after"))
	if n := count(c, every[*events.UndecryptableMessage]); n != 0 {
		t.Errorf("%d messages could not be read", n)
	}
}

func TestBadFieldsOfMessageActsSendNothing(t *testing.T) {
	s, own, _, _ := withContacts(t)
	poll := does(t, s, ownNumber, `{"do":"poll","to":"`+anneNumber+`","name":"Tea?","options":["a","b"]}`)["id"]
	eventually(t, "acknowledgement of the poll", func() bool { return queuedFor(s, own) == 0 })
	before := said(own)
	for _, body := range []string{
		`{"do":"text","to":"#"}`,
		`{"do":"text","text":"x"}`,
		`{"do":"text","to":"abc","text":"x"}`,
		`{"do":"text","to":"12345670000","text":"x"}`,
		`{"do":"text","to":"1203630000@g.us","text":"x"}`,
		`{"do":"image","to":"#","image":"&"}`,
		`{"do":"image"}`,
		`{"do":"media","to":"#","kind":"hologram"}`,
		`{"do":"media","to":"#","kind":"image","size":-1}`,
		`{"do":"media","to":"#","kind":"image","size":16777217}`,
		`{"do":"media","to":"#","kind":"image","size":3,"data":"aGVsbG8="}`,
		`{"do":"message","to":"#"}`,
		`{"do":"message","to":"#","content":{"noSuchMessage":{}}}`,
		`{"do":"reaction","to":"#","emoji":"x"}`,
		`{"do":"reaction","to":"#","id":"a","participant":"5511933333333"}`,
		`{"do":"reaction","to":"#","id":"a","fromMe":true,"participant":"5511933333333"}`,
		`{"do":"edit","to":"#","id":"a"}`,
		`{"do":"edit","to":"#","text":"a"}`,
		`{"do":"revoke","to":"#"}`,
		`{"do":"poll","to":"#","options":["a","b"]}`,
		`{"do":"poll","to":"#","name":"x","options":["a"]}`,
		`{"do":"poll","to":"#","name":"x","options":["a","a"]}`,
		`{"do":"poll","to":"#","name":"x","options":["a","b"],"selectable":3}`,
		`{"do":"poll-vote","to":"#","id":"unknown"}`,
		`{"do":"poll-vote","to":"#"}`,
		`{"do":"fb-message","to":"#"}`,
		`{"do":"fb-message","to":"5511933333333","text":"has no linked device"}`,
		`{"do":"receipt","to":"#","ids":["a"],"type":"smelled"}`,
		`{"do":"receipt","to":"#","ids":[]}`,
		`{"do":"receipt","to":"#","ids":[""]}`,
		`{"do":"receipt","ids":["a"]}`,
		`{"do":"receipt","to":"#","ids":["a"],"group":"x"}`,
		`{"do":"receipt","to":"#","ids":["a"],"group":"1203630000@g.us"}`,
		`{"do":"receipt","to":"#","ids":["a"],"chat":"5511933333333"}`,
		`{"do":"undecryptable"}`,
		`{"do":"undecryptable","to":"#","kind":"view_once","hide":true}`,
		`{"do":"undecryptable","to":"#","kind":"view_once","resend":true}`,
	} {
		filled := strings.ReplaceAll(body, "#", ownNumber)
		if got := refusedAct(t, s, anneNumber, filled); got != http.StatusUnprocessableEntity {
			t.Errorf("%s: answered %d", filled, got)
		}
	}
	if got := refusedAct(t, s, ownNumber, `{"do":"poll-vote","to":"`+anneNumber+`","id":"`+poll+`","options":["c"]}`); got != http.StatusUnprocessableEntity {
		t.Errorf("an answer that the poll does not have: %d", got)
	}
	if n := said(own); n != before || queuedFor(s, own) != 0 {
		t.Errorf("%d messages were sent, %d stanzas wait", n-before, queuedFor(s, own))
	}
}

// said counts what a phone received from people: its own linked device may ask
// it for something at any time.
func said(p *phone.Phone) (n int) {
	for _, r := range p.Received() {
		if r.Message.GetProtocolMessage() == nil {
			n++
		}
	}
	return n
}

// TestStatusAndBroadcastReachTheirRecipients, each from its own chat, as the
// network addresses them.
func TestStatusAndBroadcastReachTheirRecipients(t *testing.T) {
	s, _, anne, _, c := groupNet(t, Config{})
	for _, test := range []struct {
		do   string
		chat func(types.JID) bool
	}{
		{"status", func(chat types.JID) bool { return chat == types.StatusBroadcastJID }},
		{"broadcast", types.JID.IsBroadcastList},
	} {
		for _, text := range []string{"first " + test.do, "second " + test.do} { // the second with keys that are known
			sent := does(t, s, anneNumber, `{"do":"`+test.do+`","to":"`+ownNumber+`","text":"`+text+`"}`)
			m := wait(c, 1, isText(text))
			if m.Info.ID != sent["id"] || !test.chat(m.Info.Chat) || m.Info.Sender.ToNonAD() != anne.LID() || m.Info.SenderAlt.ToNonAD() != anne.JID() || m.Info.IsFromMe {
				t.Errorf("%s: %+v", text, m.Info)
			}
		}
		for _, body := range []string{`{"do":"` + test.do + `","to":"` + ownNumber + `"}`, `{"do":"` + test.do + `","to":"x","text":"a"}`} {
			if status := refusedAct(t, s, anneNumber, body); status != 422 {
				t.Errorf("%s: %d", body, status)
			}
		}
	}
}
