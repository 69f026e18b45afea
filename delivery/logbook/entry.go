package logbook

import (
	"time"

	"postern/delivery"
	"postern/event"
)

// Entry is a delivery of the in-memory flow on its way into the log. A nil Entry
// is valid and does nothing.
type Entry struct {
	log    *Log
	id     uint64
	made   time.Time
	notice event.Notice // its body is released once it is known not to be kept
	to     delivery.Lane
	url    string
	shown  string // the URL as the log shows it, once it is being written
	size   int    // of the body
	access uint64 // as of a Record

	// Guarded by behind.mu.
	state   delivery.State // Pending until Done
	attempt delivery.Attempt
	stored  bool // a record of it is in the file, or is being written
}

// Queued notes that a delivery waits in memory. It never blocks. It returns nil if the log is
// off or cannot keep up.
func (l *Log) Queued(n event.Notice, to event.Destination) *Entry {
	if !l.ledger.LogIsOn() {
		return nil
	}
	e := &Entry{log: l, made: time.Now(), notice: n, to: delivery.LaneOf(n.InstanceID, to), url: to.URL, size: len(n.Body), state: delivery.Pending}
	if n.Kind.IsCredential() {
		e.access = to.Access()
	}
	e.notice.To = nil
	if !l.behind.queued(e, l.ledger.NextID) {
		return nil
	}
	return e
}

// Done notes the end of the delivery: after its attempt, or without an attempt as Dropped or
// Cancelled, with the reason as the attempt's error.
func (e *Entry) Done(state delivery.State, a delivery.Attempt) {
	if e == nil {
		return
	}
	a.Answer = delivery.CutAnswer(a.Answer)
	e.log.behind.done(e, state, a, e.log.ledger.KeepsBodyOf(state))
}

// Withhold cancels a waiting delivery of a credential whose destination has changed. Its body
// is not kept.
func (e *Entry) Withhold() {
	if e != nil {
		e.log.behind.done(e, delivery.Cancelled, delivery.Attempt{Error: delivery.ReasonChanged}, false)
	}
}

// flowed returns the record of an entry for the file.
func (e writing) flowed() delivery.Flowed {
	return delivery.Flowed{
		Record: delivery.Record{
			ID: e.id, EventID: e.notice.ID, Event: e.notice.Kind, Lane: e.to, Instance: e.notice.InstanceID, Name: e.notice.InstanceName,
			Chat: e.notice.About.Chat, ChatLID: e.notice.About.LID, URL: e.shown, RequestID: e.notice.RequestID,
			State: delivery.Pending, Once: true, Bytes: e.size, CreatedAt: e.made.UTC().Truncate(time.Millisecond), Access: e.access,
		},
		Ended: e.ended, End: e.state, Last: e.attempt, Known: e.update,
		OwnerJID: e.notice.OwnerJID, Body: e.body,
	}
}
