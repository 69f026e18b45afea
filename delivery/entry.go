package delivery

import (
	"strings"
	"time"
	"unicode/utf8"

	"postern/event"
)

// Entry is a delivery of the in-memory flow on its way into the log. A nil Entry
// is valid and does nothing.
type Entry struct {
	ledger *Ledger
	id     uint64
	made   time.Time
	notice event.Notice // its body is released once it is known not to be kept
	to     Lane
	url    string
	shown  string // the URL as the log shows it, once it is being written
	size   int    // of the body
	access uint64 // as of a Record

	// Guarded by behind.mu.
	state   State // Pending until Done
	attempt Attempt
	stored  bool // a record of it is in the file, or is being written
}

// Queued notes that a delivery waits in memory. It never blocks. It returns nil if the log is
// off or cannot keep up.
func (l *Ledger) Queued(n event.Notice, to event.Destination) *Entry {
	if !l.cfg.Log {
		return nil
	}
	e := &Entry{ledger: l, made: time.Now(), notice: n, to: laneOf(n.InstanceID, to), url: to.URL, size: len(n.Body), state: Pending}
	if n.Kind.IsCredential() {
		e.access = to.Access()
	}
	e.notice.To = nil
	if !l.behind.queued(e, &l.ids) {
		return nil
	}
	return e
}

// Done notes the end of the delivery: after its attempt, or without an attempt as Dropped or
// Cancelled, with the reason as the attempt's error.
func (e *Entry) Done(state State, a Attempt) {
	if e == nil {
		return
	}
	a.Answer = CutAnswer(a.Answer)
	e.ledger.behind.done(e, state, a, e.ledger.cfg.wantsBody(state))
}

// Withhold cancels a waiting delivery of a credential whose destination has changed. Its body
// is not kept.
func (e *Entry) Withhold() {
	if e != nil {
		e.ledger.behind.done(e, Cancelled, Attempt{Error: ReasonChanged}, false)
	}
}

// record returns the record of an entry for the file.
func (e writing) record() Record {
	r := Record{
		ID: e.id, EventID: e.notice.ID, Event: e.notice.Kind, Lane: e.to, Instance: e.notice.InstanceID, Name: e.notice.InstanceName,
		Chat: e.notice.About.Chat, ChatLID: e.notice.About.LID, URL: e.shown, RequestID: e.notice.RequestID,
		State: Pending, Once: true, Bytes: e.size, CreatedAt: e.made.UTC().Truncate(time.Millisecond), Access: e.access,
	}
	if !e.ended {
		return r
	}
	return r.after(e.state, e.attempt)
}

// after returns r after it ended with a, which holds an attempt or the reason why there was none.
func (r Record) after(state State, a Attempt) Record {
	r.State, r.LastError = state, a.Error
	if state == Dropped || state == Cancelled {
		return r
	}
	r.Attempts, r.LastAttemptAt, r.Duration = 1, a.StartedAt, a.Duration
	r.LastStatus, r.Answer = a.Status, a.Answer
	if a.RequestID != "" {
		r.RequestID = a.RequestID
	}
	if a.URL != "" {
		r.URL = ShownURL(a.URL)
	}
	return r
}

// CutAnswer returns as much of an answer as the log keeps, as text: it replaces invalid UTF-8
// and does not cut a character in two.
func CutAnswer(answer string) string {
	answer = strings.ToValidUTF8(answer[:min(len(answer), MaxAnswer)], "\uFFFD")
	if len(answer) <= MaxAnswer {
		return answer
	}
	answer = answer[:MaxAnswer]
	for !utf8.ValidString(answer) {
		answer = answer[:len(answer)-1]
	}
	return answer
}
