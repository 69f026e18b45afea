package sandbox

import (
	"context"
	"errors"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"go.mau.fi/whatsmeow"
	"go.mau.fi/whatsmeow/types"
	"go.mau.fi/whatsmeow/types/events"
	"go.mau.fi/whatsmeow/util/keys"
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
	eventually(t, "subscription", func() bool {
		s.mu.Lock()
		defer s.mu.Unlock()
		return len(s.watchers) == 1
	})
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

func TestMessagesOfOfflineTimeArriveAtTheNextLogin(t *testing.T) {
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

// unhurried is paired with a client that acknowledges only what its handlers accept.
func unhurried(t *testing.T) (*Server, *Phone, *client) {
	t.Helper()
	s := openServer(t, Config{})
	p := addPhone(t, s, "5511911111111")
	c := newClient(t, s, nil)
	c.SynchronousAck = true
	c.pairByQR(p)
	return s, p, c
}

func TestDropIsALostNetworkAndTheClientComesBack(t *testing.T) {
	s, own, c := paired(t)
	s.Drop(own.Number())
	wait(c, 1, every[*events.Disconnected])
	wait(c, 2, every[*events.Connected])
	contact, _ := s.Phone("5511922222222")
	c.sendText(contact.JID(), "still here")
	receive(t, contact, "still here")
}

func TestRefusedLogin(t *testing.T) {
	for reason, seen := range map[int]func(*client){
		401: func(c *client) { wait(c, 1, func(e *events.LoggedOut) bool { return e.OnConnect }) },
		402: func(c *client) { wait(c, 1, func(e *events.TemporaryBan) bool { return e.Expire == time.Hour }) },
		405: func(c *client) { wait(c, 1, every[*events.ClientOutdated]) },
		418: func(c *client) { wait(c, 1, func(e *events.ConnectFailure) bool { return e.Reason == 418 }) },
	} {
		t.Run(events.ConnectFailureReason(reason).String(), func(t *testing.T) {
			s, own, c := paired(t)
			c.Disconnect()
			s.RefuseLogin(own.Number(), reason)
			c.connect()
			seen(c)
		})
	}
}

func TestRefusalIsForOneLogin(t *testing.T) {
	s, own, c := paired(t)
	c.Disconnect()
	s.RefuseLogin(own.Number(), 418)
	c.connect()
	wait(c, 1, every[*events.ConnectFailure])
	c.Disconnect()
	c.connect()
	wait(c, 2, every[*events.Connected])
}

func TestLoginWithAnotherNoiseKeyIsRefused(t *testing.T) {
	s, _, c := paired(t)
	stolen := copyDevice(c.Store)
	stolen.NoiseKey = keys.NewKeyPair()
	thief := newClient(t, s, stolen)
	thief.connect()
	wait(thief, 1, func(e *events.LoggedOut) bool { return e.OnConnect })
	if n := count(c, every[*events.StreamReplaced]); n != 0 || !c.IsLoggedIn() {
		t.Error("the owner's session was ended")
	}
}

func TestSecondLoginReplacesTheFirst(t *testing.T) {
	s, _, first := paired(t)
	second := newClient(t, s, copyDevice(first.Store))
	second.connect()
	wait(second, 1, every[*events.Connected])
	wait(first, 1, every[*events.StreamReplaced])
}

func TestUnlinkTellsTheClientAndRefusesItsNextLogin(t *testing.T) {
	s, own, c := paired(t)
	kept := copyDevice(c.Store)
	s.Unlink(own.Number())
	wait(c, 1, func(e *events.LoggedOut) bool { return !e.OnConnect })
	late := newClient(t, s, kept)
	late.connect()
	wait(late, 1, func(e *events.LoggedOut) bool { return e.OnConnect })
}

func TestLogoutOfTheClientUnlinksIt(t *testing.T) {
	s, own, c := paired(t)
	if err := c.Logout(context.Background()); err != nil {
		t.Fatal(err)
	}
	if devices := s.devicesOf(own.LID()); len(devices) != 1 {
		t.Errorf("devices after the logout: %v", devices)
	}
}

func TestRestartKeepsLinksSessionsAndQueues(t *testing.T) {
	path := filepath.Join(t.TempDir(), "sandbox.db")
	s := openServer(t, Config{Path: path})
	own, contact := addPhone(t, s, "5511911111111"), addPhone(t, s, "5511922222222")
	c := newClient(t, s, nil)
	c.pairByQR(own)
	c.sendText(contact.JID(), "before")
	receive(t, contact, "before")
	c.Disconnect()
	eventually(t, "logout", func() bool { return !online(s, own) })
	send(t, contact, own, "waiting")
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}

	s = openServer(t, Config{Path: path})
	c = newClient(t, s, c.Store)
	c.connect()
	wait(c, 1, isText("waiting"))
	contact, _ = s.Phone(contact.Number())
	c.sendText(contact.JID(), "after")
	if got := receive(t, contact, "after"); got.Count != 1 {
		t.Errorf("received %+v", got)
	}
	if len(s.Phones()) != 2 || contact.PushName() != "Phone 5511922222222" {
		t.Errorf("%d phones after the restart, the contact is %q", len(s.Phones()), contact.PushName())
	}
}

func TestRestartKeepsUnlinkingsAndGivesNoPreKeyTwice(t *testing.T) {
	path := filepath.Join(t.TempDir(), "sandbox.db")
	s := openServer(t, Config{Path: path})
	own, gone := addPhone(t, s, "5511911111111"), addPhone(t, s, "5511922222222")
	c := newClient(t, s, nil)
	c.pairByQR(own)
	unlinked := newClient(t, s, nil)
	unlinked.EnableAutoReconnect = false // the library reads its device while it deletes it
	unlinked.pairByQR(gone)
	s.Unlink(gone.Number())
	given := map[uint32]bool{}
	take := func(s *Server) {
		t.Helper()
		for range 3 {
			b, ok := s.bundleOf(s.devicesOf(own.LID())[1])
			if !ok || b.OneTime == nil || given[b.OneTime.ID] {
				t.Fatalf("bundle %v with the pre-key %v, given before are %v", ok, b.OneTime, given)
			}
			given[b.OneTime.ID] = true
		}
	}
	take(s)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s = openServer(t, Config{Path: path})
	take(s)
	if devices := s.devicesOf(gone.LID()); len(devices) != 1 {
		t.Errorf("devices of the unlinked account: %v", devices)
	}
}

func TestRestartKeepsTheTrustAnchors(t *testing.T) {
	path := filepath.Join(t.TempDir(), "sandbox.db")
	var seen []Endpoint
	for range 2 {
		s, err := Open(Config{Path: path})
		if err != nil {
			t.Fatal(err)
		}
		seen = append(seen, s.Endpoint())
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if seen[0].RootKey != seen[1].RootKey || string(seen[0].CA) != string(seen[1].CA) {
		t.Error("a restart changed what clients trust")
	}
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

func TestMediaRoundTrip(t *testing.T) {
	s, _, c := paired(t)
	data := []byte("a picture, or so it claims")
	up, err := c.Upload(context.Background(), data, whatsmeow.MediaImage)
	if err != nil {
		t.Fatal(err)
	}
	if _, ok := s.Media(up.DirectPath); !ok {
		t.Errorf("nothing is stored at %s", up.DirectPath)
	}
	down, err := c.DownloadMediaWithPath(context.Background(), up.DirectPath, up.FileEncSHA256, up.FileSHA256,
		up.MediaKey, whatsmeow.MediaImage, "image", false)
	if err != nil || string(down) != string(data) {
		t.Errorf("downloaded %q, %v", down, err)
	}
}

func TestClientLearnsOfANewDeviceOfItsPeer(t *testing.T) {
	s, _, c := paired(t)
	peer := addPhone(t, s, "5511922222222")
	c.sendText(peer.JID(), "before")
	second := newClient(t, s, nil)
	second.pairByQR(peer)
	c.sendText(peer.JID(), "announces") // its acknowledgement tells that the device list is stale
	c.sendText(peer.JID(), "after")
	wait(second, 1, isText("after"))
}
