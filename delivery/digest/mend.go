package digest

import (
	"context"
	"encoding/binary"
	"maps"
	"slices"

	"postern/store"
)

const (
	repairStep = 50   // blocks of one commit
	dropStep   = 5000 // names of one commit
)

// Open returns the digest of a file, which has a row for each record. After an orderly stop,
// which trusted reports, it reads no row: [Digest.Verify] finds damage later. Otherwise it reads
// all rows, and rebuilds damaged, missing and superfluous ones. rebuilt is the number of
// blocks that it rebuilt, and found describes the rows, nil if it did not read them.
func Open(cfg Config, trusted bool) (d *Digest, found *Inspection, rebuilt int, err error) {
	d = &Digest{cfg: cfg}
	made, err := d.openKey()
	if err != nil || trusted && !made {
		return d, nil, 0, err
	}
	found, err = d.inspect()
	if err == nil && (made || !found.whole) {
		if rebuilt, err = d.mend(made, found.damaged); err == nil {
			found, err = d.inspect()
		}
	}
	if err == nil && made {
		err = cfg.Store.Update(context.Background(), func(tx *store.Tx) error { return d.putKey(tx, hashKind) })
	}
	return d, found, rebuilt, err
}

// Inspection is the result of reading all rows.
type Inspection struct {
	States [bitsState + 1]uint64 // the number of records in each state
	Memory []uint64              // records with that mark

	damaged []uint64 // blocks
	whole   bool     // every record has its row
}

func (d *Digest) inspect() (found *Inspection, err error) {
	err = d.cfg.Store.View(func(tx *store.Tx) error {
		found = &Inspection{}
		rows := uint64(0)
		found.damaged, err = d.Scan(tx, All, 0, func(in Block) (bool, error) {
			in.Rows(func(id uint64, w Row) {
				rows++
				found.States[w.State()]++
				if w.Has(Memory) {
					found.Memory = append(found.Memory, id)
				}
			})
			return true, nil
		})
		if err != nil {
			return err
		}
		kept, err := tx.Rows(d.cfg.Records)
		found.whole = len(found.damaged) == 0 && rows == kept
		return err
	})
	return found, err
}

// mend rebuilds blocks: all, or those that are damaged or whose rows do not match the
// existing records.
func (d *Digest) mend(all bool, damaged []uint64) (n int, err error) {
	wrong := map[uint64]bool{}
	for _, no := range damaged {
		wrong[no] = true
	}
	err = d.cfg.Store.View(func(tx *store.Tx) error {
		there, err := d.recordMasks(tx)
		if err != nil {
			return err
		}
		_, err = d.Scan(tx, All, 0, func(in Block) (bool, error) {
			if all || there[in.No()] != in.mask() {
				wrong[in.No()] = true
			}
			delete(there, in.No())
			return true, nil
		})
		for no := range there {
			wrong[no] = true
		}
		return err
	})
	if err == nil && all {
		err = d.dropNames()
	}
	if err != nil {
		return 0, err
	}
	return len(wrong), d.Rebuild(slices.Sorted(maps.Keys(wrong)))
}

// recordMasks returns, by block, which ids have a record.
func (d *Digest) recordMasks(tx *store.Tx) (map[uint64]uint64, error) {
	masks := map[uint64]uint64{}
	err := tx.Walk(d.cfg.Records, store.Range{}, func(key []byte) (bool, error) {
		if id, ok := IDOf(key); ok {
			masks[BlockOf(id)] |= 1 << (id - FirstOf(BlockOf(id)))
		}
		return true, nil
	})
	return masks, err
}

// dropNames removes all further names, in small steps.
func (d *Digest) dropNames() error {
	for n := dropStep; n == dropStep; {
		err := d.cfg.Store.Update(context.Background(), func(tx *store.Tx) (err error) {
			n, err = tx.DeleteSome(d.cfg.Names, nil, dropStep)
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// Rebuild builds blocks, and the further names of their records, from the records, in small
// commits.
func (d *Digest) Rebuild(blocks []uint64) error {
	for some := range slices.Chunk(blocks, repairStep) {
		err := d.cfg.Store.Update(context.Background(), func(tx *store.Tx) error {
			for _, no := range some {
				if err := d.rebuild(tx, no); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

func (d *Digest) rebuild(tx *store.Tx, no uint64) error {
	b, err := d.rebuilt(tx, no)
	if err == nil {
		err = d.putBlock(tx, no, b)
	}
	if err != nil {
		return err
	}
	return d.cfg.Later(tx, FirstOf(no), FirstOf(no+1), func(id uint64, name string) error { return d.AddName(tx, id, name) })
}

// rebuilt returns a block made from its records.
func (d *Digest) rebuilt(tx *store.Tx, no uint64) (block, error) {
	b := make(block, BlockSize)
	err := d.cfg.Read(tx, FirstOf(no), FirstOf(no+1), func(f Fields) error {
		b.set(int(f.ID-FirstOf(no)), Row{}.next(d.key, &f, f.Ended))
		return nil
	})
	return b, err
}

// verifyStep is the number of blocks that one read covers: 1 MB.
const verifyStep = 500

// Verify verifies the checksums of some blocks from one on, and so brings them into the
// system's page cache. It returns those that are damaged, and the block to continue with, 0 at
// the end.
func (d *Digest) Verify(from uint64) (damaged []uint64, next uint64, err error) {
	err = d.cfg.Store.View(func(tx *store.Tx) error {
		seen := 0
		damaged, err = d.Scan(tx, From(FirstOf(from)), 0, func(in Block) (bool, error) {
			next = in.No() + 1
			seen++
			return seen < verifyStep, nil
		})
		if seen < verifyStep {
			next = 0
		}
		return err
	})
	return damaged, next, err
}

// IDOf returns the number that a key encodes.
func IDOf(key []byte) (id uint64, ok bool) {
	if len(key) != 8 {
		return 0, false
	}
	return binary.BigEndian.Uint64(key), true
}

// Matches reports whether a stored block has exactly the rows for which has returns true, for
// `postern check`.
func Matches(raw []byte, has func(row int) bool) bool {
	if len(raw) != BlockSize {
		return false
	}
	for i := range BlockRows {
		if block(raw).row(i).Exists() != has(i) {
			return false
		}
	}
	return true
}
