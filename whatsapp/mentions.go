package whatsapp

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"go.mau.fi/whatsmeow"
	"go.mau.fi/whatsmeow/proto/waE2E"
	"go.mau.fi/whatsmeow/types"

	"postern/event"
	"postern/whatsapp/translate"
)

// mention returns the JIDs of the people that a message mentions, as its chat writes them, and puts them into
// its text: behind an @, any address of a person becomes that JID's. In a group, whose members may address each
// other by LID, each must be a member. Errors: event.ErrNotAMember.
func (s *sender) mention(ctx context.Context, cli *whatsmeow.Client, to types.JID, who []string, m *waE2E.Message) (all []string, err error) {
	if to.Server != types.GroupServer {
		for _, name := range who {
			jid, err := chatJID(name)
			if err != nil {
				return nil, err
			}
			account := s.answered(jid)
			all = append(all, account.String())
			rename(m, s.addressesOf(jid), account.User)
		}
		return distinct(all), nil
	}
	ctx, cancel := context.WithTimeout(ctx, s.conn.cfg.SendTimeout)
	defer cancel()
	info, err := cli.GetGroupInfo(ctx, to)
	if err != nil {
		return nil, fmt.Errorf("the participants of %s: %w", to, err)
	}
	s.facts.learn(translate.GroupTimer(info))
	var strangers []string
	for _, name := range who {
		jid, err := chatJID(name)
		if err != nil {
			return nil, err
		}
		member, also := s.memberOf(info, jid)
		if member.IsEmpty() {
			strangers = append(strangers, name)
			continue
		}
		all = append(all, member.String())
		rename(m, also, member.User)
	}
	if strangers != nil {
		return nil, fmt.Errorf("%w: %s", event.ErrNotAMember, strings.Join(strangers, ", "))
	}
	return distinct(all), nil
}

// distinct drops who is mentioned again, maybe by the other address.
func distinct(all []string) (once []string) {
	seen := make(map[string]bool, len(all))
	for _, jid := range all {
		if !seen[jid] {
			seen[jid], once = true, append(once, jid)
		}
	}
	return once
}

// memberOf returns the address of a person in a group, empty if they are no member, and all known addresses of them.
func (s *sender) memberOf(info *types.GroupInfo, who types.JID) (member types.JID, all []types.JID) {
	names := s.addressesOf(who)
	for _, p := range info.Participants {
		here := [...]types.JID{p.JID.ToNonAD(), p.LID.ToNonAD(), p.PhoneNumber.ToNonAD()}
		if !slices.ContainsFunc(names, func(n types.JID) bool { return n == here[0] || n == here[1] || n == here[2] }) {
			continue
		}
		for _, name := range here {
			if !name.IsEmpty() {
				names = append(names, s.addressesOf(name)...)
			}
		}
		return here[0], names
	}
	return types.EmptyJID, nil
}

// rename replaces the users of addresses behind an @ in the text or the caption of a message.
func rename(m *waE2E.Message, from []types.JID, to string) {
	for _, text := range textsOf(m) {
		for _, jid := range from {
			if *text != nil && jid.User != to {
				*text = new(renamed(**text, jid.User, to))
			}
		}
	}
}

// textsOf returns where the texts that can mention people are.
func textsOf(m *waE2E.Message) (all []**string) {
	all = append(all, &m.Conversation)
	if e := m.ExtendedTextMessage; e != nil {
		all = append(all, &e.Text)
	}
	if i := m.ImageMessage; i != nil {
		all = append(all, &i.Caption)
	}
	if v := m.VideoMessage; v != nil {
		all = append(all, &v.Caption)
	}
	if d := m.DocumentMessage; d != nil {
		all = append(all, &d.Caption)
	}
	for _, wrapper := range []*waE2E.FutureProofMessage{m.ViewOnceMessage, m.ViewOnceMessageV2, m.DocumentWithCaptionMessage} {
		if inner := wrapper.GetMessage(); inner != nil {
			all = append(all, textsOf(inner)...)
		}
	}
	return all
}

// renamed replaces a user behind an @ where no digit follows.
func renamed(text, from, to string) string {
	var out strings.Builder
	for {
		before, rest, found := strings.Cut(text, "@"+from)
		out.WriteString(before)
		if !found {
			return out.String()
		}
		if rest != "" && rest[0] >= '0' && rest[0] <= '9' {
			out.WriteString("@" + from)
		} else {
			out.WriteString("@" + to)
		}
		text = rest
	}
}
