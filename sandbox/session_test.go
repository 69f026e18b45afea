package sandbox

import (
	"bytes"
	"context"
	"net/http"
	"testing"
	"time"

	"github.com/coder/websocket"
	"go.mau.fi/whatsmeow/socket"
	"go.mau.fi/whatsmeow/types/events"
	"go.mau.fi/whatsmeow/util/keys"

	"postern/sandbox/phone"
)

// unhurried is paired with a client that acknowledges only what its handlers accept.
func unhurried(t *testing.T) (*Server, *phone.Phone, *client) {
	t.Helper()
	s := openServer(t, Config{})
	p := addPhone(t, s, "5511911111111")
	c := newClient(t, s, nil)
	c.SynchronousAck = true
	c.pairByQR(p)
	return s, p, c
}

func TestClientReconnectsAfterADrop(t *testing.T) {
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

func TestUnlinkReachesTheClientAndItsLogin(t *testing.T) {
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
	if devices := s.DevicesOf(own.LID()); len(devices) != 1 {
		t.Errorf("devices after the logout: %v", devices)
	}
}

func TestGarbageEndsOnlyItsOwnConnection(t *testing.T) {
	s, _, c := paired(t)
	hello := append(bytes.Clone(socket.WAConnHeader), 0, 0, 2, 0xFF, 0xFF)
	for name, bytes := range map[string][]byte{
		"header": []byte("not a client"), "hello": hello, "length": append(socket.WAConnHeader[:4:4], 255, 255, 255),
	} {
		ws, _, err := websocket.Dial(t.Context(), "wss://web.whatsapp.com/ws/chat", &websocket.DialOptions{
			HTTPClient: httpClient(t, s.Endpoint()), HTTPHeader: http.Header{"Origin": {"https://web.whatsapp.com"}},
		})
		if err != nil {
			t.Fatal(err)
		}
		if err := ws.Write(t.Context(), websocket.MessageBinary, bytes); err != nil {
			t.Fatal(err)
		}
		if _, _, err := ws.Read(t.Context()); err == nil {
			t.Errorf("%s: the server answered", name)
		}
		_ = ws.CloseNow()
	}
	contact, _ := s.Phone("5511922222222")
	c.sendText(contact.JID(), "unharmed")
	receive(t, contact, "unharmed")
}
