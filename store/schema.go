package store

import (
	"fmt"
	"maps"
	"slices"
	"time"
)

// schemaVersion is the version of the file's layout. It is raised when the previous
// release can no longer read a file of the new one, or when a bucket is dropped. A new
// bucket needs no upgrade step: the release that declares it creates it, and a release
// that does not know it refuses the file as newer. Version 1 had no tallies, which Open
// makes from what it finds, and no guards (see guards.go), which are added with the first
// record. Version 2 had no packed items of batches, which are written as they are sent.
// Version 3 had the buckets of the outbox in every file; where no package declares them
// they are empty, and Open removes them.
const schemaVersion = 4

// application marks the file as Postern's, so that the bbolt file of another program is
// not mistaken for an empty one.
const application = "postern"

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

// fill returns how full bbolt leaves the first page of a split in a commit that puts key.
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
