package store

import (
	"errors"
	"fmt"
	"os"
	"slices"

	bolt "go.etcd.io/bbolt"

	"postern/store/files"
	"postern/store/schema"
)

// errEnough ends a walk that has found enough.
var errEnough = errors.New("enough")

// mend makes missing records and then removes orphans, until no need is unmet. A record
// that is made may be needed by others, and one that is removed may leave others without
// what they need.
func (m *repairing) mend(to *os.File) error {
	for range repairPasses {
		found, err := m.lacks(to, true)
		if err == nil && len(found) == 0 {
			found, err = m.lacks(to, false)
		}
		if err != nil || len(found) == 0 {
			return err
		}
		for some := range slices.Chunk(found, repairStep/10) {
			if err := m.to.db.Update(func(tx *bolt.Tx) error { return m.apply(tx, some) }); err != nil {
				return err
			}
		}
	}
	return fmt.Errorf("%w: its records contradict each other in ways that cannot be put right", ErrCorrupt)
}

// lacks collects some unmet needs of the new file: those that can be made, or the
// orphans.
func (m *repairing) lacks(to *os.File, made bool) (found []schema.Lack, err error) {
	info, err := to.Stat()
	if err != nil {
		return nil, err
	}
	data, done := files.Map(to, info.Size())
	defer done()
	err = m.sch.EachLack(m.ctx, data, info.Size(), func(l schema.Lack) error {
		if l.Made() == made {
			found = append(found, l)
		}
		if len(found) == repairStep {
			return errEnough
		}
		return nil
	})
	if errors.Is(err, errEnough) {
		err = nil
	}
	return found, err
}

func (m *repairing) apply(tx *bolt.Tx, some []schema.Lack) error {
	for _, l := range some {
		if l.Made() {
			key := l.Need.Key
			b, err := tx.CreateBucketIfNotExists([]byte(l.Need.Bucket))
			if err != nil {
				return err
			}
			if b.Get(key) == nil || l.Other {
				m.done.Made++
				m.done.tell("made: record %s: %s", l.Subject(), l.Need.Why)
			}
			if err := b.Put(key, schema.Seal(key, l.Need.Value)); err != nil {
				return err
			}
			continue
		}
		b := tx.Bucket([]byte(l.Bucket))
		if l.Key == nil || b.Get(l.Key) == nil {
			continue // removed with another need
		}
		m.done.Removed++
		m.done.tell("removed: %s", l)
		if err := b.Delete(l.Key); err != nil {
			return err
		}
	}
	return nil
}
