package instance

import (
	"context"
	"fmt"
	"slices"
	"unicode/utf8"

	"postern/event"
	"postern/store"
)

const settingsBucket = "instance_settings"

// Limits of settings.
const (
	MaxIgnored     = 1000 // entries of Ignore.JIDs
	MaxHistoryDays = 365
)

// Settings are the automatic actions of an instance. The zero value, with Ignore.JIDs
// empty, is the default: none.
type Settings struct {
	Ignore       Ignore      `json:"ignore" doc:"Chats to ignore: nothing of them is stored or reported."`
	RejectCalls  RejectCalls `json:"rejectCalls" doc:"The handling of incoming calls."`
	ReadMessages bool        `json:"readMessages" doc:"Whether incoming messages are marked as read." example:"false"`
	AlwaysOnline bool        `json:"alwaysOnline" doc:"Whether the account is shown as available while it is connected." example:"false"`
	Pulse        bool        `json:"presencePulse" doc:"Whether the account is shown as available for a moment after each login and once a day, which keeps its devices linked. Not with alwaysOnline." example:"false"`
	StoreMedia   *bool       `json:"storeMedia,omitempty" doc:"Whether new files of messages are kept, where media.store.kind keeps any; true when absent." example:"true"`
	History      History     `json:"history" doc:"Which history is requested at pairing and stored; it applies to the next pairing."`
}

// Ignore selects chats of which nothing is stored or published.
type Ignore struct {
	Groups      bool     `json:"groups" doc:"All groups." example:"true"`
	Status      bool     `json:"status" doc:"Status posts of contacts." example:"true"`
	Newsletters bool     `json:"newsletters" doc:"All newsletters." example:"false"`
	Broadcasts  bool     `json:"broadcasts" doc:"Messages to broadcast lists that include the account." example:"false"`
	JIDs        []string `json:"jids"` // single chats; either address of a person
}

// RejectCalls says how incoming calls are handled.
type RejectCalls struct {
	Enabled bool   `json:"enabled" doc:"Whether calls are rejected." example:"true"`
	Message string `json:"message"` // sent to the caller, at most once an hour; empty: none
}

// History selects what is requested and stored from before the pairing. It applies at the
// next pairing.
type History struct {
	Days   int  `json:"days"` // 0: none
	Groups bool `json:"groups" doc:"Whether history of groups is stored too." example:"false"`
}

// check normalizes the addresses and returns the first violated rule.
func (s *Settings) check() error {
	if s.History.Days < 0 || s.History.Days > MaxHistoryDays {
		return fmt.Errorf("%w: history.days must be 0 to %d", event.ErrArgument, MaxHistoryDays)
	}
	if utf8.RuneCountInString(s.RejectCalls.Message) > event.MaxText {
		return fmt.Errorf("%w: rejectCalls.message must have at most %d characters", event.ErrArgument, event.MaxText)
	}
	if len(s.Ignore.JIDs) > MaxIgnored {
		return fmt.Errorf("%w: ignore.jids must have at most %d entries", event.ErrArgument, MaxIgnored)
	}
	jids := make([]string, 0, len(s.Ignore.JIDs))
	for i, text := range s.Ignore.JIDs {
		chat, err := event.ParseChat(text)
		if err != nil {
			return fmt.Errorf("ignore.jids[%d]: %w", i, err)
		}
		jids = append(jids, chat.JID())
	}
	slices.Sort(jids)
	s.Ignore.JIDs = slices.Compact(jids)
	return nil
}

func (s Settings) clone() Settings {
	s.Ignore.JIDs = slices.Clone(s.Ignore.JIDs)
	if s.Ignore.JIDs == nil {
		s.Ignore.JIDs = []string{}
	}
	return s
}

// PutSettings replaces the settings of an instance, effective on return, and returns them
// as stored. Errors: ErrNotFound, or one that wraps event.ErrArgument or
// event.ErrRecipient and names the field, with nothing changed.
func (r *Registry) PutSettings(ctx context.Context, id int64, s Settings) (Settings, error) {
	s = s.clone()
	if err := s.check(); err != nil {
		return Settings{}, err
	}
	e := r.entry(id)
	if e == nil {
		return Settings{}, ErrNotFound
	}
	e.change.Lock()
	defer e.change.Unlock()
	if e.gone {
		return Settings{}, ErrNotFound
	}
	err := r.cfg.Store.Update(ctx, func(tx *store.Tx) error { return store.PutJSON(tx, settingsBucket, store.Key(id), s) })
	if err != nil {
		return Settings{}, fmt.Errorf("settings of instance %d: %w", id, err)
	}
	e.settings.Store(&s)
	return s.clone(), nil
}

// Settings returns the settings of an instance, or the default if none are stored.
// Errors: ErrNotFound.
func (r *Registry) Settings(id int64) (Settings, error) {
	e := r.entry(id)
	if e == nil {
		return Settings{}, ErrNotFound
	}
	return e.wishes().clone(), nil
}

// StoresMedia reports whether new files of an instance are kept.
func (r *Registry) StoresMedia(id int64) bool {
	e := r.entry(id)
	if e == nil {
		return false
	}
	want := e.wishes().StoreMedia
	return want == nil || *want
}

// wishes returns the settings in force. They must not be modified.
func (e *entry) wishes() *Settings {
	if s := e.settings.Load(); s != nil {
		return s
	}
	return &Settings{}
}
