package schema

import (
	"bytes"
	"context"
	"fmt"
	"io"

	"postern/store/pages"
)

// Lack is an unmet need.
type Lack struct {
	Bucket string
	Key    []byte // of the record that needs; nil at the end of a bucket
	Need   Need
	Other  bool // the needed record exists, but is the wrong one
}

// Made reports how the lack is repaired: the needed record is made, or else the record
// that needs it is removed.
func (l Lack) Made() bool { return l.Need.Bucket != "" && l.Need.Value != nil }

// Subject names the record that is missing or wrong, or the orphan.
func (l Lack) Subject() string {
	if l.Made() {
		return RecordName(l.Need.Bucket, l.Need.Key)
	}
	return RecordName(l.Bucket, l.Key)
}

// String says what is wrong and what it costs.
func (l Lack) String() string {
	needed := RecordName(l.Need.Bucket, l.Need.Key)
	switch {
	case l.Need.Bucket == "":
		return fmt.Sprintf("record %s says nothing that is understood: %s", l.Subject(), l.Need.Why)
	case !l.Made():
		return fmt.Sprintf("record %s stands for %s, which is not there or says otherwise: %s", l.Subject(), needed, l.Need.Why)
	case l.Other:
		return fmt.Sprintf("record %s is not what it should be: %s", l.Subject(), l.Need.Why)
	}
	return fmt.Sprintf("record %s is missing: %s", l.Subject(), l.Need.Why)
}

// EachLack walks through a file with whole pages and calls told for each unmet need. It
// stops when told returns an error, and returns that error.
func (s Schema) EachLack(ctx context.Context, r io.ReaderAt, size int64, told func(Lack) error) error {
	file, err := pages.Open(r, size)
	if err != nil {
		return err
	}
	find, err := file.NewFinder()
	if err != nil {
		return err
	}
	w := &needing{ctx: ctx, sch: s, look: &Lookup{find: find}, told: told}
	faults, err := file.Walk(pages.Visitor{
		Bucket: w.begin,
		Record: w.record,
		Skip:   func(bucket string) bool { return s[bucket].Needs == nil },
	})
	if err == nil {
		err = w.end()
	}
	if err == nil && len(faults) > 0 {
		err = faults[0]
	}
	return err
}

// needing is a walk that checks what records need.
type needing struct {
	ctx   context.Context
	sch   Schema
	look  *Lookup
	told  func(Lack) error
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
	if w.in.IsGuard(r.Key) {
		return nil
	}
	value, whole := Verify(r.Key, r.Value)
	if !whole {
		return nil
	}
	return w.hold(r.Key, w.needs(r.Key, value))
}

// hold reports the needs that are not met. For an orphan, it reports only the need that
// makes it one.
func (w *needing) hold(key []byte, needs []Need) error {
	var unmet []Lack
	for _, n := range needs {
		l := Lack{Bucket: w.in.Name, Need: n}
		met := false
		if n.Bucket != "" {
			value, found := w.look.Get(n.Bucket, n.Key)
			met = found && (value == nil || n.Is == nil || n.Is(value))
			l.Other = found
		}
		if w.look.err != nil {
			return w.look.err
		}
		if met {
			continue
		}
		if l.Key = bytes.Clone(key); !l.Made() && key != nil {
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
	// MaxLacksTold bounds the lacks that a report lists: a missing bucket causes one for
	// each record that needs it.
	MaxLacksTold = 1000
	// maxLacksKnown bounds the missing or wrong records that are remembered, so that a
	// record that many others need is reported once.
	maxLacksKnown = 10_000
)

// Lacks lists the unmet needs of the records in a file with whole pages.
func (s Schema) Lacks(ctx context.Context, r io.ReaderAt, size int64) (all []string, err error) {
	more, known := 0, map[string]bool{}
	err = s.EachLack(ctx, r, size, func(l Lack) error {
		if known[l.Subject()] {
			return nil
		}
		if len(known) < maxLacksKnown {
			known[l.Subject()] = true
		}
		if len(all) < MaxLacksTold {
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
