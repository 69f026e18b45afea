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
	"postern/whatsapp/translate"
)

// causePatience is how long the event of a change may follow the API call that made it.
// WhatsApp often sends it after the call's answer.
const causePatience = 30 * time.Second

// historyPatience is the same for history, which the account's phone sends once it is
// on.
const historyPatience = 6 * time.Hour

// causes are the API calls whose events are still expected. The event of a change
// carries the request id of its call.
type causes struct {
	mu    sync.Mutex
	calls map[string]cause // by the key of the change, see changed
}

type cause struct {
	requestID string
	until     time.Time
}

// expect records the changes that the call of ctx is about to make, and how long their
// events may take. The returned function removes the record of a failed call.
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

// take returns the id of the call that made a change, "" if none is known, and forgets
// it.
func (c *causes) take(key string) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	id := c.known(key)
	delete(c.calls, key)
	return id
}

// of is take without forgetting.
func (c *causes) of(key string) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.known(key)
}

// known returns the id of the call with a key. The caller holds mu.
func (c *causes) known(key string) string {
	if call, found := c.calls[key]; found && !time.Now().After(call.until) {
		return call.requestID
	}
	return ""
}

func changeKey(parts ...string) string { return strings.Join(parts, "\x00") }

// joinedKey is the key of a group whose id is not known in advance.
const joinedKey = "joined"

// groupKey is the key of one part of a group. Events of other parts may come in
// between.
func groupKey(group types.JID, part string) string { return changeKey("group", group.String(), part) }

// Parts of a group. Members are further parts, one for each [event.ParticipantAction].
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
	otherPart       = "" // changes that the library does not know
)

// parts returns the parts that a group's event changes.
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
		{memberAddPart, slices.ContainsFunc(evt.UnknownChanges, translate.IsMemberAddMode)},
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

// changed returns the keys of what an event changed, none if the account did not make
// the change or the API cannot.
func changed(t translate.Translator, evt any) (keys []string) {
	switch evt := evt.(type) {
	case *events.Archive:
		return []string{changeKey(appstate.IndexArchive, evt.JID.String())}
	case *events.Pin:
		return []string{changeKey(appstate.IndexPin, evt.JID.String())}
	case *events.Mute:
		return []string{changeKey(appstate.IndexMute, evt.JID.String())}
	case *events.Star:
		return []string{changeKey(appstate.IndexStar, evt.ChatJID.String(), evt.MessageID, indexFlag(evt.IsFromMe))}
	case *events.MarkChatAsRead:
		return []string{changeKey(appstate.IndexMarkChatAsRead, evt.JID.String())}
	case *events.DeleteChat:
		return []string{changeKey(appstate.IndexDeleteChat, evt.JID.String())}
	case *events.DeleteForMe:
		return []string{changeKey(appstate.IndexDeleteMessageForMe, evt.ChatJID.String(), evt.MessageID, indexFlag(evt.IsFromMe))}
	case *events.PushNameSetting:
		return []string{changeKey(appstate.IndexSettingPushName)}
	case *events.LabelEdit:
		return []string{changeKey(appstate.IndexLabelEdit, evt.LabelID)}
	case *events.LabelAssociationChat:
		return []string{changeKey(appstate.IndexLabelAssociationChat, evt.LabelID, evt.JID.String())}
	case *events.JoinedGroup:
		if evt.Reason == "invite" || evt.Sender != nil && t.IsOwn(*evt.Sender) {
			return []string{joinedKey}
		}
	case *events.GroupInfo:
		if evt.Sender != nil && t.IsOwn(*evt.Sender) {
			for _, part := range parts(evt) {
				keys = append(keys, groupKey(evt.JID, part))
			}
		}
	case *events.Picture:
		if t.IsOwn(evt.Author) {
			return []string{groupKey(evt.JID, picturePart)}
		}
	}
	return keys
}

// changes returns the same keys for a patch of this program.
func changes(patch appstate.PatchInfo) (keys []string) {
	for _, m := range patch.Mutations {
		keys = append(keys, stateKey(m.Index))
	}
	return keys
}

// stateKey is the key of a change of app state: of its index, what its event shows.
func stateKey(index []string) string {
	if len(index) > 0 {
		switch index[0] {
		case appstate.IndexStar, appstate.IndexDeleteMessageForMe:
			index = index[:min(4, len(index))] // the sender follows from the message
		case appstate.IndexDeleteChat:
			index = index[:min(2, len(index))] // its files are deleted or not
		}
	}
	return changeKey(index...)
}

// indexFlag formats a boolean as in the index of a change.
func indexFlag(b bool) string {
	if b {
		return "1"
	}
	return "0"
}
