package automatic

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"postern/event"
	"postern/store"
)

// Wishes are what the settings of an instance ask for.
type Wishes struct {
	RejectCalls  bool
	Answer       string // text to the callers that are rejected; empty: none
	ReadMessages bool
	AlwaysOnline bool
	Pulse        bool // show the account as available for a moment, once a day
}

// Session is what is used of the connection of an instance.
type Session interface {
	Online() bool
	MarkRead(ctx context.Context, chat, sender string, ids []string, played bool) error
	ShowAvailable(ctx context.Context, available bool) error
	RejectCall(ctx context.Context, from, callID string) error
}

// Config configures Actions. All but Twin are required.
type Config struct {
	Store    *store.Store
	Instance int64
	Session  Session
	Log      *slog.Logger

	Life  context.Context          // ends when the program stops
	Spawn func(fn func()) bool     // runs fn in a goroutine; false: the program stops
	There func(tx *store.Tx) error // fails if the instance was deleted

	Wishes  func() Wishes           // in force; zero for a deleted instance
	Account func() (string, error)  // JID of the account
	Twin    func(jid string) string // the other address of a person, empty if unknown; nil: none is known

	// Say sends a text. left reports whether it may have left, with whatever error.
	Say func(ctx context.Context, to, text string) (left bool, err error)
}

// callsAtOnce bounds the concurrent call rejections of one instance: a caller can ring a
// hundred times a second.
const callsAtOnce = 8

// Actions are the automatic actions of one instance. They are safe for concurrent use.
type Actions struct {
	cfg Config

	mu       sync.Mutex
	refusing int         // calls being rejected
	reading  bool        // a goroutine marks messages as read
	more     bool        // and has to check once more
	shown    bool        // the account was shown as available on this connection
	next     *time.Timer // for the next moment of being shown as available; nil: none
}

// New returns the actions of an instance.
func New(cfg Config) *Actions { return &Actions{cfg: cfg} }

// Act applies the settings to a stored fact. It does not block.
func (a *Actions) Act(f event.Fact) {
	wishes := a.cfg.Wishes()
	switch data := f.Data.(type) {
	case event.Call:
		if wishes.RejectCalls {
			a.refuse(data, wishes.Answer)
		}
	case *event.Message:
		if wishes.ReadMessages {
			a.markRead()
		}
	case event.InstanceStatus, event.SettingsChange: // may carry the account's name, which is required for showing it as available
		a.beAvailable()
	}
	if f.Status == event.Online {
		a.mu.Lock()
		a.shown = false
		a.mu.Unlock()
		a.beAvailable()
		a.Pulse()
		if a.readsWait() {
			a.markRead()
		}
	}
}

// beAvailable shows the account as available, once per connection.
func (a *Actions) beAvailable() {
	if !a.cfg.Wishes().AlwaysOnline {
		return
	}
	a.mu.Lock()
	shown := a.shown
	a.mu.Unlock()
	if shown {
		return
	}
	a.cfg.Spawn(func() {
		if err := a.cfg.Session.ShowAvailable(a.cfg.Life, true); err != nil {
			a.cfg.Log.Debug("account not shown as available", "instance_id", a.cfg.Instance, "error", err)
			return
		}
		a.mu.Lock()
		defer a.mu.Unlock()
		a.shown = true
	})
}

// pulseEvery is the time between two moments of being shown as available.
const pulseEvery = 24 * time.Hour

// Pulse shows the account as available for a moment, now and once a day, if its settings ask for it.
func (a *Actions) Pulse() {
	if w := a.cfg.Wishes(); !w.Pulse || w.AlwaysOnline || !a.cfg.Session.Online() || a.cfg.Life.Err() != nil {
		return
	}
	a.mu.Lock()
	if a.next != nil {
		a.next.Stop()
	}
	a.next = time.AfterFunc(pulseEvery, a.Pulse)
	a.mu.Unlock()
	a.cfg.Spawn(func() {
		err := a.cfg.Session.ShowAvailable(a.cfg.Life, true)
		if err == nil {
			err = a.cfg.Session.ShowAvailable(a.cfg.Life, false)
		}
		if err != nil {
			a.cfg.Log.Debug("account not shown as available for a moment", "instance_id", a.cfg.Instance, "error", err)
		}
	})
}

// Show applies a change of the setting that shows the account as available.
func (a *Actions) Show(available bool) {
	a.mu.Lock()
	a.shown = false
	a.mu.Unlock()
	if available {
		a.beAvailable()
		return
	}
	a.cfg.Spawn(func() {
		if err := a.cfg.Session.ShowAvailable(a.cfg.Life, false); err != nil {
			a.cfg.Log.Debug("account not shown as away", "instance_id", a.cfg.Instance, "error", err)
		}
	})
}

// refuse rejects a ringing call. It sends no message for group calls.
func (a *Actions) refuse(c event.Call, message string) {
	if c.Status != event.CallOffer && c.Status != event.CallRinging || c.Offline || c.From == "" {
		return
	}
	a.mu.Lock()
	room := a.refusing < callsAtOnce
	if room {
		a.refusing++
	}
	a.mu.Unlock()
	if !room {
		a.cfg.Log.Debug("call not rejected, too many ring", "instance_id", a.cfg.Instance)
		return
	}
	a.cfg.Spawn(func() {
		defer func() {
			a.mu.Lock()
			defer a.mu.Unlock()
			a.refusing--
		}()
		if err := a.cfg.Session.RejectCall(a.cfg.Life, c.From, c.ID); err != nil {
			a.cfg.Log.Warn("call not rejected", "instance_id", a.cfg.Instance, "error", err)
			return
		}
		if message == "" || c.IsGroup != nil && *c.IsGroup {
			return
		}
		if err := a.answerCall(c.From, message); err != nil {
			a.cfg.Log.Warn("caller not answered", "instance_id", a.cfg.Instance, "error", err)
		}
	})
}

// answerCall sends a text to a caller, at most once an hour. It stores the answer before
// the text leaves: a crash may lose the text, but never sends it twice.
func (a *Actions) answerCall(caller, message string) error {
	due, err := a.claimAnswer(a.cfg.Life, caller)
	if err != nil || !due {
		return err
	}
	left, err := a.cfg.Say(a.cfg.Life, caller, message)
	if err != nil && !left {
		return errors.Join(err, a.releaseAnswer(context.WithoutCancel(a.cfg.Life), caller))
	}
	return err
}
