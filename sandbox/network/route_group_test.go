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

func TestHashHasTheFormOfTheMessage(t *testing.T) {
	s := rigServer(t)
	s.mu.Lock()
	own, anne := s.accountByNumber("5511911111111"), s.accountByNumber("5511922222222")
	d := &device{account: own, id: 1}
	own.devices[1] = d
	anne.devices[2] = &device{account: anne, id: 2}
	s.mu.Unlock()
	for _, form := range []func(*account, uint16) types.JID{(*account).deviceLID, (*account).devicePN} {
		message := stanza("message", "to", form(anne, 0))
		to := func(jids ...types.JID) []waBinary.Node {
			var targets []waBinary.Node
			for _, jid := range jids {
				targets = append(targets, stanza("to", "jid", jid))
			}
			return []waBinary.Node{{Tag: "participants", Content: targets}}
		}
		message.Content = to(form(own, 0), form(anne, 0), form(anne, 2))
		if got := s.staleHash(d, message); got != "" {
			t.Errorf("to %s: all devices are there, sent %q", form(anne, 0), got)
		}
		message.Content = to(form(own, 0), form(anne, 0))
		want := deviceHash([]types.JID{form(own, 0), form(own, 1), form(anne, 0), form(anne, 2)})
		if got := s.staleHash(d, message); got != want {
			t.Errorf("to %s: a device is missing, sent %q, want %q", form(anne, 0), got, want)
		}
	}
}
