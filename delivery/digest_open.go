package delivery

import (
	"context"
	"errors"
	"maps"
	"slices"

	"postern/store"
)

const (
	repairStep = 50  // blocks of one commit
	lostStep   = 500 // records of one commit
)

// interrupted is the reason of a delivery of the in-memory flow that was lost with its
// process.
const interrupted = "the program ended before it was delivered"

// openDigest makes sure that the digest has a row for each record, and ends the deliveries
// that waited in the memory of a killed process. After an orderly stop it reads nothing:
// damage to the digest is then found after the start.
func (l *Ledger) openDigest(anew bool) error {
	if _, l.unread = l.store.Left(leftDigest, digestOf); l.unread && !anew {
		return nil
	}
	l.unread = false
	found, err := l.inspect()
	if err == nil && (anew || !found.whole) {
		var n int
		if n, err = l.mendDigest(anew, found.damaged); err == nil {
			if n > 0 {
				l.log.Warn("the digest of deliveries was made anew where it did not fit its records", "blocks", n)
			}
			found, err = l.inspect()
		}
	}
	if err != nil {
		return err
	}
	err = l.store.Update(context.Background(), func(tx *store.Tx) error {
		stored, err := readCounts(tx)
		if err == nil && stored == found.counts || err != nil && !errors.Is(err, store.ErrDamaged) {
			return err
		}
		return putCounts(tx, found.counts)
	})
	if err != nil {
		return err
	}
	for some := range slices.Chunk(found.lost, lostStep) {
		if err := l.endLost(some); err != nil {
			return err
		}
	}
	return nil
}

// inspection is the result of reading the whole digest.
type inspection struct {
	counts  counts
	damaged []uint64 // blocks
	lost    []uint64 // records of the in-memory flow that are pending
	whole   bool     // every record has its row
}

func (l *Ledger) inspect() (found inspection, err error) {
	err = l.store.View(func(tx *store.Tx) error {
		found = inspection{}
		rows := uint64(0)
		found.damaged, err = l.key.scan(tx, allIDs, false, true, func(in stretch) (bool, error) {
			for i := range blockRows {
				bits := uint16(in.word(0, i) >> 16)
				if bits&bitsState == 0 {
					continue
				}
				rows++
				found.counts[min(bits&bitsState, uint16(len(states)-1))]++
				if bits&bitMemory != 0 {
					found.lost = append(found.lost, in.first+uint64(i))
				}
			}
			return true, nil
		})
		if err != nil {
			return err
		}
		kept, err := tx.Rows(records)
		found.whole = len(found.damaged) == 0 && rows == kept
		return err
	})
	return found, err
}

// mendDigest rebuilds blocks: all, or those that are damaged or whose rows do not match the
// existing records.
func (l *Ledger) mendDigest(all bool, damaged []uint64) (n int, err error) {
	wrong := map[uint64]bool{}
	for _, no := range damaged {
		wrong[no] = true
	}
	err = l.store.View(func(tx *store.Tx) error {
		there, err := recordMasks(tx)
		if err != nil {
			return err
		}
		_, err = l.key.scan(tx, allIDs, false, true, func(in stretch) (bool, error) {
			no := blockOf(in.first)
			if all || there[no] != in.mask() {
				wrong[no] = true
			}
			delete(there, no)
			return true, nil
		})
		for no := range there {
			wrong[no] = true
		}
		return err
	})
	if err != nil {
		return 0, err
	}
	if all {
		if err := l.dropRequests(); err != nil {
			return 0, err
		}
	}
	for some := range slices.Chunk(slices.Sorted(maps.Keys(wrong)), repairStep) {
		if err := l.rebuild(some); err != nil {
			return n, err
		}
		n += len(some)
	}
	return n, nil
}

// rebuild builds some blocks from their records.
func (l *Ledger) rebuild(blocks []uint64) error {
	return l.store.Update(context.Background(), func(tx *store.Tx) error {
		for _, no := range blocks {
			b, err := l.key.rebuilt(tx, no)
			if err != nil {
				return err
			}
			if err := putBlock(tx, no, b); err != nil {
				return err
			}
			if err := eachRecord(tx, firstOf(no), firstOf(no+1), func(r Record) error { return l.key.index(tx, r) }); err != nil {
				return err
			}
		}
		return nil
	})
}

// dropRequests empties the index of request ids, in small steps.
func (l *Ledger) dropRequests() error {
	const step = 5000
	for n := step; n == step; {
		err := l.store.Update(context.Background(), func(tx *store.Tx) (err error) {
			n, err = tx.DeleteSome(requests, nil, step)
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// recordMasks returns, by block, which ids have a record.
func recordMasks(tx *store.Tx) (map[uint64]uint64, error) {
	masks := map[uint64]uint64{}
	err := tx.Walk(records, store.Range{}, func(key []byte) (bool, error) {
		if id, ok := idOf(key); ok {
			masks[blockOf(id)] |= 1 << (id - firstOf(blockOf(id)))
		}
		return true, nil
	})
	return masks, err
}

func (b block) mask() (mask uint64) {
	for i := range blockRows {
		if b.row(i).exists() {
			mask |= 1 << i
		}
	}
	return mask
}

// endLost ends records that waited in memory.
func (l *Ledger) endLost(ids []uint64) error {
	return l.store.Update(context.Background(), func(tx *store.Tx) error {
		for _, id := range ids {
			old, found, err := getRecord(tx, id)
			if errors.Is(err, store.ErrDamaged) || err == nil && (!found || !old.inMemory()) {
				continue
			}
			if err != nil {
				return err
			}
			now := old.after(Dropped, Attempt{Error: interrupted})
			if err := tx.Put(records, store.Key(id), encodeRecord(now)); err != nil {
				return err
			}
			if err := l.note(tx, &now, &old); err != nil {
				return err
			}
		}
		return nil
	})
}
