package phone

import (
	"context"
	"fmt"

	waBinary "go.mau.fi/whatsmeow/binary"
	"go.mau.fi/whatsmeow/proto/waE2E"
	"go.mau.fi/whatsmeow/types"
	"google.golang.org/protobuf/proto"

	"postern/sandbox/handset"
)

// sealFor encrypts for one device, with a new session if there is none.
func (p *Phone) sealFor(h *handset.Handset, device types.JID, plaintext []byte) (waBinary.Node, error) {
	var bundle *handset.Bundle
	if !h.HasSession(device) {
		fetched, ok := p.net.BundleOf(device)
		if !ok {
			return waBinary.Node{}, fmt.Errorf("peer message to %s: %w", device, ErrNoKeys)
		}
		bundle = &fetched
	}
	kind, ciphertext, err := h.Encrypt(device, bundle, plaintext)
	if err != nil {
		return waBinary.Node{}, err
	}
	return waBinary.Node{Tag: "enc", Attrs: waBinary.Attrs{"v": "2", "type": kind}, Content: ciphertext}, nil
}

// SendPeer sends one of the phone's own linked devices a message between devices of one
// account. Errors: ErrClosed, ErrNoKeys, or the server's.
func (p *Phone) SendPeer(ctx context.Context, device types.JID, m *waE2E.ProtocolMessage) error {
	h, err := p.Keys()
	if err != nil {
		return err
	}
	message := &waE2E.Message{ProtocolMessage: m}
	plaintext, err := proto.Marshal(message)
	if err != nil {
		return fmt.Errorf("encode protocol message: %w", err)
	}
	p.sending.Lock()
	defer p.sending.Unlock()
	id := MessageID()
	p.mu.Lock()
	closed := p.closed
	p.sent.add(sentMessage{id: id, chat: p.lid, message: message})
	p.mu.Unlock()
	if closed {
		return ErrClosed
	}
	enc, err := p.sealFor(h, device, plaintext)
	if err != nil {
		return err
	}
	p.save()
	return p.SendNode(ctx, waBinary.Node{
		Tag: "message", Content: []waBinary.Node{enc},
		Attrs: waBinary.Attrs{"id": id, "type": "text", "category": "peer", "to": device},
	})
}
