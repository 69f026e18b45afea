package later

import (
	"context"
	"errors"
	"fmt"

	"github.com/google/uuid"

	"postern/event"
	"postern/store"
)

// KeySend is a scheduled send of a scoped key.
type KeySend struct {
	InstanceName string     `json:"instanceName" doc:"Its instance." example:"$name"`
	ScheduledID  uuid.UUID  `json:"scheduledId" doc:"Its id." example:"$uuid"`
	SendAt       event.Time `json:"sendAt" doc:"When it is sent." example:"$time"`

	instance int64
}

// OfKey returns the sends that a scoped key scheduled and that have not ended, of each instance the
// next one first. Damaged ones are left out.
func (s *Scheduler) OfKey(key uuid.UUID) (all []KeySend, err error) {
	err = s.cfg.Store.View(func(tx *store.Tx) error {
		all = nil
		return tx.Scan(sends, store.Range{}, func(k, v []byte) (bool, error) {
			w, err := decode(tx, k, v)
			if err == nil && w.Key == key {
				all = append(all, KeySend{ScheduledID: w.id, SendAt: event.At(timeOf(w.id)), instance: w.instance})
			}
			return true, err
		})
	})
	if err != nil {
		return nil, fmt.Errorf("scheduled sends of a key: %w", err)
	}
	for i := range all {
		if rec, err := s.cfg.Registry.ByID(all[i].instance); err == nil { // or it was deleted since
			all[i].InstanceName = rec.Name
		}
	}
	return all, nil
}

// DeleteOfKey deletes the sends of OfKey, except those whose message may have left, and returns
// those that it deleted. It may be repeated.
func (s *Scheduler) DeleteOfKey(ctx context.Context, key uuid.UUID) (deleted []KeySend, err error) {
	all, err := s.OfKey(key)
	for _, one := range all {
		switch err := s.Delete(ctx, one.instance, one.ScheduledID, nil); {
		case err == nil:
			deleted = append(deleted, one)
		case !errors.Is(err, ErrNotFound) && !errors.Is(err, ErrBegun):
			return deleted, err
		}
	}
	return deleted, err
}
