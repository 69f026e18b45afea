package store

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	bolt "go.etcd.io/bbolt"

	"postern/store/schema"
	"postern/store/survey"
)

// initialise turns an empty bbolt file into a Postern file.
func initialise(tx *bolt.Tx, sch schema.Schema) error {
	if err := makeBuckets(tx, sch); err != nil {
		return err
	}
	_, err := complete(tx, sch, survey.Tallies{})
	return err
}

// makeBuckets creates the buckets that the file lacks.
func makeBuckets(tx *bolt.Tx, sch schema.Schema) error {
	for _, b := range sch.Sorted() {
		if _, err := tx.CreateBucketIfNotExists([]byte(b.Name)); err != nil {
			return fmt.Errorf("create bucket %s: %w", b.Name, err)
		}
	}
	return nil
}

// complete writes the records of meta and returns all tallies. known holds the tallies; a
// bucket that it does not name gets a zero tally.
func complete(tx *bolt.Tx, sch schema.Schema, known survey.Tallies) (survey.Tallies, error) {
	all := maps.Clone(known)
	meta := tx.Bucket([]byte(schema.Meta.Name))
	version := binary.BigEndian.AppendUint32(nil, schema.Version)
	records := [][2][]byte{{survey.Application, []byte(schema.Application)}, {survey.Version, version}, {survey.Clean, {1}}}
	for name := range sch {
		if name != schema.Meta.Name {
			all[name] = known[name]
			records = append(records, [2][]byte{survey.TallyKey(name), known[name].Encode()})
		}
	}
	for _, kv := range records {
		if err := meta.Put(kv[0], schema.Seal(kv[0], kv[1])); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// prepare makes a surveyed and opened file ready for work. It adds what the release that
// wrote the file did not have, writes back its meta pages, removes the mark of an orderly shutdown,
// and notes which program opened it. It returns the tallies and the ID.
func prepare(db *bolt.DB, sch schema.Schema, found *survey.Survey, program string) (all survey.Tallies, id string, err error) {
	err = db.Update(func(tx *bolt.Tx) error {
		if !db.NoSync {
			if err := writeBackMetas(db.Path(), db.Info().PageSize); err != nil {
				return err
			}
		}
		holds := found.Holds()
		if err := dropFormer(tx, sch, found, holds); err != nil {
			return err
		}
		if err := makeBuckets(tx, sch); err != nil {
			return err
		}
		if !found.Unread {
			if holds[schema.Damaged.Name], err = setAside(tx, found.Damaged); err != nil {
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
			if err := tx.Bucket([]byte(schema.Meta.Name)).Put(survey.Program, schema.Seal(survey.Program, []byte(program))); err != nil {
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
func dropFormer(tx *bolt.Tx, sch schema.Schema, found *survey.Survey, holds survey.Tallies) error {
	meta := tx.Bucket([]byte(schema.Meta.Name))
	for name := range found.Buckets {
		if !found.Former(sch, name) {
			continue
		}
		if err := errors.Join(tx.DeleteBucket([]byte(name)), meta.Delete(survey.TallyKey(name))); err != nil {
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
	return tx.Bucket([]byte(schema.Meta.Name)).Put(survey.Clean, schema.Seal(survey.Clean, value))
}

// Restored says that the file came from a backup and that no program has started on it
// since.
type Restored struct {
	At     time.Time // time of the backup
	Resume bool      // interrupted work may go on by itself
}

var metaRestored = []byte("restored")

// MarkRestored writes the mark that Restored returns.
func (s *Store) MarkRestored(ctx context.Context, r Restored) error {
	raw, err := json.Marshal(r)
	if err != nil {
		return err
	}
	return s.Update(ctx, func(tx *Tx) error {
		return tx.putMeta(metaRestored, raw)
	})
}

// Restored returns the mark of a file that came from a backup, until ForgetRestored.
func (s *Store) Restored() (r Restored, is bool, err error) {
	err = s.View(func(tx *Tx) error {
		raw, err := tx.Get(schema.Meta.Name, metaRestored)
		if err != nil || raw == nil {
			return err
		}
		is = true
		return json.Unmarshal(raw, &r)
	})
	if err != nil {
		return r, false, fmt.Errorf("store: whether the file was restored: %w", err)
	}
	return r, is, nil
}

// ForgetRestored removes the mark.
func (s *Store) ForgetRestored(ctx context.Context) error {
	return s.Update(ctx, func(tx *Tx) error {
		tx.writes++
		tx.openings.rows.note(schema.Meta.Name, metaRestored, nil)
		return tx.bolt.Bucket([]byte(schema.Meta.Name)).Delete(metaRestored)
	})
}

// Buckets returns the buckets that the store itself owns.
func Buckets() []schema.Bucket {
	return []schema.Bucket{schema.Meta, schema.Damaged}
}

// withOwn returns the schema of the declared buckets and of the store's own.
func withOwn(declared []schema.Bucket) (schema.Schema, error) {
	return schema.New(slices.Concat(Buckets(), declared))
}
