package instance

import (
	"context"
	"time"

	"postern/event"
)

// Chats is what the account does to its chats and to the people in them. Chats
// and people are given as [event.ParseChat] takes them.
//
// What Archive, Pin, Mute and Star change, the phone and the account's other
// devices show too. It is told of by an event, like any change that they make.
// Their errors may also be event.ErrStateConflict.
type Chats interface {
	// Registered tells which phone numbers, given by their digits, have an
	// account, in the same order.
	Registered(ctx context.Context, numbers []string) ([]event.Registration, error)

	// MarkRead tells the sender of messages, and the account's other devices,
	// that they were read. Sender is needed in groups only. WhatsApp does not
	// acknowledge it.
	MarkRead(ctx context.Context, chat, sender string, ids []string) error
	Archive(ctx context.Context, chat string, archived bool, last event.LastMessage) error
	Pin(ctx context.Context, chat string, pinned bool) error
	// Mute with a zero time is for ever.
	Mute(ctx context.Context, chat string, muted bool, until time.Time) error
	Star(ctx context.Context, message event.MessageKey, starred bool) error

	// Block blocks or unblocks a person and returns whom the account blocks
	// then.
	Block(ctx context.Context, who string, blocked bool) ([]event.Person, error)
	Blocked(ctx context.Context) ([]event.Person, error)

	// Picture is the profile picture of a person or a group, nil when there is
	// none that the account may see. A preview is small.
	Picture(ctx context.Context, of string, preview bool) (*event.Picture, error)

	// ShowAvailable tells WhatsApp whether somebody sits before this device.
	ShowAvailable(ctx context.Context, available bool) error
	// ShowPresence shows in a chat that something is written or recorded.
	ShowPresence(ctx context.Context, chat string, p event.Presence) error
	// WatchPresence asks for the events of a person's coming and going, until
	// the connection ends.
	WatchPresence(ctx context.Context, who string) error

	// AskHistory asks the account's phone for at most count messages that are
	// older than the anchor, a message of a chat from that time. What it answers
	// is told by history.sync.
	AskHistory(ctx context.Context, anchor event.MessageKey, at time.Time, count int) error

	// RejectCall refuses an incoming call. WhatsApp does not acknowledge it.
	RejectCall(ctx context.Context, from, callID string) error
}
