package delivery

import (
	"slices"
	"time"

	"github.com/google/uuid"

	"postern/delivery/digest"
	"postern/event"
	"postern/store"
)

// Filter selects records of a list. The zero value selects all.
type Filter struct {
	Instance    int64 // 0: all, and batch events
	NoGlobal    bool  // without what went to the global webhook
	States      []State
	Event       event.Kind
	Target      event.Target
	Endpoint    *string
	From, To    time.Time // when they were made, both inclusive
	MinDuration time.Duration
	Query       string // a request id, an event id, or a JID
}

// Listed is a record of a list.
type Listed struct {
	Record
	Replayable bool // its body is still in the file, and its destination exists

	// WaitsFor is the first of its line, which has to end before it leaves; 0 when it
	// is that itself, and in lists, which do not look.
	WaitsFor uint64
}

// Selection is a filter with further conditions that only replays and a disabled log use.
type Selection struct {
	Filter
	Events  []event.Kind // one of them; none: all
	Durable bool         // not what waits in memory only
	Fresh   bool         // neither a replay nor replayed with success
	Again   bool         // a replay
}

// query returns the selection in terms of the digest.
func (s Selection) query() digest.Query {
	q := digest.Query{
		Instance: s.Instance, Targets: digest.SetOf(0), // of no record
		Endpoint: s.Endpoint, From: s.From, To: s.To, MinDuration: s.MinDuration, Name: s.Query,
	}
	q.EventID, _ = idIn(s.Query)
	for _, state := range s.States {
		q.States |= digest.SetOf(stateNumber(state))
	}
	for number, target := range targets {
		if number > 0 && (s.Target == "" || s.Target == target) && (!s.NoGlobal || target != event.TargetGlobal) {
			q.Targets |= digest.SetOf(uint8(number))
		}
	}
	if s.Event != "" || len(s.Events) > 0 {
		q.Events = &digest.EventSet{}
		for number, kind := range kinds {
			q.Events[number] = kind != "" && (s.Event == "" || s.Event == kind) && (len(s.Events) == 0 || slices.Contains(s.Events, kind))
		}
	}
	if s.Durable {
		q.Without |= digest.Memory
	}
	if s.Fresh {
		q.Without |= digest.Replay | digest.Replayed
	}
	if s.Again {
		q.With |= digest.Replay
	}
	return q
}

// Match prepares a selection for a scan of the digest.
func (l *Ledger) Match(tx *store.Tx, s Selection) (*digest.Match, error) {
	return l.digest.Match(tx, s.query())
}

// Each calls fn for the records from an id on that a selection may match, oldest first, until
// fn returns false.
func (l *Ledger) Each(tx *store.Tx, s Selection, from uint64, how digest.How, fn func(id uint64) (bool, error)) error {
	m, err := l.Match(tx, s)
	if err != nil {
		return err
	}
	return l.digest.Each(tx, m, digest.From(from), how, fn)
}

// Holds verifies a match against the record itself, because two texts may share a hash and a
// bit of the row may have flipped.
func (s Selection) Holds(tx *store.Tx, r Record) bool {
	f, made := s.Filter, r.CreatedAt
	return (f.Instance == 0 || f.Instance == r.Instance) &&
		(!f.NoGlobal || r.Lane.Target != event.TargetGlobal) &&
		(len(f.States) == 0 || slices.Contains(f.States, r.State)) &&
		(f.Event == "" || f.Event == r.Event) && (len(s.Events) == 0 || slices.Contains(s.Events, r.Event)) &&
		(f.Target == "" || f.Target == r.Lane.Target) &&
		(f.Endpoint == nil || *f.Endpoint == r.Lane.Endpoint) &&
		(f.From.IsZero() || !made.Before(f.From)) && (f.To.IsZero() || !made.After(f.To)) &&
		r.Duration >= f.MinDuration && (!s.Durable || !r.InMemory()) && (!s.Fresh || r.ReplayOf == 0 && !r.Replayed) && (!s.Again || r.ReplayOf != 0) &&
		(f.Query == "" || s.named(tx, r))
}

// named reports whether the query is one of the names of a record.
func (s Selection) named(tx *store.Tx, r Record) bool {
	q := s.Query
	id, is := idIn(q)
	return is && r.EventID == id || r.RequestID == q || r.Chat == q || r.ChatLID == q || attemptedAs(tx, r, q)
}

// idIn returns the event id that a query spells, in upper or lower case.
func idIn(query string) (id uuid.UUID, is bool) {
	if len(query) != 36 {
		return id, false
	}
	id, err := uuid.Parse(query)
	return id, err == nil
}
