package whatsapp

import (
	"fmt"
	"strings"
	"testing"

	"go.mau.fi/whatsmeow/proto/waE2E"

	"postern/event"
	"postern/sandbox"
)

func messagesAsked(p *sandbox.Phone) int {
	return p.Requests(waE2E.PeerDataOperationRequestType_PLACEHOLDER_MESSAGE_RESEND)
}

// unreadable makes a contact send a text that this device cannot decrypt.
func (r *rig) unreadable(from, to *sandbox.Phone, text, more string) {
	r.t.Helper()
	r.acts(from, `{"do":"undecryptable","to":"`+to.Number()+`","text":"`+text+`"`+more+`}`)
}

// recovered waits for a copy and returns it.
func (r *rig) recovered(text string) *event.Message {
	r.t.Helper()
	m, _ := r.await("copy of "+text, message(text)).Data.(*event.Message)
	if !strings.Contains(string(m.Metadata), `"recovered":true`) {
		r.t.Errorf("the copy's metadata is %s", m.Metadata)
	}
	return m
}

func (r *rig) cannotRead() event.MessageUndecryptable {
	r.t.Helper()
	u, _ := r.await("unreadable message", func(f event.Fact) bool { return f.Kind == event.MessagesUndecryptable }).Data.(event.MessageUndecryptable)
	return u
}

func TestUnreadableMessageThenItsCopy(t *testing.T) {
	for name, more := range map[string]string{
		"from the phone":                    `,"resend":false`,
		"from the sender":                   `,"copy":false`,
		"of a message kept from the device": `,"kind":"bot_unavailable_fanout"`,
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t)
			phone, contact := r.pair(), r.contact()
			r.synced() // the phone and the device have a session by then
			r.unreadable(contact, phone, "in the end", more)
			u := r.cannotRead()
			m := r.recovered("in the end")
			if u.KeyID != m.KeyID || u.ChatJID != *m.KeyRemoteJID || m.KeyFromMe || m.KeyLID == nil || *m.KeyLID != contact.LID().String() {
				t.Errorf("unreadable %+v, copy %+v", u, m)
			}
			r.eventually("the phone was asked", func() bool { return messagesAsked(phone) == 1 })
			if _, err := contact.SendText(t.Context(), phone.JID(), "plain"); err != nil {
				t.Fatal(err)
			}
			plain, _ := r.await("plain", message("plain")).Data.(*event.Message)
			if strings.Contains(string(plain.Metadata), "recovered") {
				t.Errorf("a message that could be read has %s", plain.Metadata)
			}
		})
	}
}

func TestCopyOfAGroupMessageNamesItsSender(t *testing.T) {
	r := newRig(t)
	phone, contact := r.pair(), r.contact()
	r.synced()
	group := r.group(contact).String()
	r.acts(contact, `{"do":"undecryptable","to":"`+group+`","text":"to all","resend":false}`)
	u := r.cannotRead()
	m := r.recovered("to all")
	if m.KeyID != u.KeyID || *m.KeyRemoteJID != group || !m.IsGroup || m.KeyParticipantLID == nil || *m.KeyParticipantLID != contact.LID().String() {
		t.Errorf("copy %+v", m)
	}
	if messagesAsked(phone) == 0 {
		t.Error("the phone was not asked")
	}
}

// The phone was off when it was asked.
func TestCopyAfterARestartIsReported(t *testing.T) {
	r := newRig(t)
	phone, contact := r.pair(), r.contact()
	r.synced()
	r.acts(phone, `{"do":"own-requests","answered":false}`)
	r.unreadable(contact, phone, "much later", `,"resend":false`)
	u := r.cannotRead()
	r.eventually("the phone was asked", func() bool { return messagesAsked(phone) == 1 })
	r.stop()
	r.acts(phone, `{"do":"own-requests"}`)
	r.start()
	r.connect()
	if m := r.recovered("much later"); m.KeyID != u.KeyID {
		t.Errorf("another message: %+v", m)
	}
}

// TestCopyRequestsAreLimited: a restart does not restart the hour, and other requests
// to the phone are not limited.
func TestCopyRequestsAreLimited(t *testing.T) {
	r := newRig(t)
	phone, contact := r.pair(), r.contact()
	r.synced()
	unread := func(from, n int) {
		for i := range n {
			r.unreadable(contact, phone, fmt.Sprintf("number %03d", from+i), `,"resend":false`)
		}
	}
	unread(0, 60)
	for i := range 60 {
		r.recovered(fmt.Sprintf("number %03d", i))
	}
	r.restart()
	r.connect()
	r.state(event.Online)
	unread(60, 41)
	for i := range 40 {
		r.recovered(fmt.Sprintf("number %03d", 60+i))
	}
	r.eventually("one is not asked for", func() bool { return r.conn.Stats().Unreadable[UnreadableLimited] == 1 })
	if n := messagesAsked(phone); n != 100 {
		t.Errorf("the phone was asked for %d copies", n)
	}
	seen := r.conn.Stats().Unreadable
	if seen[UnreadableTold] != 41 || seen[UnreadableAsked] != 40 {
		t.Errorf("counted %v", seen)
	}
	// The phone gives keys and copies of state all the same, and what it could
	// not read of this device's is sent to it again.
	r.acts(phone, `{"do":"app-state-error","kind":"key"}`)
	r.acts(phone, `{"do":"archive","chat":"`+contact.Number()+`"}`)
	r.shows(event.ChatsUpdated, `"type":"archive"`, contact.Number())
	if _, err := r.send(contact.JID(), "still sent"); err != nil {
		t.Error(err)
	}
	reads(t, contact, "still sent")
	// The sender's copy comes as ever.
	r.unreadable(contact, phone, "from the sender", `,"copy":false`)
	r.recovered("from the sender")
}
