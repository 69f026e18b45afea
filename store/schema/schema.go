// Package schema is what packages declare of the buckets in which they store: how keys and
// values are built, who owns a record, and which other records it needs. It decides whether
// the records of a file have what they need.
package schema

import (
	"fmt"
	"maps"
	"slices"
	"time"
)

// Bucket describes one bucket: its name, the only package that writes it, and its
// encoding in words, as `postern schema` prints it.
type Bucket struct {
	Name  string // lower case and underscores
	Owner string // package name
	Key   string // how a key is built, for readers
	Value string // what a value is, for readers
	// Append says that keys are written in rising order, of the whole bucket or, with
	// Series, of each series in it. Pages are then filled instead of split in halves.
	Append bool
	Series int // how many bytes at the beginning of a key name its series
	// Guards keeps pages full where each commit appends one record of some hundred bytes.
	// The part of a key behind its series then has eight bytes.
	Guards bool
	// Fill is how full a page is left when it is split, from 0.5 to 1, where keys do not
	// rise; 0 means half. Records that grow later need free room.
	Fill float64
	// Dense reports whether a key is one of many that a commit writes in rising order,
	// whose records never grow. Pages that such a commit splits are filled. nil: no key
	// is.
	Dense func(key []byte) bool

	// When returns the time at which a record was made, for readers; zero if the record
	// does not say. nil: no record does.
	When func(key, value []byte) time.Time

	// Needs declares, usually by [References], how `postern check` and a repair decode
	// records and which other records they need; nil: nothing is checked. A kill never
	// leaves a file in which a need is unmet.
	Needs func(*Lookup) Needs

	// Instead returns the value that a repair writes in place of an unreadable record
	// that must not be missing. nil: none.
	Instead func(key []byte) []byte

	// Of returns the key of the record of another package that owns a record; nil for a
	// record without an owner, or one that is removed by itself. The caller that
	// assembles the buckets knows the owner's bucket: see [OwnedBy]. nil: no record has
	// an owner.
	Of func(l *Lookup, key, value []byte) []byte

	// Gone returns the key of the record of another package that a record says is
	// deleted, or nil if it says so of none. If that record exists, the statement is
	// wrong. nil: no record says so.
	Gone func(key []byte) []byte
}

// FillFor returns how full bbolt leaves the first page of a split in a commit that puts key.
func (b Bucket) FillFor(key []byte) float64 {
	switch {
	case b.Append, b.Dense != nil && b.Dense(key):
		return 0.95
	case b.Fill > 0:
		return b.Fill
	}
	return 0.5
}

// A guard is a key without content behind the last record of a series.
const (
	GuardTail  = 8    // bytes of a guard's key behind the name of its series
	FirstGuard = 0xFD // the last byte of the first of them; the others follow
)

// IsGuard reports whether a key of the bucket is a guard. Numbers in keys never get as
// large as those of guards.
func (b Bucket) IsGuard(key []byte) bool {
	if !b.Guards || len(key) != b.Series+GuardTail || key[len(key)-1] < FirstGuard {
		return false
	}
	for _, c := range key[b.Series : len(key)-1] {
		if c != 0xFF {
			return false
		}
	}
	return true
}

// Schema is a set of declared buckets by name.
type Schema map[string]Bucket

// New returns the schema of the buckets. It returns an error for a bucket without a name or
// an owner, and for two of the same name.
func New(declared []Bucket) (Schema, error) {
	s := Schema{}
	for _, b := range declared {
		if b.Name == "" || b.Owner == "" {
			return nil, fmt.Errorf("store: bucket %q of owner %q needs both names", b.Name, b.Owner)
		}
		if other, taken := s[b.Name]; taken {
			return nil, fmt.Errorf("store: bucket %q is declared by %s and by %s", b.Name, other.Owner, b.Owner)
		}
		s[b.Name] = b
	}
	return s, nil
}

// Sorted returns the buckets in the order of their names.
func (s Schema) Sorted() []Bucket {
	all := make([]Bucket, 0, len(s))
	for _, name := range slices.Sorted(maps.Keys(s)) {
		all = append(all, s[name])
	}
	return all
}
