package digest

import (
	"cmp"
	"encoding/binary"
	"errors"
	"slices"

	"postern/store"
)

// A block holds the first words of its rows, then the second ones and so on,
// little-endian: the first word is enough to rule out most rows.
const (
	BlockRows = 50
	BlockSize = 5 * column

	column = 8 * BlockRows
)

// MaxID is greater than every id.
const MaxID = 1 << 62

// Config says where a Digest is stored, and how it reads the records that it is about. All
// fields are required.
type Config struct {
	Store *store.Store

	// Records, Blocks, Names and Keys are the buckets. Keys of Records are the eight bytes of
	// an id. The digest writes the other three; in Keys it has the row KeyName alone.
	Records, Blocks, Names, Keys string

	// Read calls fn with the readable records from the id first to before last.
	Read func(tx *store.Tx, first, last uint64, fn func(Fields) error) error
	// Later calls fn with the further names of these records.
	Later func(tx *store.Tx, first, last uint64, fn func(id uint64, name string) error) error
}

// Digest is the digest of the records of one file. Its methods may be called from any
// goroutine; those that take a Tx, inside the transaction.
type Digest struct {
	cfg Config
	key hashKey
}

// BlockOf returns the number of the block with the row of a record.
func BlockOf(id uint64) uint64 { return id / BlockRows }

// FirstOf returns the id of the first row of a block.
func FirstOf(block uint64) uint64 { return block * BlockRows }

// block is the rows of FirstOf(no) and those that follow.
type block []byte

func (b block) word(col, i int) uint64 { return binary.LittleEndian.Uint64(b[col*column+8*i:]) }

func (b block) column(col int) *[column]byte { return (*[column]byte)(b[col*column:]) }

func (b block) row(i int) Row {
	return Row{head: b.word(0, i), made: b.word(1, i), spent: b.word(2, i), ids: b.word(3, i), chat: b.word(4, i)}
}

func (b block) set(i int, w Row) {
	for col, word := range [...]uint64{w.head, w.made, w.spent, w.ids, w.chat} {
		binary.LittleEndian.PutUint64(b[col*column+8*i:], word)
	}
}

// mask has a bit for each row that stands for a record.
func (b block) mask() (mask uint64) {
	for i := range BlockRows {
		if b.row(i).Exists() {
			mask |= 1 << i
		}
	}
	return mask
}

// change is the record with this id as it is now, nil if it is removed.
type change struct {
	id  uint64
	now *Fields
}

// changes collects what the transactions of one commit change. It is written once, at the
// end of the commit or before a row is read.
type changes struct {
	of   *Digest
	rows []change
}

// Note changes the row of a record; now is nil for a record that is removed.
func (d *Digest) Note(tx *store.Tx, id uint64, now *Fields) {
	c, _ := tx.Shared(d, func() store.Shared { return &changes{of: d} }).(*changes)
	c.rows = append(c.rows, change{id, now})
}

// Finish implements [store.Shared].
func (c *changes) Finish(tx *store.Tx) error {
	rows := c.rows
	c.rows = nil // what is read from here on must not be written again
	slices.SortStableFunc(rows, func(a, b change) int { return cmp.Compare(a.id, b.id) })
	return c.of.edit(tx, rows)
}

// settle writes the collected changes, so that a reader sees them.
func (d *Digest) settle(tx *store.Tx) error {
	if c, some := tx.Shared(d, nil).(*changes); some {
		return c.Finish(tx)
	}
	return nil
}

// edit changes rows, of one or many blocks, in the order of their ids. Successive changes to
// one block cost little.
func (d *Digest) edit(tx *store.Tx, rows []change) error {
	var b block
	for i, c := range rows {
		no := BlockOf(c.id)
		if i == 0 || no != BlockOf(rows[i-1].id) {
			var err error
			if b, err = d.block(tx, no); err != nil {
				return err
			}
		}
		at, next := int(c.id-FirstOf(no)), Row{}
		if c.now != nil {
			next = b.row(at).next(d.key, c.now, tx.Now())
		}
		b.set(at, next)
		if i+1 == len(rows) || no != BlockOf(rows[i+1].id) {
			if err := d.putBlock(tx, no, b); err != nil {
				return err
			}
		}
	}
	return nil
}

// block returns a copy of a block, rebuilt from the records if it is damaged.
func (d *Digest) block(tx *store.Tx, no uint64) (block, error) {
	raw, err := tx.Get(d.cfg.Blocks, store.Key(no))
	switch {
	case err == nil && raw == nil:
		return make(block, BlockSize), nil
	case errors.Is(err, store.ErrDamaged) || err == nil && len(raw) != BlockSize:
		return d.rebuilt(tx, no)
	}
	return raw, err
}

func (d *Digest) putBlock(tx *store.Tx, no uint64, b block) error {
	if b.mask() == 0 {
		return tx.Delete(d.cfg.Blocks, store.Key(no))
	}
	return tx.Put(d.cfg.Blocks, store.Key(no), b)
}

// Row returns the row of a record; it does not exist if there is none.
func (d *Digest) Row(tx *store.Tx, id uint64) (Row, error) {
	if err := d.settle(tx); err != nil {
		return Row{}, err
	}
	b, err := d.block(tx, BlockOf(id))
	if err != nil {
		return Row{}, err
	}
	return b.row(int(id - FirstOf(BlockOf(id)))), nil
}

// Range is the ids from First to before Last.
type Range struct{ First, Last uint64 }

// All is the range of all ids.
var All = Range{0, MaxID}

// From returns the range of the ids from first on.
func From(first uint64) Range { return Range{first, MaxID} }

// Block is the rows of one block that are in the range of a scan.
type Block struct {
	block
	first uint64 // id of the first row of the block
	i, j  int    // the rows from i to before j are in the range
}

// Rows calls fn for the rows of records.
func (b Block) Rows(fn func(id uint64, w Row)) {
	for i := b.i; i < b.j; i++ {
		if w := b.row(i); w.Exists() {
			fn(b.first+uint64(i), w)
		}
	}
}

// No returns the number of the block.
func (b Block) No() uint64 { return BlockOf(b.first) }

// inRange has a bit for each row in the range.
func (b Block) inRange() uint64 { return (1<<b.j - 1) &^ (1<<b.i - 1) }

// How says how blocks are scanned.
type How uint8

// Flags of How. The zero How scans in the order of the ids.
const (
	Reverse How = 1 << iota
	// Quick skips checksums, which take longer than the rest. They are verified at or after each
	// start, when a block is written, and when expired records are searched. A caller that
	// shows a record matches it against the filter again.
	Quick
)

// Scan calls fn for the blocks of a range of ids until fn returns false, and returns the
// numbers of those that are damaged and were rebuilt from records. fn must not keep its
// argument.
func (d *Digest) Scan(tx *store.Tx, in Range, how How, fn func(Block) (bool, error)) (damaged []uint64, err error) {
	if err := d.settle(tx); err != nil || in.Last <= in.First {
		return nil, err
	}
	look := tx.Look
	if how&Quick != 0 {
		look = tx.Skim
	}
	r := store.Range{Reverse: how&Reverse != 0}
	if in.First > 0 {
		r.From = store.Key(BlockOf(in.First))
	}
	if in.Last < MaxID {
		r.Before = store.Key(BlockOf(in.Last-1) + 1)
	}
	err = look(d.cfg.Blocks, r, func(key, value []byte) (bool, error) {
		no, ok := IDOf(key)
		if !ok {
			return true, nil
		}
		b := block(value)
		if len(b) != BlockSize {
			damaged = append(damaged, no)
			if b, err = d.rebuilt(tx, no); err != nil {
				return false, err
			}
		}
		s := Block{block: b, first: FirstOf(no), j: BlockRows}
		if s.first < in.First {
			s.i = int(in.First - s.first)
		}
		if s.first+BlockRows > in.Last {
			s.j = int(in.Last - s.first)
		}
		return fn(s)
	})
	return damaged, err
}

// Each calls fn for the records of a range that match until fn returns false.
func (d *Digest) Each(tx *store.Tx, m *Match, in Range, how How, fn func(id uint64) (bool, error)) error {
	more := true
	_, err := d.Scan(tx, in, how, func(b Block) (bool, error) {
		_, err := m.Rows(b, how, func(id uint64) (_ bool, err error) {
			more, err = fn(id)
			return more, err
		})
		return more, err
	})
	return err
}
