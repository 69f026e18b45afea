package media

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"

	"postern/event"
	"postern/store"
)

// UploadQuery selects uploads, newest first. Zero fields do not filter.
type UploadQuery struct {
	Kind       event.MediaKind
	ExternalID string
	Expired    *bool
	From, To   time.Time // time of the upload, both inclusive

	Limit  int
	Before uuid.UUID // only uploads older than this one, and
	After  uuid.UUID // only those just newer; excludes Before
}

// UploadPage is a part of the uploads of an instance, newest first. It may be short or
// empty although more follow, if the scan met many uploads that do not match.
type UploadPage struct {
	Uploads      []Upload
	Total        int       // number of matches on all pages
	Minimum      bool      // Total is a lower bound
	Older, Newer uuid.UUID // Before and After of the adjacent pages; Nil: none
}

const (
	// listMax is the number of uploads scanned for one page, and for counting.
	listMax = 2500
	// listKeys is the number counted without a filter.
	listKeys = 100_000
)

// all reports whether the query selects every upload.
func (q *UploadQuery) all() bool {
	return q.Kind == "" && q.ExternalID == "" && q.Expired == nil && q.From.IsZero() && q.To.IsZero()
}

// Uploads returns a page of the uploads of an instance, including expired ones that are
// still kept.
func (l *Library) Uploads(ctx context.Context, instance int64, q UploadQuery) (page UploadPage, err error) {
	if ctx.Err() != nil {
		return page, context.Cause(ctx)
	}
	err = l.cfg.Store.View(func(tx *store.Tx) error {
		page = UploadPage{}
		if err := page.read(tx, instance, &q); err != nil {
			return err
		}
		return page.count(tx, instance, &q)
	})
	if err != nil {
		return UploadPage{}, fmt.Errorf("list uploads of instance %d: %w", instance, err)
	}
	return page, nil
}

// eachUpload calls fn for the readable uploads of an instance next to an id, at most
// listMax of them, until fn returns false. cut is the id where it stopped before the end.
func eachUpload(tx *store.Tx, instance int64, r store.Range, fn func(u *Upload) bool) (cut uuid.UUID, err error) {
	r.Prefix = store.Key(instance)
	looked := 0
	var last uuid.UUID
	err = tx.Walk(uploads, r, func(k []byte) (bool, error) {
		if looked == listMax {
			cut = last
			return false, nil
		}
		looked++
		last = uuid.UUID(k[len(k)-16:])
		u, err := upload(tx, instance, last)
		if errors.Is(err, ErrNotFound) || errors.Is(err, store.ErrDamaged) {
			return true, nil // reported by the store
		}
		return err == nil && fn(&u), err
	})
	return cut, err
}

// read reads the uploads of the page, and determines the adjacent pages.
func (p *UploadPage) read(tx *store.Tx, instance int64, q *UploadQuery) error {
	up, at := q.After != uuid.Nil, q.Before
	r := store.Range{Reverse: !up}
	switch {
	case up:
		at = q.After
		r.From = append(store.Key(instance, at), 0)
	case at != uuid.Nil:
		r.Before = store.Key(instance, at)
	}
	now, more := tx.Now(), false
	cut, err := eachUpload(tx, instance, r, func(u *Upload) bool {
		if !q.fits(u, now) {
			return true
		}
		if more = len(p.Uploads) == q.Limit; !more {
			p.Uploads = append(p.Uploads, *u)
		}
		return !more
	})
	if err != nil {
		return err
	}
	// The ids next to the page, or next to its cursor if the page is empty.
	ahead, behind := cut, uuid.Nil
	if n := len(p.Uploads); n > 0 {
		if more {
			ahead = p.Uploads[n-1].ID
		}
		behind = p.Uploads[0].ID
	} else if at != uuid.Nil {
		behind = beyond(at, up)
	}
	if at == uuid.Nil {
		behind = uuid.Nil
	}
	if p.Older, p.Newer = ahead, behind; up {
		slices.Reverse(p.Uploads)
		p.Older, p.Newer = behind, ahead
	}
	return nil
}

// beyond returns the id before or after at, so that the page next to it includes at.
func beyond(at uuid.UUID, up bool) uuid.UUID {
	for i := len(at) - 1; i >= 0; i-- {
		if up {
			if at[i]++; at[i] != 0 {
				break
			}
			continue
		}
		if at[i]--; at[i] != 0xff {
			break
		}
	}
	return at
}

// count counts the matches.
func (p *UploadPage) count(tx *store.Tx, instance int64, q *UploadQuery) (err error) {
	if q.all() {
		p.Total, err = tx.CountSome(uploads, store.Key(instance), listKeys)
		p.Minimum = p.Total == listKeys
		return err
	}
	now := tx.Now()
	cut, err := eachUpload(tx, instance, store.Range{Reverse: true}, func(u *Upload) bool {
		if q.fits(u, now) {
			p.Total++
		}
		return true
	})
	p.Minimum, p.Total = cut != uuid.Nil, max(p.Total, len(p.Uploads))
	return err
}

func (q *UploadQuery) fits(u *Upload, now time.Time) bool {
	return (q.Kind == "" || u.Kind == q.Kind) && (q.ExternalID == "" || u.ExternalID == q.ExternalID) &&
		(q.Expired == nil || u.Expired(now) == *q.Expired) &&
		(q.From.IsZero() || !u.UploadedAt.Before(q.From)) && (q.To.IsZero() || !u.UploadedAt.After(q.To))
}

// Held returns the number of stored uploads, including expired ones until they are
// pruned, and the total size of their files at WhatsApp. It reads all of them.
func (l *Library) Held() (n int, size int64, err error) {
	err = l.cfg.Store.View(func(tx *store.Tx) error {
		return tx.Scan(uploads, store.Range{}, func(k, v []byte) (bool, error) {
			var u struct {
				Size int64 `json:"size"`
			}
			if err := json.Unmarshal(v, &u); err != nil {
				return true, tx.Unreadable(uploads, k, err)
			}
			n, size = n+1, size+u.Size
			return true, nil
		})
	})
	return n, size, err
}
