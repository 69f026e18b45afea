package sandbox

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	waBinary "go.mau.fi/whatsmeow/binary"
	"go.mau.fi/whatsmeow/types"

	"postern/sandbox/network"
	"postern/sandbox/phone"
)

type receiptFields struct {
	To    string   `json:"to" help:"the account that is notified: a number or an address; the phone's own for its own actions"`
	IDs   []string `json:"ids" help:"the message ids"`
	Type  string   `json:"type" help:"delivery (default), inactive, read, read-self, played, played-self, sender, server-error, retry, peer_msg, hist_sync, or unknown: a type unknown to clients"`
	Group string   `json:"group" help:"the group of the messages, with both as members; missing: the chat of the two"`
	Chat  string   `json:"chat" help:"if to is the phone's own account: the other person of the chat, a number or an address"`
}

func actReceipt(_ context.Context, s *network.Server, p *phone.Phone, f receiptFields) (any, error) {
	if err := f.check(); err != nil {
		return nil, err
	}
	group, err := groupAddress("group", f.Group)
	if err != nil {
		return nil, err
	}
	var chat types.JID
	if f.Chat != "" {
		if chat, err = address("chat", f.Chat); err != nil {
			return nil, err
		}
	}
	return nil, towards(p, "to", f.To, func(from, to types.JID) error {
		_, lid, ok := s.IdentityOf(to)
		if !ok {
			return phone.ErrNoAccount
		}
		n := f.node(p)
		if !chat.IsEmpty() {
			if err := placeInChat(s, &n, chat, lid == p.LID()); err != nil {
				return err
			}
		}
		return s.PassReceipt(from, to, group, n)
	})
}

// placeInChat sets the chat of the messages for a receipt to the own account.
func placeInChat(s *network.Server, n *waBinary.Node, chat types.JID, own bool) error {
	pn, lid, ok := s.IdentityOf(chat)
	if !ok {
		return fmt.Errorf("chat %s: %w", chat, phone.ErrNoAccount)
	}
	if !own {
		return invalidField("chat", "is only for receipts to the phone's own account")
	}
	n.Attrs["recipient"], n.Attrs["peer_recipient_pn"] = lid, pn
	return nil
}

func (f *receiptFields) check() error {
	if len(f.IDs) == 0 || slices.Contains(f.IDs, "") {
		return invalidField("ids", "has to name messages")
	}
	if f.To == "" {
		return invalidField("to", "is missing")
	}
	if f.Group != "" && f.Chat != "" {
		return invalidField("chat", "cannot be given with group")
	}
	kinds := []string{
		"", "delivery", "inactive", "read", "read-self", "played", "played-self", "sender", "server-error", "retry",
		"peer_msg", "hist_sync", "unknown",
	}
	if !slices.Contains(kinds, f.Type) {
		return invalidField("type", "is not one of "+strings.Join(kinds[1:], ", "))
	}
	return nil
}

// node returns the receipt as the server passes it on. The real network never passes on
// some of the types.
func (f *receiptFields) node(p *phone.Phone) waBinary.Node {
	n := waBinary.Node{Tag: "receipt", Attrs: waBinary.Attrs{
		"id": f.IDs[0], "from": p.LID(), "sender_pn": p.JID(), "t": time.Now().Unix(),
	}}
	if f.Type != "" && f.Type != "delivery" {
		n.Attrs["type"] = f.Type
	}
	var children []waBinary.Node
	if f.Type == "retry" {
		children = append(children, waBinary.Node{Tag: "retry", Attrs: waBinary.Attrs{
			"count": 1, "id": f.IDs[0], "v": 1, "t": time.Now().Unix(),
		}})
	}
	if len(f.IDs) > 1 {
		var items []waBinary.Node
		for _, id := range f.IDs[1:] {
			items = append(items, waBinary.Node{Tag: "item", Attrs: waBinary.Attrs{"id": id}})
		}
		children = append(children, waBinary.Node{Tag: "list", Content: items})
	}
	if children != nil {
		n.Content = children
	}
	return n
}
