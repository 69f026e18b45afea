package network

import (
	"crypto/sha256"

	waBinary "go.mau.fi/whatsmeow/binary"

	"postern/sandbox/network/wire"
)

// tokenBytes is the length of a token.
const tokenBytes = 16

// giveTokens sends each contact that a client trusts its token, which the contact's devices add
// to their messages to the client's account. Messages without one are accepted all the same.
func giveTokens(s *Server, _ *conn, d *device, n *waBinary.Node) (waBinary.Node, error) {
	given := wire.FirstChild(n)
	s.mu.Lock()
	defer s.mu.Unlock()
	from := d.account
	for _, token := range given.GetChildrenByTag("token") {
		to := s.accountOf(wire.JID(&token, "jid").ToNonAD())
		if to == nil || to == from {
			continue
		}
		sum := sha256.Sum256([]byte("sandbox token " + from.lid.User + " " + to.lid.User + " " + wire.Attr(&token, "t")))
		s.notify(to, "privacy_token", from.pn, waBinary.Attrs{"sender_lid": from.lid}, waBinary.Node{Tag: "tokens", Content: []waBinary.Node{{
			Tag: "token", Content: sum[:tokenBytes],
			Attrs: waBinary.Attrs{"jid": to.pn, "t": token.Attrs["t"], "type": token.Attrs["type"]},
		}}})
	}
	return waBinary.Node{}, nil
}
