package batch

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"hash/crc32"
	"slices"

	"postern/store"
)

const defaultLimit = 50

// unknownTotal has a query count the records that match.
const unknownTotal = -1

// query reads one page of the records under a prefix.
type query[T any] struct {
	list        string // what it lists, so that no other list takes its cursors
	bucket      string
	prefix      []byte
	newestFirst bool
	total       int // of the matching records, or unknownTotal
	keySize     int // 0, or the size of a record's key where entries have longer ones
	match       func(key, value []byte) ([]entry[T], error)
}

// entry is one line of a list. A record may give several, in order.
type entry[T any] struct {
	key   []byte
	value T
}

// one is the match of a query whose records give one entry, or none.
func one[T any](fn func(key, value []byte) (T, bool, error)) func(key, value []byte) ([]entry[T], error) {
	return func(key, value []byte) ([]entry[T], error) {
		v, ok, err := fn(key, value)
		if err != nil || !ok {
			return nil, err
		}
		return []entry[T]{{key, v}}, nil
	}
}

func (q query[T]) page(tx *store.Tx, p Page) (List[T], error) {
	list := List[T]{Records: []T{}}
	cursor, err := q.position(p)
	if err != nil {
		return list, err
	}
	back := p.Previous != ""
	limit := orDefault(p.Limit, defaultLimit)
	var keys [][]byte
	err = q.scan(tx, cursor, back, func(key []byte, record T) bool {
		keys, list.Records = append(keys, key), append(list.Records, record)
		return len(keys) <= limit
	})
	if err != nil {
		return list, err
	}
	more := len(keys) > limit
	if more {
		keys, list.Records = keys[:limit], list.Records[:limit]
	}
	if back {
		slices.Reverse(keys)
		slices.Reverse(list.Records)
	}
	if len(keys) > 0 {
		if back || more {
			list.NextCursor = q.cursor(keys[len(keys)-1])
		}
		if back && more || p.Next != "" {
			list.PreviousCursor = q.cursor(keys[0])
		}
	}
	list.TotalRecords, err = q.count(tx)
	return list, err
}

// count returns how many records match.
func (q query[T]) count(tx *store.Tx) (n int, err error) {
	if q.total != unknownTotal {
		return q.total, nil
	}
	err = q.scan(tx, nil, false, func([]byte, T) bool { n++; return true })
	return n, err
}

// scan calls fn for the matching records after cursor in the list's order, or
// before it, going backwards.
func (q query[T]) scan(tx *store.Tx, cursor []byte, back bool, fn func(key []byte, record T) bool) error {
	r := store.Range{Prefix: q.prefix, Reverse: q.newestFirst != back}
	at := append(bytes.Clone(q.prefix), cursor...)
	switch {
	case cursor == nil:
	case r.Reverse:
		r.Before = at
	case q.keySize > 0:
		r.From = at[:min(len(at), q.keySize)]
	default:
		r.From = at
	}
	beyond := func(key []byte) bool {
		c := bytes.Compare(key, at)
		return cursor == nil || r.Reverse && c < 0 || !r.Reverse && c > 0
	}
	return tx.Scan(q.bucket, r, func(key, value []byte) (bool, error) {
		entries, err := q.match(key, value)
		if back {
			slices.Reverse(entries)
		}
		for _, e := range entries {
			if beyond(e.key) && !fn(e.key, e.value) {
				return false, err
			}
		}
		return true, err
	})
}

// cursor makes the opaque form of a position: the part of the key that is not
// the prefix, after a checksum that ties it to this list.
func (q query[T]) cursor(key []byte) *string {
	at := key[len(q.prefix):]
	s := base64.RawURLEncoding.EncodeToString(append(q.sum(at), at...))
	return &s
}

func (q query[T]) sum(at []byte) []byte {
	sum := crc32.ChecksumIEEE(slices.Concat([]byte(q.list), q.prefix, at))
	return binary.BigEndian.AppendUint32(nil, sum)
}

// position returns where the page begins or ends, nil when p has no cursor.
func (q query[T]) position(p Page) ([]byte, error) {
	if p.Next == "" && p.Previous == "" {
		return nil, nil
	}
	const sumSize = 4
	text := p.Next + p.Previous
	raw, err := base64.RawURLEncoding.DecodeString(text)
	if err != nil || len(raw) <= sumSize || p.Next != "" && p.Previous != "" {
		return nil, ErrInvalidCursor
	}
	// Decoding overlooks line breaks and the last bits; one position has one
	// cursor.
	at := raw[sumSize:]
	if !bytes.Equal(raw[:sumSize], q.sum(at)) || base64.RawURLEncoding.EncodeToString(raw) != text {
		return nil, ErrInvalidCursor
	}
	return at, nil
}

func (b *full) matchItem(key, value []byte, f ItemFilter) (Item, bool, error) {
	position, r, err := b.readItem(key, value)
	if err != nil {
		return Item{}, false, err
	}
	item := b.item(position, r)
	return item, f.holds(string(item.Status), b.spec.instanceName(r.Instance), r), nil
}

// attempts are those of one item, oldest first.
func (b *full) attempts(tx *store.Tx, position int, r itemRecord) (all []entry[Attempt], err error) {
	if r.Attempts > 1 || r.Attempts == 1 && r.Instance == 0 {
		prefix := itemKey(b.id, position)
		err = tx.Scan(bucketAttempt, store.Range{Prefix: prefix}, func(key, value []byte) (bool, error) {
			var a attemptRecord
			if err := json.Unmarshal(value, &a); err != nil {
				return true, tx.Unreadable(bucketAttempt, key, err)
			}
			number := int(binary.BigEndian.Uint32(key[len(prefix):]))
			all = append(all, entry[Attempt]{key, b.attempt(position, number, a)})
			return true, nil
		})
	}
	if r.Instance != 0 {
		key := attemptKey(b.id, position, r.Attempts)
		all = append(all, entry[Attempt]{key, b.attempt(position, r.Attempts, r.lastAttempt())})
	}
	return all, err
}

func (b *full) attempt(position, number int, a attemptRecord) Attempt {
	item := itemID(b.id, position)
	return Attempt{
		ID: attemptID(item, number), BatchID: b.id, BatchItemID: item, AttemptNumber: number,
		InstanceID: a.Instance, InstanceName: b.spec.instanceName(a.Instance), ClientMessageID: a.ClientID,
		Status: a.Status, ErrorCode: stringPtr(a.Code), ErrorMessage: stringPtr(a.Error),
		CreatedAt: milli(a.StartedAt), StartedAt: milli(a.StartedAt), FinishedAt: milliPtr(a.EndedAt),
	}
}

// matchAttempts returns the attempts of the item in a record that f selects.
func (b *full) matchAttempts(tx *store.Tx, key, value []byte, f ItemFilter) ([]entry[Attempt], error) {
	position, r, err := b.readItem(key, value)
	if err != nil {
		return nil, err
	}
	all, err := b.attempts(tx, position, r)
	return slices.DeleteFunc(all, func(e entry[Attempt]) bool {
		return !f.holds(string(e.value.Status), e.value.InstanceName, r)
	}), err
}

func (b *full) item(position int, r itemRecord) Item {
	item := Item{
		ID: itemID(b.id, position), BatchID: b.id, Position: position,
		RecipientInput: r.Input, NormalizedRecipient: r.recipient(), RecipientJID: stringPtr(r.JID),
		Status: r.Status, ClientMessageID: stringPtr(r.ClientID), WhatsAppMessageID: stringPtr(r.WhatsApp),
		AttemptCount: r.Attempts, SelectedDelayMs: r.DelayMs,
		LastErrorCode: stringPtr(r.Code), LastErrorMessage: stringPtr(r.Error),
		CreatedAt: milli(b.spec.CreatedAt), UpdatedAt: milli(max(r.UpdatedAt, b.spec.CreatedAt)),
		ProcessingStartedAt: milliPtr(r.StartedAt), FinishedAt: milliPtr(r.EndedAt),
	}
	if r.Status == "" {
		item.Status = ItemPending
	}
	if r.Instance != 0 {
		item.SelectedInstanceID, item.SelectedInstanceName = &r.Instance, stringPtr(b.spec.instanceName(r.Instance))
	}
	if r.MessageID != 0 {
		item.MessageID = &r.MessageID
	}
	return item
}
