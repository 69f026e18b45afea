package sandbox

import (
	"strings"
	"testing"

	waBinary "go.mau.fi/whatsmeow/binary"
	"go.mau.fi/whatsmeow/types"
)

// FuzzGroupStanzas gives the server whatever a member's client could send: it must neither
// panic nor leave a group that it cannot describe.
func FuzzGroupStanzas(f *testing.F) {
	s, err := Open(Config{authority: testAuthority})
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() { _ = s.Close() })
	s.mu.Lock()
	a, other := s.accountByNumber(ownNumber), s.accountByNumber(anneNumber)
	jid := s.newGroupJID()
	s.mu.Unlock()
	for _, n := range groupStanzas(jid, other.lid) {
		raw, err := encodeStanza(n)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(raw)
	}
	f.Fuzz(func(t *testing.T, frame []byte) {
		n, err := decodeStanza(frame)
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
			if _, err := encodeStanza(s.groupNode(g, true)); err != nil {
				t.Error(err)
			}
		}
	})
}

func groupStanzas(jid, member types.JID) []waBinary.Node {
	participant := node("participant", "jid", member)
	body := waBinary.Node{Tag: "body", Content: []byte("text")}
	var all []waBinary.Node
	add := func(kind string, to types.JID, child waBinary.Node, inner ...waBinary.Node) {
		if inner != nil {
			child.Content = inner
		}
		n := node("iq", "id", "1", "xmlns", "w:g2", "type", kind, "to", to)
		n.Content = []waBinary.Node{child}
		all = append(all, n)
	}
	for _, tag := range []string{"query", "participating", "invite", "sub_groups", "linked_groups_participants", "membership_approval_requests"} {
		add("get", jid, node(tag, "code", "x"), node("add_request", "code", "x"))
	}
	for _, tag := range []string{"add", "remove", "promote", "demote", "create"} {
		add("set", jid, node(tag, "subject", "x"), participant, node("ephemeral", "expiration", "1"), node("linked_parent", "jid", jid))
	}
	for _, tag := range []string{"locked", "announcement", "not_ephemeral", "invite", "accept", "subject", "member_add_mode"} {
		add("set", jid, waBinary.Node{Tag: tag, Attrs: waBinary.Attrs{"code": "x"}, Content: []byte("admin_add")})
	}
	add("set", jid, node("description", "id", "1"), body)
	add("set", jid, node("ephemeral", "expiration", "86400"))
	add("set", jid, node("membership_approval_mode"), node("group_join", "state", "on"))
	add("set", types.GroupServerJID, node("leave"), node("group", "id", jid))
	add("set", jid, node("links"), waBinary.Node{Tag: "link", Content: []waBinary.Node{node("group", "jid", jid)}})
	add("set", jid, node("unlink"), node("group", "jid", jid))
	add("set", jid, node("membership_requests_action"), waBinary.Node{Tag: "approve", Content: []waBinary.Node{participant}})
	message := node("message", "id", "1", "to", jid, "type", "text")
	message.Content = []waBinary.Node{
		{Tag: "participants", Content: []waBinary.Node{node("to", "jid", member)}},
		{Tag: "enc", Attrs: waBinary.Attrs{"type": "skmsg", "v": "2"}, Content: []byte("sealed")},
	}
	return append(all, message,
		node("receipt", "id", "1", "to", jid, "participant", member), node("receipt", "id", "1", "to", jid, "type", "retry", "participant", member),
		node("chatstate", "to", jid))
}
