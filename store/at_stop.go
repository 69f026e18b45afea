package store

import (
	"bytes"
	"slices"

	bolt "go.etcd.io/bbolt"

	"postern/store/schema"
	"postern/store/survey"
)

// A start counts and verifies data kept beside its records, such as numbers by state. In
// a large file that is not in memory, that takes longer than the rest of the start. An
// orderly stop therefore leaves the result in meta, with the tallies of the buckets that
// it covers: a bucket with the same tally holds the same records, whichever release wrote
// to it in between. Only a start that does not read the file uses the result, so that
// after a kill everything is counted again.

const leftPrefix = "left/"

func leftKey(name string) []byte { return []byte(leftPrefix + name) }

// leaving is one call of AtStop.
type leaving struct {
	name    string
	buckets []string
	value   func() []byte
}

// AtStop has an orderly Close call value and keep the result for [Store.Left] of the next
// start, which would otherwise have to read the buckets for it. A nil result is not kept.
// value is called after the last write. It must not use the store.
func (s *Store) AtStop(name string, buckets []string, value func() []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.leaving = append(s.leaving, leaving{name, buckets, value})
}

// Left returns what AtStop left about the buckets, as they were when the file was opened.
// ok is false if nothing was left, if a bucket was changed since, if Open read the whole
// file, or if changes of a cell were applied. Call it before the buckets are changed.
func (s *Store) Left(name string, buckets []string) (value []byte, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	raw, found := s.left.records[name]
	tallies := sealTallies(s.left.tallies, buckets)
	if !found || tallies == nil || !bytes.HasPrefix(raw, tallies) {
		return nil, false
	}
	return raw[len(tallies):], true
}

// dropLeft forgets what the last stop left, since another process changed the buckets.
func (s *Store) dropLeft() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.left = left{}
}

// left is what the last stop left, with the tallies of that time.
type left struct {
	records map[string][]byte
	tallies survey.Tallies
}

// leftBy returns what a survey found of it; nothing if the whole file was read.
func leftBy(found *survey.Survey) left {
	if !found.Unread {
		return left{}
	}
	l := left{records: map[string][]byte{}, tallies: found.Holds()}
	for key, value := range found.Meta {
		if name, is := bytes.CutPrefix([]byte(key), []byte(leftPrefix)); is {
			l.records[string(name)] = value
		}
	}
	return l
}

// sealTallies returns the tallies of some buckets as a record stores them; nil if one is not
// known exactly.
func sealTallies(t survey.Tallies, buckets []string) (raw []byte) {
	for _, bucket := range buckets {
		one, known := t[bucket]
		if !known || one.Vague {
			return nil
		}
		raw = append(raw, one.Encode()...)
	}
	return raw
}

// leave writes what this stop leaves, and removes what an earlier one left.
func (s *Store) leave(btx *bolt.Tx) error {
	s.mu.Lock()
	all := slices.Clone(s.leaving)
	s.mu.Unlock()
	meta := btx.Bucket([]byte(schema.Meta.Name))
	for _, l := range all {
		key, record := leftKey(l.name), sealTallies(s.tallies, l.buckets)
		value := l.value()
		if value == nil || record == nil {
			if err := meta.Delete(key); err != nil {
				return err
			}
			continue
		}
		record = append(record, value...)
		if err := meta.Put(key, schema.Seal(key, record)); err != nil {
			return err
		}
	}
	return nil
}
