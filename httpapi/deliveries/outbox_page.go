package deliveries

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"hash/crc32"
	"slices"

	"postern/batch"
	"postern/delivery"
	"postern/delivery/outbox"
	"postern/store"
)

// outboxList is a list of events. An event never changes its position in it, so a cursor stays valid
// while events are added, delivered and removed.
type outboxList struct {
	name        string // ties a cursor to its list
	newestFirst bool
	query       outbox.Query
}

// page reads the records beside p's cursor, and one more to learn whether others follow.
func (l outboxList) page(tx *store.Tx, p batch.Page) (batch.List[OutboxRecord], error) {
	list := batch.List[OutboxRecord]{Records: []OutboxRecord{}}
	back := p.Previous != ""
	q := l.query
	q.Limit, q.Reverse = p.Limit+1, l.newestFirst != back
	var err error
	if q.From, err = l.position(p.Next + p.Previous); err != nil {
		return list, err
	}
	entries, err := outbox.List(tx, q)
	if err != nil {
		return list, err
	}
	more := len(entries) > p.Limit
	entries = entries[:min(len(entries), p.Limit)]
	if back {
		slices.Reverse(entries)
	}
	for _, e := range entries {
		if e, err = delivery.Queued(tx, e); err != nil {
			return list, err
		}
		list.Records = append(list.Records, newOutboxRecord(e))
	}
	if n := len(entries); n > 0 {
		if back || more {
			list.NextCursor = l.cursor(entries[n-1].Seq)
		}
		if back && more || p.Next != "" {
			list.PreviousCursor = l.cursor(entries[0].Seq)
		}
	}
	return list, nil
}

// cursor encodes a position as an opaque text.
func (l outboxList) cursor(seq uint64) *string {
	at := binary.BigEndian.AppendUint64(nil, seq)
	s := base64.RawURLEncoding.EncodeToString(append(l.sum(at), at...))
	return &s
}

func (l outboxList) sum(at []byte) []byte {
	return binary.BigEndian.AppendUint32(nil, crc32.ChecksumIEEE(append([]byte(l.name+"/"), at...)))
}

// position returns the sequence of a cursor, 0 for none.
func (l outboxList) position(cursor string) (uint64, error) {
	if cursor == "" {
		return 0, nil
	}
	const sumSize = 4
	raw, err := base64.RawURLEncoding.Strict().DecodeString(cursor)
	if err != nil || len(raw) != sumSize+8 || !bytes.Equal(raw[:sumSize], l.sum(raw[sumSize:])) {
		return 0, batch.ErrInvalidCursor
	}
	return binary.BigEndian.Uint64(raw[sumSize:]), nil
}
