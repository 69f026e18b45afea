package sandbox

import (
	"slices"
	"time"

	waBinary "go.mau.fi/whatsmeow/binary"
	"go.mau.fi/whatsmeow/types"
)

// maxChatStates bounds the notices that a phone keeps; the oldest goes first.
const maxChatStates = 1_000

// ChatState is one notice of what somebody does in a chat.
type ChatState struct {
	From  types.JID
	State string // "composing", "recording" or "paused"
	At    time.Time
}

// ChatStates copies the notices that the phone got, at most the last 1 000, oldest first.
func (p *Phone) ChatStates() []ChatState {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.chatStates)
}

func (p *Phone) onChatState(n waBinary.Node) {
	children := n.GetChildren()
	if len(children) == 0 {
		return
	}
	state := ChatState{From: authorOf(n), State: children[0].Tag, At: time.Now()}
	if children[0].AttrGetter().OptionalString("media") == "audio" {
		state.State = "recording"
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.chatStates) == maxChatStates {
		p.chatStates = slices.Delete(p.chatStates, 0, 1)
	}
	p.chatStates = append(p.chatStates, state)
}
