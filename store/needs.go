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
	if value, whole := verify(k, sealed); whole {
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

// lack is an unmet need.
type lack struct {
	bucket string
	key    []byte // of the record that needs; nil at the end of a bucket
	need   Need
	other  bool // the needed record exists, but is the wrong one
}

// made reports how the lack is repaired: the needed record is made, or else the record
// that needs it is removed.
func (l lack) made() bool { return l.need.Bucket != "" && l.need.Value != nil }

// subject names the record that is missing or wrong, or the orphan.
func (l lack) subject() string {
	if l.made() {
		return recordName(l.need.Bucket, l.need.Key)
	}
	return recordName(l.bucket, l.key)
}

// String says what is wrong and what it costs.
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

// errEnough ends a walk that has found enough.
var errEnough = errors.New("enough")

// eachLack walks through a file with whole pages and calls told for each unmet need. It
// stops when told returns an error, and returns that error.
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

// needing is a walk that checks what records need.
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

// end checks the needs of the bucket as a whole.
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

// hold reports the needs that are not met. For an orphan, it reports only the need that
// makes it one.
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
	// maxLacksTold bounds the lacks that a report lists: a missing bucket causes one for
	// each record that needs it.
	maxLacksTold = 1000
	// maxLacksKnown bounds the missing or wrong records that are remembered, so that a
	// record that many others need is reported once.
	maxLacksKnown = 10_000
)

// lacks lists the unmet needs of the records in a file with whole pages.
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
