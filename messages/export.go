package messages

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/google/uuid"

	"postern/event"
	"postern/store"
)

// Exported is a stored message with its updates, for another file.
type Exported struct {
	Message json.RawMessage `json:"message"`
	Updates []StoredUpdate  `json:"updates,omitempty"`
}

// ExportContacts calls fn for each contact of an instance until fn returns an error. It
// skips damaged records.
func (a *Archive) ExportContacts(id int64, fn func(Contact) error) error {
	return exportAll(a.cfg.Store, contacts, id, func(_ *store.Tx, _ int64, raw []byte) error {
		var c Contact
		if json.Unmarshal(raw, &c) != nil {
			return nil
		}
		return fn(c)
	})
}

// ExportMessages is [Archive.ExportContacts] for stored messages, oldest first.
func (a *Archive) ExportMessages(id int64, fn func(Exported) error) error {
	return exportAll(a.cfg.Store, messages, id, func(tx *store.Tx, message int64, raw []byte) error {
		updates, err := updatesOf(tx, id, message)
		if err != nil && !errors.Is(err, store.ErrDamaged) {
			return err
		}
		return fn(Exported{Message: raw, Updates: updates})
	})
}

const exportStep = 1000 // records read per transaction

// exportAll reads the records of an instance in several transactions.
func exportAll(s *store.Store, bucket string, id int64, fn func(tx *store.Tx, number int64, raw []byte) error) error {
	for from, more := []byte(nil), true; more; {
		n := 0
		err := s.View(func(tx *store.Tx) error {
			return tx.Scan(bucket, store.Range{Prefix: store.Key(id), From: from, Limit: exportStep}, func(k, raw []byte) (bool, error) {
				n++
				from = append(k, 0)
				return true, fn(tx, store.Number(k[8:]), raw)
			})
		})
		if err != nil {
			return err
		}
		more = n == exportStep
	}
	return nil
}

// Take stores an exported message of an instance unchanged under a new id, in the
// caller's transaction. Errors: one that wraps ErrInvalid or nesting.ErrTooDeep.
func Take(tx *store.Tx, id int64, m Exported) error {
	var stored storedMessage
	if err := json.Unmarshal(m.Message, &stored); err != nil {
		return fmt.Errorf("%w: unreadable: %w", ErrInvalid, err)
	}
	message := (*event.Message)(&stored.Message)
	if err := Check(message); err != nil {
		return err
	}
	n, err := tx.NextID(messages)
	if err != nil {
		return err
	}
	stored.Event, stored.Message.ID = uuid.Nil, int64(n) //nolint:gosec // counts from 1
	if err := errors.Join(
		store.PutJSON(tx, messages, store.Key(id, n), stored),
		indexChat(tx, id, message),
		tx.Put(messageKeys, messageKey(id, message), store.Key(n)),
	); err != nil {
		return err
	}
	for i, update := range m.Updates {
		if !knownStatus(update.Status) {
			return invalid(fmt.Sprintf("updates[%d].status", i), "is not a message status")
		}
		u, err := tx.NextID(messageUpdates)
		if err != nil {
			return err
		}
		if err := store.PutJSON(tx, messageUpdates, store.Key(id, int64(n), u), update); err != nil { //nolint:gosec // as above
			return err
		}
	}
	return nil
}
