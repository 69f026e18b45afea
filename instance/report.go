package instance

import (
	"context"
	"fmt"
	"slices"
	"time"

	"postern/event"
	"postern/store"
)

// A receipt can overtake the message it is about. It is looked for this often,
// with a pause that doubles; receiptsWaiting bounds how many are looked for at
// the same time.
const (
	receiptLooks    = 3
	receiptPause    = 100 * time.Millisecond
	receiptsWaiting = 256
)

// Report stores what a fact asks for, then publishes its event. An error means
// that nothing was stored and nothing published; the connector must not
// acknowledge the fact's origin. A fact about an instance that no longer
// exists is ErrNotFound.
func (r *Registry) Report(ctx context.Context, id int64, f event.Fact) error {
	if err := r.reportState(ctx, id, f); err != nil {
		return err
	}
	switch data := f.Data.(type) {
	case *event.Message:
		return r.reportMessage(ctx, id, f, data)
	case event.Receipt:
		return r.reportReceipt(ctx, id, f, data)
	case event.ContactChange:
		return r.reportContact(ctx, id, f, &data)
	case event.MessageDelete:
		f.Data = r.withID(id, data)
	case event.ConnectionUpdate:
		f.Data = r.withLast(id, data)
	}
	if f.Kind == "" {
		return nil
	}
	return r.Announce(id, f.Kind, f.Data, f.RequestID)
}

// reportState stores the connection state, the link, the own picture and the
// restriction of a fact.
func (r *Registry) reportState(ctx context.Context, id int64, f event.Fact) error {
	if f.Status == "" && f.Link == nil && !f.Unlink && f.Picture == nil && f.Restriction == nil && f.Error == "" {
		return nil
	}
	f.Restriction = bounded(f.Restriction)
	_, _, err := r.change(ctx, id, func(rec *Record) bool { return applyFact(rec, f) })
	return err
}

// applyFact changes the record as the fact says and reports whether anything
// but its times is different.
func applyFact(rec *Record, f event.Fact) bool {
	type state struct {
		status                         event.State
		reason                         int
		err, jid, lid, pushed, picture string
	}
	now := func() state {
		return state{rec.Status, rec.Reason, rec.LastError, rec.OwnerJID, rec.OwnerLID, rec.PushName, rec.ProfilePicURL}
	}
	before, restricted := now(), rec.Restrictions
	rec.restrict(f.Restriction)
	if f.Status != "" {
		rec.Status, rec.Reason = f.Status, f.Reason
	}
	switch {
	case f.Error != "":
		rec.LastError = f.Error
	case f.Status == event.Online:
		rec.LastError = ""
	}
	if f.Link != nil {
		rec.OwnerJID, rec.OwnerLID = f.Link.JID, f.Link.LID
		if f.Link.PushName != "" {
			rec.PushName = f.Link.PushName
		}
	}
	if f.Unlink {
		rec.OwnerJID, rec.OwnerLID, rec.PushName, rec.ProfilePicURL = "", "", "", ""
	}
	if f.Picture != nil {
		rec.ProfilePicURL = *f.Picture
	}
	if f.Status == event.Online && before.status != event.Online {
		rec.LastConnectedAt = rec.UpdatedAt
	}
	return now() != before || !slices.Equal(rec.Restrictions, restricted)
}

// reportMessage stores the message with create-or-ignore, reads it again and
// publishes what is stored.
func (r *Registry) reportMessage(ctx context.Context, id int64, f event.Fact, m *event.Message) error {
	if f.Kind == event.MessagesUpsert && !r.cfg.SaveMessages {
		return nil
	}
	if !storable(m) {
		// WhatsApp would send it again and again if this were an error.
		r.log.Warn("message under an unusable key dropped", "instance_id", id)
		return nil
	}
	stored, err := r.saveMessage(ctx, id, m, nil)
	if err != nil {
		return err
	}
	r.announce(id, f.Kind, stored, f.RequestID)
	return nil
}

func (r *Registry) saveMessage(ctx context.Context, id int64, m *event.Message, also func(*store.Tx, event.Message) error) (stored event.Message, err error) {
	if r.entry(id) == nil {
		return stored, ErrNotFound
	}
	err = r.cfg.Store.Update(ctx, func(tx *store.Tx) error {
		n, err := r.StoreMessage(tx, id, m)
		if err != nil {
			return err
		}
		if stored, err = message(tx, id, n); err != nil || also == nil {
			return err
		}
		return also(tx, stored)
	})
	if err != nil {
		return stored, fmt.Errorf("store message %q of instance %d: %w", m.KeyID, id, err)
	}
	return stored, nil
}

// reportReceipt publishes one update for each message that is stored. Those
// that are not yet are looked for again in the background, so that receipts
// for messages that never were ours hold nothing up.
func (r *Registry) reportReceipt(ctx context.Context, id int64, f event.Fact, receipt event.Receipt) error {
	if !r.cfg.SaveUpdates {
		return nil
	}
	missing, err := r.updateMessages(ctx, id, f, receipt, receipt.KeyIDs)
	if err != nil || len(missing) == 0 {
		return err
	}
	select {
	case r.looking <- struct{}{}:
	default:
		r.log.Debug("receipt dropped, too many wait for their message", "instance_id", id)
		return nil
	}
	r.spawn(func() {
		defer func() { <-r.looking }()
		r.lookAgain(id, f, receipt, missing)
	})
	return nil
}

// lookAgain makes the remaining looks.
func (r *Registry) lookAgain(id int64, f event.Fact, receipt event.Receipt, missing []string) {
	pause := receiptPause
	for range receiptLooks - 1 {
		select {
		case <-time.After(pause):
			pause *= 2
		case <-r.life.Done():
			return
		}
		var err error
		if missing, err = r.updateMessages(r.life, id, f, receipt, missing); err != nil {
			r.log.Warn("receipt not stored", "instance_id", id, "error", err)
			return
		}
		if len(missing) == 0 {
			return
		}
	}
	r.log.Debug("receipt of an unknown message dropped", "instance_id", id)
}

// updateMessages stores and publishes the receipt for those messages that are
// stored, and returns the key ids of the others.
func (r *Registry) updateMessages(ctx context.Context, id int64, f event.Fact, receipt event.Receipt, keyIDs []string) (missing []string, err error) {
	found, missing, err := r.saveUpdates(ctx, id, keyIDs, receipt)
	if err != nil {
		return nil, err
	}
	for _, update := range found {
		r.announce(id, f.Kind, update, f.RequestID)
	}
	return missing, nil
}

func (r *Registry) saveUpdates(ctx context.Context, id int64, keyIDs []string, receipt event.Receipt) (found []event.MessageUpdate, missing []string, err error) {
	known, err := r.anyStored(id, keyIDs)
	if err != nil || !known {
		return nil, keyIDs, err
	}
	err = r.cfg.Store.Update(ctx, func(tx *store.Tx) error {
		found, missing = nil, nil
		at := receipt.At
		if at.IsZero() {
			at = tx.Now()
		}
		for _, keyID := range keyIDs {
			n, err := addUpdate(tx, id, keyID, storedUpdate{receipt.Status, event.At(at)})
			if err != nil {
				return err
			}
			if n == 0 {
				missing = append(missing, keyID)
				continue
			}
			found = append(found, event.MessageUpdate{MessageID: n, Status: receipt.Status, DateTime: event.At(at)})
		}
		return nil
	})
	if err != nil {
		return nil, nil, fmt.Errorf("store receipts of instance %d: %w", id, err)
	}
	return found, missing, nil
}

// anyStored saves a commit for receipts of messages that are not ours.
func (r *Registry) anyStored(id int64, keyIDs []string) (known bool, err error) {
	err = r.cfg.Store.View(func(tx *store.Tx) error {
		for _, keyID := range keyIDs {
			n, err := findMessage(tx, id, keyID)
			if err != nil || n != 0 {
				known = n != 0
				return err
			}
		}
		return nil
	})
	return known, err
}

// withID adds the id of the deleted message, which itself stays. A look-up that
// fails does not hold the event up: the id is optional.
func (r *Registry) withID(id int64, d event.MessageDelete) event.MessageDelete {
	err := r.cfg.Store.View(func(tx *store.Tx) (err error) {
		d.ID, err = findInChat(tx, id, d.MessageID, d.ChatJID)
		return err
	})
	if err != nil {
		r.log.Warn("deleted message not looked up", "instance_id", id, "error", err)
	}
	return d
}

// withLast adds when the instance was connected last, to what does not say so
// itself.
func (r *Registry) withLast(id int64, u event.ConnectionUpdate) event.ConnectionUpdate {
	if rec, err := r.ByID(id); err == nil && u.LastConnection.IsZero() {
		u.LastConnection = rec.LastConnectedAt
	}
	return u
}

// announce publishes what is stored already: a failure is no reason for the
// network to send it again.
func (r *Registry) announce(id int64, kind event.Kind, data any, requestID string) {
	if err := r.Announce(id, kind, data, requestID); err != nil {
		r.log.Warn("event not published", "event", string(kind), "instance_id", id, "error", err)
	}
}

// Announce publishes an event of an instance to its destinations: its webhook
// when that is enabled and wants the event, and the global webhook. With no
// destination the notice still goes to WebSocket clients.
func (r *Registry) Announce(id int64, kind event.Kind, data any, requestID string) error {
	e := r.entry(id)
	if e == nil {
		return ErrNotFound
	}
	rec := e.record.Load()
	body, err := event.MarshalInstance(kind, rec.Snapshot(), data, time.Now())
	if err != nil {
		return err
	}
	notice := event.Notice{
		Kind: kind, Body: body, InstanceID: id, InstanceName: rec.Name, OwnerJID: rec.OwnerJID, RequestID: requestID,
	}
	d, _ := event.Lookup(kind)
	if hook := e.webhook.Load(); hook.wants(d.Flag) {
		notice.URLs = append(notice.URLs, hook.URL)
	}
	if r.cfg.GlobalURL != "" {
		notice.URLs = append(notice.URLs, r.cfg.GlobalURL)
	}
	r.cfg.Publish(notice)
	return nil
}
