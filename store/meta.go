package store

import (
	"encoding/binary"
	"errors"
	"fmt"
	"maps"

	bolt "go.etcd.io/bbolt"
)

// Keys of the meta bucket.
var (
	metaApplication = []byte("application")
	metaVersion     = []byte("schema")
	metaClean       = []byte("clean")
	metaProgram     = []byte("program")
)

// initialise turns an empty bbolt file into a Postern file.
func initialise(tx *bolt.Tx, sch schema) error {
	if err := makeBuckets(tx, sch); err != nil {
		return err
	}
	_, err := complete(tx, sch, tallies{})
	return err
}

// makeBuckets creates the buckets that the file lacks.
func makeBuckets(tx *bolt.Tx, sch schema) error {
	for _, b := range sch.sorted() {
		if _, err := tx.CreateBucketIfNotExists([]byte(b.Name)); err != nil {
			return fmt.Errorf("create bucket %s: %w", b.Name, err)
		}
	}
	return nil
}

// complete writes the records of meta and returns all tallies. known holds the tallies; a
// bucket that it does not name gets a zero tally.
func complete(tx *bolt.Tx, sch schema, known tallies) (tallies, error) {
	all := maps.Clone(known)
	meta := tx.Bucket([]byte(metaBucket.Name))
	version := binary.BigEndian.AppendUint32(nil, schemaVersion)
	records := [][2][]byte{{metaApplication, []byte(application)}, {metaVersion, version}, {metaClean, {1}}}
	for name := range sch {
		if name != metaBucket.Name {
			all[name] = known[name]
			records = append(records, [2][]byte{tallyKey(name), known[name].encode()})
		}
	}
	for _, kv := range records {
		if err := meta.Put(kv[0], seal(kv[0], kv[1])); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// prepare makes a surveyed and opened file ready for work. It adds what the release that
// wrote the file did not have, writes back its meta pages, removes the mark of an orderly shutdown,
// and notes which program opened it. It returns the tallies and the ID.
func prepare(db *bolt.DB, sch schema, found *survey, program string) (all tallies, id string, err error) {
	err = db.Update(func(tx *bolt.Tx) error {
		if !db.NoSync {
			if err := writeBackMetas(db.Path(), db.Info().PageSize); err != nil {
				return err
			}
		}
		holds := found.holds()
		if err := dropFormer(tx, sch, found, holds); err != nil {
			return err
		}
		if err := makeBuckets(tx, sch); err != nil {
			return err
		}
		if !found.unread {
			if holds[damagedBucket.Name], err = setAside(tx, found.damaged); err != nil {
				return err
			}
		}
		if all, err = complete(tx, sch, holds); err != nil {
			return err
		}
		if id, err = identified(tx, found); err != nil {
			return err
		}
		if program != "" {
			if err := tx.Bucket([]byte(metaBucket.Name)).Put(metaProgram, seal(metaProgram, []byte(program))); err != nil {
				return err
			}
		}
		return setClean(tx, false)
	})
	if err != nil {
		return nil, "", explain(err)
	}
	return all, id, nil
}

// dropFormer removes the empty buckets of an earlier version that are no longer declared,
// with their tallies, which it also deletes from holds.
func dropFormer(tx *bolt.Tx, sch schema, found *survey, holds tallies) error {
	meta := tx.Bucket([]byte(metaBucket.Name))
	for name := range found.buckets {
		if !found.former(sch, name) {
			continue
		}
		if err := errors.Join(tx.DeleteBucket([]byte(name)), meta.Delete(tallyKey(name))); err != nil {
			return fmt.Errorf("remove bucket %s: %w", name, err)
		}
		delete(holds, name)
	}
	return nil
}

// markClean writes the mark of an orderly shutdown.
func (s *Store) markClean() error {
	btx, err := s.begin()
	if err != nil {
		return err
	}
	defer s.end(btx)
	keep := func(key, value []byte) error { return putMeta(btx, key, value) }
	if err := errors.Join(setClean(btx, true), s.clock.Keep(keep, s.opts.Now(), s.running(), true), s.leave(btx), s.leaveCell(btx)); err != nil {
		return err
	}
	return s.land(btx)
}

func setClean(tx *bolt.Tx, clean bool) error {
	value := []byte{0}
	if clean {
		value[0] = 1
	}
	return tx.Bucket([]byte(metaBucket.Name)).Put(metaClean, seal(metaClean, value))
}
