package whatsapp

import (
	"context"
	"fmt"
	"strings"
	"sync"

	"go.mau.fi/whatsmeow"
	"go.mau.fi/whatsmeow/types"

	"postern/event"
	"postern/whatsapp/device"
	"postern/whatsapp/translate"
)

// Resolve returns the address that a message to a JID is sent to. For a phone number without a known
// account it asks WhatsApp, whose answer may be the account of another number: in Brazil, Mexico and
// Argentina the two may differ by a digit. The number itself has no account then, and a message to it
// reaches no device. The answer contains the LID, which the send needs anyway, so a first contact
// costs one request in either case. Errors wrap a send error of package event.
func (s *Session) Resolve(ctx context.Context, jid string) (string, error) {
	to, err := chatJID(jid)
	if err == nil && to.Server == types.GroupServer {
		s.meetGroup(ctx, to)
	}
	if err != nil || to.Server != types.DefaultUserServer {
		return jid, nil //nolint:nilerr // Send refuses an invalid address
	}
	cli := s.conn.client()
	if !s.conn.isOnline() {
		return "", event.ErrNotConnected
	}
	known, err := cli.Store.LIDs.GetLIDForPN(ctx, to)
	if err != nil {
		return "", fmt.Errorf("%w: look up %s: %w", event.ErrSendRefused, to, err)
	}
	if !known.IsEmpty() {
		return jid, nil
	}
	if kept, ok := s.conn.cfg.Devices.AnswerTo(to.User); ok {
		return kept.SendTo(to.User), nil
	}
	ctx, cancel := context.WithTimeout(ctx, s.conn.cfg.SendTimeout)
	defer cancel()
	found, fresh, err := lookUp(ctx, cli, to.User)
	if err == nil {
		err = s.conn.cfg.Devices.KeepAnswers(ctx, fresh) // before a message leaves: another item of a batch may be for the same person
	}
	if err != nil {
		return "", classify(whatsmeow.SendResponse{}, fmt.Errorf("look up %s: %w", to, err))
	}
	for _, account := range found {
		if account.IsIn {
			return answerOf(account).SendTo(to.User), nil
		}
	}
	return "", event.NotOnWhatsApp(to.User)
}

// meetGroup learns the disappearing timer of a group before the first message to it on a connection. The
// library asks for the same metadata before that message, and keeps them, so that this costs no request.
func (s *Session) meetGroup(ctx context.Context, group types.JID) {
	cli := s.conn.client()
	if !s.conn.isOnline() {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, s.conn.cfg.SendTimeout)
	defer cancel()
	s.sender.groups.meet(ctx, cli, group, func() error {
		info, err := cli.GetGroupInfo(ctx, group)
		if err == nil {
			s.facts.learn(translate.GroupTimer(info))
		}
		return err // the send says what is wrong
	})
}

// groupsMet are the groups that a connection has sent to.
type groupsMet struct {
	mu  sync.Mutex
	on  *whatsmeow.Client
	all map[types.JID]*meeting
}

// meeting is one look-up of a group.
type meeting struct {
	ended chan struct{}
	err   error // once it has ended
}

// meet calls ask once for each group on the connection of a client. Other calls for the group wait for it; if it
// fails, one of them asks again.
func (g *groupsMet) meet(ctx context.Context, cli *whatsmeow.Client, group types.JID, ask func() error) {
	for {
		m, first := g.meeting(cli, group)
		if first {
			m.err = ask()
			close(m.ended)
			return
		}
		select {
		case <-m.ended:
		case <-ctx.Done():
			return
		}
		if m.err == nil {
			return
		}
	}
}

// meeting returns the look-up of a group, and whether the caller makes it: it is the first on the connection of a
// client, or the former one failed.
func (g *groupsMet) meeting(cli *whatsmeow.Client, group types.JID) (m *meeting, first bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.on != cli {
		g.on, g.all = cli, map[types.JID]*meeting{}
	}
	if m = g.all[group]; m != nil && !m.failed() {
		return m, false
	}
	m = &meeting{ended: make(chan struct{})}
	g.all[group] = m
	return m, true
}

// failed reports whether a look-up has ended with an error.
func (m *meeting) failed() bool {
	select {
	case <-m.ended:
		return m.err != nil
	default:
		return false
	}
}

// learn reports timers of chats. One that is not stored is read again later.
func (r *reporter) learn(timers []event.ChatTimer) {
	if len(timers) > 0 {
		r.change(event.Fact{Timers: timers})
	}
}

// lookUp asks WhatsApp which accounts numbers of digits have. fresh are the answers to keep, by number: those
// with an account whose LID does not lead back to the number.
func lookUp(ctx context.Context, cli *whatsmeow.Client, numbers ...string) (found []types.IsOnWhatsAppResponse, fresh map[string]device.Answer, err error) {
	asked := make([]string, len(numbers))
	for i, n := range numbers {
		asked[i] = "+" + n
	}
	if found, err = cli.IsOnWhatsApp(ctx, asked); err != nil {
		return found, nil, err
	}
	fresh = map[string]device.Answer{}
	for _, account := range found {
		number := strings.TrimPrefix(account.Query, "+")
		if a := answerOf(account); account.IsIn && (a.Number != number || a.LID == "") {
			fresh[number] = a
		}
	}
	return found, fresh, nil
}

func answerOf(r types.IsOnWhatsAppResponse) (a device.Answer) {
	for _, jid := range []types.JID{r.JID, r.PhoneNumber} {
		switch jid.Server {
		case types.HiddenUserServer:
			a.LID = jid.User
		case types.DefaultUserServer:
			a.Number = jid.User
		}
	}
	return a
}
