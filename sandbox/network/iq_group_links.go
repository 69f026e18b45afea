package network

import (
	"maps"
	"slices"

	waBinary "go.mau.fi/whatsmeow/binary"

	"postern/sandbox/network/wire"
)

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
