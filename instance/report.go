package instance

import (
	"context"
	"fmt"
	"slices"
	"time"

	"postern/delivery/publish"
	"postern/event"
	"postern/instance/automatic"
	"postern/messages"
	"postern/store"
)

// OptOuts finds opt-outs in received messages.
type OptOuts interface {
	// Heed returns what the commit of a message does if the message is an opt-out, nil if it
	// is none.
	Heed(instance int64, m *event.Message) func(tx *store.Tx) error
}

// Report stores a fact, then publishes its event. A durable event is written in the
// commit that stores the fact, or in a commit of its own if nothing is stored. An error
// means that nothing was stored or published; the connector must not acknowledge the fact
// then. A fact about an unknown instance returns ErrNotFound. Facts about ignored chats
// are dropped without error.
func (r *Registry) Report(ctx context.Context, id int64, f event.Fact) error {
	if !f.PhoneSeen.IsZero() {
		if err := r.sawPhone(ctx, id, f.PhoneSeen); err != nil { // what shows the sign must not wait for it
			r.log.Warn("sign of the phone not stored; a later one is", "instance_id", id, "error", err)
		}
	}
	switch f.Data.(type) {
	case *event.Message, *event.HistoryPart, event.Receipt, event.ContactChange:
	default:
		if err := r.cfg.Messages.LearnTimers(ctx, id, f.Timers); err != nil {
			return err
		}
		return r.reportEvent(ctx, id, f, false)
	}
	if changesState(f) {
		if err := r.reportState(ctx, id, f, r.source(id).Writer(), func(*Record) {}); err != nil {
			return err
		}
	}
	timers, err := r.cfg.Messages.Timers(id, f.Timers)
	if err != nil {
		return err
	}
	if r.ignores(id, f) {
		return r.commitIgnored(ctx, id, f, timers)
	}
	switch data := f.Data.(type) {
	case *event.Message:
		return r.reportMessage(ctx, id, f, data, timers)
	case *event.HistoryPart:
		if err := r.cfg.Messages.LearnTimers(ctx, id, f.Timers); err != nil {
			return err
		}
		return r.reportHistory(ctx, id, data)
	case event.Receipt:
		return r.cfg.Messages.Receipt(ctx, r.source(id), f, data)
	case event.ContactChange:
		return r.cfg.Messages.ReportContact(ctx, r.source(id), f, &data)
	}
	return nil
}

// reportMessage has a message stored and published. timers, if set, belongs to its commit.
func (r *Registry) reportMessage(ctx context.Context, id int64, f event.Fact, m *event.Message, timers func(*store.Tx) error) error {
	if !messages.Storable(m) {
		// As an error it would be resent by WhatsApp forever.
		r.log.Warn("message under an unusable key dropped", "instance_id", id)
		return nil
	}
	r.cfg.Messages.NameVote(id, m)
	k := messages.Keeping{Kind: f.Kind, RequestID: f.RequestID}
	if e := r.entry(id); e != nil && e.wishes().ReadMessages && f.Kind == event.MessagesUpsert {
		k.InCommit = func(tx *store.Tx, stored event.Message) error {
			return automatic.WantRead(tx, id, e.record.Load().OwnerJID, &stored)
		}
	}
	k.InCommit = both(k.InCommit, r.heed(id, f.Kind, m))
	if timers != nil {
		k.InCommit = both(k.InCommit, func(tx *store.Tx, _ event.Message) error { return timers(tx) })
	}
	stranger := r.cfg.Messages.Stores(f.Kind) && r.isStranger(id, m)
	known, err := r.cfg.Messages.Receive(ctx, r.source(id), m, k)
	if err != nil {
		return err
	}
	if stranger {
		r.Met(id)
	}
	r.countReceived(id, f, m, known)
	return nil
}

// heed returns what the commit of a message does about an opt-out in it, nil for none.
func (r *Registry) heed(id int64, kind event.Kind, m *event.Message) func(*store.Tx, event.Message) error {
	if r.cfg.OptOuts == nil || kind != event.MessagesUpsert {
		return nil
	}
	heed := r.cfg.OptOuts.Heed(id, m)
	if heed == nil {
		return nil
	}
	return func(tx *store.Tx, _ event.Message) error { return heed(tx) }
}

// commitIgnored commits the opt-out in a message of an ignored chat, which is not stored, and timers.
func (r *Registry) commitIgnored(ctx context.Context, id int64, f event.Fact, timers func(*store.Tx) error) error {
	m, is := f.Data.(*event.Message)
	if !is {
		return nil
	}
	heed := r.heed(id, f.Kind, m)
	if timers != nil {
		heed = both(heed, func(tx *store.Tx, _ event.Message) error { return timers(tx) })
	}
	if heed == nil {
		return nil
	}
	if err := r.cfg.Store.Update(ctx, func(tx *store.Tx) error { return heed(tx, *m) }); err != nil {
		return fmt.Errorf("opt-out or timer in message %q of instance %d: %w", m.KeyID, id, err)
	}
	return nil
}

// both returns a function that calls those of two that are not nil, in order.
func both(a, b func(*store.Tx, event.Message) error) func(*store.Tx, event.Message) error {
	switch {
	case a == nil:
		return b
	case b == nil:
		return a
	}
	return func(tx *store.Tx, m event.Message) error {
		if err := a(tx, m); err != nil {
			return err
		}
		return b(tx, m)
	}
}

// reportHistory has the messages of a part stored, but for those of ignored chats.
func (r *Registry) reportHistory(ctx context.Context, id int64, part *event.HistoryPart) (err error) {
	kept := slices.DeleteFunc(slices.Clone(part.Messages), func(m *event.Message) bool { return r.ignores(id, event.Fact{Data: m}) })
	part.Stored, err = r.cfg.Messages.StoreHistory(ctx, id, kept)
	return err
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
func (r *Registry) reportStored(ctx context.Context, id int64, f event.Fact, t *publish.Writer, tell func(*Record)) error {
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
func (r *Registry) reportState(ctx context.Context, id int64, f event.Fact, t *publish.Writer, tell func(*Record)) error {
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
		byCall                         bool
	}
	now := func() state {
		return state{rec.Status, rec.Reason, rec.LastError, rec.OwnerJID, rec.OwnerLID, rec.PushName, rec.ProfilePicURL, rec.Elsewhere, rec.LoggedOutByCall}
	}
	before, restricted := now(), rec.Restrictions
	rec.restrict(f.Restriction, at)
	if f.Status != "" {
		rec.Status, rec.Reason, rec.Elsewhere = f.Status, f.Reason, ""
		rec.LoggedOutByCall = f.Status == event.LoggedOut && (f.ByCall || before.byCall && before.status == event.LoggedOut)
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
		rec.PhoneSeenAt = event.Time{}
		rec.OwnerJID, rec.OwnerLID, rec.PushName, rec.ProfilePicURL = "", "", "", ""
	}
	if f.Picture != nil {
		rec.ProfilePicURL = *f.Picture
	}
	u, _ := f.Data.(event.ConnectionUpdate)
	same := before.status == event.KeepAliveTimeout && u.Type == event.TypeKeepAliveBack // connection as before
	if f.Status == event.Online && before.status != event.Online && !same {
		rec.LastConnectedAt = rec.UpdatedAt
	}
	return now() != before || !sameRestrictions(rec.Restrictions, restricted)
}

// withID adds the id of the deleted message, which remains stored. A failed lookup does
// not delay the event: the id is optional.
func (r *Registry) withID(id int64, d event.MessageDelete) event.MessageDelete {
	var err error
	d.ID, err = r.cfg.Messages.Find(id, d.MessageID, d.ChatJID)
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
