package access

import (
	"encoding/binary"
	"fmt"
	"slices"
	"strings"
	"time"

	"postern/store"
)

// Filter says which records of the log are meant. The zero value is all of them.
type Filter struct {
	Actor   string    // in full
	Action  string    // in full, or the part in front of a dot: webhook is webhook.change and others
	Subject string    // in full
	Since   time.Time // then or later; zero: any time
	Until   time.Time // before it; zero: any time
}

func (f *Filter) match(r *Record) bool {
	return (f.Actor == "" || f.Actor == r.Actor) &&
		(f.Action == "" || f.Action == r.Action || strings.HasPrefix(r.Action, f.Action+".")) &&
		(f.Subject == "" || f.Subject == r.Subject) &&
		!r.At.Before(f.Since) && (f.Until.IsZero() || r.At.Before(f.Until))
}

// MaxLook is how many records one page is looked for in.
const MaxLook = 20_000

// Page is a part of the log, the newest first.
type Page struct {
	Records []Record
	Older   uint64 // there may be more below this number; 0: there are none
	Newer   uint64 // there may be more above this number; 0: there are none
	Total   int    // how many records the log has; not counted with a filter
}

// List returns at most limit records that a filter lets through: with a number below
// before or, when that is 0, above after, those nearest to it. It looks at [MaxLook]
// records at most, so that a page may have less than its limit, even none, and more
// behind it. A damaged record is left out.
func (b *Book) List(f Filter, before, after uint64, limit int) (p Page, err error) {
	r := store.Range{Reverse: true}
	switch {
	case before > 0:
		r.Before = store.Key(before)
	case after > 0:
		r = store.Range{From: store.Key(after + 1)}
	}
	var end uint64 // of what was looked at, when there is more
	err = b.store.View(func(tx *store.Tx) error {
		p, end = Page{}, 0
		looked, last := 0, uint64(0)
		return tx.Scan(bucketAudit, r, func(k, raw []byte) (bool, error) {
			if len(p.Records) == limit || looked == MaxLook {
				end = last
				return false, nil
			}
			looked++
			if len(k) == 8 {
				last = binary.BigEndian.Uint64(k)
			}
			if rec, err := decode(k, raw); err == nil && f.match(&rec) {
				p.Records = append(p.Records, rec)
			}
			return true, nil
		})
	})
	if err == nil && f == (Filter{}) {
		p.Total, err = b.store.Rows(bucketAudit)
	}
	if err != nil {
		return Page{}, fmt.Errorf("access: read the audit log: %w", err)
	}
	if r.Reverse {
		p.Older = end
		if before > 0 {
			p.Newer = before - 1
		}
		return p, nil
	}
	slices.Reverse(p.Records)
	p.Older, p.Newer = after+1, end
	return p, nil
}
