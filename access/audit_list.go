package access

import (
	"encoding/binary"
	"fmt"
	"slices"
	"strings"
	"time"

	"postern/store"
)

// Filter selects records of the log. The zero value selects all.
type Filter struct {
	Actor   string    // exact match
	Action  string    // exact match, or the part before a dot: webhook selects webhook.change and others
	Subject string    // exact match
	Since   time.Time // inclusive; zero: no lower bound
	Until   time.Time // exclusive; zero: no upper bound
}

func (f *Filter) match(r *Record) bool {
	return (f.Actor == "" || f.Actor == r.Actor) &&
		(f.Action == "" || f.Action == r.Action || strings.HasPrefix(r.Action, f.Action+".")) &&
		(f.Subject == "" || f.Subject == r.Subject) &&
		!r.At.Before(f.Since) && (f.Until.IsZero() || r.At.Before(f.Until))
}

// MaxLook is the maximum number of records that List reads for one page.
const MaxLook = 20_000

// Page is a part of the log, newest first.
type Page struct {
	Records []Record
	Older   uint64 // records below this number may follow; 0: none
	Newer   uint64 // records above this number may precede; 0: none
	Total   int    // size of the log; not set with a filter
}

// List returns up to limit records that match f: those just below the number before or,
// if before is 0, those just above after. It reads at most [MaxLook] records, so a page
// may be short or empty although more records match. List skips damaged records.
func (b *Book) List(f Filter, before, after uint64, limit int) (p Page, err error) {
	r := store.Range{Reverse: true}
	switch {
	case before > 0:
		r.Before = store.Key(before)
	case after > 0:
		r = store.Range{From: store.Key(after + 1)}
	}
	var end uint64 // of the records read, if more follow
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
