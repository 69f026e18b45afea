package store

import (
	"fmt"
	"maps"
	"slices"
	"time"
)

// schemaVersion is the version of the file's layout. It is raised when a
// release can no longer be read by the one before it, or when a bucket goes.
// A bucket more needs no step: it is made by the release that declares it, and
// one that does not know it refuses the file as newer. Version 1 had no
// tallies, which Open makes from what it finds, and no guards (see guards.go),
// which come with the first record. Version 2 had no items of batches that are
// packed, which are written as they are sent. Version 3 had the buckets of the outbox in every
// file: where nobody declares them they are empty, and removed when the file is opened.
const schemaVersion = 4

// application marks the file as ours, so that another program's bbolt file is
// not mistaken for an empty one of ours.
const application = "postern"

// Bucket describes one bucket: its name, the package that alone writes it, and
// its encoding in words, as `postern schema` prints it.
type Bucket struct {
	Name  string // lower case and underscores
	Owner string // package name
	Key   string // how a key is built, for readers
	Value string // what a value is, for readers
	// Append tells that keys are written in rising order, so that pages are
	// filled instead of split in halves: of the whole bucket or, with Series,
	// of each series in it.
	Append bool
	Series int // how many bytes at the beginning of a key name its series
	// Guards keep pages full where each commit appends one record of some
	// hundred bytes. The part of a key behind its series has eight bytes then.
	Guards bool
	// Fill is how full a page is left when it is split, from 0.5 to 1, where
	// keys do not rise; 0 means half. Records that grow later need room.
	Fill float64
	// Dense tells keys that come many in one commit, in rising order, of records
	// that never grow: pages that such a commit splits are filled. nil: none do.
	Dense func(key []byte) bool

	// When is when a record was made, for readers; zero when it does not tell. nil:
	// none does.
	When func(key, value []byte) time.Time

	// Needs declares, usually by [References], how `postern check` and a repair decode
	// records and which other records they need; nil: nothing is checked. A kill never
	// leaves a file in which a need is unmet.
	Needs func(*Lookup) Needs

	// Instead is what a repair puts in the place of a record that cannot be read, where it
	// would be wrong to go on as if there were none. nil: nothing.
	Instead func(key []byte) []byte

	// Of is the key of the record of another package to which a record belongs, nil for
	// one that belongs to nobody, or that goes by itself. Which bucket that is in, whoever
	// puts the buckets together knows: see [OwnedBy]. nil: none belongs to anybody.
	Of func(l *Lookup, key, value []byte) []byte

	// Gone is the key of the record of another package that a record says is deleted, nil
	// for one that says so of none: where that is there, the record says something wrong.
	// nil: none does.
	Gone func(key []byte) []byte
}

// fill is how full bbolt leaves the first page of a split in a commit that puts key.
func (b Bucket) fill(key []byte) float64 {
	switch {
	case b.Append, b.Dense != nil && b.Dense(key):
		return 0.95
	case b.Fill > 0:
		return b.Fill
	}
	return 0.5
}

var metaBucket = Bucket{
	Name: "meta", Owner: "store", Key: "name",
	Value: "application, schema version, clean-shutdown mark, version of the program that opened the file last, mark of a file that came from a backup, id of the file, last trusted time of day, steady time; bucket/NAME: its records, the sum of their checksums, the last number given; left/NAME: what an orderly stop found out about buckets, after their bucket/NAME of that time",
}

// Buckets returns the buckets that the store itself owns.
func Buckets() []Bucket {
	return []Bucket{metaBucket, damagedBucket}
}

// schema is the set of declared buckets by name.
type schema map[string]Bucket

func newSchema(declared []Bucket) (schema, error) {
	s := schema{}
	for _, b := range slices.Concat(Buckets(), declared) {
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

func (s schema) sorted() []Bucket {
	all := make([]Bucket, 0, len(s))
	for _, name := range slices.Sorted(maps.Keys(s)) {
		all = append(all, s[name])
	}
	return all
}
