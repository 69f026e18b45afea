package instance

import (
	"context"
	"errors"
	"time"

	"postern/event"
)

// callsAtOnce bounds the concurrent call rejections of one instance: a caller can ring a
// hundred times a second.
const callsAtOnce = 8

// automatic is the state of a keeper's automatic actions. The keeper's mutex guards it.
type automatic struct {
	refusing int         // calls being rejected
	reading  bool        // a goroutine marks messages as read
	more     bool        // and has to check once more
	shown    bool        // the account was shown as available on this connection
	pulse    *time.Timer // for the next moment of being shown as available; nil: none
}

// act applies the settings to a stored fact. It does not block.
func (k *keeper) act(f event.Fact) {
	e := k.sup.reg.entry(k.id)
	if e == nil {
		return
	}
	wishes := e.wishes()
	switch data := f.Data.(type) {
	case event.Call:
		if wishes.RejectCalls.Enabled {
			k.refuse(data, wishes.RejectCalls.Message)
		}
	case *event.Message:
		if wishes.ReadMessages {
			k.markRead()
		}
	case event.InstanceStatus, event.SettingsChange: // may carry the account's name, which is required for showing it as available
		k.beAvailable()
	}
	if f.Status == event.Online {
		k.mu.Lock()
		k.auto.shown = false
		k.mu.Unlock()
		k.beAvailable()
		k.pulse()
		if k.sup.reg.readsWait(k.id) {
			k.markRead()
		}
	}
}

// beAvailable shows the account as available, once per connection.
func (k *keeper) beAvailable() {
	e := k.sup.reg.entry(k.id)
	if e == nil || !e.wishes().AlwaysOnline {
		return
	}
	k.mu.Lock()
	shown := k.auto.shown
	k.mu.Unlock()
	if shown {
		return
	}
	k.sup.spawn(func() {
		if err := k.session.ShowAvailable(k.sup.life, true); err != nil {
			k.sup.log.Debug("account not shown as available", "instance_id", k.id, "error", err)
			return
		}
		k.mu.Lock()
		defer k.mu.Unlock()
		k.auto.shown = true
	})
}

// pulseEvery is the time between two moments of being shown as available.
const pulseEvery = 24 * time.Hour

// pulse shows the account as available for a moment, now and once a day, if its settings ask for it.
func (k *keeper) pulse() {
	e := k.sup.reg.entry(k.id)
	if e == nil || !e.wishes().Pulse || e.wishes().AlwaysOnline || !k.session.Online() || k.sup.life.Err() != nil {
		return
	}
	k.mu.Lock()
	if k.auto.pulse != nil {
		k.auto.pulse.Stop()
	}
	k.auto.pulse = time.AfterFunc(pulseEvery, k.pulse)
	k.mu.Unlock()
	k.sup.spawn(func() {
		err := k.session.ShowAvailable(k.sup.life, true)
		if err == nil {
			err = k.session.ShowAvailable(k.sup.life, false)
		}
		if err != nil {
			k.sup.log.Debug("account not shown as available for a moment", "instance_id", k.id, "error", err)
		}
	})
}

// PutSettings is Registry.PutSettings that also updates the shown presence if it changed.
func (s *Supervisor) PutSettings(ctx context.Context, id int64, wanted Settings) (Settings, error) {
	before, err := s.reg.Settings(id)
	if err != nil {
		return Settings{}, err
	}
	stored, err := s.reg.PutSettings(ctx, id, wanted)
	if err != nil {
		return stored, err
	}
	s.mu.Lock()
	k := s.keepers[id]
	s.mu.Unlock()
	if k == nil || !k.session.Online() {
		return stored, nil
	}
	if stored.AlwaysOnline != before.AlwaysOnline {
		k.showChange(stored.AlwaysOnline)
	}
	if stored.Pulse && !before.Pulse {
		k.pulse()
	}
	return stored, nil
}

func (k *keeper) showChange(available bool) {
	k.mu.Lock()
	k.auto.shown = false
	k.mu.Unlock()
	if available {
		k.beAvailable()
		return
	}
	k.sup.spawn(func() {
		if err := k.session.ShowAvailable(k.sup.life, false); err != nil {
			k.sup.log.Debug("account not shown as away", "instance_id", k.id, "error", err)
		}
	})
}

// refuse rejects a ringing call. It sends no message for group calls.
func (k *keeper) refuse(c event.Call, message string) {
	if c.Status != event.CallOffer && c.Status != event.CallRinging || c.Offline || c.From == "" {
		return
	}
	k.mu.Lock()
	room := k.auto.refusing < callsAtOnce
	if room {
		k.auto.refusing++
	}
	k.mu.Unlock()
	if !room {
		k.sup.log.Debug("call not rejected, too many ring", "instance_id", k.id)
		return
	}
	k.sup.spawn(func() {
		defer func() {
			k.mu.Lock()
			defer k.mu.Unlock()
			k.auto.refusing--
		}()
		if err := k.session.RejectCall(k.sup.life, c.From, c.ID); err != nil {
			k.sup.log.Warn("call not rejected", "instance_id", k.id, "error", err)
			return
		}
		if message == "" || c.IsGroup != nil && *c.IsGroup {
			return
		}
		if err := k.answerCall(c.From, message); err != nil {
			k.sup.log.Warn("caller not answered", "instance_id", k.id, "error", err)
		}
	})
}

// answerCall sends a text to a caller, at most once an hour. It stores the answer before
// the text leaves: a crash may lose the text, but never sends it twice.
func (k *keeper) answerCall(caller, message string) error {
	reg := k.sup.reg
	due, err := reg.claimAnswer(k.sup.life, k.id, caller)
	if err != nil || !due {
		return err
	}
	out := event.Outgoing{ID: k.sup.cfg.NewMessageID(), To: caller, Content: event.Content{Text: &event.TextContent{Text: message}}, By: event.ByQueue}
	_, err = k.sup.SendAndStore(k.sup.life, k.id, out, Keeping{})
	if err != nil && !errors.Is(err, event.ErrOutcomeUnknown) && !errors.Is(err, ErrNotStored) {
		ctx := context.WithoutCancel(k.sup.life)
		return errors.Join(err, reg.releaseAnswer(ctx, k.id, caller))
	}
	return err
}
