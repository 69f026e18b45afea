package network

import (
	"testing"

	waBinary "go.mau.fi/whatsmeow/binary"
	"go.mau.fi/whatsmeow/types"
)

func TestSendersWithStaleDeviceListsGetTheHash(t *testing.T) {
	s := rigServer(t)
	s.mu.Lock()
	own, anne, bob := s.accountByNumber("5511911111111"), s.accountByNumber("5511922222222"), s.accountByNumber("5511933333333")
	d := &device{account: own, id: 1}
	own.devices[1] = d
	g := s.createGroup(own, newGroup{subject: "Friends", members: []*account{anne, bob}})
	s.mu.Unlock()
	right := deviceHash([]types.JID{own.lid, d.lid(), anne.lid, bob.lid})
	message := stanza("message", "to", g.jid)
	message.Content = []waBinary.Node{{Tag: "participants"}}
	for used, want := range map[string]string{right: "", "2:other": right} {
		message.Attrs["phash"] = used
		if got := s.staleHash(d, message); got != want {
			t.Errorf("used %s: sent %q, want %q", used, got, want)
		}
	}
}
