package phone

import (
	"context"
	"errors"
	"fmt"

	waBinary "go.mau.fi/whatsmeow/binary"
	"go.mau.fi/whatsmeow/proto/waE2E"
	"go.mau.fi/whatsmeow/types"
	"google.golang.org/protobuf/proto"

	"postern/sandbox/handset"
)

// authorOf returns the device that sent a message or receipt: in a group, the
// participant.
func authorOf(n waBinary.Node) types.JID {
	if participant := n.AttrGetter().OptionalJIDOrEmpty("participant"); !participant.IsEmpty() {
		return participant
	}
	return n.AttrGetter().OptionalJIDOrEmpty("from")
}

// fanOutGroup sends every device of the group the phone's sender key, and the message
// encrypted with it once. Like the client library, it distributes the key with every
// message, so that new devices can decrypt.
func (p *Phone) fanOutGroup(ctx context.Context, m sentMessage) error {
	return p.fanOutByKey(ctx, m, p.net.DevicesOf(m.chat))
}

// fanOutByKey is fanOutGroup for these devices.
func (p *Phone) fanOutByKey(ctx context.Context, m sentMessage, devices []types.JID) error {
	p.sending.Lock()
	defer p.sending.Unlock()
	h, err := p.Keys()
	if err != nil {
		return err
	}
	key, err := p.senderKey(h, m.chat)
	if err != nil {
		return err
	}
	distribution := sentMessage{id: m.id, chat: m.chat, options: SendOptions{Corrupt: m.options.Corrupt, NoCopy: m.options.NoCopy}, message: &waE2E.Message{SenderKeyDistributionMessage: key}}
	participants, err := p.encryptFor(devices, distribution)
	if err != nil {
		return err
	}
	enc, err := p.encryptGroup(h, m)
	if err != nil {
		return err
	}
	p.save()
	attrs := m.attrs()
	attrs["to"], attrs["addressing_mode"] = m.chat, "lid"
	return p.SendNode(ctx, waBinary.Node{Tag: "message", Attrs: attrs, Content: []waBinary.Node{
		{Tag: "participants", Content: participants}, enc,
	}})
}

// encryptFor makes the part of each device but the phone itself. The caller holds
// sending, and saves.
func (p *Phone) encryptFor(devices []types.JID, m sentMessage) (participants []waBinary.Node, err error) {
	for _, device := range devices {
		if device == p.lid {
			continue
		}
		enc, ok, err := p.encrypt(device, nil, m)
		if err != nil {
			return nil, err
		}
		m.corrupt(device, enc)
		if ok {
			participants = append(participants, waBinary.Node{Tag: "to", Attrs: waBinary.Attrs{"jid": device}, Content: []waBinary.Node{enc}})
		}
	}
	return participants, nil
}

func (p *Phone) senderKey(h *handset.Handset, group types.JID) (*waE2E.SenderKeyDistributionMessage, error) {
	raw, err := h.SenderKey(group)
	if err != nil {
		return nil, err
	}
	return &waE2E.SenderKeyDistributionMessage{GroupID: new(group.String()), AxolotlSenderKeyDistributionMessage: raw}, nil
}

func (p *Phone) encryptGroup(h *handset.Handset, m sentMessage) (waBinary.Node, error) {
	plaintext, err := proto.Marshal(m.message)
	if err != nil {
		return waBinary.Node{}, fmt.Errorf("encode message %s: %w", m.id, err)
	}
	ciphertext, err := h.EncryptGroup(m.chat, plaintext)
	if err != nil {
		return waBinary.Node{}, err
	}
	attrs := m.encAttrs()
	attrs["type"] = handset.EncSenderKey
	return waBinary.Node{Tag: "enc", Attrs: attrs, Content: ciphertext}, nil
}

// onGroupMessage stores the sender's key and decrypts the message, which is encrypted
// with that key, or directly in a retry. Phones do not echo in a group: all would
// answer each other.
func (p *Phone) onGroupMessage(ctx context.Context, h *handset.Handset, group types.JID, n waBinary.Node) {
	from := p.deviceLID(authorOf(n))
	message, err := p.openGroup(h, group, from, n)
	if errors.Is(err, handset.ErrDuplicate) {
		p.acknowledge(ctx, n)
		return
	}
	p.save()
	if err != nil {
		p.askAgain(ctx, h, n)
		return
	}
	if message != nil {
		p.record(n, from, message)
	}
	p.acknowledge(ctx, n)
}

// openGroup decrypts the parts of a stanza in order. The message is nil if there is
// only a key.
func (p *Phone) openGroup(h *handset.Handset, group, from types.JID, n waBinary.Node) (message *waE2E.Message, err error) {
	for _, enc := range n.GetChildrenByTag("enc") {
		opened, err := openGroupPart(h, group, from, enc)
		if errors.Is(err, handset.ErrDuplicate) && enc.AttrGetter().OptionalString("type") != handset.EncSenderKey {
			continue // the key came with an earlier delivery of this stanza
		}
		if err != nil {
			return nil, err
		}
		if opened != nil {
			message = opened
		}
	}
	return message, nil
}

func openGroupPart(h *handset.Handset, group, from types.JID, enc waBinary.Node) (*waE2E.Message, error) {
	ciphertext, _ := enc.Content.([]byte)
	var plaintext []byte
	var err error
	if kind := enc.AttrGetter().OptionalString("type"); kind == handset.EncSenderKey {
		plaintext, err = h.DecryptGroup(group, from, ciphertext)
	} else {
		plaintext, err = h.Decrypt(from, kind, ciphertext)
	}
	if err != nil {
		return nil, err
	}
	var message waE2E.Message
	if err := proto.Unmarshal(plaintext, &message); err != nil {
		return nil, fmt.Errorf("decode a message in %s: %w", group, err)
	}
	if key := message.GetSenderKeyDistributionMessage(); key != nil {
		if err := h.AcceptSenderKey(group, from, key.GetAxolotlSenderKeyDistributionMessage()); err != nil {
			return nil, err
		}
		message.SenderKeyDistributionMessage = nil
		if proto.Size(&message) == 0 {
			return nil, nil
		}
	}
	return &message, nil
}
