package chats

import (
	"fmt"

	"postern/event"
	"postern/httpapi/rest"
	"postern/instance"
)

// presenceRequest is about the account itself, a chat, or a person to watch.
type presenceRequest struct {
	Presence string `json:"presence" strict:"required"`
	Chat     string `json:"chat"`
}

// The presences that are not those of a chat.
const (
	presenceAvailable   = "available"
	presenceUnavailable = "unavailable"
	presenceSubscribe   = "subscribe"
)

func (r *presenceRequest) check() error {
	switch r.Presence {
	case presenceAvailable, presenceUnavailable:
		if r.Chat != "" {
			return rest.InvalidField("chat is not allowed with the presence " + r.Presence)
		}
		return nil
	case presenceSubscribe:
		return readPerson("chat", &r.Chat)
	case string(event.PresenceComposing), string(event.PresenceRecording), string(event.PresencePaused):
		who, err := event.ParseRecipient(r.Chat)
		if err != nil {
			return fmt.Errorf("chat: %w", err)
		}
		r.Chat = who.JID()
		return nil
	}
	return rest.InvalidField("presence must be one of: available, unavailable, composing, recording, paused, subscribe")
}

type presenceAnswer struct {
	Presence string `json:"presence" doc:"The presence shown now, or subscribe." example:"composing"`
	Chat     string `json:"chat,omitempty"`
}

func showPresence(c *rest.Call, account instance.Account, in *presenceRequest) (presenceAnswer, error) {
	answer, ctx := presenceAnswer{in.Presence, in.Chat}, c.Request.Context()
	if in.Chat != "" {
		if err := c.MayWriteTo(in.Chat); err != nil {
			return answer, err
		}
	} else if c.Key != nil && c.Key.Recipients != nil { // everybody sees it
		return answer, rest.RecipientNotAllowed("a key with recipients cannot show the account as " + in.Presence)
	}
	switch in.Presence {
	case presenceAvailable, presenceUnavailable:
		return answer, account.ShowAvailable(ctx, in.Presence == presenceAvailable)
	case presenceSubscribe:
		return answer, account.WatchPresence(ctx, in.Chat)
	}
	return answer, account.ShowPresence(ctx, in.Chat, event.Presence(in.Presence))
}
