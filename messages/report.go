package messages

import (
	"context"
	"fmt"

	"github.com/google/uuid"

	"postern/delivery/publish"
	"postern/event"
	"postern/store"
)

// Keeping describes how a message is stored.
type Keeping struct {
	Kind      event.Kind // of its event
	RequestID string     // of the sending call, for the event
	Awaited   bool       // a receipt of its recipient is expected
	// InCommit is called with the stored message in its commit, possibly twice. Its error
	// aborts the commit. It may be nil.
	InCommit func(tx *store.Tx, stored event.Message) error
}

// Stores reports whether messages are stored that are published as events of a kind.
func (a *Archive) Stores(kind event.Kind) bool {
	return kind != event.MessagesUpsert || a.cfg.SaveMessages
}

// Receive is Keep for a message that WhatsApp delivers. Unless received messages are
// stored, it only makes the commit of InCommit. known reports a copy of a stored message.
func (a *Archive) Receive(ctx context.Context, src publish.Source, m *event.Message, k Keeping) (known bool, err error) {
	if !a.Stores(k.Kind) {
		return false, a.justCommit(ctx, src.ID, m, k.InCommit)
	}
	stored, known, err := a.Keep(ctx, src, m, k)
	if err == nil {
		a.countCopy(m, &stored, known)
	}
	return known, err
}

func (a *Archive) justCommit(ctx context.Context, instance int64, m *event.Message, fn func(*store.Tx, event.Message) error) error {
	if fn == nil {
		return nil
	}
	return a.cfg.Store.Update(ctx, func(tx *store.Tx) error {
		if err := a.cfg.Owner(tx, instance); err != nil {
			return err // deleted in the meantime
		}
		return fn(tx, *m)
	})
}

// Keep stores a message unless it is known, and reads it back. In the same commit it
// stores the event, if that is durable, unless the message is a further copy of a
// published one, or a further deletion of a post. The new form of a newsletter's post changes the
// stored one, see changePost. It publishes the event after the commit.
func (a *Archive) Keep(ctx context.Context, src publish.Source, m *event.Message, k Keeping) (stored event.Message, known bool, err error) {
	w, about, eventID := src.Writer(), src.About(m), publish.NewEventID()
	err = w.Commit(ctx, func(tx *store.Tx) error {
		n, was, err := a.knownCopy(tx, src.ID, m)
		if err == nil && !was {
			n, was, err = a.storeMessage(tx, src.ID, m, k.marker(w, eventID))
		}
		if known = was; err == nil && k.Awaited && !was {
			err = await(tx, src.ID, n)
		}
		if err != nil {
			return err
		}
		var former uuid.UUID
		if stored, former, err = messageWithEvent(tx, src.ID, n); err != nil {
			return err
		}
		if known {
			changed, err := changePost(tx, src.ID, &stored, m, k.marker(w, eventID))
			if err != nil {
				return err
			}
			known = !changed
		}
		if !known {
			former = uuid.Nil // that of this commit
		}
		if !repeats(m, &stored, known) && (!known || !deletesPost(m)) {
			w.Add(k.Kind, stored, about, k.RequestID).Under(eventID, former)
		}
		if k.InCommit == nil {
			return nil
		}
		return k.InCommit(tx, stored)
	})
	if err != nil {
		return stored, false, fmt.Errorf("store message %q of instance %d: %w", m.KeyID, src.ID, err)
	}
	w.PublishStored(ctx)
	return stored, known, nil
}

// marker returns the event id to store with a message: that of its event if the event is
// in the file. So a message that WhatsApp resends for lack of an acknowledgement is not
// published under another id. It may run in a closure only.
func (k *Keeping) marker(w *publish.Writer, eventID uuid.UUID) uuid.UUID {
	if k.Kind == event.MessagesUpsert && w.Stores() {
		return eventID
	}
	return uuid.Nil
}

// Sent is a message that WhatsApp accepted, to be stored in another commit.
type Sent struct {
	archive *Archive
	src     publish.Source
	message event.Message
	awaited bool
	about   event.About
	w       *publish.Writer
}

// Sent prepares storing m, which the instance has sent. awaited is as in [Keeping].
func (a *Archive) Sent(src publish.Source, m *event.Message, awaited bool) *Sent {
	return &Sent{a, src, *m, awaited, src.About(m), src.Writer()}
}

// Store stores the message as part of a commit, with its send.message event if that is
// durable, and returns its id. It may run in several attempts of a closure, and must be
// the last operation on the instance there.
func (s *Sent) Store(tx *store.Tx) (id int64, err error) {
	err = s.w.In(tx, func(tx *store.Tx) error {
		if id, err = s.archive.StoreMessage(tx, s.src.ID, &s.message); err == nil && s.awaited {
			err = await(tx, s.src.ID, id)
		}
		if err != nil {
			return err
		}
		payload := s.message
		payload.ID = id
		s.w.Add(event.SendMessage, payload, s.about, "")
		return nil
	})
	return id, err
}

// Publish publishes send.message after the commit, unless the instance was deleted in the
// meantime.
func (s *Sent) Publish() { _ = s.w.Publish(context.Background()) }
