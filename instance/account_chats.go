package instance

import (
	"context"
	"time"

	"postern/event"
)

// Chats acts on the account's chats and on people. Both are given as [event.ParseChat]
// accepts them.
//
// Changes by Archive, Pin, Mute and Star appear on the phone and the account's other
// devices, and are reported by an event like changes made there. Further error:
// event.ErrStateConflict.
type Chats interface {
	// Registered reports which phone numbers, given as digits, have an account, in the
	// same order.
	Registered(ctx context.Context, numbers []string) ([]event.Registration, error)

	// UserInfo returns what the accounts of phone numbers show, in the same order.
	UserInfo(ctx context.Context, numbers []string) ([]event.UserInfo, error)

	// MarkRead sends read receipts to the sender of messages and to the account's other
	// devices, or receipts that voice messages were played. Sender is required in groups
	// only. WhatsApp does not acknowledge them.
	MarkRead(ctx context.Context, chat, sender string, ids []string, played bool) error
	MarkUnread(ctx context.Context, chat string, unread bool, last event.LastMessage) error
	// DeleteChat deletes a chat with its files on the account's devices.
	DeleteChat(ctx context.Context, chat string, last event.LastMessage) error
	// DeleteForMe deletes a message, which was sent at a time, on the account's devices.
	DeleteForMe(ctx context.Context, message event.MessageKey, at time.Time) error
	Archive(ctx context.Context, chat string, archived bool, last event.LastMessage) error
	Pin(ctx context.Context, chat string, pinned bool) error
	// A zero time mutes the chat forever.
	Mute(ctx context.Context, chat string, muted bool, until time.Time) error
	Star(ctx context.Context, message event.MessageKey, starred bool) error

	// Block blocks or unblocks a person and returns the account's block list after the
	// change.
	Block(ctx context.Context, who string, blocked bool) ([]event.Person, error)
	Blocked(ctx context.Context) ([]event.Person, error)

	// Picture returns the profile picture of a person or a group, nil if the account can
	// see none. A preview is small.
	Picture(ctx context.Context, of string, preview bool) (*event.Picture, error)

	// ShowAvailable sets the presence of this device.
	ShowAvailable(ctx context.Context, available bool) error
	// ShowPresence shows a chat that the account is typing or recording.
	ShowPresence(ctx context.Context, chat string, p event.Presence) error
	// WatchPresence subscribes to a person's presence events until the connection ends.
	WatchPresence(ctx context.Context, who string) error

	// AskHistory requests up to count messages older than the anchor, a message of a chat
	// from that time, from the account's phone. The answer is reported by history.sync.
	AskHistory(ctx context.Context, anchor event.MessageKey, at time.Time, count int) error

	// RejectCall rejects an incoming call. WhatsApp does not acknowledge it.
	RejectCall(ctx context.Context, from, callID string) error
}
