package translate

import (
	"testing"

	waBinary "go.mau.fi/whatsmeow/binary"
	"go.mau.fi/whatsmeow/types"
)

func TestApprovalIsKeptFromGroupChangesOnly(t *testing.T) {
	mode := waBinary.Node{Tag: approvalTag, Content: []waBinary.Node{{Tag: "group_join", Attrs: waBinary.Attrs{"state": "off"}}}}
	for _, n := range []waBinary.Node{
		{Tag: "notification", Attrs: waBinary.Attrs{"type": "w:gp2"}},
		{Tag: "notification", Attrs: waBinary.Attrs{"type": "w:gp2"}, Content: []byte(approvalTag)},
		{Tag: "notification", Attrs: waBinary.Attrs{"type": types.NewJID("w", "gp2")}, Content: []waBinary.Node{mode}},
		{Tag: "notification", Attrs: waBinary.Attrs{"type": "picture"}, Content: []waBinary.Node{mode}},
		{Tag: "notification", Content: []waBinary.Node{mode}},
		{Tag: "iq", Attrs: waBinary.Attrs{"type": "w:gp2"}, Content: []waBinary.Node{mode}},
		{Tag: "notification", Attrs: waBinary.Attrs{"type": "w:gp2"}, Content: []waBinary.Node{{Tag: "create", Content: []waBinary.Node{mode}}}},
	} {
		before := n.String()
		if KeepApproval(&n); n.String() != before {
			t.Errorf("%s became %s", before, n.String())
		}
	}
}

func keptApproval(state string) *waBinary.Node {
	n := waBinary.Node{Tag: "notification", Attrs: waBinary.Attrs{"type": "w:gp2"}, Content: []waBinary.Node{
		{Tag: approvalTag, Content: []waBinary.Node{{Tag: "group_join", Attrs: waBinary.Attrs{"state": state}}}},
	}}
	KeepApproval(&n)
	return &n.GetChildren()[1]
}
