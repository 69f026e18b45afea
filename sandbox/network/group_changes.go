package network

import (
	"crypto/rand"
	"encoding/base64"
	"time"

	waBinary "go.mau.fi/whatsmeow/binary"
	"go.mau.fi/whatsmeow/types"

	"postern/sandbox/phone"
)

// maxRevoked is how many revoked invite codes a group remembers, to distinguish them
// from wrong ones.
const maxRevoked = 20

// All functions here change a group, save it and notify the linked devices of every
// member, including those of the author of the change. Phones get no notification: they
// read the group. The caller holds s.mu and has checked that the change is allowed.

// announceChange saves the group and notifies its members of one change.
func (s *Server) announceChange(g *group, by *account, change waBinary.Node) {
	s.persist.group(g)
	for _, a := range s.membersOf(g.jid) {
		s.tell(g, a, by, change)
	}
}

// tell notifies one account of one change.
func (s *Server) tell(g *group, a, by *account, change waBinary.Node) {
	s.notify(a, "w:gp2", g.jid, waBinary.Attrs{
		"participant": by.lid, "participant_pn": by.pn, "notify": by.pushName, "addressing_mode": "lid",
	}, change)
}

// sendJoined sends an account the complete group, which clients report as joined. kind
// is "new" for a new group, reason "invite" for those who joined by the link.
func (s *Server) sendJoined(g *group, a, by *account, kind, reason string) {
	attrs := waBinary.Attrs{}
	if kind != "" {
		attrs["type"] = kind
	}
	if reason != "" {
		attrs["reason"] = reason
	}
	s.tell(g, a, by, waBinary.Node{Tag: "create", Attrs: attrs, Content: []waBinary.Node{s.groupNode(g, true)}})
}

// newGroup is a request to create a group, by an act or by a client.
type newGroup struct {
	subject, description string
	members              []*account // without the creator
	announce, locked     bool
	approval, community  bool
	announcements        bool // the group that every community has
	ephemeral            uint32
	memberAdd            string // empty: all members may add
	parent               *group
}

func (s *Server) createGroup(by *account, o newGroup) *group {
	now := time.Now()
	g := &group{
		jid: s.newGroupJID(), Creator: by.lid.User, Created: now, Invite: inviteCode(), Version: 1,
		Subject:  setting{Text: o.subject, By: by.lid.User, At: now},
		Announce: o.announce, Locked: o.locked, Approval: o.approval, Community: o.community, Default: o.announcements,
		Ephemeral: o.ephemeral, EphemeralAt: time.Now(), MemberAdd: o.memberAdd,
		Members: []member{{by.lid.User, roleCreator}},
	}
	if g.MemberAdd == "" {
		g.MemberAdd = string(types.GroupMemberAddModeAllMember)
	}
	if o.description != "" {
		g.Description = setting{Text: o.description, ID: phone.MessageID(), By: by.lid.User, At: now}
	}
	for _, a := range o.members {
		if !g.has(a) {
			g.Members = append(g.Members, member{LID: a.lid.User})
		}
	}
	s.groups[g.jid.User] = g
	if o.parent != nil {
		g.Parent = o.parent.jid.User
		s.announceChange(o.parent, by, linkNode(types.GroupLinkChangeTypeSub, g))
	}
	s.persist.group(g)
	for _, a := range s.membersOf(g.jid) {
		s.sendJoined(g, a, by, "new", "")
	}
	if g.Community {
		s.createGroup(by, newGroup{subject: o.subject, members: o.members, announce: true, announcements: true, parent: g})
	}
	return g
}

func inviteCode() string {
	var raw [16]byte
	_, _ = rand.Read(raw[:]) // crypto/rand never fails
	return base64.RawURLEncoding.EncodeToString(raw[:])
}

func (s *Server) setSubject(g *group, by *account, text string) {
	g.Subject = setting{Text: text, By: by.lid.User, At: time.Now()}
	s.announceChange(g, by, waBinary.Node{Tag: "subject", Attrs: waBinary.Attrs{
		"subject": text, "s_t": g.Subject.At.Unix(), "s_o": by.lid, "s_o_pn": by.pn,
	}})
}

// setDescription removes the description if the text is empty. An empty id is replaced
// by a new one.
func (s *Server) setDescription(g *group, by *account, id, text string) {
	if id == "" {
		id = phone.MessageID()
	}
	change := waBinary.Node{Tag: "description", Attrs: waBinary.Attrs{"id": id}}
	if text == "" {
		g.Description = setting{}
		change.Content = []waBinary.Node{{Tag: "delete"}}
	} else {
		g.Description = setting{Text: text, ID: id, By: by.lid.User, At: time.Now()}
		change.Content = bodyNode(text)
	}
	s.announceChange(g, by, change)
}

func (s *Server) setAnnounce(g *group, by *account, on bool) {
	g.Announce = on
	g.Version++
	tag := "announcement"
	if !on {
		tag = "not_announcement"
	}
	s.announceChange(g, by, waBinary.Node{Tag: tag, Attrs: waBinary.Attrs{"v_id": g.Version}})
}

func (s *Server) setLocked(g *group, by *account, on bool) {
	g.Locked = on
	s.announceChange(g, by, switched(on, "locked", "unlocked"))
}

func (s *Server) setSuspended(g *group, by *account, on bool) {
	g.Suspended = on
	s.announceChange(g, by, switched(on, "suspended", "unsuspended"))
}

func switched(on bool, yes, no string) waBinary.Node {
	if on {
		return waBinary.Node{Tag: yes}
	}
	return waBinary.Node{Tag: no}
}

func (s *Server) setEphemeral(g *group, by *account, seconds uint32) {
	g.Ephemeral, g.EphemeralAt = seconds, time.Now()
	change := waBinary.Node{Tag: "not_ephemeral"}
	if seconds > 0 {
		change = waBinary.Node{Tag: "ephemeral", Attrs: waBinary.Attrs{"expiration": seconds}}
	}
	s.announceChange(g, by, change)
}

func (s *Server) setMemberAdd(g *group, by *account, mode string) {
	g.MemberAdd = mode
	s.announceChange(g, by, waBinary.Node{Tag: "member_add_mode", Content: []byte(mode)})
}

// setApproval sends the new mode in the notification's content, which the client
// library does not read: it reports every change as switched on.
func (s *Server) setApproval(g *group, by *account, on bool) {
	g.Approval = on
	s.announceChange(g, by, approvalNode(on))
}

func (s *Server) resetInvite(g *group, by *account) {
	g.Revoked = append(g.Revoked, g.Invite)
	if len(g.Revoked) > maxRevoked {
		g.Revoked = g.Revoked[1:]
	}
	g.Invite = inviteCode()
	s.announceChange(g, by, waBinary.Node{Tag: "invite", Attrs: waBinary.Attrs{"code": g.Invite}})
}

// deleteGroup deletes a group for all members.
func (s *Server) deleteGroup(g *group, by *account, reason string) {
	s.announceChange(g, by, waBinary.Node{Tag: "delete", Attrs: waBinary.Attrs{"reason": reason}})
	g.Members = nil
	s.persist.group(g)
	delete(s.groups, g.jid.User)
}

// linkGroup makes a group part of a community and notifies both.
func (s *Server) linkGroup(community, g *group, by *account) {
	g.Parent = community.jid.User
	s.announceChange(g, by, linkNode(types.GroupLinkChangeTypeParent, community))
	s.announceChange(community, by, linkNode(types.GroupLinkChangeTypeSub, g))
}

func (s *Server) unlinkGroup(community, g *group, by *account) {
	g.Parent = ""
	s.announceChange(g, by, unlinkNode(types.GroupLinkChangeTypeParent, community))
	s.announceChange(community, by, unlinkNode(types.GroupLinkChangeTypeSub, g))
}

func linkNode(kind types.GroupLinkChangeType, target *group) waBinary.Node {
	return waBinary.Node{Tag: "link", Attrs: waBinary.Attrs{"link_type": string(kind)}, Content: []waBinary.Node{target.linkTarget()}}
}

func unlinkNode(kind types.GroupLinkChangeType, target *group) waBinary.Node {
	return waBinary.Node{
		Tag:     "unlink",
		Attrs:   waBinary.Attrs{"unlink_type": string(kind), "unlink_reason": string(types.GroupUnlinkReasonDefault)},
		Content: []waBinary.Node{target.linkTarget()},
	}
}

// linkTarget describes a group in links and lists of a community's groups.
func (g *group) linkTarget() waBinary.Node {
	n := waBinary.Node{Tag: "group", Attrs: waBinary.Attrs{
		"jid": g.jid, "id": g.jid.User, "subject": g.Subject.Text, "s_t": g.Subject.At.Unix(),
	}}
	if g.Default {
		n.Content = []waBinary.Node{{Tag: "default_sub_group"}}
	}
	return n
}
