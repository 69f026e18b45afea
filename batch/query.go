package batch

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"hash/crc32"
	"slices"

	"github.com/google/uuid"

	"postern/store"
)

const defaultLimit = 50

// unknownTotal makes a query count the matching records.
const unknownTotal = -1

// maxExamined is how many records are examined for a page, and as many are counted where
// its total is not stored. A list whose filter matches almost nothing then has short pages,
// even empty ones, with a cursor to continue.
const maxExamined = 20_000

// query reads one page of a list.
type query[T any] struct {
	list    string // what it lists, so that no other list takes its cursors
	prefix  []byte // of its keys, the same
	total   int    // of the matching records, or unknownTotal
	atLeast bool   // there may be more than total
	most    int    // in place of maxExamined; 0: that

	// rows calls fn for the rows beside a position, nil for the end of the list, in the
	// list's order or, with back, against it, until fn returns false or an error.
	rows func(tx *store.Tx, at []byte, back bool, fn func(listRow[T]) (bool, error)) error
}

// listRow is one examined record of a list, of which it shows one line, several
// or none.
type listRow[T any] struct {
	first, last []byte // positions in front of its lines and behind them, in the order of keys
	lines       []line[T]
	cost        int // records that were read for it
}

// line is one line of a list.
type line[T any] struct {
	at    []byte // its key without the prefix
	value T
}

// found is an unfinished page of a list.
type found[T any] struct {
	lines []line[T]
	more  bool // a line beyond the page was seen
	cut   bool // the look ended before the list did
	first []byte
	last  []byte // the positions between which it looked, in its direction
}

func (q query[T]) page(tx *store.Tx, p Page) (List[T], error) {
	list := List[T]{Records: []T{}}
	cursor, err := q.position(p)
	if err != nil {
		return list, err
	}
	back := p.Previous != ""
	f, err := q.look(tx, cursor, back, orDefault(p.Limit, defaultLimit))
	if err != nil {
		return list, err
	}
	ahead, behind := &list.NextCursor, &list.PreviousCursor
	if back {
		ahead, behind = behind, ahead
	}
	n := len(f.lines)
	switch {
	case f.more:
		*ahead = q.cursor(f.lines[n-1].at)
	case f.cut:
		*ahead = q.cursor(f.last)
	}
	switch {
	case cursor != nil && n > 0:
		*behind = q.cursor(f.lines[0].at)
	case cursor != nil && f.first != nil:
		*behind = q.cursor(f.first)
	}
	if back {
		slices.Reverse(f.lines)
	}
	for _, l := range f.lines {
		list.Records = append(list.Records, l.value)
	}
	list.TotalRecords, list.TotalIsMinimum, err = q.count(tx)
	list.TotalRecords = max(list.TotalRecords, len(list.Records))
	return list, err
}

// look finds the lines of a page, and whether more follow.
func (q query[T]) look(tx *store.Tx, at []byte, back bool, limit int) (f found[T], err error) {
	looked := 0
	err = q.rows(tx, at, back, func(r listRow[T]) (bool, error) {
		if looked >= orDefault(q.most, maxExamined) {
			f.cut = true
			return false, nil
		}
		looked += r.cost
		begin, end := r.first, r.last
		if back {
			begin, end = end, begin
			slices.Reverse(r.lines)
		}
		if f.first == nil {
			f.first = begin
		}
		f.last = end
		for _, l := range r.lines {
			if f.more = len(f.lines) == limit; f.more {
				return false, nil
			}
			f.lines = append(f.lines, l)
		}
		return true, nil
	})
	return f, err
}

// count returns how many records match; atLeast means that there may be more.
func (q query[T]) count(tx *store.Tx) (n int, atLeast bool, err error) {
	if q.total != unknownTotal {
		return q.total, q.atLeast, nil
	}
	looked := 0
	err = q.rows(tx, nil, false, func(r listRow[T]) (bool, error) {
		if atLeast = looked >= orDefault(q.most, maxExamined); atLeast {
			return false, nil
		}
		looked += r.cost
		n += len(r.lines)
		return true, nil
	})
	return n, atLeast, err
}

// itemRows goes through the items of a batch by position; lines returns the lines of one.
// Keys of lines are those of their item, or begin with it.
func itemRows[T any](id uuid.UUID, lines func(tx *store.Tx, key, value []byte) ([]line[T], int, error)) func(*store.Tx, []byte, bool, func(listRow[T]) (bool, error)) error {
	const size = 8 // of a position
	return func(tx *store.Tx, at []byte, back bool, fn func(listRow[T]) (bool, error)) error {
		r := store.Range{Prefix: id[:], Reverse: back}
		switch {
		case at == nil:
		case back:
			r.Before = store.Key(id, at)
		default:
			r.From = store.Key(id, at[:min(len(at), size)])
		}
		return tx.Scan(bucketItem, r, func(key, value []byte) (bool, error) {
			all, cost, err := lines(tx, key, value)
			if err != nil {
				return true, err
			}
			beside := func(l line[T]) bool {
				side := bytes.Compare(l.at, at)
				return at != nil && (back && side >= 0 || !back && side <= 0)
			}
			own := key[len(id):]
			return fn(listRow[T]{
				first: own, last: append(slices.Clone(own), 0xff, 0xff, 0xff, 0xff),
				lines: slices.DeleteFunc(all, beside), cost: cost,
			})
		})
	}
}

// cursor returns the opaque form of a position: the part of a key that is not
// the prefix, after a checksum that ties it to this list.
func (q query[T]) cursor(at []byte) *string {
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
	// Decoding ignores line breaks and the last bits; one position has one
	// cursor.
	at := raw[sumSize:]
	if !bytes.Equal(raw[:sumSize], q.sum(at)) || base64.RawURLEncoding.EncodeToString(raw) != text {
		return nil, ErrInvalidCursor
	}
	return at, nil
}

// listItem returns an item when f selects it.
func (b *full) listItem(key, value []byte, f ItemFilter) ([]line[Item], int, error) {
	position, r, err := b.readItem(key, value)
	if err != nil || !f.holds(string(r.shownStatus()), b.spec.instanceName(r.Instance), r) {
		return nil, 1, err
	}
	return []line[Item]{{key[len(b.id):], b.item(position, r)}}, 1, nil
}

// shownStatus returns the status of an item as in the API.
func (r itemRecord) shownStatus() ItemStatus {
	if r.Status == "" {
		return ItemPending
	}
	return r.Status
}

// attempts returns the attempts of one item, oldest first.
func (b *full) attempts(tx *store.Tx, position int, r itemRecord) (all []line[Attempt], err error) {
	if r.Attempts > 1 || r.Attempts == 1 && r.Instance == 0 {
		prefix := itemKey(b.id, position)
		err = tx.Scan(bucketAttempt, store.Range{Prefix: prefix}, func(key, value []byte) (bool, error) {
			var a attemptRecord
			if err := json.Unmarshal(value, &a); err != nil {
				return true, tx.Unreadable(bucketAttempt, key, err)
			}
			number := int(binary.BigEndian.Uint32(key[len(prefix):]))
			all = append(all, line[Attempt]{key[len(b.id):], b.attempt(position, number, a)})
			return true, nil
		})
	}
	if r.Instance != 0 {
		key := attemptKey(b.id, position, r.Attempts)
		all = append(all, line[Attempt]{key[len(b.id):], b.attempt(position, r.Attempts, r.lastAttempt())})
	}
	return slices.DeleteFunc(all, func(l line[Attempt]) bool { return b.spec.hides(l.value.InstanceID) }), err
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

// listAttempts returns the attempts of an item that f selects.
func (b *full) listAttempts(tx *store.Tx, key, value []byte, f ItemFilter) ([]line[Attempt], int, error) {
	position, r, err := b.readItem(key, value)
	if err != nil {
		return nil, 1, err
	}
	all, err := b.attempts(tx, position, r)
	return slices.DeleteFunc(all, func(l line[Attempt]) bool {
		return !f.holds(string(l.value.Status), l.value.InstanceName, r)
	}), 1 + r.Attempts, err
}

// attemptTotal returns how many attempts the items of a batch have: one for each that has an
// instance, and those that have records of their own.
func (b *full) attemptTotal(tx *store.Tx) (n int, atLeast bool, err error) {
	n, err = tx.CountSome(bucketAttempt, b.id[:], maxExamined)
	atLeast = n == maxExamined
	for _, s := range b.Shares {
		n += s.Selected
	}
	return n, atLeast, err
}

func (b *full) item(position int, r itemRecord) Item {
	item := Item{
		ID: itemID(b.id, position), BatchID: b.id, Position: position,
		RecipientInput: r.Input, NormalizedRecipient: r.recipient(), RecipientJID: stringPtr(r.JID),
		Status: r.shownStatus(), ClientMessageID: stringPtr(r.ClientID), WhatsAppMessageID: stringPtr(r.WhatsApp),
		AttemptCount: r.Attempts, SelectedDelayMs: r.DelayMs,
		LastErrorCode: stringPtr(r.Code), LastErrorMessage: stringPtr(r.Error),
		CreatedAt: milli(b.spec.CreatedAt), UpdatedAt: milli(max(r.UpdatedAt, b.spec.CreatedAt)),
		ProcessingStartedAt: milliPtr(r.StartedAt), FinishedAt: milliPtr(r.EndedAt),
	}
	if b.spec.hides(r.Instance) { // nor the message, which is in its chats
		item.ClientMessageID, item.WhatsAppMessageID = nil, nil
		return item
	}
	if r.Instance != 0 {
		item.SelectedInstanceID, item.SelectedInstanceName = &r.Instance, stringPtr(b.spec.instanceName(r.Instance))
	}
	if r.MessageID != 0 {
		item.MessageID = &r.MessageID
	}
	return item
}
