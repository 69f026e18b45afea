package schema

import (
	"bytes"
	"slices"

	"postern/store/pages"
)

// Need is another record that a record requires. If that is missing, a repair makes it if
// its value is known; otherwise the record that needs it is an orphan.
type Need struct {
	// Bucket and Key name the needed record. An empty Bucket says that the owner of the
	// needing record cannot understand it.
	Bucket string
	Key    []byte
	// Is reports whether the existing record is the right one; nil: any is. It is not
	// called for a damaged record.
	Is func(value []byte) bool
	// Value is the value with which the record can be made; nil if it is unknown, empty
	// for a record without content.
	Value []byte
	Why   string // what does not work without it
}

// Lookup reads the file that is checked. Damaged records exist in it, but have no value.
// Results are valid until the next call.
type Lookup struct {
	find *pages.Finder
	err  error // of a page that cannot be read
}

// Get returns the value of a record, or nil if it is damaged.
func (l *Lookup) Get(bucket string, key []byte) (value []byte, found bool) {
	k, sealed := l.seek(bucket, key)
	if k == nil || !bytes.Equal(k, key) {
		return nil, false
	}
	if value, whole := Verify(k, sealed); whole {
		return value, true
	}
	return nil, true
}

// Has reports whether a record exists, damaged or not.
func (l *Lookup) Has(bucket string, key []byte) bool {
	k, _ := l.seek(bucket, key)
	return k != nil && bytes.Equal(k, key)
}

// First returns the first key with a prefix that is not before from, or nil if there is
// none.
func (l *Lookup) First(bucket string, prefix, from []byte) []byte {
	if bytes.Compare(from, prefix) < 0 {
		from = prefix
	}
	if k, _ := l.seek(bucket, from); bytes.HasPrefix(k, prefix) {
		return k
	}
	return nil
}

func (l *Lookup) seek(bucket string, key []byte) (k, sealed []byte) {
	k, sealed, err := l.find.Seek(bucket, key)
	if err != nil && l.err == nil {
		l.err = err
	}
	return k, sealed
}

// Needs is created for one walk through a bucket. It is called with each readable record
// in key order, without guards, and with a nil key at the end. It returns the needs of
// that record. Key and value are valid during the call.
type Needs func(key, value []byte) []Need

// OwnedBy returns copies of the buckets whose records also need their owner, and in which
// no record says that an existing owner is gone. of returns the need of the owner with
// that key.
func OwnedBy(of func(key []byte) Need, all []Bucket) []Bucket {
	all = slices.Clone(all)
	for i, b := range all {
		if b.Of != nil || b.Gone != nil {
			all[i].Needs = func(l *Lookup) Needs { return ownedNeeds(l, b, of) }
		}
	}
	return all
}

func ownedNeeds(l *Lookup, b Bucket, of func(key []byte) Need) Needs {
	needs := func(_, _ []byte) []Need { return nil }
	if b.Needs != nil {
		needs = b.Needs(l)
	}
	return func(key, value []byte) []Need {
		all := needs(key, value)
		if key != nil && b.Of != nil {
			if owner := b.Of(l, key, value); owner != nil {
				all = append(all, of(bytes.Clone(owner)))
			}
		}
		if key != nil && b.Gone != nil {
			if gone := b.Gone(key); gone != nil && l.Has(of(gone).Bucket, gone) {
				all = append(all, Need{Why: "it marks as deleted what is there, and the next start would remove all of it"})
			}
		}
		return all
	}
}

// FirstID is a [Bucket.Of] for keys that begin with the eight bytes of their owner's key.
func FirstID(_ *Lookup, key, _ []byte) []byte {
	return key[:min(8, len(key))]
}
