package network

import (
	"slices"

	waBinary "go.mau.fi/whatsmeow/binary"
	"go.mau.fi/whatsmeow/types"

	"postern/sandbox/network/wire"
)

// groupSetMembers are the requests about members of a group.
func groupSetMembers(child string) (iqHandler, bool) {
	switch child {
	case "add":
		return onGroup(mayAdd, changeMembers), true
	case "remove", "promote", "demote":
		return onGroup(adminOnly, changeMembers), true
	case "membership_requests_action":
		return onGroup(adminOnly, decideIQ), true
	case "leave":
		return groupLeave, true
	case "accept":
		return acceptInvitation, true
	default:
		return nil, false
	}
}

// participantsOf returns the accounts named by a request, each once, and the addresses
// without one. The caller holds s.mu.
func (s *Server) participantsOf(request waBinary.Node) (known []*account, unknown []types.JID) {
	for _, child := range request.GetChildrenByTag("participant") {
		jid := wire.JID(&child, "jid").ToNonAD()
		switch a := s.accountOf(jid); {
		case a == nil:
			unknown = append(unknown, jid)
		case !slices.Contains(known, a):
			known = append(known, a)
		}
	}
	return known, unknown
}

func changeMembers(s *Server, g *group, by *account, request waBinary.Node) (waBinary.Node, error) {
	accounts, unknown := s.participantsOf(request)
	if request.Tag == "add" && len(g.Members)+len(accounts) > MaxMembers {
		return waBinary.Node{}, errIQ{419, "resource-limit"}
	}
	return s.outcomeNode(g, request.Tag, s.applyMembers(g, by, request.Tag, accounts), unknown), nil
}

func (s *Server) outcomeNode(g *group, tag string, outcomes []outcome, unknown []types.JID) waBinary.Node {
	participants := make([]waBinary.Node, 0, len(outcomes)+len(unknown))
	for _, o := range outcomes {
		m := member{LID: o.account.lid.User}
		if now := g.member(o.account); now != nil {
			m.Role = now.Role
		}
		n := s.participantNode(m)
		if o.code != 0 {
			n.Attrs["error"] = o.code
		}
		participants = append(participants, n)
	}
	for _, jid := range unknown {
		participants = append(participants, unknownParticipant(jid))
	}
	return waBinary.Node{Tag: tag, Content: participants}
}

func unknownParticipant(jid types.JID) waBinary.Node {
	return waBinary.Node{Tag: "participant", Attrs: waBinary.Attrs{"jid": jid, "error": participantUnknown}}
}

func decideIQ(s *Server, g *group, by *account, request waBinary.Node) (waBinary.Node, error) {
	action := wire.FirstChild(&request)
	if action.Tag != "approve" && action.Tag != "reject" {
		return waBinary.Node{}, errIQ{400, "bad-request"}
	}
	accounts, unknown := s.participantsOf(action)
	outcomes := s.decideRequests(g, by, action.Tag == "approve", accounts)
	return waBinary.Node{Tag: request.Tag, Content: []waBinary.Node{s.outcomeNode(g, action.Tag, outcomes, unknown)}}, nil
}

func approvalRequests(s *Server, g *group, _ *account, _ waBinary.Node) (waBinary.Node, error) {
	requests := make([]waBinary.Node, 0, len(g.Requests))
	for _, r := range g.Requests {
		n := waBinary.Node{Tag: "membership_approval_request", Attrs: waBinary.Attrs{"request_time": r.At.Unix()}}
		s.addPerson(n.Attrs, r.LID, "jid", "phone_number")
		requests = append(requests, n)
	}
	return waBinary.Node{Tag: "membership_approval_requests", Content: requests}, nil
}

// groupLeave leaves those of the named groups that the account is in.
func groupLeave(s *Server, _ *conn, d *device, n *waBinary.Node) (waBinary.Node, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	request := wire.FirstChild(n)
	var left []waBinary.Node
	for _, child := range request.GetChildrenByTag("group") {
		g, err := s.groupOf(d.account, wire.JID(&child, "id"))
		if err != nil {
			return waBinary.Node{}, groupError(err)
		}
		s.removeMembers(g, d.account, []*account{d.account})
		left = append(left, waBinary.Node{Tag: "group", Attrs: waBinary.Attrs{"id": g.jid}})
	}
	return waBinary.Node{Tag: "leave", Content: left}, nil
}

// inviteGet returns the code of the group that it is addressed to, or, without one, the
// group of a code.
func inviteGet(s *Server, _ *conn, d *device, n *waBinary.Node) (waBinary.Node, error) {
	if wire.JID(n, "to").User != "" {
		return inviteCodeOf(s, d, n, false)
	}
	request := wire.FirstChild(n)
	s.mu.Lock()
	defer s.mu.Unlock()
	g, err := s.byInvite(wire.Attr(&request, "code"))
	if err != nil {
		return waBinary.Node{}, err
	}
	return s.groupNode(g, false), nil
}

// inviteSet creates a new code for the group that it is addressed to, or, without one,
// joins the group of a code.
func inviteSet(s *Server, _ *conn, d *device, n *waBinary.Node) (waBinary.Node, error) {
	if wire.JID(n, "to").User != "" {
		return inviteCodeOf(s, d, n, true)
	}
	request := wire.FirstChild(n)
	s.mu.Lock()
	defer s.mu.Unlock()
	g, err := s.byInvite(wire.Attr(&request, "code"))
	if err != nil {
		return waBinary.Node{}, err
	}
	return s.joined(g, d.account)
}

// joined is the answer to a join request.
func (s *Server) joined(g *group, a *account) (waBinary.Node, error) {
	if !g.has(a) && len(g.Members) >= MaxMembers {
		return waBinary.Node{}, errIQ{419, "resource-limit"}
	}
	if s.joinByLink(g, a) {
		return waBinary.Node{Tag: "membership_approval_request", Attrs: waBinary.Attrs{"jid": g.jid}}, nil
	}
	return waBinary.Node{Tag: "group", Attrs: waBinary.Attrs{"jid": g.jid, "id": g.jid.User}}, nil
}

// inviteCodeOf answers members who are not admins with 401: clients distinguish it from
// the 403 for non-members.
func inviteCodeOf(s *Server, d *device, n *waBinary.Node, reset bool) (waBinary.Node, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	g, err := s.groupOf(d.account, wire.JID(n, "to"))
	if err != nil {
		return waBinary.Node{}, groupError(err)
	}
	if !g.isAdmin(d.account) {
		return waBinary.Node{}, errIQ{401, "not-authorized"}
	}
	if reset {
		s.resetInvite(g, d.account)
	}
	return waBinary.Node{Tag: "invite", Attrs: waBinary.Attrs{"code": g.Invite}}, nil
}

// acceptInvitation joins by an invitation message, which contains the group's code.
func acceptInvitation(s *Server, _ *conn, d *device, n *waBinary.Node) (waBinary.Node, error) {
	request := wire.FirstChild(n)
	s.mu.Lock()
	defer s.mu.Unlock()
	g, err := s.byInvite(wire.Attr(&request, "code"))
	if err != nil {
		return waBinary.Node{}, err
	}
	if g.jid != wire.JID(n, "to") {
		return waBinary.Node{}, errIQ{406, "not-acceptable"}
	}
	return s.joined(g, d.account)
}
