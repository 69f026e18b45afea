package phone

import (
	"slices"
	"time"

	waBinary "go.mau.fi/whatsmeow/binary"
	"go.mau.fi/whatsmeow/types"
)

// maxChatStates is how many notices a phone keeps; beyond it the oldest is removed.
const maxChatStates = 1_000

// ChatState is a notice of a person's activity in a chat.
type ChatState struct {
	From  types.JID
	State string // "composing", "recording" or "paused"
	At    time.Time
}

// ChatStates returns the notices that the phone received, at most the last 1 000,
// oldest first.
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

// maxReads is how many receipts a phone keeps; beyond it the oldest is removed.
const maxReads = 1_000

// WasRead reports whether the phone received a read receipt for its message. It keeps
// the last 1 000.
func (p *Phone) WasRead(id string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Contains(p.reads, id)
}

// WasPlayed is WasRead for voice messages that were played.
func (p *Phone) WasPlayed(id string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Contains(p.plays, id)
}

// onRead adds the messages of a receipt, which lists the further ones that it is for.
func (p *Phone) onRead(n waBinary.Node, to *[]string) {
	ids := []string{n.AttrGetter().OptionalString("id")}
	for _, list := range n.GetChildrenByTag("list") {
		for _, item := range list.GetChildrenByTag("item") {
			ids = append(ids, item.AttrGetter().OptionalString("id"))
		}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	*to = append(*to, ids...)
	*to = slices.Delete(*to, 0, max(0, len(*to)-maxReads))
}

// maxCalls is how many stages of calls a phone keeps; beyond it the oldest is removed.
const maxCalls = 1_000

// CallStage is one stage of a call.
type CallStage struct {
	From  types.JID
	ID    string // of the call
	Stage string // "reject", "accept" …
}

// CallStages returns the stages of calls that the phone received, at most the last 1
// 000, oldest first.
func (p *Phone) CallStages() []CallStage {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.calls)
}

func (p *Phone) onCall(n waBinary.Node) {
	children := n.GetChildren()
	if len(children) == 0 {
		return
	}
	stage := CallStage{From: authorOf(n), ID: children[0].AttrGetter().OptionalString("call-id"), Stage: children[0].Tag}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.calls = append(p.calls, stage)
	p.calls = slices.Delete(p.calls, 0, max(0, len(p.calls)-maxCalls))
}
