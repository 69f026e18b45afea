package network

import (
	"slices"
	"time"

	waBinary "go.mau.fi/whatsmeow/binary"
)

// Codes of a change that was refused for one participant.
const (
	participantUnknown = 404
	participantRefused = 405
	participantThere   = 409
)

// outcome is the result of a change for one participant; code 0 means success.
type outcome struct {
	account *account
	code    int
}

// changed lists the accounts that were changed.
func changed(outcomes []outcome) []*account {
	var accounts []*account
	for _, o := range outcomes {
		if o.code == 0 {
			accounts = append(accounts, o.account)
		}
	}
	return accounts
}

// participantsNode is a change of members in a notification.
func participantsNode(tag string, attrs waBinary.Attrs, accounts []*account) waBinary.Node {
	participants := make([]waBinary.Node, 0, len(accounts))
	for _, a := range accounts {
		participants = append(participants, waBinary.Node{Tag: "participant", Attrs: waBinary.Attrs{"jid": a.lid, "phone_number": a.pn}})
	}
	return waBinary.Node{Tag: tag, Attrs: attrs, Content: participants}
}

// versioned counts a change of members, whose notification contains both counts.
func (g *group) versioned() waBinary.Attrs {
	g.Version++
	return waBinary.Attrs{"prev_v_id": g.Version - 1, "v_id": g.Version}
}

// addMembers adds the accounts that are not yet members. They get the complete group,
// the others the change. by is the member who added them, or each of them if reason
// says that they joined themselves. The caller holds s.mu.
func (s *Server) addMembers(g *group, by *account, reason string, accounts []*account) []outcome {
	before := s.membersOf(g.jid)
	outcomes := make([]outcome, 0, len(accounts))
	for _, a := range accounts {
		if g.has(a) {
			outcomes = append(outcomes, outcome{a, participantThere})
			continue
		}
		g.Members = append(g.Members, member{LID: a.lid.User})
		g.Requests = slices.DeleteFunc(g.Requests, func(r joinRequest) bool { return r.LID == a.lid.User })
		outcomes = append(outcomes, outcome{account: a})
	}
	added := changed(outcomes)
	if len(added) == 0 {
		return outcomes
	}
	attrs := g.versioned()
	if reason != "" {
		attrs["reason"] = reason
	}
	s.persist.group(g)
	for _, a := range before {
		s.tell(g, a, by, participantsNode("add", attrs, added))
	}
	for _, a := range added {
		s.sendJoined(g, a, by, "", reason)
	}
	return outcomes
}

// removeMembers also notifies the removed members. A group's creator can only leave it.
// The caller holds s.mu.
func (s *Server) removeMembers(g *group, by *account, accounts []*account) []outcome {
	outcomes := make([]outcome, 0, len(accounts))
	for _, a := range accounts {
		o := outcome{account: a}
		switch m := g.member(a); {
		case m == nil:
			o.code = participantUnknown
		case m.Role == roleCreator && a != by:
			o.code = participantRefused
		}
		outcomes = append(outcomes, o)
	}
	if removed := changed(outcomes); len(removed) > 0 {
		s.announceChange(g, by, participantsNode("remove", g.versioned(), removed))
		g.Members = slices.DeleteFunc(g.Members, func(m member) bool {
			return slices.ContainsFunc(removed, func(a *account) bool { return a.lid.User == m.LID })
		})
		s.settle(g, by)
	}
	return outcomes
}

// settle makes another member admin of a group without admins, and deletes one without
// members.
func (s *Server) settle(g *group, by *account) {
	if len(g.Members) == 0 {
		delete(s.groups, g.jid.User)
	} else if !slices.ContainsFunc(g.Members, func(m member) bool { return m.Role != roleMember }) {
		s.setRole(g, by, roleAdmin, s.membersOf(g.jid)[:1])
	}
	s.persist.group(g)
}

// setRole promotes to roleAdmin or demotes to roleMember. The caller holds s.mu.
func (s *Server) setRole(g *group, by *account, role string, accounts []*account) []outcome {
	outcomes := make([]outcome, 0, len(accounts))
	for _, a := range accounts {
		o := outcome{account: a}
		switch m := g.member(a); {
		case m == nil:
			o.code = participantUnknown
		case m.Role == roleCreator && role == roleMember:
			o.code = participantRefused
		case m.Role == roleMember || role == roleMember:
			m.Role = role
		}
		outcomes = append(outcomes, o)
	}
	if moved := changed(outcomes); len(moved) > 0 {
		tag := "promote"
		if role == roleMember {
			tag = "demote"
		}
		s.announceChange(g, by, participantsNode(tag, g.versioned(), moved))
	}
	return outcomes
}

// joinByLink adds an account, or records its request if an admin must approve, which
// waiting reports. The caller holds s.mu.
func (s *Server) joinByLink(g *group, a *account) (waiting bool) {
	if g.has(a) {
		return false
	}
	if !g.Approval {
		s.addMembers(g, a, "invite", []*account{a})
		return false
	}
	if !slices.ContainsFunc(g.Requests, func(r joinRequest) bool { return r.LID == a.lid.User }) {
		g.Requests = append(g.Requests, joinRequest{a.lid.User, time.Now()})
		s.announceChange(g, a, participantsNode("created_membership_requests", nil, []*account{a}))
	}
	return true
}

// decideRequests approves or rejects join requests. The caller holds s.mu.
func (s *Server) decideRequests(g *group, by *account, approve bool, accounts []*account) []outcome {
	outcomes := make([]outcome, 0, len(accounts))
	for _, a := range accounts {
		i := slices.IndexFunc(g.Requests, func(r joinRequest) bool { return r.LID == a.lid.User })
		if i < 0 {
			outcomes = append(outcomes, outcome{a, participantUnknown})
			continue
		}
		g.Requests = slices.Delete(g.Requests, i, i+1)
		outcomes = append(outcomes, outcome{account: a})
	}
	decided := changed(outcomes)
	switch {
	case len(decided) == 0:
	case approve:
		s.addMembers(g, by, "", decided)
	default:
		s.announceChange(g, by, participantsNode("revoked_membership_requests", nil, decided))
	}
	return outcomes
}

// applyMembers makes one of the changes add, remove, promote and demote.
func (s *Server) applyMembers(g *group, by *account, action string, accounts []*account) []outcome {
	switch action {
	case "add":
		return s.addMembers(g, by, "", accounts)
	case "remove":
		return s.removeMembers(g, by, accounts)
	case "promote":
		return s.setRole(g, by, roleAdmin, accounts)
	default:
		return s.setRole(g, by, roleMember, accounts)
	}
}

// byInvite returns the group of an invite code. The caller holds s.mu.
func (s *Server) byInvite(code string) (*group, error) {
	for _, g := range s.groups {
		if g.Invite == code {
			return g, nil
		}
		if slices.Contains(g.Revoked, code) {
			return nil, errIQ{410, "gone"}
		}
	}
	return nil, errIQ{406, "not-acceptable"}
}
