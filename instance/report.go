package instance

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"

	"postern/delivery"
	"postern/event"
	"postern/store"
)

// A receipt can arrive before its message. The message is looked up this often, with a
// pause that doubles; receiptsWaiting bounds the receipts that wait concurrently.
const (
	receiptLooks    = 3
	receiptPause    = 100 * time.Millisecond
	receiptsWaiting = 256
)

// Report stores a fact, then publishes its event. A durable event is written in the
// commit that stores the fact, or in a commit of its own if nothing is stored. An error
// means that nothing was stored or published; the connector must not acknowledge the fact
// then. A fact about an unknown instance returns ErrNotFound. Facts about ignored chats
// are dropped without error.
func (r *Registry) Report(ctx context.Context, id int64, f event.Fact) error {
	switch f.Data.(type) {
	case *event.Message, *event.HistoryPart, event.Receipt, event.ContactChange:
	default:
		return r.reportEvent(ctx, id, f, false)
	}
	if changesState(f) {
		if err := r.reportState(ctx, id, f, r.source(id).Writer(), func(*Record) {}); err != nil {
			return err
		}
	}
	if r.ignores(id, f) {
		return nil
	}
	switch data := f.Data.(type) {
	case *event.Message:
		return r.reportMessage(ctx, id, f, data)
	case *event.HistoryPart:
		return r.reportHistory(ctx, id, data)
	case event.Receipt:
		return r.reportReceipt(ctx, id, f, data)
	case event.ContactChange:
		return r.reportContact(ctx, id, f, &data)
	}
	return nil
}

// reportEvent is Report for a fact whose data is the payload, to be completed unless
// asIs. Its event concerns the state that the fact changes, or nothing that is stored.
func (r *Registry) reportEvent(ctx context.Context, id int64, f event.Fact, asIs bool) (err error) {
	t, about, rule := r.source(id).Writer(), r.events.About(f.Data), r.ruleOf(id, f)
	silent := f.Kind == "" || rule != notIgnored
	written := f.Notice != "" && t.MayStore()
	if changesState(f) || written {
		err = r.reportStored(ctx, id, f, t, func(rec *Record) {
			if !silent {
				t.Add(f.Kind, r.complete(id, rec, f.Data, asIs), about, f.RequestID)
			}
		})
	} else if !silent {
		t.Add(f.Kind, r.complete(id, nil, f.Data, asIs), about, f.RequestID)
	}
	if err != nil {
		return err
	}
	r.ignored.count(rule)
	if err := t.Publish(ctx); err != nil || f.Notice == "" || written && t.Stores() {
		return err
	}
	// Events in memory are published first: a kill in between repeats them.
	return r.forgetNotice(ctx, id, f.Notice)
}

// forgetNotice makes the connector delete a notice.
func (r *Registry) forgetNotice(ctx context.Context, id int64, notice string) error {
	if r.cfg.DropNotice == nil {
		return nil
	}
	err := r.cfg.Store.Update(ctx, func(tx *store.Tx) error { return r.cfg.DropNotice(tx, id, notice) })
	if err != nil {
		return fmt.Errorf("forget a notice of instance %d: %w", id, err)
	}
	return nil
}

// reportStored stores what accompanies an event, and makes tell add the event.
func (r *Registry) reportStored(ctx context.Context, id int64, f event.Fact, t *delivery.Writer, tell func(*Record)) error {
	if changesState(f) {
		return r.reportState(ctx, id, f, t, tell)
	}
	err := t.Commit(ctx, func(tx *store.Tx) error {
		tell(nil)
		if r.cfg.DropNotice == nil || !t.Stores() {
			return nil
		}
		return r.cfg.DropNotice(tx, id, f.Notice)
	})
	if err != nil {
		return fmt.Errorf("%s of instance %d: %w", f.Kind, id, err)
	}
	return nil
}

// complete adds data that only the registry has to a payload. rec is the record as its
// event will show it, nil for the cached one.
func (r *Registry) complete(id int64, rec *Record, data any, asIs bool) any {
	if asIs {
		return data
	}
	switch d := data.(type) {
	case event.MessageDelete:
		return r.withID(id, d)
	case event.ConnectionUpdate:
		return r.withLast(id, rec, d)
	}
	return data
}

// changesState reports whether a fact changes the instance's record.
func changesState(f event.Fact) bool {
	return f.Status != "" || f.Link != nil || f.Unlink || f.Picture != nil || f.Restriction != nil || f.Error != ""
}

// reportState stores the connection state, link, own picture and restriction of a fact,
// with the events that tell adds to t.
func (r *Registry) reportState(ctx context.Context, id int64, f event.Fact, t *delivery.Writer, tell func(*Record)) error {
	now := r.cfg.Store.Now()
	f.Restriction = bounded(f.Restriction, now)
	_, _, err := r.changeAndTell(ctx, id, func(rec *Record) bool { return applyFact(rec, f, now) }, t, tell)
	return err
}

// applyFact applies a fact to the record and reports whether anything but its times
// changed.
func applyFact(rec *Record, f event.Fact, at time.Time) bool {
	type state struct {
		status                         event.State
		reason                         int
		err, jid, lid, pushed, picture string
		elsewhere                      event.Network
	}
	now := func() state {
		return state{rec.Status, rec.Reason, rec.LastError, rec.OwnerJID, rec.OwnerLID, rec.PushName, rec.ProfilePicURL, rec.Elsewhere}
	}
	before, restricted := now(), rec.Restrictions
	rec.restrict(f.Restriction, at)
	if f.Status != "" {
		rec.Status, rec.Reason, rec.Elsewhere = f.Status, f.Reason, ""
	}
	switch {
	case f.Error != "":
		rec.LastError = f.Error
	case f.Status == event.Online, before.elsewhere != "" && rec.Elsewhere == "":
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
	return now() != before || !sameRestrictions(rec.Restrictions, restricted)
}

// reportMessage stores the message unless it exists, reads it back and publishes it.
func (r *Registry) reportMessage(ctx context.Context, id int64, f event.Fact, m *event.Message) error {
	if f.Kind == event.MessagesUpsert && !r.cfg.SaveMessages {
		err := r.justRead(ctx, id, m)
		if err == nil {
			r.countReceived(id, f, m, false)
		}
		return err
	}
	if !storable(m) {
		// As an error it would be resent by WhatsApp forever.
		r.log.Warn("message under an unusable key dropped", "instance_id", id)
		return nil
	}
	k := keeping{t: r.source(id).Writer(), kind: f.Kind, about: r.events.About(m), requestID: f.RequestID}
	if f.Kind == event.MessagesUpsert {
		k.also = func(tx *store.Tx, stored event.Message) error { return r.wantRead(tx, id, &stored) }
	}
	stranger := r.isStranger(id, m)
	stored, known, err := r.keepMessage(ctx, id, m, k)
	if err != nil {
		return err
	}
	if stranger {
		r.Met(id)
	}
	r.countCopy(m, &stored, known)
	r.countReceived(id, f, m, known)
	k.t.PublishStored(ctx)
	return nil
}

// keeping is what a message's commit includes.
type keeping struct {
	t         *delivery.Writer // which its event is added to
	kind      event.Kind
	about     event.About
	requestID string
	also      func(*store.Tx, event.Message) error // may be nil
}

// marker returns the event id to store with a message: that of its event if the event is
// in the file. So a message that WhatsApp resends for lack of an acknowledgement is not
// published under another id. It may run in a closure only.
func (k *keeping) marker(eventID uuid.UUID) uuid.UUID {
	if k.kind == event.MessagesUpsert && k.t.Stores() {
		return eventID
	}
	return uuid.Nil
}

// keepMessage stores a message unless it is known, with its event unless it is a further
// copy of a published message.
func (r *Registry) keepMessage(ctx context.Context, id int64, m *event.Message, k keeping) (stored event.Message, known bool, err error) {
	eventID := delivery.NewEventID()
	err = k.t.Commit(ctx, func(tx *store.Tx) error {
		n, was, err := r.knownCopy(tx, id, m)
		if err == nil && !was {
			n, was, err = storeMessage(tx, id, m, k.marker(eventID))
		}
		if known = was; err != nil {
			return err
		}
		var former uuid.UUID
		if stored, former, err = messageWithEvent(tx, id, n); err != nil {
			return err
		}
		if !known {
			former = uuid.Nil // that of this commit
		}
		if !repeats(m, &stored, known) {
			k.t.Add(k.kind, stored, k.about, k.requestID).Under(eventID, former)
		}
		if k.also == nil {
			return nil
		}
		return k.also(tx, stored)
	})
	if err != nil {
		return stored, false, fmt.Errorf("store message %q of instance %d: %w", m.KeyID, id, err)
	}
	return stored, known, nil
}

// reportReceipt publishes one update for each stored message. Missing messages are looked
// up again in the background, so that receipts for messages that are never stored delay
// nothing.
func (r *Registry) reportReceipt(ctx context.Context, id int64, f event.Fact, receipt event.Receipt) error {
	if !r.cfg.SaveUpdates || r.underway.keep(id, f, receipt) {
		return nil
	}
	t := r.source(id).Writer()
	commit := func(fn func(*store.Tx) error) error { return t.Commit(ctx, fn) }
	missing, err := r.updateMessages(ctx, id, t, commit, f, receipt, receipt.KeyIDs)
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

// lookAgain repeats the lookup.
func (r *Registry) lookAgain(id int64, f event.Fact, receipt event.Receipt, missing []string) {
	pause := receiptPause
	for range receiptLooks - 1 {
		select {
		case <-time.After(pause):
			pause *= 2
		case <-r.life.Done():
			return
		}
		t := r.source(id).Writer()
		var err error
		if missing, err = r.updateMessages(r.life, id, t, t.CommitAlong, f, receipt, missing); err != nil {
			r.log.Warn("receipt not stored", "instance_id", id, "error", err)
			return
		}
		if len(missing) == 0 {
			return
		}
	}
	r.log.Debug("receipt of an unknown message dropped", "instance_id", id)
}

// updateMessages stores and publishes the receipt for the stored messages, by a commit of
// t, and returns the key ids of the others.
func (r *Registry) updateMessages(ctx context.Context, id int64, t *delivery.Writer, commit func(func(*store.Tx) error) error,
	f event.Fact, receipt event.Receipt, keyIDs []string,
) (missing []string, err error) {
	known, err := r.anyStored(id, keyIDs)
	if err != nil || !known {
		return keyIDs, err
	}
	about := r.events.About(receipt)
	err = commit(func(tx *store.Tx) error {
		missing = nil
		at := receiptTime(tx, receipt)
		for _, keyID := range keyIDs {
			n, err := addUpdate(tx, id, keyID, storedUpdate{receipt.Status, at})
			if err != nil {
				return err
			}
			if n == 0 {
				missing = append(missing, keyID)
				continue
			}
			t.Add(f.Kind, event.MessageUpdate{MessageID: n, Status: receipt.Status, DateTime: at}, about, f.RequestID)
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("store receipts of instance %d: %w", id, err)
	}
	t.PublishStored(ctx)
	return missing, nil
}

// anyStored avoids a commit for receipts of unknown messages.
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

// withID adds the id of the deleted message, which remains stored. A failed lookup does
// not delay the event: the id is optional.
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

// withLast adds the time of the last connection, unless the payload has it.
func (r *Registry) withLast(id int64, rec *Record, u event.ConnectionUpdate) event.ConnectionUpdate {
	if !u.LastConnection.IsZero() {
		return u
	}
	if rec == nil {
		e := r.entry(id)
		if e == nil {
			return u
		}
		rec = e.record.Load()
	}
	u.LastConnection = rec.LastConnectedAt
	return u
}
