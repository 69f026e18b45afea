package network

import (
	"strings"
	"testing"

	waBinary "go.mau.fi/whatsmeow/binary"
	"go.mau.fi/whatsmeow/types"

	"postern/sandbox/network/wire"
)

// FuzzGroupStanzas gives the server whatever a member's client could send: it must neither
// panic nor leave a group that it cannot describe.
func FuzzGroupStanzas(f *testing.F) {
	s, err := Open(Config{})
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() { _ = s.Close() })
	s.mu.Lock()
	a, other := s.accountByNumber("5511911111111"), s.accountByNumber("5511922222222")
	jid := s.newGroupJID()
	s.mu.Unlock()
	for _, n := range groupStanzas(jid, other.lid) {
		raw, err := wire.Encode(n)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(raw)
	}
	f.Fuzz(func(t *testing.T, frame []byte) {
		n, err := wire.Decode(frame)
		if err != nil || strings.HasPrefix(n.Tag, "stream") {
			return
		}
		c := looseConn(t, s)
		s.mu.Lock()
		clear(s.groups)
		g := s.createGroup(a, newGroup{subject: "fuzzed", members: []*account{other}, community: true})
		delete(s.groups, g.jid.User)
		g.jid = jid
		s.groups[jid.User] = g
		d := &device{account: a, id: 1, conn: c}
		a.devices[1], c.device = d, d
		s.mu.Unlock()
		s.handle(c, n)
		s.mu.Lock()
		defer s.mu.Unlock()
		for _, g := range s.groups {
			if _, err := wire.Encode(s.groupNode(g, true)); err != nil {
				t.Error(err)
			}
		}
	})
}

func groupStanzas(jid, member types.JID) []waBinary.Node {
	participant := stanza("participant", "jid", member)
	body := waBinary.Node{Tag: "body", Content: []byte("text")}
	var all []waBinary.Node
	add := func(kind string, to types.JID, child waBinary.Node, inner ...waBinary.Node) {
		if inner != nil {
			child.Content = inner
		}
		n := stanza("iq", "id", "1", "xmlns", "w:g2", "type", kind, "to", to)
		n.Content = []waBinary.Node{child}
		all = append(all, n)
	}
	for _, tag := range []string{"query", "participating", "invite", "sub_groups", "linked_groups_participants", "membership_approval_requests"} {
		add("get", jid, stanza(tag, "code", "x"), stanza("add_request", "code", "x"))
	}
	for _, tag := range []string{"add", "remove", "promote", "demote", "create"} {
		add("set", jid, stanza(tag, "subject", "x"), participant, stanza("ephemeral", "expiration", "1"), stanza("linked_parent", "jid", jid))
	}
	for _, tag := range []string{"locked", "announcement", "not_ephemeral", "invite", "accept", "subject", "member_add_mode"} {
		add("set", jid, waBinary.Node{Tag: tag, Attrs: waBinary.Attrs{"code": "x"}, Content: []byte("admin_add")})
	}
	add("set", jid, stanza("description", "id", "1"), body)
	add("set", jid, stanza("ephemeral", "expiration", "86400"))
	add("set", jid, stanza("membership_approval_mode"), stanza("group_join", "state", "on"))
	add("set", types.GroupServerJID, stanza("leave"), stanza("group", "id", jid))
	add("set", jid, stanza("links"), waBinary.Node{Tag: "link", Content: []waBinary.Node{stanza("group", "jid", jid)}})
	add("set", jid, stanza("unlink"), stanza("group", "jid", jid))
	add("set", jid, stanza("membership_requests_action"), waBinary.Node{Tag: "approve", Content: []waBinary.Node{participant}})
	message := stanza("message", "id", "1", "to", jid, "type", "text")
	message.Content = []waBinary.Node{
		{Tag: "participants", Content: []waBinary.Node{stanza("to", "jid", member)}},
		{Tag: "enc", Attrs: waBinary.Attrs{"type": "skmsg", "v": "2"}, Content: []byte("sealed")},
	}
	return append(all, message,
		stanza("receipt", "id", "1", "to", jid, "participant", member), stanza("receipt", "id", "1", "to", jid, "type", "retry", "participant", member),
		stanza("chatstate", "to", jid))
}
