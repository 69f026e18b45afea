package instance

import (
	"context"
	"errors"

	"postern/event"
	"postern/instance/automatic"
	"postern/store"
)

// automation returns the automatic actions of the keeper's instance.
func (k *keeper) automation() *automatic.Actions {
	s := k.sup
	return automatic.New(automatic.Config{
		Store: s.reg.cfg.Store, Instance: k.id, Session: k.session, Log: s.log, Life: s.life, Spawn: s.spawn, Twin: s.reg.cfg.Twin,
		There:  func(tx *store.Tx) error { return There(tx, k.id) },
		Wishes: func() automatic.Wishes { return s.reg.automatic(k.id) },
		Account: func() (string, error) {
			rec, err := s.reg.ByID(k.id)
			return rec.OwnerJID, err
		},
		Say: func(ctx context.Context, to, text string) (bool, error) {
			out := event.Outgoing{ID: s.cfg.NewMessageID(), To: to, Content: event.Content{Text: &event.TextContent{Text: text}}, By: event.ByQueue}
			_, err := s.SendAndStore(ctx, k.id, out, Keeping{})
			return err == nil || errors.Is(err, event.ErrOutcomeUnknown) || errors.Is(err, ErrNotStored), err
		},
	})
}

// automatic returns what the settings of an instance ask for.
func (r *Registry) automatic(id int64) automatic.Wishes {
	e := r.entry(id)
	if e == nil {
		return automatic.Wishes{}
	}
	s := e.wishes()
	return automatic.Wishes{
		RejectCalls: s.RejectCalls.Enabled, Answer: s.RejectCalls.Message, ReadMessages: s.ReadMessages, AlwaysOnline: s.AlwaysOnline, Pulse: s.Pulse,
	}
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
		k.auto.Show(stored.AlwaysOnline)
	}
	if stored.Pulse && !before.Pulse {
		k.auto.Pulse()
	}
	return stored, nil
}
