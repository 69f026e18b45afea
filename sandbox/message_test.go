package sandbox

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"go.mau.fi/whatsmeow"
	"go.mau.fi/whatsmeow/types"
	"go.mau.fi/whatsmeow/types/events"
)

func TestReceiptsOfTheContactReachTheClient(t *testing.T) {
	s, own, c := paired(t)
	contact, _ := s.Phone("5511922222222")
	id := c.sendText(contact.JID(), "hello").ID
	receive(t, contact, "hello")
	for _, kind := range []string{"read", "played"} {
		if err := contact.SendReceipt(context.Background(), own.JID(), kind, id, "another"); err != nil {
			t.Fatal(err)
		}
		r := wait(c, 1, func(r *events.Receipt) bool { return string(r.Type) == kind })
		if len(r.MessageIDs) != 2 || r.MessageIDs[0] != id || r.Chat != contact.LID() {
			t.Errorf("%s receipt: %+v", kind, r)
		}
	}
}

func TestPresenceAndTypingReachTheClient(t *testing.T) {
	s, own, c := paired(t)
	contact := addPhone(t, s, "5511922222222")
	if err := c.SubscribePresence(context.Background(), contact.JID()); err != nil {
		t.Fatal(err)
	}
	// The server takes a client's stanzas in their order.
	if _, err := c.GetBlocklist(context.Background()); err != nil {
		t.Fatal(err)
	}
	ctx := context.Background()
	if err := contact.SendNode(ctx, node("presence", "type", "available")); err != nil {
		t.Fatal(err)
	}
	wait(c, 1, func(p *events.Presence) bool { return p.From == contact.JID() && !p.Unavailable })
	if err := contact.SendNode(ctx, node("presence", "type", "unavailable")); err != nil {
		t.Fatal(err)
	}
	wait(c, 1, func(p *events.Presence) bool { return p.Unavailable && !p.LastSeen.IsZero() })
	typing := node("chatstate", "to", own.JID())
	typing.Content = append(typing.GetChildren(), node("composing"))
	if err := contact.SendNode(ctx, typing); err != nil {
		t.Fatal(err)
	}
	wait(c, 1, func(p *events.ChatPresence) bool {
		return p.State == types.ChatPresenceComposing && p.Chat == contact.LID()
	})
}

func TestOfflineMessagesArriveAtTheNextLogin(t *testing.T) {
	s, own, c := paired(t)
	contact := addPhone(t, s, "5511922222222")
	c.Disconnect()
	eventually(t, "logout", func() bool { return !online(s, own) })
	for _, text := range []string{"one", "two", "three"} {
		send(t, contact, own, text)
	}
	c.connect()
	wait(c, 1, isText("three"))
	preview := wait(c, 2, every[*events.OfflineSyncPreview])
	if preview.Messages != 3 {
		t.Errorf("announced %d messages, want 3", preview.Messages)
	}
	done := wait(c, 2, every[*events.OfflineSyncCompleted])
	if done.Count != 3 {
		t.Errorf("delivered %d stanzas, want 3", done.Count)
	}
	eventually(t, "acknowledgements", func() bool { return queuedFor(s, own) == 0 })
}

func TestUnacknowledgedMessageComesAgain(t *testing.T) {
	s, own, c := unhurried(t)
	contact := addPhone(t, s, "5511922222222")
	var refused bool
	c.AddEventHandlerWithSuccessStatus(func(e any) bool {
		if _, ok := e.(*events.Message); ok && !refused {
			refused = true
			return false
		}
		return true
	})
	send(t, contact, own, "once more")
	wait(c, 1, isText("once more"))
	eventually(t, "acknowledgement of all but the refused one", func() bool { return queuedFor(s, own) == 1 })
	c.Disconnect()
	eventually(t, "logout", func() bool { return !online(s, own) })
	c.connect()
	wait(c, 2, every[*events.OfflineSyncPreview])
	eventually(t, "acknowledgement of the second delivery", func() bool { return queuedFor(s, own) == 0 })
}

func TestFaultsRefuseDelayAndLoseMessages(t *testing.T) {
	s, _, c := paired(t)
	contact, _ := s.Phone("5511922222222")
	s.SetFaults(Faults{SendError: 463})
	_, err := c.SendMessage(context.Background(), contact.JID(), text("refused"))
	if !errors.Is(err, whatsmeow.ErrServerReturnedError) {
		t.Errorf("refused message: %v", err)
	}
	s.SetFaults(Faults{AckDelay: time.Hour})
	_, err = c.SendMessage(context.Background(), contact.JID(), text("slow"), whatsmeow.SendRequestExtra{Timeout: 50 * time.Millisecond})
	if !errors.Is(err, whatsmeow.ErrMessageTimedOut) {
		t.Errorf("delayed message: %v", err)
	}
	receive(t, contact, "slow")
	s.SetFaults(Faults{DropAfter: 1})
	// The library's own reconnect and its waiting send race inside exsync.Event.
	c.EnableAutoReconnect = false
	var reconnect sync.WaitGroup
	reconnect.Go(func() {
		wait(c, 1, every[*events.Disconnected])
		c.connect()
	})
	c.sendText(contact.JID(), "lost and sent again") // the library repeats it after the reconnect
	reconnect.Wait()
	wait(c, 2, every[*events.Connected])
	if got := receive(t, contact, "lost and sent again"); got.Count != 1 {
		t.Errorf("received %d times", got.Count)
	}
}

func TestClientLearnsOfAPeersNewDevice(t *testing.T) {
	s, _, c := paired(t)
	peer := addPhone(t, s, "5511922222222")
	c.sendText(peer.JID(), "before")
	second := newClient(t, s, nil)
	second.pairByQR(peer)
	c.sendText(peer.JID(), "announces") // its acknowledgement shows that the device list is stale
	c.sendText(peer.JID(), "after")
	wait(second, 1, isText("after"))
}

func TestRecipientDecryptsExactlyWhatWasSent(t *testing.T) {
	s, own, c := paired(t)
	contact, _ := s.Phone("5511922222222")
	sent := c.sendText(contact.JID(), "hello")
	got := receive(t, contact, "hello")
	if got.ID != sent.ID || got.From.User != own.LID().User || got.Count != 1 {
		t.Errorf("received %+v", got)
	}
	if copied := receive(t, own, "hello"); copied.Chat != contact.LID() {
		t.Errorf("the own phone's copy is in the chat %s, want %s", copied.Chat, contact.LID())
	}
	wait(c, 1, func(r *events.Receipt) bool {
		return r.Type == "" && r.MessageIDs[0] == sent.ID && r.Sender.User == contact.LID().User
	})
}

func TestTextOfAPhoneReachesTheClient(t *testing.T) {
	s, own, c := paired(t)
	contact := addPhone(t, s, "5511922222222")
	id := send(t, contact, own, "good morning")
	m := wait(c, 1, isText("good morning"))
	if m.Info.ID != id || m.Info.Sender.User != contact.LID().User || m.Info.SenderAlt.User != contact.Number() ||
		m.Info.PushName != contact.PushName() || m.Info.IsFromMe {
		t.Errorf("message info %+v", m.Info)
	}
	receive(t, own, "good morning")
	send(t, own, contact, "from the phone")
	if m := wait(c, 1, isText("from the phone")); !m.Info.IsFromMe || m.Info.Chat != contact.LID() {
		t.Errorf("own message arrived as %+v", m.Info)
	}
}

func TestContactAnswersEcho(t *testing.T) {
	s, _, c := paired(t)
	contact, _ := s.Phone("5511922222222")
	c.sendText(contact.JID(), "echo are you there")
	wait(c, 1, isText("are you there"))
}
