package chats

import (
	"time"

	"postern/event"
	"postern/httpapi/rest"
	"postern/instance"
)

const (
	maxNumbers = 100 // that one request looks up
	maxRead    = 100 // messages that one request marks as read
)

// lastMessage is the newest message of a chat, as existing clients send it.
type lastMessage struct {
	Key              *event.MessageKey `json:"key"`
	MessageTimestamp int64             `json:"messageTimestamp"` // Unix seconds
}

type archiveRequest struct {
	Chat        string       `json:"chat"` // may be missing where lastMessage names it
	Archive     bool         `json:"archive" strict:"required"`
	LastMessage *lastMessage `json:"lastMessage"`
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
	Chat   string      `json:"chat"`
	Pinned *bool       `json:"pinned,omitempty"`
	Muted  *bool       `json:"muted,omitempty"`
	Until  *event.Time `json:"until,omitempty"` // of muted; absent: for ever
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

type pinRequest struct {
	Chat   string `json:"chat" strict:"required"`
	Pinned bool   `json:"pinned" strict:"required"`
}

func (r *pinRequest) check() error { return readChat("chat", &r.Chat) }

func pinChat(c *rest.Call, account instance.Account, in *pinRequest) (chatState, error) {
	return chatState{Chat: in.Chat, Pinned: &in.Pinned}, account.Pin(c.Request.Context(), in.Chat, in.Pinned)
}

type MuteRequest struct {
	Chat  string `json:"chat" strict:"required"`
	Muted bool   `json:"muted" strict:"required"`
	Until string `json:"until"` // RFC 3339; absent: for ever
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
