package chats

import (
	"context"
	"time"

	"postern/event"
	"postern/httpapi/rest"
	"postern/instance"
)

const (
	maxNumbers  = 100 // that one request looks up
	maxUserInfo = 50  // numbers of which one request asks for everything
	maxRead     = 100 // messages that one request marks as read
)

// lastMessage is the newest message of a chat, as existing clients send it.
type lastMessage struct {
	Key              *event.MessageKey `json:"key" doc:"Which message it is."`
	MessageTimestamp int64             `json:"messageTimestamp" doc:"When it was sent, in Unix seconds." example:"1772366400" rules:"minimum=0"`
}

type archiveRequest struct {
	Chat        string       `json:"chat"` // may be missing where lastMessage names it
	Archive     bool         `json:"archive" strict:"required" doc:"Whether to archive or unarchive it." example:"true"`
	LastMessage *lastMessage `json:"lastMessage" doc:"The newest message of the chat, where the caller knows it; it may stand for chat."`
}

func (r *archiveRequest) check() error {
	if r.LastMessage != nil && r.LastMessage.Key != nil && r.Chat == "" {
		r.Chat = r.LastMessage.Key.RemoteJID
	}
	if r.LastMessage != nil && r.LastMessage.MessageTimestamp < 0 {
		return rest.InvalidField("lastMessage.messageTimestamp must be Unix seconds")
	}
	return readChat("chat", &r.Chat)
}

// chatState is the state of a chat after a change.
type chatState struct {
	Chat   string      `json:"chat" doc:"The JID of the chat." example:"$jid"`
	Pinned *bool       `json:"pinned,omitempty" doc:"Whether it is pinned." example:"true"`
	Muted  *bool       `json:"muted,omitempty"`
	Until  *event.Time `json:"until,omitempty" doc:"When the mute ends; absent: never." example:"$time"`
}

func archiveChat(c *rest.Call, account instance.Account, in *archiveRequest) error {
	var last event.LastMessage
	if m := in.LastMessage; m != nil {
		last.Key = m.Key
		if m.MessageTimestamp > 0 {
			last.At = time.Unix(m.MessageTimestamp, 0)
		}
	}
	return account.Archive(c.Request.Context(), in.Chat, in.Archive, last)
}

type unreadRequest struct {
	Chat   string `json:"chat" strict:"required"`
	Unread bool   `json:"unread" strict:"required" doc:"Whether to mark it as unread or as read." example:"true"`
}

func (r *unreadRequest) check() error { return readChat("chat", &r.Chat) }

func markUnread(c *rest.Call, account instance.Account, in *unreadRequest) error {
	return account.MarkUnread(c.Request.Context(), in.Chat, in.Unread, event.LastMessage{})
}

// deleteChat deletes a chat on the account's devices and, if wanted, its stored messages.
func (a *API) deleteChat(c *rest.Call) error {
	stored, err := c.Flag("stored")
	if err != nil {
		return err
	}
	if err := c.NoBody(); err != nil {
		return err
	}
	chat := c.Params.ByName("jid")
	if err := readChat("the chat", &chat); err != nil {
		return err
	}
	account, err := a.account(c)
	if err != nil {
		return err
	}
	if err := account.DeleteChat(c.Request.Context(), chat, event.LastMessage{}); err != nil {
		return err
	}
	if stored {
		if err := a.Messages.RemoveChat(context.WithoutCancel(c.Request.Context()), c.Instance.ID, chat); err != nil {
			return err
		}
	}
	return c.NoContent()
}

type pinRequest struct {
	Chat   string `json:"chat" strict:"required"`
	Pinned bool   `json:"pinned" strict:"required" doc:"Whether to pin or unpin it." example:"true"`
}

func (r *pinRequest) check() error { return readChat("chat", &r.Chat) }

func pinChat(c *rest.Call, account instance.Account, in *pinRequest) (chatState, error) {
	return chatState{Chat: in.Chat, Pinned: &in.Pinned}, account.Pin(c.Request.Context(), in.Chat, in.Pinned)
}

// MuteRequest mutes a chat, for ever or until a time, or ends that.
type MuteRequest struct {
	Chat  string `json:"chat" strict:"required"`
	Muted bool   `json:"muted" strict:"required"`
	Until string `json:"until" doc:"When the mute ends; absent: never." example:"$time" rules:"format=date-time"`
}

func (r *MuteRequest) check() error {
	switch end, err := r.end(); {
	case r.Until == "":
	case err != nil:
		return rest.InvalidField("until must be a time in RFC 3339")
	case !r.Muted:
		return rest.InvalidField("until requires muted true")
	case !end.After(time.Now()):
		return rest.InvalidField("until must be in the future")
	}
	return readChat("chat", &r.Chat)
}

// end returns the zero time for a mute without an end.
func (r *MuteRequest) end() (time.Time, error) {
	if r.Until == "" {
		return time.Time{}, nil
	}
	return time.Parse(time.RFC3339, r.Until)
}

func muteChat(c *rest.Call, account instance.Account, in *MuteRequest) (chatState, error) {
	state := chatState{Chat: in.Chat, Muted: &in.Muted}
	until, err := in.end()
	if err != nil {
		return state, err
	}
	if !until.IsZero() {
		at := event.At(until)
		state.Until = &at
	}
	return state, account.Mute(c.Request.Context(), in.Chat, in.Muted, until)
}
