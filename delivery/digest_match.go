package delivery

import (
	"encoding/binary"
	"math/bits"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"postern/event"
	"postern/store"
)

// selection is a filter with what only replays and a log that is off ask for.
type selection struct {
	Filter
	events  []event.Kind // one of them; none: all
	durable bool         // not what waits in memory only
	fresh   bool         // neither a replay nor replayed with success
	nothing bool         // no record at all
}

// match is a selection as the digest knows it: one comparison of the first word
// of a row, one look into a table, and what is left for the few that pass.
type match struct {
	mask, want uint64 // of the first word
	allowed    uint32 // by state and target, the low five bits
	easy       bool   // the first word tells all
	timed      bool

	events   []uint16 // one of them; none: all
	endpoint []uint32 // this one; none: all
	from, to int64    // made at, both included
	took     uint64   // at least
	query    uint32   // the hash of a request id, a chat or a LID; 0: whatever they are
	eventID  uint32   // or that of the event id
	also     []uint64 // records with a later attempt of that request id
}

func (k hashKey) match(s selection) match {
	m := match{to: 1<<48 - 1, took: uint64(min(max(0, s.MinDuration.Milliseconds()), max24)), query: k.hash(s.Query), eventID: k.hash(canonical(s.Query))}
	m.allow(s)
	if s.Instance != 0 {
		m.mask, m.want = 0xffffffff<<32, uint64(uint32(s.Instance))<<32
	}
	if s.durable {
		m.mask |= bitMemory << 16
	}
	if s.fresh {
		m.mask |= (bitReplay | bitReplayed) << 16
	}
	if s.Event != "" {
		m.mask |= 0xffff
		m.want |= uint64(kindNumber(s.Event))
	}
	for _, kind := range s.events {
		m.events = append(m.events, uint16(kindNumber(kind)))
	}
	if s.Endpoint != nil {
		m.endpoint = []uint32{k.hash(*s.Endpoint)}
	}
	if !s.From.IsZero() {
		m.from = s.From.Add(time.Millisecond - 1).UnixMilli()
	}
	if !s.To.IsZero() {
		m.to = s.To.UnixMilli()
	}
	m.timed = !s.From.IsZero() || !s.To.IsZero()
	m.easy = !m.timed && m.took == 0 && m.query == 0 && len(m.events)+len(m.endpoint) == 0
	return m
}

// allow makes the table of states and targets.
func (m *match) allow(s selection) {
	for _, target := range []event.Target{event.TargetWebhook, event.TargetGlobal, event.TargetEndpoint} {
		if s.Target != "" && s.Target != target || s.NoGlobal && target == event.TargetGlobal {
			continue
		}
		for code, state := range states {
			if code > 0 && (len(s.States) == 0 || slices.Contains(s.States, state)) {
				m.allowed |= 1 << (uint16(code) | targetBits(target))
			}
		}
	}
}

// rows counts the rows that match. While fn is not nil it is called for each of
// them, and tells whether it wants to hear of the next one.
func (m *match) rows(in stretch, reverse bool, fn func(id uint64) (bool, error)) (n int, err error) {
	hits := m.hits(in)
	n = bits.OnesCount64(hits)
	for hits != 0 && fn != nil {
		at := bits.TrailingZeros64(hits)
		if reverse {
			at = 63 - bits.LeadingZeros64(hits)
		}
		hits &^= 1 << at
		more, err := fn(in.first + uint64(at))
		if err != nil {
			return n, err
		}
		if !more {
			fn = nil
		}
	}
	return n, nil
}

// hits has a bit for each row that matches. It goes column by column, and only as
// long as there is a row left.
func (m *match) hits(in stretch) (hits uint64) {
	heads := in.column(0)
	for i := in.i; i < in.j; i++ {
		head := binary.LittleEndian.Uint64(heads[8*i:])
		if head&m.mask == m.want && m.allowed>>(head>>16&(bitsState|bitsTarget))&1 != 0 {
			hits |= 1 << i
		}
	}
	if m.easy || hits == 0 {
		return hits
	}
	if m.query != 0 {
		hits &= m.named(in)
	}
	if hits != 0 && m.timed {
		hits &= m.inTime(in)
	}
	if hits == 0 || m.took == 0 && len(m.endpoint)+len(m.events) == 0 {
		return hits
	}
	for left := hits; left != 0; left &= left - 1 {
		if i := bits.TrailingZeros64(left); !m.rest(in, i) {
			hits &^= 1 << i
		}
	}
	return hits
}

// named has a bit for each row with one of the hashes that are asked for.
func (m *match) named(in stretch) (hits uint64) {
	ids, chats := in.column(3), in.column(4)
	for i := in.i; i < in.j; i++ {
		id, chat := binary.LittleEndian.Uint64(ids[8*i:]), binary.LittleEndian.Uint64(chats[8*i:])
		if uint32(id>>32) == m.eventID || uint32(id) == m.query || uint32(chat>>32) == m.query || uint32(chat) == m.query {
			hits |= 1 << i
		}
	}
	for _, id := range m.also {
		if id >= in.first && id < in.first+blockRows {
			hits |= 1 << (id - in.first)
		}
	}
	return hits
}

func (m *match) inTime(in stretch) (hits uint64) {
	made := in.column(1)
	for i := in.i; i < in.j; i++ {
		if at := int64(binary.LittleEndian.Uint64(made[8*i:]) >> 16); at >= m.from && at <= m.to {
			hits |= 1 << i
		}
	}
	return hits
}

func (m *match) rest(in stretch, i int) bool {
	made, spent := in.word(1, i), in.word(2, i)
	return spent>>40 >= m.took &&
		(len(m.endpoint) == 0 || uint32(made<<16|spent&0xffff) == m.endpoint[0]) &&
		(len(m.events) == 0 || slices.Contains(m.events, uint16(in.word(0, i))))
}

// holds looks up in a record what its row says, lest a hash that two texts share,
// or a bit that flipped, shows what was not asked for.
func (s selection) holds(tx *store.Tx, r Record) bool {
	f, made := s.Filter, r.CreatedAt
	return (f.Instance == 0 || f.Instance == r.Instance) &&
		(!f.NoGlobal || r.Lane.Target != event.TargetGlobal) &&
		(len(f.States) == 0 || slices.Contains(f.States, r.State)) &&
		(f.Event == "" || f.Event == r.Event) && (len(s.events) == 0 || slices.Contains(s.events, r.Event)) &&
		(f.Target == "" || f.Target == r.Lane.Target) &&
		(f.Endpoint == nil || *f.Endpoint == r.Lane.Endpoint) &&
		(f.From.IsZero() || !made.Before(f.From)) && (f.To.IsZero() || !made.After(f.To)) &&
		r.Duration >= f.MinDuration && (!s.durable || !r.inMemory()) && (!s.fresh || r.ReplayOf == 0 && !r.Replayed) &&
		(f.Query == "" || s.named(tx, r))
}

// named reports whether the query is one of the names of a record.
func (s selection) named(tx *store.Tx, r Record) bool {
	q := s.Query
	return r.EventID.String() == canonical(q) || r.RequestID == q || r.Chat == q || r.ChatLID == q || attemptedAs(tx, r, q)
}

// canonical is a query as event ids are written: in lower case.
func canonical(query string) string {
	if id, err := uuid.Parse(query); err == nil && strings.EqualFold(id.String(), query) {
		return id.String()
	}
	return query
}
