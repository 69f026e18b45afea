package whatsapp

import (
	"fmt"
	"slices"
	"testing"
	"time"

	waBinary "go.mau.fi/whatsmeow/binary"
	"go.mau.fi/whatsmeow/types"
)

func TestPairsOfStanzas(t *testing.T) {
	pn := types.NewJID("4915155500002", types.DefaultUserServer)
	lid := types.NewJID("100000000000002", types.HiddenUserServer)
	ownPN := types.NewJID("4915155500001", types.DefaultUserServer)
	bakers := types.NewJID("120363000000000001", types.GroupServer)
	ofDevice := func(j types.JID) types.JID { j.Device = 7; return j }
	node := func(tag string, attrs waBinary.Attrs, children ...waBinary.Node) waBinary.Node {
		return waBinary.Node{Tag: tag, Attrs: attrs, Content: children}
	}
	for name, tc := range map[string]struct {
		n    waBinary.Node
		want bool
	}{
		"privacy token by number": {node("notification", waBinary.Attrs{"from": pn, "sender_lid": lid, "type": "privacy_token"}), true},
		"privacy token by LID":    {node("notification", waBinary.Attrs{"from": lid, "sender_pn": pn, "type": "privacy_token"}), true},
		"receipt of a device":     {node("receipt", waBinary.Attrs{"from": ofDevice(lid), "sender_pn": ofDevice(pn)}), true},
		"receipt in a group":      {node("receipt", waBinary.Attrs{"from": bakers, "participant": lid, "participant_pn": pn}), true},
		"presence in a group":     {node("chatstate", waBinary.Attrs{"from": bakers, "participant": pn, "participant_lid": lid}), true},
		"own receipt":             {node("receipt", waBinary.Attrs{"from": ownPN, "recipient": lid, "peer_recipient_pn": pn}), true},
		"devices":                 {node("notification", waBinary.Attrs{"from": pn, "lid": lid}), true},
		"call":                    {node("call", waBinary.Attrs{"from": lid}, node("offer", waBinary.Attrs{"call-creator": lid, "caller_pn": pn})), true},
		"member of a new group": {node("notification", waBinary.Attrs{"from": bakers}, node("create", nil, node("group", nil,
			node("participant", waBinary.Attrs{"jid": lid, "phone_number": pn})))), true},
		"request to join": {node("notification", waBinary.Attrs{"from": bakers}, node("created_membership_requests", nil,
			node("requested_user", waBinary.Attrs{"jid": pn, "lid": lid}))), true},
		"inside a call":     {node("call", waBinary.Attrs{"from": lid}, node("offer", nil, node("x", waBinary.Attrs{"jid": lid, "phone_number": pn}))), false},
		"inside a message":  {node("message", waBinary.Attrs{"from": lid}, node("x", waBinary.Attrs{"jid": lid, "phone_number": pn})), false},
		"two numbers":       {node("receipt", waBinary.Attrs{"from": pn, "sender_pn": pn}), false},
		"two LIDs":          {node("receipt", waBinary.Attrs{"from": lid, "sender_lid": lid}), false},
		"a group":           {node("notification", waBinary.Attrs{"from": bakers, "lid": lid, "sender_pn": pn}), false},
		"texts":             {node("receipt", waBinary.Attrs{"from": lid.String(), "sender_pn": pn.String()}), false},
		"one address":       {node("receipt", waBinary.Attrs{"sender_pn": pn}), false},
		"no user":           {node("receipt", waBinary.Attrs{"from": lid, "sender_pn": types.NewJID("", types.DefaultUserServer)}), false},
		"another attribute": {node("receipt", waBinary.Attrs{"from": lid, "to": pn}), false},
	} {
		got := pairsOf(&tc.n, depthOf(&tc.n), nil)
		if len(got) != 1 && tc.want || len(got) > 0 && !tc.want || tc.want && (got[0].LID != lid || got[0].PN != pn) {
			t.Errorf("%s: %v", name, got)
		}
	}
}

// TestTokenOfStrangerCountsForTheirNumber: nothing else is known of the person, and the
// token is stored under the LID.
func TestTokenOfStrangerCountsForTheirNumber(t *testing.T) {
	r := newRig(t)
	own, ada := r.pair(), r.contact()
	devices := r.conn.cfg.Devices
	if twin := devices.Twin(ada.JID().String()); twin != "" {
		t.Fatalf("the pair is known already: %s", twin)
	}
	r.acts(ada, fmt.Sprintf(`{"do":"privacy-token","to":%q}`, own.Number()))
	r.eventually("the token counts", func() bool {
		trusted, err := devices.TrustedBy(r.owner, ada.JID().String(), time.Now())
		return err == nil && trusted
	})
	for _, jid := range []types.JID{ada.JID(), ada.LID()} {
		name, all := devices.Person(jid.String())
		if name != ada.LID().String() || len(all) != 2 || !slices.Contains(all, ada.JID().String()) {
			t.Errorf("%s is %s, %v", jid, name, all)
		}
	}
}

// TestStrangersAreLearnedFromEveryStanza provokes each kind with a person of its own.
func TestStrangersAreLearnedFromEveryStanza(t *testing.T) {
	r := newRig(t)
	own := r.pair()
	devices := r.conn.cfg.Devices
	for _, act := range []string{
		`{"do":"call-offer","to":"` + own.Number() + `"}`,
		`{"do":"chat-presence","to":"` + own.Number() + `","state":"composing"}`,
		`{"do":"group-create","subject":"Bakers","participants":["` + own.Number() + `"]}`,
		`{"do":"receipt","to":"` + own.Number() + `","type":"read","ids":["3EB0UNKNOWN"]}`,
	} {
		who := r.contact()
		r.acts(who, act)
		r.eventually(act, func() bool { return devices.Twin(who.JID().String()) == who.LID().String() })
	}
}
