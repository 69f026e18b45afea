package baileys

import (
	"encoding/json"
	"testing"

	"postern/sandbox"
)

const (
	ownNumber = "4915155500009"
	ownName   = "Bailey"
)

// network opens a sandbox with the phone of the client.
func network(t *testing.T) *sandbox.Server {
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
	b := start(t, s, t.TempDir())
	b.call(nil, "open")
	var shown struct{ QR string }
	if err := json.Unmarshal(b.event(0, "connection.update", `{"qr":"*"}`), &shown); err != nil {
		t.Fatal(err)
	}
	p, _ := s.Phone(ownNumber)
	if err := p.Scan(t.Context(), shown.QR); err != nil {
		t.Fatalf("scan: %v; events of Baileys:\n%s", err, b.said(0))
	}
	b.event(0, "connection.update", `{"isNewLogin":true}`)
	b.event(0, "connection.update", `{"connection":"open"}`)
	return b
}

func TestBaileysPairsByQRCode(t *testing.T) {
	paired(t, network(t))
}
