package whatsapp

import (
	"slices"

	waBinary "go.mau.fi/whatsmeow/binary"
	"go.mau.fi/whatsmeow/types/events"

	"postern/event"
)

// The library reads <membership_approval_mode> without its content, so its event
// says "on" for either value. It passes on changes that it does not know as whole
// nodes. keepApproval therefore gives the notification a second copy of the change
// under a name of ours, before the library reads it: the value then travels in
// the event itself, in the order of the stanzas, and WhatsApp gets its
// acknowledgement after the event is stored.

const (
	approvalTag     = "membership_approval_mode"
	approvalKeptTag = "postern_" + approvalTag
)

// keepApproval adds the copy to a notification that changes who lets people into
// a group. Nothing else may hold n yet.
func keepApproval(n *waBinary.Node) {
	if n.Tag != "notification" || attribute(n, "type") != "w:gp2" {
		return
	}
	children := n.GetChildren()
	i := slices.IndexFunc(children, func(c waBinary.Node) bool { return c.Tag == approvalTag })
	if i < 0 {
		return
	}
	kept := children[i]
	kept.Tag = approvalKeptTag
	n.Content = append(slices.Clip(children), kept)
}

// approvalMode sets the flag that the notification names. It stays unset when the
// notification names none of the two values.
func approvalMode(m *event.GroupMetadata, evt *events.GroupInfo) {
	for _, n := range evt.UnknownChanges {
		if n == nil || n.Tag != approvalKeptTag {
			continue
		}
		join := n.GetChildByTag("group_join")
		switch attribute(&join, "state") {
		case "on":
			m.JoinApprovalMode = new(true)
		case "off":
			m.JoinApprovalMode = new(false)
		}
	}
}
