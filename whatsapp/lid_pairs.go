package whatsapp

import (
	"context"

	waBinary "go.mau.fi/whatsmeow/binary"
	wastore "go.mau.fi/whatsmeow/store"
	"go.mau.fi/whatsmeow/types"
)

// Stanzas often name a person by both addresses, the phone number and the LID. The
// library learns the pair only from messages, devices and some member lists. A privacy
// token, a call or a receipt would otherwise count for only one of the addresses.

// namesOf has, by the attribute that holds the other address of a person, the attributes
// that name the same person.
var namesOf = map[string][]string{
	"sender_pn": {"from"}, "sender_lid": {"from"},
	"participant_pn": {"participant"}, "participant_lid": {"participant"},
	"recipient_pn": {"recipient"}, "recipient_lid": {"recipient"}, "peer_recipient_pn": {"recipient"}, "peer_recipient_lid": {"recipient"},
	"caller_pn": {"call-creator"}, "caller_lid": {"call-creator"},
	"creator_pn": {"creator"}, "creator_lid": {"creator"},
	"s_o_pn": {"s_o"}, "s_o_lid": {"s_o"},
	"phone_number": {"jid"},
	"lid":          {"jid", "from"},
}

// pairDepth is how deep below a stanza people are named: the member of a group in a
// notification of its creation is on the third level.
const pairDepth = 3

// depthOf returns how deep below a stanza its pairs can be trusted. WhatsApp writes the
// attributes of a call and of its stage; the caller writes what is below them.
func depthOf(n *waBinary.Node) int {
	switch n.Tag {
	case "notification":
		return pairDepth
	case "call":
		return 1
	}
	return 0
}

// pairsOf returns the pairs that a stanza names.
func pairsOf(n *waBinary.Node, depth int, pairs []wastore.LIDMapping) []wastore.LIDMapping {
	for other, v := range n.Attrs {
		alt, ok := v.(types.JID)
		if !ok {
			continue
		}
		for _, of := range namesOf[other] {
			pairs = addPair(pairs, n.Attrs[of], alt)
		}
	}
	if depth == 0 {
		return pairs
	}
	children, _ := n.Content.([]waBinary.Node)
	for i := range children {
		pairs = pairsOf(&children[i], depth-1, pairs)
	}
	return pairs
}

// addPair adds two addresses if they are a phone number and a LID.
func addPair(pairs []wastore.LIDMapping, of any, alt types.JID) []wastore.LIDMapping {
	jid, ok := of.(types.JID)
	if !ok || jid.User == "" || alt.User == "" {
		return pairs
	}
	jid, alt = jid.ToNonAD(), alt.ToNonAD()
	switch {
	case jid.Server == types.HiddenUserServer && alt.Server == types.DefaultUserServer:
		return append(pairs, wastore.LIDMapping{LID: jid, PN: alt})
	case jid.Server == types.DefaultUserServer && alt.Server == types.HiddenUserServer:
		return append(pairs, wastore.LIDMapping{LID: alt, PN: jid})
	}
	return pairs
}

// learnPairs stores the new pairs of a stanza before the stanza is handled. It runs on
// the goroutine that reads; known pairs are looked up in memory.
func (s *Session) learnPairs(lids wastore.LIDStore, n *waBinary.Node) {
	ctx := context.Background()
	var fresh []wastore.LIDMapping
	for _, p := range pairsOf(n, depthOf(n), nil) {
		if known, err := lids.GetLIDForPN(ctx, p.PN); err == nil && known.User != p.LID.User {
			fresh = append(fresh, p)
		}
	}
	if len(fresh) == 0 {
		return
	}
	if err := lids.PutManyLIDMappings(ctx, fresh); err != nil {
		s.conn.log.Warn("pairs of phone number and LID not stored", "error", err)
	}
}
