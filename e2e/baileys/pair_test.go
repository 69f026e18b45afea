package baileys

import (
	"encoding/json"
	"errors"
	"testing"

	"postern/sandbox"
	"postern/sandbox/network"
)

const (
	ownNumber = "4915155500009"
	ownName   = "Bailey"
)

// opened opens a sandbox with the phone of the client.
func opened(t *testing.T) *sandbox.Server {
	t.Helper()
	installed(t)
	s, err := sandbox.Open(sandbox.Config{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	addPhone(t, s)
	return s
}

func addPhone(t *testing.T, s *sandbox.Server) {
	t.Helper()
	if _, err := s.AddPhone(sandbox.PhoneOptions{Number: ownNumber, PushName: ownName}); err != nil {
		t.Fatal(err)
	}
}

// paired links Baileys by QR code and waits until it is online.
func paired(t *testing.T, s *sandbox.Server) *baileys {
	t.Helper()
	return pairedIn(t, s, t.TempDir())
}

// pairedIn is paired with a folder for the credentials.
func pairedIn(t *testing.T, s *sandbox.Server, auth string) *baileys {
	t.Helper()
	return link(t, s, ownNumber, auth)
}

// link links Baileys to the phone of a number.
func link(t *testing.T, s *sandbox.Server, number, auth string) *baileys {
	t.Helper()
	b := start(t, s, auth)
	b.call(nil, "open")
	var shown struct{ QR string }
	if err := json.Unmarshal(b.event(0, "connection.update", `{"qr":"*"}`), &shown); err != nil {
		t.Fatal(err)
	}
	p, _ := s.Phone(number)
	if err := p.Scan(t.Context(), shown.QR); err != nil {
		t.Fatalf("scan: %v; events of Baileys:\n%s", err, b.said(0))
	}
	b.event(0, "connection.update", `{"isNewLogin":true}`)
	b.event(0, "connection.update", `{"connection":"open"}`)
	return b
}

func TestBaileysPairsByQRCode(t *testing.T) {
	t.Parallel()
	paired(t, opened(t))
}

func TestBaileysPairsByLinkCode(t *testing.T) {
	t.Parallel()
	s := opened(t)
	b := start(t, s, t.TempDir())
	b.call(nil, "open")
	b.event(0, "connection.update", `{"qr":"*"}`)
	var code string
	b.call(&code, "requestPairingCode", ownNumber)
	p, _ := s.Phone(ownNumber)
	// Baileys has the code before the network has the request.
	poll(t, "the request of the code", func() bool {
		err := p.Scan(t.Context(), code)
		if err != nil && !errors.Is(err, network.ErrNoPairing) {
			t.Fatalf("type the code: %v; events of Baileys:\n%s", err, b.said(0))
		}
		return err == nil
	})
	b.event(0, "connection.update", `{"isNewLogin":true}`)
	b.event(0, "connection.update", `{"connection":"open"}`)
	var credentials struct{ Registered bool }
	b.call(&credentials, "credentials")
	if !credentials.Registered {
		t.Error("Baileys does not report the request as answered")
	}
}

func TestBaileysReconnectsAfterLoss(t *testing.T) {
	t.Parallel()
	s := opened(t)
	b := paired(t, s)
	for _, lose := range []func(){
		func() { s.Drop(ownNumber) },
		func() {
			p, _ := s.Phone(ownNumber)
			if err := s.EndSessions(p.JID(), network.StreamError(503)); err != nil {
				t.Fatal(err)
			}
		},
	} {
		from := b.seen()
		lose()
		b.event(from, "connection.update", `{"connection":"close"}`)
		b.event(from, "connection.update", `{"connection":"open"}`)
		b.event(from, "connection.update", `{"receivedPendingNotifications":true}`)
	}
}

func TestBaileysStartsAgainFromItsFiles(t *testing.T) {
	t.Parallel()
	s := opened(t)
	auth := t.TempDir()
	pairedIn(t, s, auth).end()
	b := start(t, s, auth)
	b.call(nil, "open")
	b.event(0, "connection.update", `{"connection":"open"}`)
}

func TestBaileysIsLoggedOut(t *testing.T) {
	t.Parallel()
	s := opened(t)
	b := paired(t, s)
	s.Unlink(ownNumber)
	b.event(0, "connection.update", `{"connection":"close","code":401}`)
}

func TestBaileysLogsOut(t *testing.T) {
	t.Parallel()
	s := opened(t)
	b := paired(t, s)
	b.call(nil, "logout")
	p, _ := s.Phone(ownNumber)
	poll(t, "no linked device", func() bool { return len(s.DevicesOf(p.LID())) == 1 })
}
