package translate

import (
	"cmp"
	"slices"
	"time"

	"go.mau.fi/whatsmeow/types"
	"go.mau.fi/whatsmeow/types/events"

	"postern/event"
)

func (t Translator) newsletterFacts(evt any) ([]event.Fact, bool) {
	switch evt := evt.(type) {
	case *events.NewsletterJoin:
		return t.newsletter(event.NewsletterJoin, evt.ID, evt.Mex.Timestamp, newsletterDetails(evt.NewsletterMetadata))
	case *events.NewsletterLeave:
		return t.newsletter(event.NewsletterLeave, evt.ID, evt.Mex.Timestamp, texts("role", string(evt.Role)))
	case *events.NewsletterMuteChange:
		return t.newsletter(event.NewsletterMuteChange, evt.ID, evt.Mex.Timestamp, event.Extra{
			"muted": evt.Mute == types.NewsletterMuteOn,
		})
	case *events.NewsletterLiveUpdate:
		return t.newsletter(event.NewsletterLiveUpdate, evt.JID, evt.Time, event.Extra{"messages": liveMessages(evt.Messages)})
	default:
		return nil, false
	}
}

func (t Translator) newsletter(kind event.NewsletterType, jid types.JID, when time.Time, extra event.Extra) ([]event.Fact, bool) {
	return one(event.NewsLetter, event.NewsletterUpdate{
		Type: kind, NewsletterJID: named(jid), DateTime: t.at(when), Extra: extra,
	})
}

// NewsletterMeta returns the times of an edit of a newsletter message. ok is false for
// other messages.
func (t Translator) NewsletterMeta(evt *events.Message) (f event.Fact, ok bool) {
	meta := evt.NewsletterMeta
	if meta == nil {
		return event.Fact{}, false
	}
	extra := event.Extra{"messageId": evt.Info.ID}
	if evt.Info.ServerID != 0 {
		extra["serverId"] = int(evt.Info.ServerID)
	}
	if meta.EditTS.Unix() > 0 {
		extra["editedAt"] = event.At(meta.EditTS)
	}
	if meta.OriginalTS.Unix() > 0 {
		extra["originalAt"] = event.At(meta.OriginalTS)
	}
	facts, _ := t.newsletter(event.NewsletterMessageMeta, evt.Info.Chat, evt.Info.Timestamp, extra)
	return facts[0], true
}

// ChannelPost returns a post as the list of a newsletter's posts has it.
func (t Translator) ChannelPost(channel types.JID, p *types.NewsletterMessage) event.ChannelPost {
	post := event.ChannelPost{ServerID: int(p.MessageServerID), Views: max(0, p.ViewsCount), Reactions: []event.ChannelReaction{}}
	for emoji, n := range p.ReactionCounts {
		if n > 0 {
			post.Reactions = append(post.Reactions, event.ChannelReaction{Emoji: emoji, Count: n})
		}
	}
	slices.SortFunc(post.Reactions, func(a, b event.ChannelReaction) int {
		return cmp.Or(cmp.Compare(b.Count, a.Count), cmp.Compare(a.Emoji, b.Emoji))
	})
	if p.Message == nil {
		return post
	}
	info := types.MessageInfo{MessageSource: types.MessageSource{Chat: channel, Sender: channel}, ID: p.MessageID, ServerID: p.MessageServerID, Type: p.Type, Timestamp: p.Timestamp}
	if fact, ok := t.Message(nil, &events.Message{Info: info, Message: p.Message}); ok {
		if m, ok := fact.Data.(*event.Message); ok {
			post.Message = &event.PostedMessage{Message: *m}
		}
	}
	return post
}

func newsletterDetails(m types.NewsletterMetadata) event.Extra {
	extra := texts(
		"name", m.ThreadMeta.Name.Text, "description", m.ThreadMeta.Description.Text, "inviteCode", m.ThreadMeta.InviteCode,
		"verification", string(m.ThreadMeta.VerificationState), "state", string(m.State.Type),
	)
	if m.ThreadMeta.SubscriberCount > 0 {
		extra["subscribers"] = m.ThreadMeta.SubscriberCount
	}
	if v := m.ViewerMeta; v != nil {
		extra = merge(extra, texts("role", string(v.Role)))
		extra["muted"] = v.Mute == types.NewsletterMuteOn
	}
	return extra
}

// liveMessage is the current count of views and reactions of one message.
type liveMessage struct {
	ServerID  int            `json:"serverId"`
	MessageID string         `json:"messageId,omitempty"`
	Type      string         `json:"type,omitempty"`
	SentAt    event.Time     `json:"sentAt,omitzero"`
	Views     int            `json:"views"`
	Reactions map[string]int `json:"reactions"`
}

func liveMessages(list []*types.NewsletterMessage) []liveMessage {
	out := make([]liveMessage, 0, len(list))
	for _, m := range list {
		if m == nil {
			continue
		}
		live := liveMessage{int(m.MessageServerID), m.MessageID, m.Type, event.Time{}, m.ViewsCount, m.ReactionCounts}
		if m.Timestamp.Unix() > 0 {
			live.SentAt = event.At(m.Timestamp)
		}
		if live.Reactions == nil {
			live.Reactions = map[string]int{}
		}
		out = append(out, live)
	}
	return out
}

// texts returns the pairs of name and text as extra keys, without empty texts.
func texts(pairs ...string) event.Extra {
	extra := event.Extra{}
	for i := 0; i+1 < len(pairs); i += 2 {
		if pairs[i+1] != "" {
			extra[pairs[i]] = pairs[i+1]
		}
	}
	return extra
}
