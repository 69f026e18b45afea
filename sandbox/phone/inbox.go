package phone

import (
	"context"
	"fmt"
	"slices"
	"time"

	"go.mau.fi/whatsmeow/proto/waE2E"
	"go.mau.fi/whatsmeow/types"
)

// maxReceived is how many messages a phone keeps; beyond it the oldest tenth is
// removed. The counts by message id are kept for all.
const maxReceived = 10_000

// Received is one message that a phone decrypted.
type Received struct {
	ID       string
	From     types.JID // the sending device
	PushName string    // the sender's name, from the server
	Chat     types.JID // the group, or the other account, also for messages of the phone's own devices
	Text     string    // empty for anything but a text
	Shown    string    // Text as the sender's edits left it
	Message  *waE2E.Message
	At       time.Time
	Count    int // how often this id was decrypted so far
}

// inbox is guarded by its phone's mutex.
type inbox struct {
	messages []Received
	total    int // of all; total-len(messages) were removed
	counts   map[string]int
	changed  chan struct{} // closed and replaced by each add
}

func (b *inbox) init() { b.counts, b.changed = map[string]int{}, make(chan struct{}) }

func (b *inbox) add(r Received) {
	b.counts[r.ID]++
	r.Count = b.counts[r.ID]
	if len(b.messages) == maxReceived {
		b.messages = slices.Delete(b.messages, 0, maxReceived/10)
	}
	b.messages = append(b.messages, r)
	b.total++
	close(b.changed)
	b.changed = make(chan struct{})
}

// edit changes the text that is shown of a message. Phones ignore an edit whose content is of another type
// than the original's.
func (b *inbox) edit(chat types.JID, p *waE2E.ProtocolMessage) {
	i := slices.IndexFunc(b.messages, func(r Received) bool { return r.ID == p.GetKey().GetID() && r.Chat == chat })
	if i < 0 || p.GetType() != waE2E.ProtocolMessage_MESSAGE_EDIT {
		return
	}
	was, is := unwrapped(b.messages[i].Message), unwrapped(p.GetEditedMessage())
	if (was.Conversation == nil) == (is.Conversation == nil) && (was.ExtendedTextMessage == nil) == (is.ExtendedTextMessage == nil) {
		b.messages[i].Shown = textOf(is)
	}
}

// since returns the messages after the first seen ones that are still kept.
func (b *inbox) since(seen int) []Received {
	dropped := b.total - len(b.messages)
	return slices.Clone(b.messages[max(0, seen-dropped):])
}

// Received returns the messages that the phone keeps, at most the last 10 000, oldest
// first.
func (p *Phone) Received() []Received {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.inbox.since(0)
}

// ReceivedIn returns a message of a chat that the phone keeps.
func (p *Phone) ReceivedIn(chat types.JID, id string) (Received, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	i := slices.IndexFunc(p.inbox.messages, func(r Received) bool { return r.ID == id && r.Chat == chat })
	if i < 0 {
		return Received{}, false
	}
	return p.inbox.messages[i], true
}

// ReceivedCount returns how often a message id was decrypted since the process started.
func (p *Phone) ReceivedCount(id string) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.inbox.counts[id]
}

// WaitReceived returns the first message that matches, including past ones. It fails
// only if the context ends. match is called without a lock, once for each message.
func (p *Phone) WaitReceived(ctx context.Context, match func(Received) bool) (Received, error) {
	seen := 0
	for {
		p.mu.Lock()
		messages, changed := p.inbox.since(seen), p.inbox.changed
		seen = p.inbox.total
		p.mu.Unlock()
		if i := slices.IndexFunc(messages, match); i >= 0 {
			return messages[i], nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return Received{}, fmt.Errorf("wait for a message on %s: %w", p.Number(), ctx.Err())
		}
	}
}
