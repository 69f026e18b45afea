package whatsapp

import (
	"context"
	"fmt"
	"strings"

	"go.mau.fi/whatsmeow"
	"go.mau.fi/whatsmeow/proto/waE2E"
	"go.mau.fi/whatsmeow/types"

	"postern/event"
	"postern/whatsapp/translate"
)

// mention returns the JIDs of the people that a message mentions, as its chat writes them, and puts them into
// its text: in a group whose members address each other by LID, the number behind an @ becomes the LID, and
// anywhere that of the account which WhatsApp answered a look-up with. In a group each must be a member. Errors: event.ErrNotAMember.
func (s *sender) mention(ctx context.Context, cli *whatsmeow.Client, to types.JID, who []string, m *waE2E.Message) (all []string, err error) {
	if to.Server != types.GroupServer {
		for _, name := range who {
			jid, err := chatJID(name)
			if err != nil {
				return nil, err
			}
			account := s.answered(jid)
			all = append(all, account.String())
			if account != jid {
				rename(m, jid.User, account.User)
			}
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
		member := s.memberOf(cli, info, jid)
		if member.IsEmpty() {
			strangers = append(strangers, name)
			continue
		}
		all = append(all, member.String())
		if member.User != jid.User {
			rename(m, jid.User, member.User)
		}
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

// memberOf returns the address of a person in a group, empty if they are no member.
func (s *sender) memberOf(cli *whatsmeow.Client, info *types.GroupInfo, who types.JID) types.JID {
	names := []types.JID{who}
	if twin := translate.AddressBook(cli.Store)(who); !twin.IsEmpty() {
		names = append(names, twin)
	}
	if a, kept := s.conn.cfg.Devices.AnswerTo(who.User); kept && who.Server == types.DefaultUserServer {
		if jid, err := types.ParseJID(a.JID()); err == nil {
			names = append(names, jid)
		}
	}
	for _, p := range info.Participants {
		for _, name := range names {
			if p.JID.ToNonAD() == name || p.LID.ToNonAD() == name || p.PhoneNumber.ToNonAD() == name {
				return p.JID.ToNonAD()
			}
		}
	}
	return types.EmptyJID
}

// rename replaces the user behind an @ in the text or the caption of a message.
func rename(m *waE2E.Message, from, to string) {
	for _, text := range textsOf(m) {
		if *text != nil {
			*text = new(renamed(**text, from, to))
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
