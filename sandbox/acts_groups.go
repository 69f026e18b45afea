package sandbox

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"go.mau.fi/whatsmeow/types"
)

// groupActs make and change groups.
func groupActs() []act {
	return []act{
		row("group-create", "the phone's user makes a group or community", actGroupCreate),
		row("group-join", "the phone's user joins a group, or adds one account to it", actGroupJoin),
		row("group-leave", "the phone's user leaves a group", actGroupLeave),
		row("group-update", "the phone's user changes a group; each field is a change of its own", actGroupUpdate),
		row("group-participants", "the phone's user adds, removes, promotes or demotes members", actGroupParticipants),
	}
}

type groupResult struct {
	Group      string `json:"group"`
	InviteCode string `json:"inviteCode,omitempty"`
	Waiting    bool   `json:"waiting,omitempty"`
}

// onGroupOf runs fn for the phone's account and a group in which it may do what the rule
// says, with s.mu held.
func (s *Server) onGroupOf(p *Phone, text string, may rule, fn func(g *group, by *account) error) (any, error) {
	jid, err := neededGroup("group", text)
	if err != nil {
		return nil, err
	}
	err = s.asAccount(p, func(by *account) error {
		g, err := s.allowed(by, jid, may)
		if err != nil {
			return err
		}
		return fn(g, by)
	})
	if err != nil {
		return nil, err
	}
	return groupResult{Group: jid.String()}, nil
}

// asAccount runs fn for the phone's account with s.mu held.
func (s *Server) asAccount(p *Phone, fn func(a *account) error) error {
	var result error
	err := s.between(p, "phone", "", func(a, _ *account) { result = fn(a) })
	return errors.Join(err, result)
}

func neededGroup(field, text string) (types.JID, error) {
	if text == "" {
		return types.EmptyJID, invalidField(field, "is missing")
	}
	return groupAddress(field, text)
}

// accountsOf reads the accounts of a field, each once. The caller holds s.mu.
func (s *Server) accountsOf(field string, texts []string) ([]*account, error) {
	var accounts []*account
	for i, text := range texts {
		name := fmt.Sprintf("%s[%d]", field, i)
		jid, err := address(name, text)
		if err != nil {
			return nil, err
		}
		a := s.accountOf(jid)
		if a == nil {
			return nil, invalidField(name, "is not an account of the sandbox's network")
		}
		if !slices.Contains(accounts, a) {
			accounts = append(accounts, a)
		}
	}
	return accounts, nil
}

type groupCreateFields struct {
	Subject          string   `json:"subject" help:"the name, up to 100 characters"`
	Participants     []string `json:"participants" help:"the other members: numbers or addresses"`
	Description      string   `json:"description" help:"the description"`
	Announce         bool     `json:"announce" help:"only admins write"`
	Locked           bool     `json:"locked" help:"only admins change what is said about the group"`
	EphemeralSeconds uint32   `json:"ephemeralSeconds" help:"after which messages disappear; 0: never"`
	MemberAddMode    string   `json:"memberAddMode" help:"admin_add or all_member_add (default)"`
	JoinApproval     bool     `json:"joinApproval" help:"admins approve who joins by the link"`
	Community        bool     `json:"community" help:"a community, which gets a group for announcements"`
	Parent           string   `json:"parent" help:"the community that the group becomes part of, an address"`
}

func (f *groupCreateFields) check() error {
	switch {
	case f.Subject == "":
		return invalidField("subject", "is missing")
	case len(f.Participants) >= maxMembers:
		return invalidField("participants", fmt.Sprintf("are %d or more", maxMembers))
	case f.Community && f.Parent != "":
		return invalidField("parent", "cannot be given for a community")
	}
	if f.MemberAddMode == "" {
		f.MemberAddMode = string(types.GroupMemberAddModeAllMember)
	}
	return errors.Join(checkSubject(f.Subject), checkDescription(f.Description), checkMemberAdd(f.MemberAddMode))
}

func checkSubject(text string) error {
	if n := len([]rune(text)); n == 0 || n > maxSubject {
		return invalidField("subject", fmt.Sprintf("has %d characters, has to have 1 to %d", n, maxSubject))
	}
	return nil
}

func checkDescription(text string) error {
	if n := len([]rune(text)); n > maxDescription {
		return invalidField("description", fmt.Sprintf("has %d characters, more than %d", n, maxDescription))
	}
	return nil
}

func checkMemberAdd(mode string) error {
	if !memberAddMode(mode) {
		return invalidField("memberAddMode", "is neither admin_add nor all_member_add")
	}
	return nil
}

func actGroupCreate(_ context.Context, s *Server, p *Phone, f groupCreateFields) (any, error) {
	if err := f.check(); err != nil {
		return nil, err
	}
	var result groupResult
	err := s.asAccount(p, func(by *account) error {
		members, err := s.accountsOf("participants", f.Participants)
		if err != nil {
			return err
		}
		o := newGroup{
			subject: f.Subject, description: f.Description, members: members, announce: f.Announce, locked: f.Locked,
			approval: f.JoinApproval, community: f.Community, ephemeral: f.EphemeralSeconds, memberAdd: f.MemberAddMode,
		}
		if o.parent, err = s.community("parent", f.Parent, by); err != nil {
			return err
		}
		g := s.createGroup(by, o)
		result = groupResult{Group: g.jid.String(), InviteCode: g.Invite}
		return nil
	})
	return result, err
}

// community finds the community of a field, nil when the field is empty. The caller holds s.mu.
func (s *Server) community(field, text string, by *account) (*group, error) {
	if text == "" {
		return nil, nil
	}
	jid, err := groupAddress(field, text)
	if err != nil {
		return nil, err
	}
	g, err := s.allowed(by, jid, adminOnly)
	if err != nil {
		return nil, err
	}
	if !g.Community {
		return nil, invalidField(field, "is not a community")
	}
	return g, nil
}

type groupJoinFields struct {
	Group       string `json:"group" help:"the group, an address"`
	InviteCode  string `json:"inviteCode" help:"instead of group: join by the code or link"`
	Participant string `json:"participant" help:"whom to add, a number or an address; missing: the phone's user joins"`
}

// actGroupJoin lets the phone's user into any group without participant, as if somebody had
// given out the link; admins may have to approve.
func actGroupJoin(_ context.Context, s *Server, p *Phone, f groupJoinFields) (any, error) {
	if f.Participant != "" {
		return s.onGroupOf(p, f.Group, mayAdd, func(g *group, by *account) error {
			return s.actOnMembers(g, by, "add", "participant", []string{f.Participant})
		})
	}
	var result groupResult
	err := s.asAccount(p, func(a *account) error {
		g, err := s.toJoin(f)
		if err != nil {
			return err
		}
		if !g.has(a) && len(g.Members) >= maxMembers {
			return invalidField("group", fmt.Sprintf("has %d members already", maxMembers))
		}
		result = groupResult{Group: g.jid.String(), Waiting: s.joinByLink(g, a)}
		return nil
	})
	return result, err
}

func (s *Server) toJoin(f groupJoinFields) (*group, error) {
	if f.InviteCode != "" {
		g, err := s.byInvite(trimInvite(f.InviteCode))
		if err != nil {
			return nil, invalidField("inviteCode", "is not the present code of a group")
		}
		return g, nil
	}
	jid, err := neededGroup("group", f.Group)
	if err != nil {
		return nil, err
	}
	g, ok := s.groups[jid.User]
	if !ok {
		return nil, fmt.Errorf("%s: %w", jid, errNoGroup)
	}
	return g, nil
}

type groupLeaveFields struct {
	Group string `json:"group" help:"the group, an address"`
}

func actGroupLeave(_ context.Context, s *Server, p *Phone, f groupLeaveFields) (any, error) {
	return s.onGroupOf(p, f.Group, anyMember, func(g *group, by *account) error {
		s.removeMembers(g, by, []*account{by})
		return nil
	})
}

type groupParticipantsFields struct {
	Group        string   `json:"group" help:"the group, an address"`
	Action       string   `json:"action" help:"add, remove, promote or demote"`
	Participants []string `json:"participants" help:"numbers or addresses"`
}

func actGroupParticipants(_ context.Context, s *Server, p *Phone, f groupParticipantsFields) (any, error) {
	may := adminOnly
	switch f.Action {
	case "add":
		may = mayAdd
	case "remove", "promote", "demote":
	default:
		return nil, invalidField("action", "is not one of add, remove, promote, demote")
	}
	if len(f.Participants) == 0 {
		return nil, invalidField("participants", "are missing")
	}
	return s.onGroupOf(p, f.Group, may, func(g *group, by *account) error {
		return s.actOnMembers(g, by, f.Action, "participants", f.Participants)
	})
}

// actOnMembers makes a change for all accounts, or for none when one of them cannot be
// changed.
func (s *Server) actOnMembers(g *group, by *account, action, field string, texts []string) error {
	accounts, err := s.accountsOf(field, texts)
	if err != nil {
		return err
	}
	for _, a := range accounts {
		if there := g.has(a); there == (action == "add") {
			return invalidField(field, fmt.Sprintf("names %s: whether it is in the group already does not fit %s", a.pn.User, action))
		}
		if a != by && g.member(a) != nil && g.member(a).Role == roleCreator && action != "promote" {
			return invalidField(field, fmt.Sprintf("names %s, who made the group", a.pn.User))
		}
	}
	if action == "add" && len(g.Members)+len(accounts) > maxMembers {
		return invalidField(field, fmt.Sprintf("would make the group larger than %d", maxMembers))
	}
	s.applyMembers(g, by, action, accounts)
	return nil
}
