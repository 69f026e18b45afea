package delivery

import (
	"slices"

	"github.com/google/uuid"

	"postern/delivery/digest"
	"postern/event"
	"postern/store"
)

// selection is a filter with further conditions that only replays and a disabled log use.
type selection struct {
	Filter
	events  []event.Kind // one of them; none: all
	durable bool         // not what waits in memory only
	fresh   bool         // neither a replay nor replayed with success
	again   bool         // a replay
	nothing bool         // no record at all
}

// query returns the selection in terms of the digest.
func (s selection) query() digest.Query {
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
	if s.Event != "" || len(s.events) > 0 {
		q.Events = &digest.EventSet{}
		for number, kind := range kinds {
			q.Events[number] = kind != "" && (s.Event == "" || s.Event == kind) && (len(s.events) == 0 || slices.Contains(s.events, kind))
		}
	}
	if s.durable {
		q.Without |= digest.Memory
	}
	if s.fresh {
		q.Without |= digest.Replay | digest.Replayed
	}
	if s.again {
		q.With |= digest.Replay
	}
	return q
}

// each calls fn for the records from an id on that a selection may match, until fn returns
// false.
func (l *Ledger) each(tx *store.Tx, s selection, from uint64, how digest.How, fn func(id uint64) (bool, error)) error {
	m, err := l.digest.Match(tx, s.query())
	if err != nil {
		return err
	}
	return l.digest.Each(tx, m, digest.From(from), how, fn)
}

// holds verifies a match against the record itself, because two texts may share a hash and a
// bit of the row may have flipped.
func (s selection) holds(tx *store.Tx, r Record) bool {
	f, made := s.Filter, r.CreatedAt
	return (f.Instance == 0 || f.Instance == r.Instance) &&
		(!f.NoGlobal || r.Lane.Target != event.TargetGlobal) &&
		(len(f.States) == 0 || slices.Contains(f.States, r.State)) &&
		(f.Event == "" || f.Event == r.Event) && (len(s.events) == 0 || slices.Contains(s.events, r.Event)) &&
		(f.Target == "" || f.Target == r.Lane.Target) &&
		(f.Endpoint == nil || *f.Endpoint == r.Lane.Endpoint) &&
		(f.From.IsZero() || !made.Before(f.From)) && (f.To.IsZero() || !made.After(f.To)) &&
		r.Duration >= f.MinDuration && (!s.durable || !r.inMemory()) && (!s.fresh || r.ReplayOf == 0 && !r.Replayed) && (!s.again || r.ReplayOf != 0) &&
		(f.Query == "" || s.named(tx, r))
}

// named reports whether the query is one of the names of a record.
func (s selection) named(tx *store.Tx, r Record) bool {
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
