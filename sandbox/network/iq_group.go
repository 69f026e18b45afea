package network

import (
	"errors"
	"maps"
	"slices"
	"strconv"

	waBinary "go.mau.fi/whatsmeow/binary"
	"go.mau.fi/whatsmeow/types"

	"postern/sandbox/network/wire"
)

// WhatsApp's limits of a group.
const (
	MaxSubject     = 100  // characters
	MaxDescription = 2048 // characters
	MaxMembers     = 1024
)

// groupIQ answers requests about groups.
func groupIQ(key iqKey) (iqHandler, bool) {
	if key.xmlns != "w:g2" {
		return nil, false
	}
	if key.kind == "get" {
		return groupGet(key.child)
	}
	for _, more := range []func(string) (iqHandler, bool){groupSet, groupSetMembers} {
		if handler, ok := more(key.child); ok {
			return handler, true
		}
	}
	return nil, false
}

func groupGet(child string) (iqHandler, bool) {
	switch child {
	case "query":
		return groupQuery, true
	case "participating":
		return joinedGroups, true
	case "invite":
		return inviteGet, true
	case "sub_groups":
		return onGroup(anyMember, subGroups), true
	case "linked_groups_participants":
		return onGroup(anyMember, linkedParticipants), true
	case "membership_approval_requests":
		return onGroup(adminOnly, approvalRequests), true
	default:
		return nil, false
	}
}

func groupSet(child string) (iqHandler, bool) {
	switch child {
	case "create":
		return groupCreate, true
	case "subject":
		return onGroup(mayEdit, changeSubject), true
	case "description":
		return onGroup(mayEdit, changeDescription), true
	case "locked", "unlocked", "announcement", "not_announcement":
		return onGroup(adminOnly, changeSwitch), true
	case "ephemeral", "not_ephemeral":
		return onGroup(mayEdit, changeEphemeral), true
	case "member_add_mode":
		return onGroup(adminOnly, changeMemberAdd), true
	case "membership_approval_mode":
		return onGroup(adminOnly, changeApproval), true
	case "links":
		return onGroup(adminOnly, changeLink), true
	case "unlink":
		return onGroup(adminOnly, changeUnlink), true
	case "invite":
		return inviteSet, true
	default:
		return nil, false
	}
}

// onGroup answers a request addressed to a group, with s.mu held.
func onGroup(may rule, fn func(s *Server, g *group, by *account, request waBinary.Node) (waBinary.Node, error)) iqHandler {
	return func(s *Server, _ *conn, d *device, n *waBinary.Node) (waBinary.Node, error) {
		s.mu.Lock()
		defer s.mu.Unlock()
		g, err := s.allowed(d.account, wire.JID(n, "to"), may)
		if err != nil {
			return waBinary.Node{}, groupError(err)
		}
		return fn(s, g, d.account, wire.FirstChild(n))
	}
}

// groupError returns the error for a client.
func groupError(err error) error {
	switch {
	case errors.Is(err, ErrNoGroup):
		return errIQ{404, "item-not-found"}
	case errors.Is(err, ErrNotInGroup), errors.Is(err, ErrAdminsOnly):
		return errIQ{403, "forbidden"}
	default:
		return err
	}
}

// groupQuery returns the group to its members, and to holders of an invitation message.
func groupQuery(s *Server, _ *conn, d *device, n *waBinary.Node) (waBinary.Node, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	query := wire.FirstChild(n)
	g, err := s.groupOf(d.account, wire.JID(n, "to"))
	if invitation, ok := query.GetOptionalChildByTag("add_request"); ok && errors.Is(err, ErrNotInGroup) {
		if g = s.groups[wire.JID(n, "to").User]; g.Invite == wire.Attr(&invitation, "code") {
			return s.groupNode(g, false), nil
		}
	}
	if err != nil {
		return waBinary.Node{}, groupError(err)
	}
	return s.groupNode(g, true), nil
}

func joinedGroups(s *Server, _ *conn, d *device, _ *waBinary.Node) (waBinary.Node, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var nodes []waBinary.Node
	for _, user := range slices.Sorted(maps.Keys(s.groups)) {
		if g := s.groups[user]; g.has(d.account) {
			nodes = append(nodes, s.groupNode(g, true))
		}
	}
	return waBinary.Node{Tag: "groups", Content: nodes}, nil
}

// groupCreate creates the group with the participants that are on the network, and
// lists the others only in its answer.
func groupCreate(s *Server, _ *conn, d *device, n *waBinary.Node) (waBinary.Node, error) {
	request := wire.FirstChild(n)
	s.mu.Lock()
	defer s.mu.Unlock()
	o := newGroup{subject: wire.Attr(&request, "subject")}
	for _, child := range request.GetChildren() {
		if err := s.readCreate(&o, d.account, child); err != nil {
			return waBinary.Node{}, err
		}
	}
	if len([]rune(o.subject)) > MaxSubject || len(o.members) >= MaxMembers {
		return waBinary.Node{}, errIQ{406, "not-acceptable"}
	}
	answer := s.groupNode(s.createGroup(d.account, o), true)
	_, unknown := s.participantsOf(request)
	nodes := answer.GetChildren()
	for _, jid := range unknown {
		nodes = append(nodes, unknownParticipant(jid))
	}
	answer.Content = nodes
	return answer, nil
}

func (s *Server) readCreate(o *newGroup, by *account, child waBinary.Node) (err error) {
	switch child.Tag {
	case "participant":
		if a := s.accountOf(wire.JID(&child, "jid").ToNonAD()); a != nil {
			o.members = append(o.members, a)
		}
	case "member_add_mode":
		if o.memberAdd = string(wire.Content(child)); !memberAddMode(o.memberAdd) {
			return errIQ{400, "bad-request"}
		}
	case "parent":
		o.community = true
	case "linked_parent":
		o.parent, err = s.allowed(by, wire.JID(&child, "jid"), adminOnly)
		return groupError(err)
	case "locked":
		o.locked = true
	case "announcement":
		o.announce = true
	case "ephemeral":
		o.ephemeral, err = expiration(child)
	case "membership_approval_mode":
		o.approval = approvalState(child)
	}
	return err
}

func expiration(n waBinary.Node) (uint32, error) {
	seconds, err := strconv.ParseUint(wire.Attr(&n, "expiration"), 10, 32)
	if err != nil {
		return 0, errIQ{400, "bad-request"}
	}
	return uint32(seconds), nil
}

func approvalState(n waBinary.Node) bool {
	join := n.GetChildByTag("group_join")
	return wire.Attr(&join, "state") == "on"
}

func changeSubject(s *Server, g *group, by *account, request waBinary.Node) (waBinary.Node, error) {
	text := string(wire.Content(request))
	if text == "" || len([]rune(text)) > MaxSubject {
		return waBinary.Node{}, errIQ{406, "not-acceptable"}
	}
	s.setSubject(g, by, text)
	return waBinary.Node{}, nil
}

// changeDescription rejects a change based on another description than the present one,
// if the client names one.
func changeDescription(s *Server, g *group, by *account, request waBinary.Node) (waBinary.Node, error) {
	if prev := wire.Attr(&request, "prev"); prev != "" && prev != g.Description.ID {
		return waBinary.Node{}, errIQ{409, "conflict"}
	}
	text := string(wire.Content(request.GetChildByTag("body")))
	if len([]rune(text)) > MaxDescription {
		return waBinary.Node{}, errIQ{406, "not-acceptable"}
	}
	s.setDescription(g, by, wire.Attr(&request, "id"), text)
	return waBinary.Node{}, nil
}

func changeSwitch(s *Server, g *group, by *account, request waBinary.Node) (waBinary.Node, error) {
	switch request.Tag {
	case "locked", "unlocked":
		s.setLocked(g, by, request.Tag == "locked")
	default:
		s.setAnnounce(g, by, request.Tag == "announcement")
	}
	return waBinary.Node{}, nil
}

func changeEphemeral(s *Server, g *group, by *account, request waBinary.Node) (waBinary.Node, error) {
	var seconds uint32
	if request.Tag == "ephemeral" {
		var err error
		if seconds, err = expiration(request); err != nil {
			return waBinary.Node{}, err
		}
	}
	s.setEphemeral(g, by, seconds)
	return waBinary.Node{}, nil
}

// memberAddMode reports whether a text is a valid member add mode.
func memberAddMode(text string) bool {
	return text == string(types.GroupMemberAddModeAdmin) || text == string(types.GroupMemberAddModeAllMember)
}

func changeMemberAdd(s *Server, g *group, by *account, request waBinary.Node) (waBinary.Node, error) {
	mode := string(wire.Content(request))
	if !memberAddMode(mode) {
		return waBinary.Node{}, errIQ{400, "bad-request"}
	}
	s.setMemberAdd(g, by, mode)
	return waBinary.Node{}, nil
}

func changeApproval(s *Server, g *group, by *account, request waBinary.Node) (waBinary.Node, error) {
	s.setApproval(g, by, approvalState(request))
	return waBinary.Node{}, nil
}

// children lists the groups of a community, by address. The caller holds s.mu.
func (s *Server) children(community *group) []*group {
	var linked []*group
	for _, user := range slices.Sorted(maps.Keys(s.groups)) {
		if g := s.groups[user]; g.Parent == community.jid.User {
			linked = append(linked, g)
		}
	}
	return linked
}

func subGroups(s *Server, g *group, _ *account, _ waBinary.Node) (waBinary.Node, error) {
	var nodes []waBinary.Node
	for _, child := range s.children(g) {
		nodes = append(nodes, child.linkTarget())
	}
	return waBinary.Node{Tag: "sub_groups", Content: nodes}, nil
}

// linkedParticipants lists all members of the community and its groups, each once.
func linkedParticipants(s *Server, g *group, _ *account, _ waBinary.Node) (waBinary.Node, error) {
	var all []*account
	for _, of := range append([]*group{g}, s.children(g)...) {
		for _, a := range s.membersOf(of.jid) {
			if !slices.Contains(all, a) {
				all = append(all, a)
			}
		}
	}
	return participantsNode("linked_groups_participants", nil, all), nil
}

// changeLink makes groups part of the community. The author must be an admin of both.
func changeLink(s *Server, community *group, by *account, request waBinary.Node) (waBinary.Node, error) {
	link := request.GetChildByTag("link")
	var linked []*group
	for _, child := range link.GetChildrenByTag("group") {
		g, err := s.allowed(by, wire.JID(&child, "jid"), adminOnly)
		if err != nil {
			return waBinary.Node{}, groupError(err)
		}
		if g.Community {
			return waBinary.Node{}, errIQ{400, "bad-request"}
		}
		linked = append(linked, g)
	}
	if !community.Community || len(linked) == 0 {
		return waBinary.Node{}, errIQ{400, "bad-request"}
	}
	for _, g := range linked {
		s.linkGroup(community, g, by)
	}
	return waBinary.Node{Tag: "links"}, nil
}

func changeUnlink(s *Server, community *group, by *account, request waBinary.Node) (waBinary.Node, error) {
	child := request.GetChildByTag("group")
	g, ok := s.groups[wire.JID(&child, "jid").User]
	if !ok || g.Parent != community.jid.User {
		return waBinary.Node{}, errIQ{404, "item-not-found"}
	}
	s.unlinkGroup(community, g, by)
	return waBinary.Node{Tag: "unlink"}, nil
}
