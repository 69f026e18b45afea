package whatsapp

import (
	"context"
	"fmt"

	"go.mau.fi/whatsmeow"
	"go.mau.fi/whatsmeow/proto/waE2E"
	"go.mau.fi/whatsmeow/types"

	"postern/event"
)

// Send sends one message under its caller's id and waits for WhatsApp's
// acknowledgement, at most Config.SendTimeout. Sends of one session go one
// after the other. Every error wraps exactly one of [event.ErrNotConnected],
// [event.ErrNotOnWhatsApp], [event.ErrSendRefused] and
// [event.ErrOutcomeUnknown].
func (s *Session) Send(ctx context.Context, out event.Outgoing) (event.Sent, error) {
	cli := s.client()
	if !s.Online() {
		return event.Sent{}, event.ErrNotConnected
	}
	message, err := compose(out.Content)
	if err != nil {
		return event.Sent{}, fmt.Errorf("%w: %w", event.ErrSendRefused, err)
	}
	to, err := types.ParseJID(out.To)
	if err != nil || out.ID == "" {
		return event.Sent{}, fmt.Errorf("%w: message %q to %q has no valid id or address", event.ErrSendRefused, out.ID, out.To)
	}
	ctx, cancel := context.WithTimeout(ctx, s.conn.cfg.SendTimeout)
	defer cancel()
	if err := reachable(ctx, cli, to); err != nil {
		return event.Sent{}, err
	}
	resp, err := cli.SendMessage(ctx, to, message, whatsmeow.SendRequestExtra{ID: out.ID, Timeout: s.conn.cfg.SendTimeout})
	if err != nil {
		return event.Sent{}, fmt.Errorf("send %s: %w", out.ID, classify(resp, err))
	}
	return event.Sent{Message: sentMessage(cli, to, message, resp)}, nil
}

// reachable finds out whether a phone number has an account, unless its LID
// is known already. WhatsApp's answer brings the LID, which the send needs
// anyway: a first contact costs one request either way.
func reachable(ctx context.Context, cli *whatsmeow.Client, to types.JID) error {
	if to.Server != types.DefaultUserServer {
		return nil
	}
	known, err := cli.Store.LIDs.GetLIDForPN(ctx, to)
	if err != nil {
		return fmt.Errorf("%w: look up %s: %w", event.ErrSendRefused, to, err)
	}
	if !known.IsEmpty() {
		return nil
	}
	found, err := cli.IsOnWhatsApp(ctx, []string{"+" + to.User})
	if err != nil {
		return classify(whatsmeow.SendResponse{}, fmt.Errorf("look up %s: %w", to, err))
	}
	for _, account := range found {
		if account.IsIn {
			return nil
		}
	}
	return fmt.Errorf("%w: %s", event.ErrNotOnWhatsApp, to)
}

func sentMessage(cli *whatsmeow.Client, to types.JID, message *waE2E.Message, resp whatsmeow.SendResponse) *event.Message {
	name, content, _ := normalise(message)
	m := &event.Message{
		KeyID:            resp.ID,
		KeyFromMe:        true,
		MessageType:      name,
		Content:          content,
		MessageTimestamp: resp.Timestamp.Unix(),
		IsGroup:          to.Server == types.GroupServer,
	}
	if m.IsGroup {
		chat := to.String()
		m.KeyRemoteJID = &chat
	} else {
		m.KeyRemoteJID, m.KeyLID = phoneAndLID(to, types.EmptyJID, addressBook(cli.Store))
	}
	return m
}
