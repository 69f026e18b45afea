package store

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	bolt "go.etcd.io/bbolt"

	"postern/internal/plural"
	"postern/store/schema"
	"postern/store/survey"
)

// A damaged record affects no other record. It stays in its place, so that its owner gets
// ErrDamaged instead of a missing record. The next start copies its bytes into the bucket
// damaged before anything can overwrite them. The copy is removed once the record is
// whole again or deleted.

func asideKey(bucket string, key []byte) []byte { return Key(bucket, byte(0), key) }

// setAside copies the damaged records, removes the copies that are no longer needed, and
// returns the tally of the bucket.
func setAside(tx *bolt.Tx, damaged []survey.Damaged) (t survey.Tally, err error) {
	wanted := map[string][]byte{}
	for _, d := range damaged {
		if d.Bucket == schema.Meta.Name {
			err = tx.Bucket([]byte(d.Bucket)).Delete(d.Key) // overwritten
		} else if d.Bucket != schema.Damaged.Name {
			raw := tx.Bucket([]byte(d.Bucket)).Get(d.Key)
			wanted[string(asideKey(d.Bucket, d.Key))] = bytes.Clone(raw)
		}
		if err != nil {
			return t, fmt.Errorf("set record %s aside: %w", d, err)
		}
	}
	aside := tx.Bucket([]byte(schema.Damaged.Name))
	var healed [][]byte
	c := aside.Cursor()
	for k, _ := c.First(); k != nil; k, _ = c.Next() {
		if wanted[string(k)] == nil {
			healed = append(healed, bytes.Clone(k))
		}
	}
	for _, k := range healed {
		if err := aside.Delete(k); err != nil {
			return t, fmt.Errorf("drop a record that was set aside: %w", err)
		}
	}
	for _, k := range slices.Sorted(maps.Keys(wanted)) {
		sealed := schema.Seal([]byte(k), wanted[k])
		if err := aside.Put([]byte(k), sealed); err != nil {
			return t, fmt.Errorf("set a record aside: %w", err)
		}
		t.Add(sealed)
	}
	return t, nil
}

// asideSet is the set of records known to be damaged now.
type asideSet struct {
	mu  sync.Mutex
	all map[string]struct{}
}

// add reports whether the record is new to the set.
func (a *asideSet) add(record string) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	if _, known := a.all[record]; known {
		return false
	}
	if a.all == nil {
		a.all = map[string]struct{}{}
	}
	a.all[record] = struct{}{}
	return true
}

// heal removes records that were overwritten or deleted.
func (a *asideSet) heal(records []string) {
	if len(records) == 0 {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, r := range records {
		delete(a.all, r)
	}
}

func (a *asideSet) len() int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return len(a.all)
}

// Damaged reports whether the bucket has records known to be damaged.
func (s *Store) Damaged(bucket string) bool {
	s.aside.mu.Lock()
	defer s.aside.mu.Unlock()
	for record := range s.aside.all {
		if name, _, _ := strings.Cut(record, "/"); name == bucket {
			return true
		}
	}
	return false
}

// Warnings returns, as sentences, the faults of a data file that still works.
func (s *Store) Warnings() (all []string) {
	if n := s.aside.len(); n > 0 {
		all = append(all, fmt.Sprintf("%s of the data file %s set aside; the log names %s", plural.Of(n, "damaged record"), plural.Noun(n, "is", "are"), plural.Noun(n, "it", "them")))
	}
	if s.headLost {
		all = append(all, "one of the two head pages of the data file was damaged at the start; the last commit before it may be missing")
	}
	return all
}

// maxToldAtStart bounds the damaged records that a start names in the log.
const maxToldAtStart = 100

// tellFound logs what the survey at the start repaired or set aside.
func (s *Store) tellFound(found *survey.Survey) {
	for i, what := range found.Mended {
		if i == maxToldAtStart {
			s.log.Warn("more flipped bits were put right; check the disk and the memory", "count", len(found.Mended)-i)
			break
		}
		s.log.Warn("a flipped bit of the data file was put right; its disk or memory may be failing; check both, and keep backups elsewhere", "where", what)
	}
	if s.headLost = found.File.HeadLost; s.headLost {
		s.log.Error("one of the two head pages of the data file is damaged; if it was the newer one, the last commit before this start is missing; check the disk")
	}
	for i, d := range found.Damaged {
		if d.Bucket == schema.Meta.Name || d.Bucket == schema.Damaged.Name {
			s.stats.damaged.Add(1)
			s.log.Error("a damaged record of the store's own was replaced; check the disk", "record", d.String())
			continue
		}
		s.aside.add(d.String())
		s.stats.damaged.Add(1)
		if i < maxToldAtStart {
			s.tellDamage(d.Bucket, d.String())
		}
	}
	if n := s.aside.len(); n > 0 {
		s.log.Error("damaged records are set aside; the rest of the data file is whole; check the disk, and run postern check", "count", n)
	}
}

func (s *Store) tellDamage(bucket, record string) {
	s.log.Error("a record is damaged and set aside; put back a copy of the data file if it is needed", "record", record, "holds", s.schema[bucket].Value)
}

// reportDamage counts the damaged records that a transaction met, and logs those that
// were not known before.
func (s *Store) reportDamage(tx *Tx) {
	for _, d := range tx.damaged {
		s.stats.damaged.Add(1)
		if s.aside.add(d.String()) {
			s.tellDamage(d.Bucket, d.String())
		}
	}
}
