package delivery

import (
	"encoding/binary"
	"math/bits"
	"slices"
	"time"

	"github.com/google/uuid"

	"postern/event"
	"postern/store"
)

// selection is a filter with further conditions that only replays and a disabled log use.
type selection struct {
	Filter
	events  []event.Kind // one of them; none: all
	durable bool         // not what waits in memory only
	fresh   bool         // neither a replay nor replayed with success
	nothing bool         // no record at all
}

// match is a selection in terms of the digest: one comparison of the first word
// of a row, one table lookup, and further conditions for the few rows that pass.
type match struct {
	mask, want uint64         // of the first word
	allowed    [1 << 11]uint8 // 1: by state and target, five bits, and event, six
	timed      bool

	endpoint []uint32 // this one; none: all
	from, to int64    // made at, both included
	took     uint64   // at least
	query    uint32   // the hash of a request id, a chat or a LID; 0: whatever they are
	eventID  uint32   // or that of an event id; 0: it is none
	also     []uint64 // records with a later attempt of that request id
}

func (k hashKey) match(s selection) *match {
	m := &match{to: 1<<48 - 1, took: uint64(min(max(0, s.MinDuration.Milliseconds()), max24)), query: k.hash(s.Query)}
	if id, is := idIn(s.Query); is {
		m.eventID = k.hashID(id)
	}
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
	return m
}

// allow builds the table of states, targets and events.
func (m *match) allow(s selection) {
	for _, target := range []event.Target{event.TargetWebhook, event.TargetGlobal, event.TargetEndpoint} {
		if s.Target != "" && s.Target != target || s.NoGlobal && target == event.TargetGlobal {
			continue
		}
		for code, state := range states {
			if code == 0 || len(s.States) > 0 && !slices.Contains(s.States, state) {
				continue
			}
			for number, kind := range kinds {
				if (s.Event == "" || s.Event == kind) && (len(s.events) == 0 || slices.Contains(s.events, kind)) {
					m.allowed[(code|int(targetBits(target)))<<6|number] = 1
				}
			}
		}
	}
}

// rows counts the rows that match. It calls fn for each of them until fn returns false; a nil
// fn is not called.
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

// hits has a bit for each row that matches. It scans column by column and stops when no row
// is left. Where values vary at random, it does not branch on them: a mispredicted branch
// costs more than the rest.
func (m *match) hits(in stretch) (hits uint64) {
	heads, mask, want, allowed := in.column(0), m.mask, m.want, &m.allowed
	for i := blockRows - 1; i >= 0; i-- {
		hits <<= 1
		if head := binary.LittleEndian.Uint64(heads[8*i:]); head&mask == want {
			hits |= uint64(allowed[head>>10&(1<<11-1)])
		}
	}
	if hits &= in.asked(); hits != 0 && m.query != 0 {
		hits &= m.named(in)
	}
	if hits != 0 && m.timed {
		hits &= m.inTime(in)
	}
	if hits != 0 && m.took != 0 {
		hits &= m.slow(in)
	}
	if hits != 0 && len(m.endpoint) != 0 {
		hits &= m.led(in, m.endpoint[0])
	}
	return hits
}

// named has a bit for each row with one of the requested hashes.
func (m *match) named(in stretch) (hits uint64) {
	ids, chats := in.column(3), in.column(4)
	for i := range blockRows {
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
	for i := range blockRows {
		if at := int64(binary.LittleEndian.Uint64(made[8*i:]) >> 16); at >= m.from && at <= m.to {
			hits |= 1 << i
		}
	}
	return hits
}

func (m *match) slow(in stretch) (hits uint64) {
	spent, over := in.column(2), m.took-1
	for i := blockRows - 1; i >= 0; i-- {
		hits = hits<<1 | (over-binary.LittleEndian.Uint64(spent[8*i:])>>40)>>63
	}
	return hits
}

func (m *match) led(in stretch, endpoint uint32) (hits uint64) {
	made, spent := in.column(1), in.column(2)
	for i := blockRows - 1; i >= 0; i-- {
		hash := uint32(binary.LittleEndian.Uint64(made[8*i:])<<16 | binary.LittleEndian.Uint64(spent[8*i:])&0xffff)
		same := uint64(0)
		if hash == endpoint {
			same = 1
		}
		hits = hits<<1 | same
	}
	return hits
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
		r.Duration >= f.MinDuration && (!s.durable || !r.inMemory()) && (!s.fresh || r.ReplayOf == 0 && !r.Replayed) &&
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
