// Package paging reads pages of lists: with cursors in both directions, over rows of which
// a filter may select few, so that each page looks at a bounded number of records.
package paging

import (
	"bytes"
	"cmp"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"slices"

	"postern/store"
)

// ErrInvalidCursor means that a cursor is of no list of this kind, or is damaged.
var ErrInvalidCursor = errors.New("invalid cursor")

// Page selects a part of a list: at most Limit records (0 means 50) after
// Next, or before Previous. Setting both is a mistake of the caller and gives
// ErrInvalidCursor.
type Page struct {
	Limit          int
	Next, Previous string
}

// List is one page. A cursor is null at its end of the list: a page with one may be
// short, even empty, where many records were looked at that the filter does not select.
type List[T any] struct {
	NextCursor     *string `json:"nextCursor"`
	PreviousCursor *string `json:"previousCursor"`
	TotalRecords   int     `json:"totalRecords"`
	TotalIsMinimum bool    `json:"totalIsMinimum,omitempty"` // there may be more than TotalRecords
	Records        []T     `json:"records"`
}

const defaultLimit = 50

func (p Page) limit() int {
	if p.Limit <= 0 {
		return defaultLimit
	}
	return p.Limit
}

// UnknownTotal makes a query count the matching records.
const UnknownTotal = -1

// MaxExamined is how many records are examined for a page, and as many are counted where
// its total is not stored. A list whose filter matches almost nothing then has short pages,
// even empty ones, with a cursor to continue.
const MaxExamined = 20_000

// Query reads one page of a list.
type Query[T any] struct {
	List    string // what it lists, so that no other list takes its cursors
	Prefix  []byte // of its keys, the same
	Total   int    // of the matching records, or UnknownTotal
	AtLeast bool   // there may be more than Total
	Most    int    // in place of MaxExamined; 0: that

	// Rows calls fn for the rows beside a position, nil for the end of the list, in the
	// list's order or, with back, against it, until fn returns false or an error.
	Rows func(tx *store.Tx, at []byte, back bool, fn func(Row[T]) (bool, error)) error
}

// Row is one examined record of a list, of which it shows one line, several
// or none.
type Row[T any] struct {
	First, Last []byte // positions in front of its lines and behind them, in the order of keys
	Lines       []Line[T]
	Cost        int // records that were read for it
}

// Line is one line of a list.
type Line[T any] struct {
	At    []byte // its key without the prefix
	Value T
}

// found is an unfinished page of a list.
type found[T any] struct {
	lines []Line[T]
	more  bool // a line beyond the page was seen
	cut   bool // the look ended before the list did
	first []byte
	last  []byte // the positions between which it looked, in its direction
}

// Page reads a page. Its error is ErrInvalidCursor, or one of Rows.
func (q Query[T]) Page(tx *store.Tx, p Page) (List[T], error) {
	list := List[T]{Records: []T{}}
	cursor, err := q.position(p)
	if err != nil {
		return list, err
	}
	back := p.Previous != ""
	f, err := q.look(tx, cursor, back, p.limit())
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
		*ahead = q.cursor(f.lines[n-1].At)
	case f.cut:
		*ahead = q.cursor(f.last)
	}
	switch {
	case cursor != nil && n > 0:
		*behind = q.cursor(f.lines[0].At)
	case cursor != nil && f.first != nil:
		*behind = q.cursor(f.first)
	}
	if back {
		slices.Reverse(f.lines)
	}
	for _, l := range f.lines {
		list.Records = append(list.Records, l.Value)
	}
	list.TotalRecords, list.TotalIsMinimum, err = q.count(tx)
	list.TotalRecords = max(list.TotalRecords, len(list.Records))
	return list, err
}

// look finds the lines of a page, and whether more follow.
func (q Query[T]) look(tx *store.Tx, at []byte, back bool, limit int) (f found[T], err error) {
	looked := 0
	err = q.Rows(tx, at, back, func(r Row[T]) (bool, error) {
		if looked >= cmp.Or(q.Most, MaxExamined) {
			f.cut = true
			return false, nil
		}
		looked += r.Cost
		begin, end := r.First, r.Last
		if back {
			begin, end = end, begin
			slices.Reverse(r.Lines)
		}
		if f.first == nil {
			f.first = begin
		}
		f.last = end
		for _, l := range r.Lines {
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
func (q Query[T]) count(tx *store.Tx) (n int, atLeast bool, err error) {
	if q.Total != UnknownTotal {
		return q.Total, q.AtLeast, nil
	}
	looked := 0
	err = q.Rows(tx, nil, false, func(r Row[T]) (bool, error) {
		if atLeast = looked >= cmp.Or(q.Most, MaxExamined); atLeast {
			return false, nil
		}
		looked += r.Cost
		n += len(r.Lines)
		return true, nil
	})
	return n, atLeast, err
}

// cursor returns the opaque form of a position: the part of a key that is not
// the prefix, after a checksum that ties it to this list.
func (q Query[T]) cursor(at []byte) *string {
	s := base64.RawURLEncoding.EncodeToString(append(q.sum(at), at...))
	return &s
}

func (q Query[T]) sum(at []byte) []byte {
	sum := crc32.ChecksumIEEE(slices.Concat([]byte(q.List), q.Prefix, at))
	return binary.BigEndian.AppendUint32(nil, sum)
}

// position returns where the page begins or ends, nil when p has no cursor.
func (q Query[T]) position(p Page) ([]byte, error) {
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
