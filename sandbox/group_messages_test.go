package sandbox

import (
	"context"
	"errors"
	"slices"
	"testing"

	"go.mau.fi/whatsmeow"
	"go.mau.fi/whatsmeow/proto/waE2E"
	"go.mau.fi/whatsmeow/types"
	"go.mau.fi/whatsmeow/types/events"

	"postern/sandbox/network"
	"postern/sandbox/phone"
)

const carlNumber = "5511944444444"

func TestClientsGroupTextIsReadByAllMembers(t *testing.T) {
	s, own, anne, bob, c := groupNet(t, Config{})
	other := groupClient(t, s, anneNumber)
	second := groupClient(t, s, ownNumber)
	jid := groupOfAll(c, anne, bob)
	for _, text := range []string{"first", "second"} {
		id := c.sendText(jid, text).ID
		for _, p := range []*phone.Phone{own, anne, bob} {
			r := receive(t, p, text)
			if r.ID != id || r.Chat != jid || r.From != *c.Store.ID && r.From != c.Store.GetLID() || r.Count != 1 {
				t.Errorf("%s received %+v", p.Number(), r)
			}
		}
		for _, reader := range []*client{other, second} {
			m := wait(reader, 1, isText(text))
			if m.Info.ID != id || m.Info.Chat != jid || m.Info.Sender != c.Store.GetLID() || m.Info.SenderAlt != *c.Store.ID ||
				!m.Info.IsGroup || m.Info.IsFromMe != (reader == second) || m.Info.AddressingMode != types.AddressingModeLID {
				t.Errorf("%s: read %+v", text, m.Info)
			}
		}
	}
	for _, from := range []*phone.Phone{anne, bob} {
		r := wait(c, 1, func(r *events.Receipt) bool { return r.Sender == from.LID() })
		if r.Chat != jid || r.SenderAlt != from.JID() || r.Type != types.ReceiptTypeDelivered {
			t.Errorf("receipt of %s: %+v", from.Number(), r)
		}
	}
	if n := count(c, func(*events.UndecryptableMessage) bool { return true }); n != 0 {
		t.Errorf("%d messages could not be read", n)
	}
}

func TestPhonesGroupTextIsReadByAllMembers(t *testing.T) {
	s, own, anne, bob, c := groupNet(t, Config{})
	second := groupClient(t, s, bobNumber)
	jid := groupOfAll(c, anne, bob)
	for _, text := range []string{"first", "second"} {
		id, err := bob.SendText(t.Context(), jid, text)
		if err != nil {
			t.Fatal(err)
		}
		for _, reader := range []*client{c, second} {
			m := wait(reader, 1, isText(text))
			if m.Info.ID != id || m.Info.Chat != jid || m.Info.Sender != bob.LID() || m.Info.SenderAlt != bob.JID() ||
				m.Info.PushName != bob.PushName() || m.Info.IsFromMe != (reader == second) {
				t.Errorf("%s: read %+v", text, m.Info)
			}
		}
		for _, p := range []*phone.Phone{own, anne} {
			if r := receive(t, p, text); r.Chat != jid || r.From != bob.LID() {
				t.Errorf("%s received %+v", p.Number(), r)
			}
		}
	}
	for _, r := range bob.Received() {
		if r.Chat == jid {
			t.Errorf("the sender received its own message: %+v", r)
		}
	}
	if n := count(c, every[*events.UndecryptableMessage]); n != 0 {
		t.Errorf("%d messages could not be read", n)
	}
}

func TestUnreadableGroupTextIsResentToTheClient(t *testing.T) {
	_, _, anne, bob, c := groupNet(t, Config{})
	jid := groupOfAll(c, anne, bob)
	id, err := anne.Send(t.Context(), jid, text("broken"), phone.SendOptions{Corrupt: true})
	if err != nil {
		t.Fatal(err)
	}
	if u := wait(c, 1, every[*events.UndecryptableMessage]); u.Info.ID != id || u.Info.Chat != jid {
		t.Errorf("undecryptable %+v", u.Info)
	}
	if m := wait(c, 1, isText("broken")); m.Info.ID != id || m.Info.Chat != jid || m.Info.Sender != anne.LID() || m.RetryCount != 1 {
		t.Errorf("sent again: %+v", m)
	}
	if r := receive(t, bob, "broken"); r.Chat != jid || r.From != anne.LID() {
		t.Errorf("another phone: %+v", r)
	}
	if _, err := anne.SendText(t.Context(), jid, "whole"); err != nil {
		t.Fatal(err)
	}
	wait(c, 1, isText("whole"))
}

func TestUnreadableGroupTextIsResentByTheClient(t *testing.T) {
	_, _, anne, bob, c := groupNet(t, Config{})
	jid := groupOfAll(c, anne, bob)
	c.sendText(jid, "before")
	receive(t, bob, "before")
	// Bob's new phone has none of the sessions that the client encrypts with.
	if err := bob.ReplaceKeys(); err != nil {
		t.Fatal(err)
	}
	id := c.sendText(jid, "after").ID
	r := wait(c, 1, func(r *events.Receipt) bool { return r.Type == types.ReceiptTypeRetry })
	if r.Chat != jid || r.Sender != bob.LID() {
		t.Errorf("asked again by %+v", r)
	}
	if got := receive(t, bob, "after"); got.ID != id || got.Chat != jid || got.From != c.Store.GetLID() {
		t.Errorf("sent again: %+v", got)
	}
	c.sendText(jid, "later")
	receive(t, bob, "later")
}

func TestGroupReceiptsReachTheAuthorOnly(t *testing.T) {
	s, own, anne, bob, c := groupNet(t, Config{})
	other := groupClient(t, s, anneNumber)
	jid := groupOfAll(c, anne, bob)
	id := c.sendText(jid, "hello").ID
	wait(other, 1, isText("hello"))
	if err := own.SendGroupReceipt(t.Context(), jid, own.LID(), "read", id); err != nil {
		t.Fatal(err)
	}
	if err := bob.SendGroupReceipt(t.Context(), jid, c.Store.GetLID(), "read", id, "another"); err != nil {
		t.Fatal(err)
	}
	r := wait(c, 1, func(r *events.Receipt) bool { return r.Type == types.ReceiptTypeRead })
	if r.Chat != jid || r.Sender != bob.LID() || r.SenderAlt != bob.JID() || !slices.Equal(r.MessageIDs, []string{id, "another"}) {
		t.Errorf("read %+v", r)
	}
	if n := count(c, func(r *events.Receipt) bool { return r.Sender.User == own.LID().User }); n != 0 {
		t.Errorf("%d receipts of the own account", n)
	}
	answer, err := bob.SendText(t.Context(), jid, "answer")
	if err != nil {
		t.Fatal(err)
	}
	m := wait(c, 1, isText("answer"))
	if err := c.MarkRead(t.Context(), []types.MessageID{answer}, m.Info.Timestamp, jid, m.Info.Sender); err != nil {
		t.Fatal(err)
	}
	if n := count(other, func(r *events.Receipt) bool { return r.Type == types.ReceiptTypeRead }); n != 0 {
		t.Errorf("%d receipts reached another person", n)
	}
}

func TestMembersReadOnlyMessagesOfTheirTime(t *testing.T) {
	s, _, anne, bob, c := groupNet(t, Config{})
	carl := addPhone(t, s, carlNumber)
	jid := groupOfAll(c, anne, bob)
	c.sendText(jid, "one")
	receive(t, bob, "one")
	change := func(p *phone.Phone, action whatsmeow.ParticipantChange) {
		t.Helper()
		if _, err := c.UpdateGroupParticipants(t.Context(), jid, []types.JID{p.LID()}, action); err != nil {
			t.Fatal(err)
		}
	}
	change(carl, whatsmeow.ParticipantChangeAdd)
	wait(c, 1, func(e *events.GroupInfo) bool { return len(e.Join) == 1 })
	c.sendText(jid, "two")
	receive(t, carl, "two")
	receive(t, bob, "two")
	change(bob, whatsmeow.ParticipantChangeRemove)
	wait(c, 1, func(e *events.GroupInfo) bool { return len(e.Leave) == 1 })
	c.sendText(jid, "three")
	receive(t, carl, "three")
	receive(t, anne, "three")
	if texts := texts(bob); !slices.Equal(texts, []string{"one", "two"}) {
		t.Errorf("the removed one read %q", texts)
	}
	if texts := texts(carl); !slices.Equal(texts, []string{"two", "three"}) {
		t.Errorf("the added one read %q", texts)
	}
	if _, err := bob.SendText(t.Context(), jid, "let me in"); !errors.Is(err, network.ErrNotInGroup) {
		t.Errorf("the removed one writes: %v", err)
	}
}

func texts(p *phone.Phone) []string {
	var all []string
	for _, r := range p.Received() {
		all = append(all, r.Text)
	}
	return all
}

func TestUnauthorizedGroupMessageIsRefused(t *testing.T) {
	s, _, anne, bob, c := groupNet(t, Config{})
	other := groupClient(t, s, anneNumber)
	jid := groupOfAll(c, anne)
	if err := c.SetGroupAnnounce(t.Context(), jid, true); err != nil {
		t.Fatal(err)
	}
	_, err := other.SendMessage(t.Context(), jid, text("not an admin"))
	if !errors.Is(err, whatsmeow.ErrServerReturnedError) {
		t.Errorf("not an admin: %v", err)
	}
	if _, err := anne.SendText(t.Context(), jid, "x"); !errors.Is(err, network.ErrAdminsOnly) {
		t.Errorf("the phone of no admin: %v", err)
	}
	if _, err := bob.SendText(t.Context(), jid, "x"); !errors.Is(err, network.ErrNotInGroup) {
		t.Errorf("the phone of no member: %v", err)
	}
	if _, err := bob.SendText(t.Context(), types.NewJID("12", types.GroupServer), "x"); !errors.Is(err, network.ErrNoGroup) {
		t.Errorf("an unknown group: %v", err)
	}
	c.sendText(jid, "the admin")
	receive(t, anne, "the admin")
	does(t, s, ownNumber, `{"do":"group-update","group":"`+jid.String()+`","suspended":true}`)
	if _, err := c.SendMessage(t.Context(), jid, text("the admin")); !errors.Is(err, whatsmeow.ErrServerReturnedError) {
		t.Errorf("in a suspended group: %v", err)
	}
}

// The client library keeps its lists of devices whatever hash the server sends, so a new
// device gets its first message by asking again, and with it the sender's key.
func TestNewDevicesOfMembersReadAfterARetry(t *testing.T) {
	s, _, anne, bob, c := groupNet(t, Config{})
	jid := groupOfAll(c, anne, bob)
	c.sendText(jid, "one")
	receive(t, anne, "one")
	late := groupClient(t, s, anneNumber)
	for _, text := range []string{"two", "three"} {
		c.sendText(jid, text)
		wait(late, 1, isText(text))
	}
	if n := count(late, every[*events.UndecryptableMessage]); n != 1 {
		t.Errorf("%d messages were not readable at first, want only the first", n)
	}
}

func TestTypingInAGroupReachesTheOthers(t *testing.T) {
	s, own, anne, bob, c := groupNet(t, Config{})
	other := groupClient(t, s, anneNumber)
	jid := groupOfAll(c, anne, bob)
	if err := c.SendChatPresence(t.Context(), jid, types.ChatPresenceComposing, types.ChatPresenceMediaAudio); err != nil {
		t.Fatal(err)
	}
	e := wait(other, 1, every[*events.ChatPresence])
	if e.Chat != jid || e.Sender != own.LID() || e.State != types.ChatPresenceComposing || e.Media != types.ChatPresenceMediaAudio {
		t.Errorf("typing %+v", e)
	}
}

func TestGroupMediaAndReactionsKeepTheirContent(t *testing.T) {
	_, _, anne, bob, c := groupNet(t, Config{})
	jid := groupOfAll(c, anne, bob)
	message := &waE2E.Message{ImageMessage: &waE2E.ImageMessage{Caption: new("look"), Mimetype: new("image/jpeg")}}
	if _, err := c.SendMessage(t.Context(), jid, message); err != nil {
		t.Fatal(err)
	}
	r, err := anne.WaitReceived(context.Background(), func(r phone.Received) bool { return r.Message.GetImageMessage() != nil })
	if err != nil || r.Message.GetImageMessage().GetCaption() != "look" || r.Message.GetSenderKeyDistributionMessage() != nil {
		t.Errorf("received %+v, %v", r, err)
	}
	id, err := bob.Send(t.Context(), jid, &waE2E.Message{ReactionMessage: &waE2E.ReactionMessage{Text: new("👍")}}, phone.SendOptions{Type: "reaction"})
	if err != nil {
		t.Fatal(err)
	}
	m := wait(c, 1, func(m *events.Message) bool { return m.Message.GetReactionMessage() != nil })
	if m.Info.ID != id || m.Info.Type != "reaction" || m.Message.GetReactionMessage().GetText() != "👍" {
		t.Errorf("reaction %+v", m)
	}
}
