package store

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"postern/store/pages"
)

// Need is what a record asks of another one. Where that is missing it is made, if its
// value is known; otherwise the record that needs it is an orphan.
type Need struct {
	// Bucket and Key name the record that is needed. Without a Bucket the record that
	// needs says nothing that its owner understands.
	Bucket string
	Key    []byte
	// Is tells whether the record that is there is the right one; nil: any is. It is
	// not asked about one that is damaged.
	Is func(value []byte) bool
	// Value is with what it can be made, nil when nobody knows: what has no content
	// has an empty one.
	Value []byte
	Why   string // what does not work without it
}

// Lookup reads the file that is checked. Damaged records are there, and have no value.
// What it returns is valid until the next call.
type Lookup struct {
	find *pages.Finder
	err  error // of a page that cannot be read
}

// Get returns the value of a record, nil when it is damaged.
func (l *Lookup) Get(bucket string, key []byte) (value []byte, found bool) {
	k, sealed := l.seek(bucket, key)
	if k == nil || !bytes.Equal(k, key) {
		return nil, false
	}
	if value, whole := verify(k, sealed); whole {
		return value, true
	}
	return nil, true
}

// Has reports whether there is a record, damaged or not.
func (l *Lookup) Has(bucket string, key []byte) bool {
	k, _ := l.seek(bucket, key)
	return k != nil && bytes.Equal(k, key)
}

// First returns the first key with a prefix that is not before from, nil when there is
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

// Needs is made for one walk through a bucket. It is given each readable record in the
// order of the keys, without those by which the bucket keeps its pages full, and a nil
// key at the end; it returns what that needs. Key and value are valid during the call.
type Needs func(key, value []byte) []Need

// OwnedBy returns buckets whose records need, beside what they do already, their owner, and
// of which none says that an owner is gone that is there: of is the need of the owner with
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

// FirstID is [Bucket.Of] for keys that begin with the eight bytes of their owner's.
func FirstID(_ *Lookup, key, _ []byte) []byte {
	return key[:min(8, len(key))]
}

// lack is a need that is not met.
type lack struct {
	bucket string
	key    []byte // of the record that needs; nil at the end of a bucket
	need   Need
	other  bool // the record that is needed is there, and another one
}

// repaired is what is done about it: a record is made, or the one that needs it removed.
func (l lack) made() bool { return l.need.Bucket != "" && l.need.Value != nil }

// subject names the record that is missing or wrong, or the orphan.
func (l lack) subject() string {
	if l.made() {
		return recordName(l.need.Bucket, l.need.Key)
	}
	return recordName(l.bucket, l.key)
}

// String tells what is wrong and what it costs.
func (l lack) String() string {
	needed := recordName(l.need.Bucket, l.need.Key)
	switch {
	case l.need.Bucket == "":
		return fmt.Sprintf("record %s says nothing that is understood: %s", l.subject(), l.need.Why)
	case !l.made():
		return fmt.Sprintf("record %s stands for %s, which is not there or says otherwise: %s", l.subject(), needed, l.need.Why)
	case l.other:
		return fmt.Sprintf("record %s is not what it should be: %s", l.subject(), l.need.Why)
	}
	return fmt.Sprintf("record %s is missing: %s", l.subject(), l.need.Why)
}

// errEnough ends a walk that found enough.
var errEnough = errors.New("enough")

// eachLack walks through a file whose pages are whole and tells of each need that is not
// met, until told returns an error, which is returned.
func eachLack(ctx context.Context, r io.ReaderAt, size int64, sch schema, told func(lack) error) error {
	file, err := pages.Open(r, size)
	if err != nil {
		return err
	}
	find, err := file.NewFinder()
	if err != nil {
		return err
	}
	w := &needing{ctx: ctx, sch: sch, look: &Lookup{find: find}, told: told}
	faults, err := file.Walk(pages.Visitor{
		Bucket: w.begin,
		Record: w.record,
		Skip:   func(bucket string) bool { return sch[bucket].Needs == nil },
	})
	if err == nil {
		err = w.end()
	}
	if err == nil && len(faults) > 0 {
		err = describe(faults)
	}
	return err
}

// needing is a walk that looks at what records need.
type needing struct {
	ctx   context.Context
	sch   schema
	look  *Lookup
	told  func(lack) error
	in    Bucket
	needs Needs
}

func (w *needing) begin(name string, _ uint64) error {
	if err := w.end(); err != nil {
		return err
	}
	w.in = w.sch[name]
	w.needs = w.in.Needs(w.look)
	return nil
}

// end asks what the bucket as a whole needs.
func (w *needing) end() error {
	if w.needs == nil {
		return nil
	}
	needs := w.needs
	w.needs = nil
	return w.hold(nil, needs(nil, nil))
}

func (w *needing) record(r pages.Record) error {
	if w.ctx.Err() != nil {
		return context.Cause(w.ctx)
	}
	if w.in.isGuard(r.Key) {
		return nil
	}
	value, whole := verify(r.Key, r.Value)
	if !whole {
		return nil
	}
	return w.hold(r.Key, w.needs(r.Key, value))
}

// hold tells of those needs that are not met. An orphan asks for nothing else.
func (w *needing) hold(key []byte, needs []Need) error {
	var unmet []lack
	for _, n := range needs {
		l := lack{bucket: w.in.Name, need: n}
		met := false
		if n.Bucket != "" {
			value, found := w.look.Get(n.Bucket, n.Key)
			met = found && (value == nil || n.Is == nil || n.Is(value))
			l.other = found
		}
		if w.look.err != nil {
			return w.look.err
		}
		if met {
			continue
		}
		if l.key = bytes.Clone(key); !l.made() && key != nil {
			return w.told(l)
		}
		unmet = append(unmet, l)
	}
	for _, l := range unmet {
		if err := w.told(l); err != nil {
			return err
		}
	}
	return nil
}

const (
	// maxLacksTold bounds how many a report lists: where a whole bucket is gone, there is
	// one for each record of others.
	maxLacksTold = 1000
	// maxLacksKnown bounds how many of the records that are missing or wrong are kept in
	// mind, so that one on which many depend is told once.
	maxLacksKnown = 10_000
)

// lacks lists what the records of a file with whole pages need and do not have.
func lacks(ctx context.Context, r io.ReaderAt, size int64, sch schema) (all []string, err error) {
	more, known := 0, map[string]bool{}
	err = eachLack(ctx, r, size, sch, func(l lack) error {
		if known[l.subject()] {
			return nil
		}
		if len(known) < maxLacksKnown {
			known[l.subject()] = true
		}
		if len(all) < maxLacksTold {
			all = append(all, l.String())
		} else {
			more++
		}
		return nil
	})
	if more > 0 {
		all = append(all, fmt.Sprintf("and %d more of the kind", more))
	}
	return all, err
}
