package whatsapp

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"go.mau.fi/whatsmeow/appstate"

	"postern/event"
	"postern/sandbox"
)

// pairWith links the rig's instance to a phone that exists.
func (r *rig) pairWith(phone *sandbox.Phone) {
	r.t.Helper()
	r.connect()
	code := r.state(event.QRCodeState).Data.(event.QRCode).Code
	if err := phone.Scan(r.t.Context(), code); err != nil {
		r.t.Fatal(err)
	}
	r.state(event.Online)
}

// synced waits until the instance has read the state that a phone sends to a new
// device, before which it changes no chat.
func (r *rig) synced() {
	r.t.Helper()
	for range appstate.AllPatchNames {
		r.await("collection that is read", func(f event.Fact) bool {
			s, ok := f.Data.(event.InstanceStatus)
			return ok && s.Type == event.StatusAppStateSyncCompleted
		})
	}
}

// twins are two instances of one phone: the second one observes the changes of the
// first.
func twins(t *testing.T) (r, twin *rig) {
	t.Helper()
	r = newRig(t)
	phone := r.pair()
	twin = r.neighbour(2)
	twin.pairWith(phone)
	r.synced()
	twin.synced()
	return r, twin
}

// strangers are two instances with a phone each.
func strangers(t *testing.T) (r, other *rig, phone, otherPhone *sandbox.Phone) {
	t.Helper()
	r = newRig(t)
	phone = r.pair()
	other = r.neighbour(2)
	otherPhone = other.pair()
	r.synced() // brings the account's name, without which no presence is shown
	other.synced()
	return r, other, phone, otherPhone
}

// shows awaits a fact whose JSON contains all of these texts, and none of those with an
// exclamation mark in front.
func (r *rig) shows(kind event.Kind, texts ...string) {
	r.t.Helper()
	r.await(fmt.Sprint(kind, texts), func(f event.Fact) bool {
		raw, err := event.Marshal(f.Data)
		if err != nil || f.Kind != kind {
			return false
		}
		for _, text := range texts {
			absent, without := strings.CutPrefix(text, "!")
			if strings.Contains(string(raw), absent) == without {
				return false
			}
		}
		return true
	})
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func TestNumbersAreLookedUpInTheOrderAsked(t *testing.T) {
	r := newRig(t)
	r.pair()
	a, b := r.contact(), r.contact()
	got, err := r.session.Account.Chats.Registered(t.Context(), []string{b.Number(), "4915100000000", a.Number()})
	must(t, err)
	if len(got) != 3 || got[1].Exists || got[1].LID != nil || got[1].JID != "4915100000000@s.whatsapp.net" {
		t.Fatalf("got %+v", got)
	}
	for i, p := range map[int]*sandbox.Phone{0: b, 2: a} {
		if g := got[i]; !g.Exists || g.Number != p.Number() || g.JID != p.JID().String() || g.LID == nil || *g.LID != p.LID().String() {
			t.Errorf("%d: %+v", i, g)
		}
	}
}

func TestChatChangesReachOtherDevices(t *testing.T) {
	r, twin := twins(t)
	chat, ctx := r.contact().JID().String(), t.Context()
	until := time.UnixMilli(1_900_000_000_000)
	last := event.LastMessage{Key: &event.MessageKey{RemoteJID: chat, ID: "NEWEST"}, At: time.Unix(1_700_000_000, 0)}
	for _, c := range []struct {
		err   error
		kind  event.Kind
		shows []string
	}{
		{r.session.Account.Chats.Archive(ctx, chat, true, last), event.ChatsUpdated, []string{`"type":"archive"`, `"archived":true`, `"NEWEST"`, `1700000000`}},
		{r.session.Account.Chats.Archive(ctx, chat, false, event.LastMessage{}), event.ChatsUpdated, []string{`"type":"archive"`, `"archived":false`}},
		{r.session.Account.Chats.Pin(ctx, chat, true), event.ChatsUpdated, []string{`"type":"pin"`, `"pinned":true`}},
		{r.session.Account.Chats.Pin(ctx, chat, false), event.ChatsUpdated, []string{`"type":"pin"`, `"pinned":false`}},
		{r.session.Account.Chats.Mute(ctx, chat, true, until), event.ChatsUpdated, []string{`"type":"mute"`, `"muted":true`, "1900000000000"}},
		{r.session.Account.Chats.Mute(ctx, chat, true, time.Time{}), event.ChatsUpdated, []string{`"type":"mute"`, `"muted":true`, `"-1"`}},
		{r.session.Account.Chats.Mute(ctx, chat, false, time.Time{}), event.ChatsUpdated, []string{`"type":"mute"`, `"muted":false`}},
		{r.session.Account.Chats.Star(ctx, event.MessageKey{RemoteJID: chat, ID: "THEIRS"}, true), event.MessagesStar, []string{`"messageId":"THEIRS"`, `"keyFromMe":false`, `"starred":true`}},
		{r.session.Account.Chats.Star(ctx, event.MessageKey{RemoteJID: chat, ID: "MINE", FromMe: true}, false), event.MessagesStar, []string{`"messageId":"MINE"`, `"keyFromMe":true`, `"starred":false`, `!"senderJid"`}},
	} {
		must(t, c.err)
		twin.shows(c.kind, append(c.shows, chat)...)
	}
}

func TestTwoChangesAtATimeAreBothMade(t *testing.T) {
	r, twin := twins(t)
	chat, ctx := r.contact().JID().String(), t.Context()
	results := make(chan error, 2)
	go func() { results <- r.session.Account.Chats.Pin(ctx, chat, true) }()
	go func() { results <- r.session.Account.Chats.Archive(ctx, chat, false, event.LastMessage{}) }()
	must(t, errors.Join(<-results, <-results))
	twin.shows(event.ChatsUpdated, `"pinned":true`)
	twin.shows(event.ChatsUpdated, `"archived":false`)
}

func TestBlockListReachesOtherDevices(t *testing.T) {
	r, twin := twins(t)
	p := r.contact()
	all, err := r.session.Account.Chats.Block(t.Context(), p.JID().String(), true)
	must(t, err)
	twin.shows(event.ChatsUpdated, `"type":"blocklist.change"`, `"blocked":true`, p.JID().String())
	if len(all) != 1 || all[0].JID != p.JID().String() || all[0].LID == nil || *all[0].LID != p.LID().String() {
		t.Errorf("blocked: %+v", all)
	}
	if again, err := r.session.Account.Chats.Blocked(t.Context()); err != nil || len(again) != 1 || again[0].JID != all[0].JID {
		t.Errorf("listed: %+v, %v", again, err)
	}
	all, err = r.session.Account.Chats.Block(t.Context(), p.LID().String(), false)
	if err != nil || len(all) != 0 {
		t.Errorf("after the end of it: %+v, %v", all, err)
	}
	twin.shows(event.ChatsUpdated, `"type":"blocklist.change"`, `"blocked":false`)
	if _, err := r.session.Account.Chats.Block(t.Context(), "4915100000000", true); !errors.Is(err, event.ErrRefused) {
		t.Errorf("a number without an account: %v", err)
	}
}

func TestSenderGetsTheReadReceipt(t *testing.T) {
	r, other, phone, otherPhone := strangers(t)
	sent, err := other.send(phone.JID(), "read me")
	must(t, err)
	r.await("message", message("read me"))
	must(t, r.session.Account.Chats.MarkRead(t.Context(), otherPhone.JID().String(), "", []string{sent.Message.KeyID, "SECOND"}, false))
	other.await("read receipt", func(f event.Fact) bool {
		u, ok := f.Data.(event.Receipt)
		return ok && u.Status == event.StatusRead && strings.Contains(fmt.Sprint(u), sent.Message.KeyID) && strings.Contains(fmt.Sprint(u), "SECOND")
	})
}

func TestChatIsAddressedByItsKnownLID(t *testing.T) {
	r := newRig(t)
	r.pair()
	p := r.contact()
	for _, want := range []string{p.JID().String(), p.LID().String()} {
		if got, err := wireChat(r.session.conn.client(), p.JID().String()); err != nil || got.String() != want {
			t.Errorf("addressed %s, %v, want %s", got, err, want)
		}
		_, err := r.send(p.JID(), "hello") // brings the LID
		must(t, err)
	}
	if got, err := wireChat(r.session.conn.client(), "1-2@g.us"); err != nil || got.String() != "1-2@g.us" {
		t.Errorf("a group: %s, %v", got, err)
	}
}

func TestOthersSeeThePresenceOfAnInstance(t *testing.T) {
	r, other, phone, otherPhone := strangers(t)
	ctx := t.Context()
	must(t, other.session.Account.Chats.ShowAvailable(ctx, true))
	must(t, other.session.Account.Chats.WatchPresence(ctx, phone.JID().String()))
	must(t, r.session.Account.Chats.ShowAvailable(ctx, true))
	other.shows(event.PresenceUpdated, `"unavailable":false`, phone.JID().String())
	must(t, r.session.Account.Chats.ShowAvailable(ctx, false))
	other.shows(event.PresenceUpdated, `"unavailable":true`, phone.JID().String())
	for presence, texts := range map[event.Presence][]string{
		event.PresenceComposing: {`"state":"composing"`}, event.PresenceRecording: {`"state":"composing"`, `"media":"audio"`}, event.PresencePaused: {`"state":"paused"`},
	} {
		must(t, r.session.Account.Chats.ShowPresence(ctx, otherPhone.JID().String(), presence))
		other.shows(event.PresenceUpdated, append(texts, phone.JID().String())...)
	}
}

func TestACallerSeesThatTheCallWasRejected(t *testing.T) {
	r, other, phone, otherPhone := strangers(t)
	// The LID of the caller is known from the first message.
	_, err := other.send(phone.JID(), "I will call")
	must(t, err)
	r.await("message", message("I will call"))
	must(t, r.session.Account.Chats.RejectCall(t.Context(), otherPhone.JID().String(), "CALL1"))
	other.shows(event.CallUpsert, `"id":"CALL1"`, `"status":"reject"`, phone.JID().String())
}

func TestProfilePictureAndItsAbsence(t *testing.T) {
	r := newRig(t)
	r.pair()
	with, without := r.contact(), r.contact()
	r.ask(with, `{"do":"picture"}`)
	got, err := r.session.Account.Chats.Picture(t.Context(), with.JID().String(), false)
	if err != nil || got == nil || got.ID == "" || !strings.HasPrefix(got.URL, "https://") {
		t.Errorf("got %+v, %v", got, err)
	}
	if got, err := r.session.Account.Chats.Picture(t.Context(), without.JID().String(), true); got != nil || err != nil {
		t.Errorf("without: %+v, %v", got, err)
	}
}

func TestRequestsWithoutAConnection(t *testing.T) {
	s, _, _ := offline(t, Config{})
	_, registered := s.Account.Chats.Registered(t.Context(), []string{"491510001"})
	_, blocked := s.Account.Chats.Blocked(t.Context())
	_, picture := s.Account.Chats.Picture(t.Context(), "491510001", false)
	for name, err := range map[string]error{
		"registered": registered, "blocked": blocked, "picture": picture,
		"read": s.Account.Chats.MarkRead(t.Context(), "491510001", "", []string{"A"}, false), "pin": s.Account.Chats.Pin(t.Context(), "491510001", true),
		"available": s.Account.Chats.ShowAvailable(t.Context(), true), "reject": s.Account.Chats.RejectCall(t.Context(), "491510001", "A"),
	} {
		if !errors.Is(err, event.ErrNotConnected) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestStatusReachesOnlyThePhonesContacts(t *testing.T) {
	r := newRig(t)
	phone := r.pair()
	r.synced()
	friend, stranger := r.contact(), r.contact()
	r.ask(phone, fmt.Sprintf(`{"do":"contact","to":%q,"fullName":"A Friend"}`, friend.Number()))
	r.shows(event.ContactsUpsert, friend.JID().String())
	out := event.Outgoing{ID: NewMessageID(), To: event.StatusBroadcast, Content: event.Content{
		Status: &event.StatusContent{Text: "fresh bread", BackgroundColor: "#102030", Font: 2},
	}}
	sent, err := r.session.Send(t.Context(), out)
	must(t, err)
	if m := sent.Message; *m.KeyRemoteJID != event.StatusBroadcast || m.MessageType != "extendedTextMessage" || m.IsGroup {
		t.Errorf("to be stored: %+v", m)
	}
	for _, p := range []*sandbox.Phone{friend, phone} {
		got := r.received(p, out.ID)
		if x := got.Message.GetExtendedTextMessage(); x.GetText() != "fresh bread" || x.GetBackgroundArgb() != 0xff102030 || got.Chat.String() != event.StatusBroadcast {
			t.Errorf("%s got %+v", p.Number(), got)
		}
	}
	if n := stranger.ReceivedCount(out.ID); n != 0 {
		t.Errorf("a stranger got it %d times", n)
	}
}

func TestEditAndDeletionNameTheirMessage(t *testing.T) {
	r := newRig(t)
	r.pair()
	p := r.contact()
	sent, err := r.send(p.JID(), "old")
	must(t, err)
	m := sent.Message
	key := event.MessageKey{RemoteJID: *m.KeyRemoteJID, ID: m.KeyID, FromMe: true}
	edit := event.Content{Edit: &event.EditContent{Original: event.Original{Key: key, MessageType: m.MessageType, Content: m.Content}, Text: "new"}}
	for content, want := range map[*event.Content][3]string{
		&edit:          {"conversation", `{"text":"new"}`, `{"edited":true,"editOf":"` + m.KeyID + `"}`},
		{Delete: &key}: {"protocolMessage", m.KeyID, `{"revoked":"` + m.KeyID + `"}`},
	} {
		got, err := r.session.Send(t.Context(), event.Outgoing{ID: NewMessageID(), To: key.RemoteJID, Content: *content})
		must(t, err)
		if g := got.Message; g.MessageType != want[0] || !strings.Contains(string(g.Content), want[1]) || string(g.Metadata) != want[2] {
			t.Errorf("%s %s %s, want %v", g.MessageType, g.Content, g.Metadata, want)
		}
		r.received(p, got.Message.KeyID)
	}
}
