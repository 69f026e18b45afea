package delivery

import (
	"encoding/binary"
	"errors"

	"postern/store"
)

// The digest holds the fields of every record that filters use, in blocks of
// blockRows rows for as many consecutive ids, two blocks to a page of the file.
// A list with any filter scans all of it, in some milliseconds per million
// records, and reads the records that it shows. A block is always written in
// the commit that writes its records; a damaged block is rebuilt from them.
//
// A block holds the first words of its rows, then the second ones and so on,
// little-endian: the first word is enough to rule out most rows.
const (
	blockRows = 50
	column    = 8 * blockRows
	blockSize = 5 * column
)

// maxID is greater than every id.
const maxID = 1 << 62

func blockOf(id uint64) uint64    { return id / blockRows }
func blockKey(no uint64) []byte   { return store.Key(no) }
func firstOf(block uint64) uint64 { return block * blockRows }

// block holds the rows of firstOf(no) and those that follow.
type block []byte

func (b block) word(col, i int) uint64 { return binary.LittleEndian.Uint64(b[col*column+8*i:]) }

func (b block) column(col int) *[column]byte { return (*[column]byte)(b[col*column:]) }

func (b block) row(i int) digestRow {
	return digestRow{head: b.word(0, i), made: b.word(1, i), spent: b.word(2, i), ids: b.word(3, i), chat: b.word(4, i)}
}

func (b block) set(i int, w digestRow) {
	for col, word := range [...]uint64{w.head, w.made, w.spent, w.ids, w.chat} {
		binary.LittleEndian.PutUint64(b[col*column+8*i:], word)
	}
}

func (b block) empty() bool {
	for i := range blockRows {
		if b.row(i).exists() {
			return false
		}
	}
	return true
}

// edit changes rows, of one or many blocks, in the order of their ids. Successive changes to
// one block cost little.
func (k hashKey) edit(tx *store.Tx, rows []digestChange) error {
	var b block
	for i, c := range rows {
		no := blockOf(c.id)
		if i == 0 || no != blockOf(rows[i-1].id) {
			var err error
			if b, err = k.block(tx, no); err != nil {
				return err
			}
		}
		at, next := int(c.id-firstOf(no)), digestRow{}
		if c.now != nil {
			next = b.row(at).next(k, c.now, tx.Now())
		}
		b.set(at, next)
		if i+1 == len(rows) || no != blockOf(rows[i+1].id) {
			if err := putBlock(tx, no, b); err != nil {
				return err
			}
		}
	}
	return nil
}

// block returns a copy of a block, rebuilt from the records if it is damaged.
func (k hashKey) block(tx *store.Tx, no uint64) (block, error) {
	raw, err := tx.Get(digests, blockKey(no))
	switch {
	case err == nil && raw == nil:
		return make(block, blockSize), nil
	case errors.Is(err, store.ErrDamaged) || err == nil && len(raw) != blockSize:
		return k.rebuilt(tx, no)
	}
	return raw, err
}

func putBlock(tx *store.Tx, no uint64, b block) error {
	if b.empty() {
		return tx.Delete(digests, blockKey(no))
	}
	return tx.Put(digests, blockKey(no), b)
}

// rebuilt returns a block made from its records.
func (k hashKey) rebuilt(tx *store.Tx, no uint64) (block, error) {
	b := make(block, blockSize)
	err := eachRecord(tx, firstOf(no), firstOf(no+1), func(r Record) error {
		first, err := firstAttempt(tx, r)
		b.set(int(r.ID-firstOf(no)), restored(k, r, first))
		return err
	})
	return b, err
}

// idRange is the ids from first to before last.
type idRange struct{ first, last uint64 }

var allIDs = idRange{0, maxID}

// stretch is the rows of a block from i to before j.
type stretch struct {
	block
	first uint64 // id of the first row of the block
	i, j  int
}

// asked has a bit for each row of the stretch.
func (s stretch) asked() uint64 { return (1<<s.j - 1) &^ (1<<s.i - 1) }

// scan calls fn for the blocks of a range of ids, and returns the numbers of those
// that are damaged and were rebuilt from records. fn must not keep its argument.
//
// Unless it is asked to verify, scan skips checksums, which take longer than the
// rest. They are verified at or after each start, when a block is written, and when
// expired records are searched. A caller that shows a record matches it against the
// filter again.
func (k hashKey) scan(tx *store.Tx, in idRange, reverse, verify bool, fn func(stretch) (bool, error)) (damaged []uint64, err error) {
	if err := settleShared(tx); err != nil || in.last <= in.first {
		return nil, err
	}
	look := tx.Skim
	if verify {
		look = tx.Look
	}
	r := store.Range{Reverse: reverse}
	if in.first > 0 {
		r.From = blockKey(blockOf(in.first))
	}
	if in.last < maxID {
		r.Before = blockKey(blockOf(in.last-1) + 1)
	}
	err = look(digests, r, func(key, value []byte) (bool, error) {
		no, ok := idOf(key)
		if !ok {
			return true, nil
		}
		b := block(value)
		if len(b) != blockSize {
			damaged = append(damaged, no)
			if b, err = k.rebuilt(tx, no); err != nil {
				return false, err
			}
		}
		s := stretch{block: b, first: firstOf(no), j: blockRows}
		if s.first < in.first {
			s.i = int(in.first - s.first)
		}
		if s.first+blockRows > in.last {
			s.j = int(in.last - s.first)
		}
		return fn(s)
	})
	return damaged, err
}

// idOf returns the number that a key encodes.
func idOf(key []byte) (id uint64, ok bool) {
	if len(key) != 8 {
		return 0, false
	}
	return binary.BigEndian.Uint64(key), true
}

// eachRecord calls fn for the readable records from the id first to before last.
func eachRecord(tx *store.Tx, first, last uint64, fn func(Record) error) error {
	return tx.Scan(records, store.Range{From: store.Key(first), Before: store.Key(last)}, func(key, raw []byte) (bool, error) {
		id, _ := idOf(key)
		r, err := decodeRecord(id, raw)
		if err != nil {
			return true, tx.Unreadable(records, key, err)
		}
		return true, fn(r)
	})
}
