package sandbox

import (
	"slices"

	waBinary "go.mau.fi/whatsmeow/binary"
)

// maxReads bounds the receipts that a phone keeps; the oldest goes first.
const maxReads = 1_000

// WasRead reports whether somebody told the phone that its message was read. The
// phone remembers the last 1 000.
func (p *Phone) WasRead(id string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Contains(p.reads, id)
}

// onRead takes a receipt, which names the other messages that it is for in a list.
func (p *Phone) onRead(n waBinary.Node) {
	ids := []string{n.AttrGetter().OptionalString("id")}
	for _, list := range n.GetChildrenByTag("list") {
		for _, item := range list.GetChildrenByTag("item") {
			ids = append(ids, item.AttrGetter().OptionalString("id"))
		}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.reads = append(p.reads, ids...)
	p.reads = slices.Delete(p.reads, 0, max(0, len(p.reads)-maxReads))
}
