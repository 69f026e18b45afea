package phone

import (
	"context"
	"fmt"

	waBinary "go.mau.fi/whatsmeow/binary"
	"go.mau.fi/whatsmeow/proto/waE2E"
	"go.mau.fi/whatsmeow/types"
)

// Broadcast sends a message to an account by a broadcast list that it is on, or as a
// status, which is the list types.StatusBroadcastJID. It returns the message id. Errors
// are those of SendText.
func (p *Phone) Broadcast(ctx context.Context, list, to types.JID, message *waE2E.Message, id string) (string, error) {
	_, lid, ok := p.net.IdentityOf(to.ToNonAD())
	if !ok {
		return "", fmt.Errorf("send from %s to %s: %w", p.Number(), to, ErrNoAccount)
	}
	if id == "" {
		id = MessageID()
	}
	m := sentMessage{id: id, chat: list, message: message, options: SendOptions{NoResend: true}}
	p.mu.Lock()
	closed := p.closed
	p.sent.add(m)
	p.mu.Unlock()
	if closed {
		return "", fmt.Errorf("send from %s: %w", p.Number(), ErrClosed)
	}
	fanOut := p.fanOutList
	if hasManyReaders(list) {
		fanOut = p.fanOutByKey
	}
	if err := fanOut(ctx, m, p.net.DevicesOf(lid)); err != nil {
		return "", fmt.Errorf("send from %s to %s: %w", p.Number(), to, err)
	}
	return id, nil
}

// fanOutList encrypts a message for each device separately.
func (p *Phone) fanOutList(ctx context.Context, m sentMessage, devices []types.JID) error {
	p.sending.Lock()
	defer p.sending.Unlock()
	participants, err := p.encryptFor(devices, m)
	if err != nil {
		return err
	}
	p.save()
	attrs := m.attrs()
	attrs["to"] = m.chat
	return p.SendNode(ctx, waBinary.Node{
		Tag: "message", Attrs: attrs, Content: []waBinary.Node{{Tag: "participants", Content: participants}},
	})
}
