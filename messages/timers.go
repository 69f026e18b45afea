package messages

import (
	"context"
	"errors"
	"fmt"
	"time"

	"postern/event"
	"postern/store"
)

// timerRecord is the newest setting of a chat's disappearing timer.
type timerRecord struct {
	Seconds uint32 `json:"seconds"`       // 0: switched off
	Set     int64  `json:"set,omitempty"` // when it was set, seconds since 1970; 0: not known
	At      int64  `json:"at"`            // the time of what carried it
}

// maxTimerAhead is how much later than what carries it a setting may say that it was made. One from a phone
// whose clock is wrong would otherwise win for years.
const maxTimerAhead = int64(time.Hour / time.Second)

// recordOf returns the record of a setting. What the network answers now takes the place of the former one
// in time, so that the clock of this machine decides nothing.
func recordOf(t event.ChatTimer, former timerRecord) timerRecord {
	if t.At == 0 {
		return timerRecord{Seconds: t.Seconds, At: max(former.At, former.Set)}
	}
	r := timerRecord{t.Seconds, t.Set, t.At}
	if r.Set > r.At+maxTimerAhead {
		r.Set = 0
	}
	return r
}

// made returns when the setting was made, as far as it is known.
func (r timerRecord) made() int64 {
	if r.Set > 0 {
		return r.Set
	}
	return r.At
}

// replaces reports whether a setting is a newer one than another.
func (r timerRecord) replaces(former timerRecord) bool {
	switch {
	case r.made() != former.made():
		return r.made() > former.made() && (r.Seconds != former.Seconds || r.Set != 0)
	default:
		return r.Seconds != former.Seconds && r.At >= former.At
	}
}

func timerKey(instance int64, name string) []byte { return store.Key(instance, name) }

// timer returns the newest setting of a chat under its names.
func timer(tx *store.Tx, instance int64, names []string) (newest timerRecord, found bool, err error) {
	for _, name := range names {
		r, is, err := store.GetJSON[timerRecord](tx, chatTimers, timerKey(instance, name))
		if errors.Is(err, store.ErrDamaged) {
			continue // it is learnt again
		}
		if err != nil {
			return newest, found, err
		}
		if is && (!found || r.replaces(newest)) {
			newest, found = r, true
		}
	}
	return newest, found, nil
}

// TimerOf returns the disappearing timer of a chat, whose names are the addresses of its person or group,
// and nil if it has none.
func (a *Archive) TimerOf(instance int64, names []string) (*event.ChatTimer, error) {
	var r timerRecord
	err := a.cfg.Store.View(func(tx *store.Tx) (err error) {
		r, _, err = timer(tx, instance, names)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("disappearing timer of a chat of instance %d: %w", instance, err)
	}
	if r.Seconds == 0 {
		return nil, nil //nolint:nilnil // most chats have none
	}
	return &event.ChatTimer{Chat: names, Seconds: r.Seconds, Set: r.Set, At: r.At}, nil
}

// TimeOfSetting returns when a setting of a chat's timer that is made now says that it was made, in Unix seconds:
// after the former one, even if the clock of this machine is behind that which the former one was made by.
func (a *Archive) TimeOfSetting(instance int64, names []string) (at int64, err error) {
	at = a.cfg.Store.Now().Unix()
	err = a.cfg.Store.View(func(tx *store.Tx) error {
		former, found, err := timer(tx, instance, names)
		if found {
			at = max(at, former.made()+1)
		}
		return err
	})
	if err != nil {
		return 0, fmt.Errorf("disappearing timer of a chat of instance %d: %w", instance, err)
	}
	return at, nil
}

// Timers returns what a commit does to keep the settings that are newer than those it has, nil if none is.
func (a *Archive) Timers(instance int64, all []event.ChatTimer) (keep func(tx *store.Tx) error, err error) {
	if len(all) == 0 {
		return nil, nil
	}
	newer := false
	err = a.cfg.Store.View(func(tx *store.Tx) error {
		for _, t := range all {
			former, found, err := timer(tx, instance, t.Chat)
			if err != nil {
				return err
			}
			newer = newer || !found && (t.Seconds > 0 || t.Set > 0) || found && recordOf(t, former).replaces(former)
		}
		return nil
	})
	if err != nil || !newer {
		return nil, err
	}
	return func(tx *store.Tx) error {
		for _, t := range all {
			if err := keepTimer(tx, instance, t); err != nil {
				return err
			}
		}
		return nil
	}, nil
}

func keepTimer(tx *store.Tx, instance int64, t event.ChatTimer) error {
	former, found, err := timer(tx, instance, t.Chat)
	r := recordOf(t, former)
	if err != nil || found && !r.replaces(former) {
		return err
	}
	return store.PutJSON(tx, chatTimers, timerKey(instance, t.Chat[0]), r)
}

// LearnTimers keeps the settings that are newer than those it has, in a commit of its own.
func (a *Archive) LearnTimers(ctx context.Context, instance int64, all []event.ChatTimer) error {
	keep, err := a.Timers(instance, all)
	if err == nil && keep != nil {
		err = a.cfg.Store.Update(ctx, func(tx *store.Tx) error {
			if err := a.cfg.Owner(tx, instance); err != nil {
				return err
			}
			return keep(tx)
		})
	}
	if err != nil {
		return fmt.Errorf("disappearing timers of instance %d: %w", instance, err)
	}
	return nil
}
