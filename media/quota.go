package media

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/google/uuid"

	"postern/event"
	"postern/store"
)

// ErrTooMany reports that the instance has the maximum number of uploads.
var ErrTooMany = errors.New("too many uploads of this instance")

// Reserve reserves a place for an upload of an instance before its file is uploaded to
// WhatsApp. The caller calls release after Keep, or when the upload is abandoned. Errors:
// ErrTooMany.
func (l *Library) Reserve(instance int64) (release func(), err error) {
	most := l.cfg.MaxUploads
	if most <= 0 {
		return func() {}, nil
	}
	l.reserving.Lock()
	defer l.reserving.Unlock()
	waiting, err := l.waiting(instance, most)
	if err != nil {
		return nil, fmt.Errorf("media: count uploads: %w", err)
	}
	if waiting+l.reserved[instance] >= most {
		return nil, fmt.Errorf("%w: media.max_uploads is %d; delete what is not needed, they expire after 14 days", ErrTooMany, most)
	}
	l.reserved[instance]++
	return func() {
		l.reserving.Lock()
		defer l.reserving.Unlock()
		if l.reserved[instance]--; l.reserved[instance] == 0 {
			delete(l.reserved, instance)
		}
	}, nil
}

// waiting counts the unexpired uploads of an instance, up to most.
func (l *Library) waiting(instance int64, most int) (n int, err error) {
	err = l.cfg.Store.View(func(tx *store.Tx) error {
		return tx.Scan(uploads, store.Range{Prefix: store.Key(instance), Reverse: true}, func(_, v []byte) (bool, error) {
			var u struct {
				ExpiresAt event.Time `json:"expiresAt"`
			}
			if json.Unmarshal(v, &u) == nil && tx.Now().Before(u.ExpiresAt.Time) {
				n++
			}
			return n < most, nil
		})
	})
	return n, err
}

// Release removes an upload made for one message after the message has ended, in the
// caller's transaction. A missing upload is no error.
func Release(tx *store.Tx, instance int64, id string) error {
	known, err := uuid.Parse(id)
	if err != nil {
		return fmt.Errorf("media: release upload: %w", err)
	}
	return remove(tx, instance, known)
}
