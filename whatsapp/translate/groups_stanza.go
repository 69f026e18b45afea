package translate

import (
	"slices"

	waBinary "go.mau.fi/whatsmeow/binary"
	"go.mau.fi/whatsmeow/types/events"

	"postern/event"
)

// The library ignores the content of <membership_approval_mode>, so its event says "on"
// for either value. It passes on unknown changes as complete nodes. KeepApproval
// therefore adds a copy of the change under our own name to the notification before the
// library reads it. The value is then part of the event, in the order of the stanzas,
// and is acknowledged only after the event is stored.

const (
	approvalTag     = "membership_approval_mode"
	approvalKeptTag = "postern_" + approvalTag
)

// KeepApproval adds the copy to a notification that changes the approval of new
// members. n must not be shared yet.
func KeepApproval(n *waBinary.Node) {
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

// approvalMode sets the flag of the notification, unless its value is unknown.
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
