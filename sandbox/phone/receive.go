package phone

import (
	"context"
	"errors"
	"strings"
	"time"

	waBinary "go.mau.fi/whatsmeow/binary"
	"go.mau.fi/whatsmeow/proto/waE2E"
	"go.mau.fi/whatsmeow/types"
	"google.golang.org/protobuf/proto"

	"postern/sandbox/handset"
)

// EchoPrefix begins a text that the phone echoes.
const EchoPrefix = "echo "

// handle handles one stanza. Errors of Route are ignored: to a phone they are a network
// that lost its stanza.
func (p *Phone) handle(ctx context.Context, n waBinary.Node) {
	switch n.Tag {
	case "message":
		p.onMessage(ctx, n)
	case "chatstate":
		p.onChatState(n)
	case "call":
		p.onCall(n)
	case "receipt":
		switch n.Attrs["type"] {
		case "read":
			p.onRead(n, &p.reads)
		case "played":
			p.onRead(n, &p.plays)
		case "retry":
			p.onRetry(ctx, n)
		case "server-error":
			p.onServerError(n)
		}
	}
}

func (p *Phone) onMessage(ctx context.Context, n waBinary.Node) {
	enc, ok := p.encOf(n)
	h, err := p.Keys()
	if err != nil {
		return
	}
	if group := n.AttrGetter().OptionalJIDOrEmpty("from"); hasManyReaders(group) {
		p.onGroupMessage(ctx, h, group, n)
		return
	}
	if !ok {
		return
	}
	from := p.deviceLID(n.AttrGetter().OptionalJIDOrEmpty("from"))
	ciphertext, _ := enc.Content.([]byte)
	plaintext, err := h.Decrypt(from, enc.AttrGetter().OptionalString("type"), ciphertext)
	if errors.Is(err, handset.ErrDuplicate) {
		p.acknowledge(ctx, n)
		return
	}
	var message waE2E.Message
	if err == nil {
		p.save()
		err = proto.Unmarshal(plaintext, &message)
	}
	if err != nil {
		p.askAgain(ctx, h, n)
		return
	}
	if p.onPeer(ctx, from, n.AttrGetter().OptionalString("id"), message.GetProtocolMessage()) {
		p.acknowledge(ctx, n)
		return
	}
	r := p.record(n, from, &message)
	p.acknowledge(ctx, n)
	if rest, ok := strings.CutPrefix(r.Text, EchoPrefix); ok && from.User != p.lid.User {
		_, _ = p.SendText(ctx, from.ToNonAD(), rest)
	}
}

// encOf returns the ciphertext for device 0, either the stanza's own or that of a
// participant.
func (p *Phone) encOf(n waBinary.Node) (waBinary.Node, bool) {
	for _, child := range n.GetChildren() {
		kind, _ := child.Attrs["type"].(string)
		if child.Tag == "enc" && kind != "skmsg" {
			return child, true
		}
	}
	participants := n.GetChildByTag("participants")
	for _, to := range participants.GetChildren() {
		jid := to.AttrGetter().OptionalJIDOrEmpty("jid")
		if jid == p.lid || jid == p.pn {
			return to.GetOptionalChildByTag("enc")
		}
	}
	return waBinary.Node{}, false
}

// deviceLID returns the address under which sessions are stored.
func (p *Phone) deviceLID(device types.JID) types.JID {
	if device.Server != types.DefaultUserServer {
		return device
	}
	if _, lid, ok := p.net.IdentityOf(device.ToNonAD()); ok {
		lid.Device = device.Device
		return lid
	}
	return device
}

func (p *Phone) record(n waBinary.Node, from types.JID, message *waE2E.Message) Received {
	chat := from.ToNonAD()
	if group := n.AttrGetter().OptionalJIDOrEmpty("from"); hasManyReaders(group) {
		chat = group
	} else if from.User == p.lid.User {
		if to := n.AttrGetter().OptionalJIDOrEmpty("recipient"); !to.IsEmpty() {
			chat = to
		}
		if inner := message.GetDeviceSentMessage().GetMessage(); inner != nil {
			message = inner
		}
	}
	p.noteTimer(chat, message)
	id := n.AttrGetter().OptionalString("id")
	r := Received{
		ID: id, From: from, PushName: n.AttrGetter().OptionalString("notify"), Chat: chat,
		Text: textOf(message), Shown: textOf(message), Message: message, At: time.Now(),
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.inbox.edit(chat, editOf(message))
	delete(p.retries, id)
	p.inbox.add(r)
	return r
}

// hasManyReaders reports whether messages of a chat are encrypted once, with their
// sender's key: in groups, and as a status.
func hasManyReaders(chat types.JID) bool {
	return chat.Server == types.GroupServer || chat == types.StatusBroadcastJID
}

// editOf returns the change that an edit makes, which newer clients wrap.
func editOf(m *waE2E.Message) *waE2E.ProtocolMessage {
	if inner := m.GetEditedMessage().GetMessage(); inner != nil {
		m = inner
	}
	return m.GetProtocolMessage()
}
