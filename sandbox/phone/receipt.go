package phone

import (
	"context"
	"encoding/binary"
	"fmt"
	"time"

	waBinary "go.mau.fi/whatsmeow/binary"
	"go.mau.fi/whatsmeow/types"

	"postern/internal/plural"
	"postern/sandbox/handset"
)

// SendReceipt sends a receipt for messages of an account: kind is "read", "played" or
// another type of the wire, and "" for delivery. At least one id is required.
func (p *Phone) SendReceipt(ctx context.Context, to types.JID, kind string, ids ...string) error {
	_, lid, ok := p.net.IdentityOf(to.ToNonAD())
	if !ok || len(ids) == 0 {
		return fmt.Errorf("receipt from %s to %s for %s: %w", p.Number(), to, plural.Of(len(ids), "message"), ErrNoAccount)
	}
	return p.SendNode(ctx, receiptNode(waBinary.Attrs{"to": lid}, kind, ids))
}

// SendGroupReceipt sends a receipt for an account's messages in a group: kind is as for
// SendReceipt. At least one id is required. Errors: ErrNoAccount, or the server's.
func (p *Phone) SendGroupReceipt(ctx context.Context, group, author types.JID, kind string, ids ...string) error {
	_, lid, ok := p.net.IdentityOf(author.ToNonAD())
	if !ok || len(ids) == 0 {
		return fmt.Errorf("receipt from %s to %s for %s: %w", p.Number(), author, plural.Of(len(ids), "message"), ErrNoAccount)
	}
	return p.SendNode(ctx, receiptNode(waBinary.Attrs{"to": group, "participant": lid}, kind, ids))
}

// ViewStatus sends read receipts for statuses of an account. At least one id is required.
func (p *Phone) ViewStatus(ctx context.Context, author types.JID, ids ...string) error {
	_, lid, ok := p.net.IdentityOf(author.ToNonAD())
	if !ok || len(ids) == 0 {
		return fmt.Errorf("receipt from %s to %s for %s: %w", p.Number(), author, plural.Of(len(ids), "status"), ErrNoAccount)
	}
	return p.SendNode(ctx, receiptNode(waBinary.Attrs{"to": types.StatusBroadcastJID, "participant": lid}, "read", ids))
}

// receiptNode is a receipt for one or more messages in the form of clients.
func receiptNode(attrs waBinary.Attrs, kind string, ids []string) waBinary.Node {
	attrs["id"], attrs["t"] = ids[0], time.Now().Unix()
	if kind != "" {
		attrs["type"] = kind
	}
	receipt := waBinary.Node{Tag: "receipt", Attrs: attrs}
	if len(ids) > 1 {
		items := make([]waBinary.Node, 0, len(ids)-1)
		for _, id := range ids[1:] {
			items = append(items, waBinary.Node{Tag: "item", Attrs: waBinary.Attrs{"id": id}})
		}
		receipt.Content = []waBinary.Node{{Tag: "list", Content: items}}
	}
	return receipt
}

// maxRetries is how often a phone requests one message again, like real ones.
const maxRetries = 5

// receiptFor copies the addresses of a stanza that every receipt for it needs.
func receiptFor(n waBinary.Node) waBinary.Attrs {
	attrs := waBinary.Attrs{"id": n.Attrs["id"], "to": n.Attrs["from"]}
	for _, key := range []string{"participant", "recipient"} {
		if value, ok := n.Attrs[key]; ok {
			attrs[key] = value
		}
	}
	return attrs
}

func (p *Phone) acknowledge(ctx context.Context, n waBinary.Node) {
	attrs := receiptFor(n)
	if authorOf(n).User == p.lid.User {
		attrs["type"] = "sender"
	}
	_ = p.SendNode(ctx, waBinary.Node{Tag: "receipt", Attrs: attrs})
}

// askAgain sends a retry receipt. From the second on it contains new keys, because the
// session itself may be broken.
func (p *Phone) askAgain(ctx context.Context, h *handset.Handset, n waBinary.Node) {
	id := n.AttrGetter().OptionalString("id")
	p.mu.Lock()
	p.retries[id]++
	count := p.retries[id]
	p.mu.Unlock()
	if count > maxRetries {
		return
	}
	attrs := receiptFor(n)
	attrs["type"] = "retry"
	retry := waBinary.Attrs{"count": count, "id": id, "v": 1}
	if t, ok := n.Attrs["t"]; ok {
		retry["t"] = t
	} else {
		retry["t"] = time.Now().Unix()
	}
	content := []waBinary.Node{
		{Tag: "retry", Attrs: retry},
		{Tag: "registration", Content: binary.BigEndian.AppendUint32(nil, h.RegistrationID())},
	}
	if count > 1 {
		bundle, err := p.Bundle()
		if err != nil {
			return
		}
		content = append(content, handset.KeysNode(bundle))
	}
	_ = p.SendNode(ctx, waBinary.Node{Tag: "receipt", Attrs: attrs, Content: content})
}
