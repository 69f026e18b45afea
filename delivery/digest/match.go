package digest

import (
	"encoding/binary"
	"math/bits"
	"time"

	"github.com/google/uuid"

	"postern/store"
)

// Query selects records. The zero Query selects all.
type Query struct {
	Instance int64 // 0: all
	States   Set   // one of them; empty: all
	Targets  Set
	Events   *EventSet // nil: all
	With     Marks     // all of them
	Without  Marks     // none of them
	Endpoint *string

	From, To    time.Time // when it was made, both inclusive; zero: any time
	MinDuration time.Duration

	// Name is a request id, a chat or its LID; or EventID is the event's id. A record matches
	// that has one of both.
	Name    string
	EventID uuid.UUID
}

// Set is a set of states or targets.
type Set uint8

// SetOf returns the set of some numbers.
func SetOf(numbers ...uint8) (s Set) {
	for _, n := range numbers {
		s |= 1 << n
	}
	return s
}

func (s Set) allows(n int) bool { return s == 0 || s>>n&1 != 0 }

// EventSet is a set of events.
type EventSet [256]bool

// Match is a Query in terms of the rows: one comparison of the first word, one table lookup,
// and further conditions for the few rows that pass.
type Match struct {
	mask, want uint64                 // of the first word
	allowed    [1 << columnHead]uint8 // 1: by target, state and event
	timed      bool

	endpoint []uint32 // this one; none: all
	from, to int64    // made at, both included
	took     uint64   // at least
	query    uint32   // the hash of a name; 0: whatever they are
	eventID  uint32   // or that of an event id; 0: it is none
	also     []uint64 // records with that further name
}

// Match prepares a query. It reads the further names, if the query has a name.
func (d *Digest) Match(tx *store.Tx, q Query) (m *Match, err error) {
	m = &Match{to: 1<<48 - 1, took: millis(q.MinDuration), query: d.key.hash(q.Name)}
	if q.EventID != uuid.Nil {
		m.eventID = d.key.hashID(q.EventID)
	}
	m.allow(q)
	if q.Instance != 0 {
		m.mask, m.want = 0xffffffff<<32, uint64(uint32(q.Instance))<<32
	}
	m.mask |= uint64(q.With|q.Without) << shiftState
	m.want |= uint64(q.With) << shiftState
	if q.Endpoint != nil {
		m.endpoint = []uint32{d.key.hash(*q.Endpoint)}
	}
	if !q.From.IsZero() {
		m.from = q.From.Add(time.Millisecond - 1).UnixMilli()
	}
	if !q.To.IsZero() {
		m.to = q.To.UnixMilli()
	}
	m.timed = !q.From.IsZero() || !q.To.IsZero()
	m.also, err = d.named(tx, q.Name)
	return m, err
}

// allow builds the table of targets, states and events.
func (m *Match) allow(q Query) {
	for target := 1; target <= 3; target++ {
		for state := 1; state <= bitsState; state++ {
			if !q.Targets.allows(target) || !q.States.allows(state) {
				continue
			}
			for event := range 256 {
				if q.Events == nil || q.Events[event] {
					m.allowed[uint64(target<<shiftTarget|state)<<shiftEvent|eventBits(uint8(event))] = 1
				}
			}
		}
	}
}

// Rows counts the rows of a block that match. It calls fn for each of them, the last first if
// how has Reverse, until fn returns false; a nil fn is not called.
func (m *Match) Rows(in Block, how How, fn func(id uint64) (bool, error)) (n int, err error) {
	hits := m.hits(in)
	n = bits.OnesCount64(hits)
	for hits != 0 && fn != nil {
		at := bits.TrailingZeros64(hits)
		if how&Reverse != 0 {
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
func (m *Match) hits(in Block) (hits uint64) {
	heads, mask, want, allowed := in.column(0), m.mask, m.want, &m.allowed
	for i := BlockRows - 1; i >= 0; i-- {
		hits <<= 1
		if head := binary.LittleEndian.Uint64(heads[8*i:]); head&mask == want {
			hits |= uint64(allowed[head>>shiftEvent&(1<<columnHead-1)])
		}
	}
	if hits &= in.inRange(); hits != 0 && m.query != 0 {
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
func (m *Match) named(in Block) (hits uint64) {
	ids, chats := in.column(3), in.column(4)
	for i := range BlockRows {
		id, chat := binary.LittleEndian.Uint64(ids[8*i:]), binary.LittleEndian.Uint64(chats[8*i:])
		if uint32(id>>32) == m.eventID || uint32(id) == m.query || uint32(chat>>32) == m.query || uint32(chat) == m.query {
			hits |= 1 << i
		}
	}
	for _, id := range m.also {
		if id >= in.first && id < in.first+BlockRows {
			hits |= 1 << (id - in.first)
		}
	}
	return hits
}

func (m *Match) inTime(in Block) (hits uint64) {
	made := in.column(1)
	for i := range BlockRows {
		if at := int64(binary.LittleEndian.Uint64(made[8*i:]) >> 16); at >= m.from && at <= m.to {
			hits |= 1 << i
		}
	}
	return hits
}

func (m *Match) slow(in Block) (hits uint64) {
	spent, over := in.column(2), m.took-1
	for i := BlockRows - 1; i >= 0; i-- {
		hits = hits<<1 | (over-binary.LittleEndian.Uint64(spent[8*i:])>>40)>>63
	}
	return hits
}

func (m *Match) led(in Block, endpoint uint32) (hits uint64) {
	made, spent := in.column(1), in.column(2)
	for i := BlockRows - 1; i >= 0; i-- {
		hash := uint32(binary.LittleEndian.Uint64(made[8*i:])<<16 | binary.LittleEndian.Uint64(spent[8*i:])&0xffff)
		same := uint64(0)
		if hash == endpoint {
			same = 1
		}
		hits = hits<<1 | same
	}
	return hits
}
