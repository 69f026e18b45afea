package network

import (
	"crypto/rand"
	"errors"
	"fmt"
	"math/big"
	"slices"
	"time"

	waBinary "go.mau.fi/whatsmeow/binary"
	"go.mau.fi/whatsmeow/types"
)

// Errors of operations on groups.
var (
	ErrNoGroup    = errors.New("the sandbox has no such group")
	ErrNotInGroup = errors.New("the account is not in the group")
	ErrAdminsOnly = errors.New("only admins of the group may do this")
)

// Roles of a member on the wire.
const (
	roleMember  = ""
	roleAdmin   = "admin"
	roleCreator = "superadmin" // cannot be removed or demoted
)

// member is an account in a group. Its account always exists: accounts are never deleted.
type member struct {
	LID  string `json:"lid"`
	Role string `json:"role,omitempty"`
}

// setting is a text of the group with its author.
type setting struct {
	Text string    `json:"text"`
	ID   string    `json:"id,omitempty"` // of descriptions only
	By   string    `json:"by"`           // LID
	At   time.Time `json:"at"`
}

// joinRequest is an account waiting for an admin's approval.
type joinRequest struct {
	LID string    `json:"lid"`
	At  time.Time `json:"at"`
}

// group is a group or community of the network, and also its stored form. The server's
// mutex guards it.
type group struct {
	jid types.JID

	Creator     string        `json:"creator"` // LID
	Created     time.Time     `json:"created"`
	Subject     setting       `json:"subject"`
	Description setting       `json:"description"` // none without an ID
	Announce    bool          `json:"announce,omitempty"`
	Locked      bool          `json:"locked,omitempty"`
	Approval    bool          `json:"approval,omitempty"`
	Suspended   bool          `json:"suspended,omitempty"`
	Ephemeral   uint32        `json:"ephemeral,omitempty"` // seconds
	EphemeralAt time.Time     `json:"ephemeral_at,omitzero"`
	MemberAdd   string        `json:"member_add_mode"`
	Invite      string        `json:"invite"`
	Revoked     []string      `json:"revoked_invites,omitempty"`
	Community   bool          `json:"community,omitempty"`
	Default     bool          `json:"default_sub_group,omitempty"` // a community's announcements
	Parent      string        `json:"linked_parent,omitempty"`     // user part of the community's address
	Version     int           `json:"version"`                     // counts changes of members
	Members     []member      `json:"members"`
	Requests    []joinRequest `json:"requests,omitempty"`
}

// TimerOf returns the disappearing timer of a group, 0 if it has none, and when it was set.
func (s *Server) TimerOf(jid types.JID) (seconds uint32, set time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	g, ok := s.groups[jid.User]
	if !ok {
		return 0, set
	}
	return g.Ephemeral, g.EphemeralAt
}

// Announcements reports whether a group has the announcements of a community.
func (s *Server) Announcements(jid types.JID) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	g, ok := s.groups[jid.User]
	return ok && g.Default
}

func (g *group) member(a *account) *member {
	i := slices.IndexFunc(g.Members, func(m member) bool { return m.LID == a.lid.User })
	if i < 0 {
		return nil
	}
	return &g.Members[i]
}

func (g *group) has(a *account) bool { return g.member(a) != nil }

func (g *group) isAdmin(a *account) bool {
	m := g.member(a)
	return m != nil && m.Role != roleMember
}

// groupOf returns a group that the account is in. Errors: ErrNoGroup, ErrNotInGroup.
// The caller holds s.mu.
func (s *Server) groupOf(a *account, jid types.JID) (*group, error) {
	g, ok := s.groups[jid.User]
	if !ok || jid.Server != types.GroupServer {
		return nil, fmt.Errorf("%s: %w", jid, ErrNoGroup)
	}
	if !g.has(a) {
		return nil, fmt.Errorf("%s in %s: %w", a.pn, jid, ErrNotInGroup)
	}
	return g, nil
}

// rule determines who may do something in a group.
type rule func(g *group, a *account) bool

func anyMember(*group, *account) bool { return true }

func adminOnly(g *group, a *account) bool { return g.isAdmin(a) }

// mayEdit is for the group info, which only admins change in a locked group.
func mayEdit(g *group, a *account) bool { return !g.Locked || g.isAdmin(a) }

func mayAdd(g *group, a *account) bool {
	return g.MemberAdd != string(types.GroupMemberAddModeAdmin) || g.isAdmin(a)
}

// allowed is groupOf with a rule. Errors: those of groupOf, ErrAdminsOnly.
func (s *Server) allowed(a *account, jid types.JID, may rule) (*group, error) {
	g, err := s.groupOf(a, jid)
	if err == nil && !may(g, a) {
		err = fmt.Errorf("%s in %s: %w", a.pn, jid, ErrAdminsOnly)
	}
	if err != nil {
		return nil, err
	}
	return g, nil
}

// membersOf lists the accounts in a group in the order in which they joined; none if
// there is no such group. The caller holds s.mu.
func (s *Server) membersOf(jid types.JID) []*account {
	g, ok := s.groups[jid.User]
	if !ok || jid.Server != types.GroupServer {
		return nil
	}
	accounts := make([]*account, 0, len(g.Members))
	for _, m := range g.Members {
		if a, ok := s.byLID[m.LID]; ok {
			accounts = append(accounts, a)
		}
	}
	return accounts
}

// groupDevices lists the devices of all members, phones included. The caller holds s.mu.
func (s *Server) groupDevices(jid types.JID) []types.JID {
	var devices []types.JID
	for _, a := range s.membersOf(jid) {
		devices = append(devices, a.deviceList()...)
	}
	return devices
}

// newGroupJID returns an unused group address. The caller holds s.mu.
func (s *Server) newGroupJID() types.JID {
	for {
		n, _ := rand.Int(rand.Reader, big.NewInt(1e12)) // crypto/rand never fails
		user := fmt.Sprintf("120363%012d", n)
		if _, taken := s.groups[user]; !taken {
			return types.NewJID(user, types.GroupServer)
		}
	}
}

// node returns the group as in answers and notifications; with members false, as for
// non-members.
func (s *Server) groupNode(g *group, members bool) waBinary.Node {
	attrs := waBinary.Attrs{
		"id": g.jid.User, "addressing_mode": "lid", "creation": g.Created.Unix(), "size": len(g.Members),
		"subject": g.Subject.Text, "s_t": g.Subject.At.Unix(), "p_v_id": g.Version, "a_v_id": g.Version,
	}
	s.addPerson(attrs, g.Creator, "creator", "creator_pn")
	s.addPerson(attrs, g.Subject.By, "s_o", "s_o_pn")
	content := s.settingNodes(g)
	if members {
		for _, m := range g.Members {
			content = append(content, s.participantNode(m))
		}
	}
	return waBinary.Node{Tag: "group", Attrs: attrs, Content: content}
}

// addPerson adds both addresses of an account.
func (s *Server) addPerson(attrs waBinary.Attrs, lid, key, pnKey string) {
	if a, ok := s.byLID[lid]; ok {
		attrs[key], attrs[pnKey] = a.lid, a.pn
	}
}

func (s *Server) participantNode(m member) waBinary.Node {
	attrs := waBinary.Attrs{}
	s.addPerson(attrs, m.LID, "jid", "phone_number")
	if m.Role != roleMember {
		attrs["type"] = m.Role
	}
	return waBinary.Node{Tag: "participant", Attrs: attrs}
}

func (s *Server) settingNodes(g *group) []waBinary.Node {
	var nodes []waBinary.Node
	if d := g.Description; d.ID != "" {
		attrs := waBinary.Attrs{"id": d.ID, "t": d.At.Unix()}
		s.addPerson(attrs, d.By, "participant", "participant_pn")
		nodes = append(nodes, waBinary.Node{Tag: "description", Attrs: attrs, Content: bodyNode(d.Text)})
	}
	for _, flag := range []struct {
		on  bool
		tag string
	}{
		{g.Announce, "announcement"},
		{g.Locked, "locked"},
		{g.Suspended, "suspended"},
		{g.Default, "default_sub_group"},
	} {
		if flag.on {
			nodes = append(nodes, waBinary.Node{Tag: flag.tag})
		}
	}
	if g.Ephemeral > 0 {
		nodes = append(nodes, waBinary.Node{Tag: "ephemeral", Attrs: waBinary.Attrs{"expiration": g.Ephemeral}})
	}
	if g.Approval {
		nodes = append(nodes, approvalNode(true))
	}
	if g.Parent != "" {
		nodes = append(nodes, waBinary.Node{Tag: "linked_parent", Attrs: waBinary.Attrs{"jid": types.NewJID(g.Parent, types.GroupServer)}})
	}
	if g.Community {
		nodes = append(nodes, waBinary.Node{Tag: "parent", Attrs: waBinary.Attrs{"default_membership_approval_mode": "request_required"}})
	}
	return append(nodes, waBinary.Node{Tag: "member_add_mode", Content: []byte(g.MemberAdd)})
}

func bodyNode(text string) []waBinary.Node {
	return []waBinary.Node{{Tag: "body", Content: []byte(text)}}
}

func approvalNode(on bool) waBinary.Node {
	state := "off"
	if on {
		state = "on"
	}
	return waBinary.Node{Tag: "membership_approval_mode", Content: []waBinary.Node{
		{Tag: "group_join", Attrs: waBinary.Attrs{"state": state}},
	}}
}
