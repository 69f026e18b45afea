package sandbox

import (
	"path/filepath"
	"testing"
)

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

func TestRestartKeepsUnlinksAndUsedPreKeys(t *testing.T) {
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
			b, ok := s.BundleOf(s.DevicesOf(own.LID())[1])
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
	if devices := s.DevicesOf(gone.LID()); len(devices) != 1 {
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
