package media

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"

	"postern/event"
	"postern/store"
)

// UploadQuery selects uploads, the newest first. Zero fields select all.
type UploadQuery struct {
	Kind       event.MediaKind
	ExternalID string
	Expired    *bool
	From, To   time.Time // of the upload, both inclusive

	Limit  int
	Before uuid.UUID // only those older than the upload with this id, and
	After  uuid.UUID // only those newer, next to it; excludes Before
}

// UploadPage is a part of the uploads of an instance, the newest first.
type UploadPage struct {
	Uploads      []Upload
	Total        int  // that the query selects, on all pages
	Older, Newer bool // whether there are any beyond the page
}

// listStep is how many uploads one read transaction looks at.
const listStep = 200

// Uploads returns a page of the uploads of an instance, expired ones included as
// long as they are kept. It looks at all of them.
func (l *Library) Uploads(ctx context.Context, instance int64, q UploadQuery) (UploadPage, error) {
	var page UploadPage
	r := store.Range{Prefix: store.Key(instance), Reverse: true, Limit: listStep}
	for {
		n := 0
		err := l.cfg.Store.View(func(tx *store.Tx) error {
			return tx.Scan(uploads, r, func(k, _ []byte) (bool, error) {
				n++
				r.Before = k
				u, err := upload(tx, instance, uuid.UUID(k[len(k)-16:]))
				if err == nil && q.fits(&u, tx.Now()) {
					page.take(u, &q)
				}
				if errors.Is(err, ErrNotFound) || errors.Is(err, store.ErrDamaged) {
					err = nil // reported by the store
				}
				return true, err
			})
		})
		if err == nil && ctx.Err() != nil {
			err = context.Cause(ctx)
		}
		if err != nil {
			return UploadPage{}, fmt.Errorf("list uploads of instance %d: %w", instance, err)
		}
		if n < listStep {
			return page, nil
		}
	}
}

func (q *UploadQuery) fits(u *Upload, now time.Time) bool {
	return (q.Kind == "" || u.Kind == q.Kind) && (q.ExternalID == "" || u.ExternalID == q.ExternalID) &&
		(q.Expired == nil || u.Expired(now) == *q.Expired) &&
		(q.From.IsZero() || !u.UploadedAt.Before(q.From)) && (q.To.IsZero() || !u.UploadedAt.After(q.To))
}

// take puts the next older upload where it belongs: into the page, or beyond
// either end of it.
func (p *UploadPage) take(u Upload, q *UploadQuery) {
	p.Total++
	older := func(id uuid.UUID) bool { return string(u.ID[:]) < string(id[:]) }
	switch {
	case q.After != uuid.Nil && (older(q.After) || u.ID == q.After):
		p.Older = true
	case q.After != uuid.Nil:
		// The page is next to After, so the last ones count.
		if p.Uploads = append(p.Uploads, u); len(p.Uploads) > q.Limit {
			p.Uploads, p.Newer = p.Uploads[1:], true
		}
	case q.Before != uuid.Nil && !older(q.Before):
		p.Newer = true
	case len(p.Uploads) == q.Limit:
		p.Older = true
	default:
		p.Uploads = append(p.Uploads, u)
	}
}

// Held returns how many uploads are kept, expired ones included until they are
// pruned, and the size of their files in bytes, which lie at WhatsApp. It reads
// them all.
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
