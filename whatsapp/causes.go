package whatsapp

import (
	"context"
	"slices"
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

// groupKey stands for one part of a group: calls that change others may be told
// of in between.
func groupKey(group types.JID, part string) string { return changeKey("group", group.String(), part) }

// Parts of a group. Members are further ones, each by the [event.ParticipantAction].
const (
	subjectPart     = "subject"
	descriptionPart = "description"
	picturePart     = "picture"
	invitePart      = "invite"
	ephemeralPart   = "ephemeralDuration"
	announcePart    = "announce"
	restrictPart    = "restrict"
	memberAddPart   = "memberAddMode"
	approvalPart    = "joinApprovalMode"
	otherPart       = "" // whatever the library does not know
)

// parts are those that a group's event is about.
func parts(evt *events.GroupInfo) (parts []string) {
	for _, one := range []struct {
		part    string
		changed bool
	}{
		{string(event.ParticipantAdd), len(evt.Join) > 0},
		{string(event.ParticipantRemove), len(evt.Leave) > 0},
		{string(event.ParticipantPromote), len(evt.Promote) > 0},
		{string(event.ParticipantDemote), len(evt.Demote) > 0},
		{subjectPart, evt.Name != nil},
		{descriptionPart, evt.Topic != nil},
		{invitePart, evt.NewInviteLink != nil},
		{ephemeralPart, evt.Ephemeral != nil},
		{announcePart, evt.Announce != nil},
		{restrictPart, evt.Locked != nil},
		{memberAddPart, slices.ContainsFunc(evt.UnknownChanges, isMemberAddMode)},
		{approvalPart, evt.MembershipApprovalMode != nil},
	} {
		if one.changed {
			parts = append(parts, one.part)
		}
	}
	if len(parts) == 0 {
		return []string{otherPart}
	}
	return parts
}

// changed is what an event says was changed, nothing when that was somebody
// else's doing or can be nobody's who calls the API.
func (t translator) changed(evt any) (keys []string) {
	switch evt := evt.(type) {
	case *events.Archive:
		return []string{changeKey(appstate.IndexArchive, evt.JID.String())}
	case *events.Pin:
		return []string{changeKey(appstate.IndexPin, evt.JID.String())}
	case *events.Mute:
		return []string{changeKey(appstate.IndexMute, evt.JID.String())}
	case *events.Star:
		return []string{changeKey(appstate.IndexStar, evt.ChatJID.String(), evt.MessageID, indexFlag(evt.IsFromMe))}
	case *events.LabelEdit:
		return []string{changeKey(appstate.IndexLabelEdit, evt.LabelID)}
	case *events.LabelAssociationChat:
		return []string{changeKey(appstate.IndexLabelAssociationChat, evt.LabelID, evt.JID.String())}
	case *events.JoinedGroup:
		if evt.Reason == "invite" || evt.Sender != nil && t.isOwn(*evt.Sender) {
			return []string{joinedKey}
		}
	case *events.GroupInfo:
		if evt.Sender != nil && t.isOwn(*evt.Sender) {
			for _, part := range parts(evt) {
				keys = append(keys, groupKey(evt.JID, part))
			}
		}
	case *events.Picture:
		if t.isOwn(evt.Author) {
			return []string{groupKey(evt.JID, picturePart)}
		}
	}
	return keys
}

// changes are the same of a change that this program asks for.
func changes(patch appstate.PatchInfo) (keys []string) {
	for _, m := range patch.Mutations {
		keys = append(keys, stateKey(m.Index))
	}
	return keys
}

// stateKey stands for what a change of synchronised state is about.
func stateKey(index []string) string {
	if len(index) > 4 && index[0] == appstate.IndexStar {
		index = index[:4] // the sender follows from the message
	}
	return changeKey(index...)
}

// indexFlag is a truth value as the index of a change has it.
func indexFlag(b bool) string {
	if b {
		return "1"
	}
	return "0"
}
