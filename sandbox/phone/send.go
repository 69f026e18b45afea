package phone

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"

	waBinary "go.mau.fi/whatsmeow/binary"
	"go.mau.fi/whatsmeow/proto/waE2E"
	"go.mau.fi/whatsmeow/types"
	"google.golang.org/protobuf/proto"

	"postern/sandbox/handset"
)

// maxSent is how many messages a phone can send again after a retry receipt.
const maxSent = 256

// sentMessage is stored for retry receipts.
type sentMessage struct {
	id      string
	chat    types.JID
	message *waE2E.Message
	options SendOptions
	// transport is a Messenger message in its own encoding; message is nil then.
	transport []byte
}

// isFor reports whether a device receives the message. Messenger messages are only for
// linked devices of the recipient, since simulated phones do not support them.
func (m *sentMessage) isFor(device, own types.JID) bool {
	return device != own && (m.transport == nil || device.Device != 0 && device.User != own.User) &&
		(!m.options.PhoneOnly || device.Device == 0)
}

// corrupt damages the ciphertext for a device that must not decrypt it.
func (m *sentMessage) corrupt(device types.JID, enc waBinary.Node) {
	if !m.options.Corrupt || device.Device == 0 && !m.options.NoCopy {
		return
	}
	if ciphertext, ok := enc.Content.([]byte); ok && len(ciphertext) > 0 {
		ciphertext[len(ciphertext)-1] ^= 0xFF
	}
}

// SendOptions are the attributes of a stanza besides the content.
type SendOptions struct {
	ID          string // empty: a new one
	Edit        string // the edit attribute: "1" edits, "7" revokes
	Type        string // of the stanza; empty: the usual one for the content
	DecryptFail string // "hide" requests no placeholder if it is undecryptable
	Corrupt     bool   // the first ciphertext for linked devices is undecryptable, a retry is not
	NoCopy      bool   // with Corrupt: also for phones, so that they have no copy
	PhoneOnly   bool   // linked devices do not get it
	NoResend    bool   // retry receipts are ignored
}

// sentLog holds the last maxSent messages, oldest first. Its phone's mutex guards it.
type sentLog []sentMessage

func (l *sentLog) add(m sentMessage) {
	if len(*l) == maxSent {
		*l = slices.Delete(*l, 0, 1)
	}
	*l = append(*l, m)
}

func (l sentLog) find(id string) (sentMessage, bool) {
	i := slices.IndexFunc(l, func(m sentMessage) bool { return m.id == id })
	if i < 0 {
		return sentMessage{}, false
	}
	return l[i], true
}

// SendText sends a text to every device of an account, or of all members of a group,
// and to the phone's own linked devices. It returns the message id after the server
// accepted it. Errors: ErrNoAccount, ErrNoKeys, ErrClosed, or the server's.
func (p *Phone) SendText(ctx context.Context, to types.JID, text string) (string, error) {
	return p.Send(ctx, to, &waE2E.Message{Conversation: &text}, SendOptions{})
}

// Send is SendText for any message.
func (p *Phone) Send(ctx context.Context, to types.JID, message *waE2E.Message, o SendOptions) (string, error) {
	return p.send(ctx, to, sentMessage{id: o.ID, message: message, options: o})
}

// SendTransport sends a Messenger message, in its own encoding, to the linked devices
// of an account. An empty id is replaced by a new one. Errors: ErrNoKeys if there are
// no devices, else those of SendText.
func (p *Phone) SendTransport(ctx context.Context, to types.JID, id string, transport []byte) (string, error) {
	return p.send(ctx, to, sentMessage{id: id, transport: transport})
}

// send is Send for a message that has no chat yet.
func (p *Phone) send(ctx context.Context, to types.JID, m sentMessage) (string, error) {
	fanOut := p.fanOutGroup
	m.chat = to
	if to.Server != types.GroupServer {
		pn, lid, ok := p.net.IdentityOf(to.ToNonAD())
		if !ok {
			return "", fmt.Errorf("send from %s to %s: %w", p.Number(), to, ErrNoAccount)
		}
		m.chat, fanOut = lid, func(ctx context.Context, m sentMessage) error { return p.fanOut(ctx, pn, m) }
	}
	if m.id == "" {
		m.id = MessageID()
	}
	m.message = p.timed(m.chat, m.message)
	p.mu.Lock()
	closed := p.closed
	p.sent.add(m)
	p.mu.Unlock()
	if closed {
		return "", fmt.Errorf("send from %s: %w", p.Number(), ErrClosed)
	}
	if err := fanOut(ctx, m); err != nil {
		return "", fmt.Errorf("send from %s to %s: %w", p.Number(), to, err)
	}
	return m.id, nil
}

// MessageID returns a new message id in the form of clients.
func MessageID() string {
	var raw [9]byte
	_, _ = rand.Read(raw[:]) // crypto/rand never fails
	return "3A" + strings.ToUpper(hex.EncodeToString(raw[:]))
}

func (p *Phone) fanOut(ctx context.Context, pn types.JID, m sentMessage) error {
	p.sending.Lock()
	defer p.sending.Unlock()
	devices := p.net.DevicesOf(m.chat)
	if m.chat != p.lid {
		devices = slices.Concat(devices, p.net.DevicesOf(p.lid))
	}
	var participants []waBinary.Node
	for _, device := range devices {
		if !m.isFor(device, p.lid) {
			continue
		}
		enc, ok, err := p.encrypt(device, nil, m)
		if err != nil {
			return err
		}
		m.corrupt(device, enc)
		if ok {
			to := waBinary.Node{Tag: "to", Attrs: waBinary.Attrs{"jid": device}, Content: []waBinary.Node{enc}}
			participants = append(participants, to)
		}
	}
	if len(participants) == 0 {
		return ErrNoKeys
	}
	p.save()
	attrs := m.attrs()
	attrs["to"], attrs["peer_recipient_pn"] = m.chat, pn
	return p.SendNode(ctx, waBinary.Node{
		Tag: "message", Attrs: attrs, Content: []waBinary.Node{{Tag: "participants", Content: participants}},
	})
}

// attrs are the attributes of every stanza of the message.
func (m *sentMessage) attrs() waBinary.Attrs {
	attrs := waBinary.Attrs{"id": m.id, "type": m.options.Type}
	if m.options.Type == "" {
		attrs["type"] = stanzaType(m.message)
	}
	if m.options.Edit != "" {
		attrs["edit"] = m.options.Edit
	}
	return attrs
}

// encrypt makes one <enc>; ok is false if the device has no session and no keys. The
// caller saves.
func (p *Phone) encrypt(device types.JID, bundle *handset.Bundle, m sentMessage) (enc waBinary.Node, ok bool, err error) {
	h, err := p.Keys()
	if err != nil {
		return enc, false, err
	}
	if bundle == nil && !h.HasSession(device) {
		fetched, found := p.net.BundleOf(device)
		if !found {
			return enc, false, nil
		}
		bundle = &fetched
	}
	enc.Tag, enc.Attrs = "enc", m.encAttrs()
	var ciphertext []byte
	if m.transport != nil {
		enc.Attrs["v"] = "3"
		enc.Attrs["type"], ciphertext, err = h.EncryptBare(device, bundle, m.transport)
	} else {
		enc.Attrs["type"], ciphertext, err = p.encryptPadded(h, device, bundle, m)
	}
	if err != nil {
		return waBinary.Node{}, false, err
	}
	enc.Content = ciphertext
	return enc, true, nil
}

// encryptPadded adds the recipient of the message for the phone's own devices.
func (p *Phone) encryptPadded(h *handset.Handset, device types.JID, bundle *handset.Bundle, m sentMessage) (string, []byte, error) {
	message := m.message
	if device.User == p.lid.User && m.chat.Server != types.GroupServer {
		message = &waE2E.Message{
			DeviceSentMessage:  &waE2E.DeviceSentMessage{DestinationJID: new(m.chat.String()), Message: m.message},
			MessageContextInfo: m.message.GetMessageContextInfo(),
		}
	}
	plaintext, err := proto.Marshal(message)
	if err != nil {
		return "", nil, fmt.Errorf("encode message %s: %w", m.id, err)
	}
	return h.Encrypt(device, bundle, plaintext)
}

// encAttrs are the attributes of every <enc> of the message, without its type.
func (m *sentMessage) encAttrs() waBinary.Attrs {
	attrs := waBinary.Attrs{"v": "2"}
	if m.options.DecryptFail != "" {
		attrs["decrypt-fail"] = m.options.DecryptFail
	}
	if kind := mediaType(m.message); kind != "" {
		attrs["mediatype"] = kind
	}
	return attrs
}

// onRetry sends a message again to the one device that could not decrypt it. After two
// failures it starts a new session even if the device sent no keys.
func (p *Phone) onRetry(ctx context.Context, n waBinary.Node) {
	retry := n.GetChildByTag("retry")
	device := p.deviceLID(authorOf(n))
	p.mu.Lock()
	m, known := p.sent.find(n.AttrGetter().OptionalString("id"))
	p.mu.Unlock()
	count := fmt.Sprint(retry.Attrs["count"])
	bundle, err := handset.BundleFrom(n)
	if !known || m.options.NoResend || err != nil || device.IsEmpty() {
		return
	}
	if bundle == nil && count != "1" {
		if fetched, ok := p.net.BundleOf(device); ok {
			bundle = &fetched
		}
	}
	p.sending.Lock()
	defer p.sending.Unlock()
	attrs := m.attrs()
	attrs["to"], attrs["device_fanout"] = device, "false"
	if m.chat.Server == types.GroupServer {
		delete(attrs, "device_fanout")
		attrs["to"], attrs["participant"] = m.chat, device
	}
	enc, ok, err := p.encrypt(device, bundle, m)
	if !ok || err != nil {
		return
	}
	enc.Attrs["count"] = count
	p.save()
	_ = p.SendNode(ctx, waBinary.Node{Tag: "message", Attrs: attrs, Content: []waBinary.Node{enc}})
}
