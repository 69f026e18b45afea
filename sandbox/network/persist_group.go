package network

import (
	"encoding/json"
	"fmt"
	"slices"

	"go.mau.fi/whatsmeow/types"
)

const bucketGroup = "sandbox_group"

// group saves a group, or deletes it if it has no members. The caller holds s.mu.
func (p *persistence) group(g *group) {
	switch {
	case p.file == nil:
	case len(g.Members) == 0:
		p.change(bucketGroup, []byte(g.jid.User), nil)
	default:
		p.putJSON(bucketGroup, []byte(g.jid.User), g)
	}
}

// loadGroup loads a group after the accounts, without members that have no account.
func (s *Server) loadGroup(k, v []byte) error {
	g := &group{jid: types.NewJID(string(k), types.GroupServer)}
	if err := json.Unmarshal(v, g); err != nil {
		return fmt.Errorf("group: %w", err)
	}
	unknown := func(lid string) bool { return s.byLID[lid] == nil }
	g.Members = slices.DeleteFunc(g.Members, func(m member) bool { return unknown(m.LID) })
	g.Requests = slices.DeleteFunc(g.Requests, func(r joinRequest) bool { return unknown(r.LID) })
	if len(g.Members) == 0 {
		return fmt.Errorf("group without members: %w", errSaved)
	}
	s.groups[g.jid.User] = g
	return nil
}
