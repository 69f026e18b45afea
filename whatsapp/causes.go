package whatsapp

import (
	"context"
	"strings"
	"sync"
	"time"

	"go.mau.fi/whatsmeow/appstate"
	"go.mau.fi/whatsmeow/types"
	"go.mau.fi/whatsmeow/types/events"

	"postern/event"
)

// causePatience is how long WhatsApp may take to tell of a change that a call
// of the API made. It tells of it in its own time, often after the call's
// answer.
const causePatience = 30 * time.Second

// historyPatience is the same for what the account's phone answers, once it is on.
const historyPatience = 6 * time.Hour

// causes are the calls whose changes are still to be told of, so that the event
// carries the id of its call.
type causes struct {
	mu    sync.Mutex
	calls map[string]cause // by what they change, see changed
}

type cause struct {
	requestID string
	until     time.Time
}

// expect notes what the call that ctx belongs to is about to change, and how
// long it may take to be told. The returned function takes that back: the
// change failed.
func (c *causes) expect(ctx context.Context, patience time.Duration, keys ...string) (forget func()) {
	id := event.RequestIDOf(ctx)
	if id == "" {
		return func() {}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.calls == nil {
		c.calls = map[string]cause{}
	}
	now := time.Now()
	for key, call := range c.calls {
		if now.After(call.until) {
			delete(c.calls, key)
		}
	}
	for _, key := range keys {
		c.calls[key] = cause{id, now.Add(patience)}
	}
	return func() {
		for _, key := range keys {
			c.take(key)
		}
	}
}

// take returns the id of the call that made a change, "" when none is known. It
// is told once.
func (c *causes) take(key string) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	id := c.known(key)
	delete(c.calls, key)
	return id
}

// of is take for what may have to be asked again.
func (c *causes) of(key string) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.known(key)
}

// known is the id of the call under a key. The caller holds mu.
func (c *causes) known(key string) string {
	if call, found := c.calls[key]; found && !time.Now().After(call.until) {
		return call.requestID
	}
	return ""
}

func changeKey(parts ...string) string { return strings.Join(parts, "\x00") }

// joinedKey stands for a group whose id is not known before.
const joinedKey = "joined"

func groupKey(group types.JID) string { return changeKey("group", group.String()) }

// changed is what an event says was changed, "" when that was somebody else's
// doing or can be nobody's who calls the API.
func (t translator) changed(evt any) string {
	switch evt := evt.(type) {
	case *events.Archive:
		return changeKey(appstate.IndexArchive, evt.JID.String())
	case *events.Pin:
		return changeKey(appstate.IndexPin, evt.JID.String())
	case *events.Mute:
		return changeKey(appstate.IndexMute, evt.JID.String())
	case *events.Star:
		return changeKey(appstate.IndexStar, evt.ChatJID.String(), evt.MessageID, indexFlag(evt.IsFromMe))
	case *events.LabelEdit:
		return changeKey(appstate.IndexLabelEdit, evt.LabelID)
	case *events.LabelAssociationChat:
		return changeKey(appstate.IndexLabelAssociationChat, evt.LabelID, evt.JID.String())
	case *events.JoinedGroup:
		if evt.Reason == "invite" || evt.Sender != nil && t.isOwn(*evt.Sender) {
			return joinedKey
		}
	case *events.GroupInfo:
		if evt.Sender != nil && t.isOwn(*evt.Sender) {
			return groupKey(evt.JID)
		}
	case *events.Picture:
		if t.isOwn(evt.Author) {
			return groupKey(evt.JID)
		}
	}
	return ""
}

// changes are the same of a change that this program asks for.
func changes(patch appstate.PatchInfo) (keys []string) {
	for _, m := range patch.Mutations {
		index := m.Index
		if index[0] == appstate.IndexStar {
			index = index[:4] // the sender follows from the message
		}
		keys = append(keys, changeKey(index...))
	}
	return keys
}

// indexFlag is a truth value as the index of a change has it.
func indexFlag(b bool) string {
	if b {
		return "1"
	}
	return "0"
}
