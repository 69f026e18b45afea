package media

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"

	"postern/event"
	"postern/store"
)

// ErrNotFound says that the instance has no upload of that id.
var ErrNotFound = errors.New("upload not found")

const (
	uploads   = "media_upload"
	uploadIDs = "media_upload_id"

	// Life is how long an upload can be used. WhatsApp promises nothing and
	// removes files after some weeks.
	Life = 14 * 24 * time.Hour

	pruneStep     = 200 // uploads that one commit removes at most
	pruneInterval = time.Hour
)

// Buckets returns the buckets of this package.
func Buckets() []store.Bucket {
	return []store.Bucket{
		{Name: uploads, Owner: "media", Key: "instance id + upload id", Value: "JSON: what a message needs to point to the file"},
		{Name: uploadIDs, Owner: "media", Key: "upload id", Value: "instance id"},
	}
}

// Upload is a file at WhatsApp that messages of its instance, and batches, may
// point to by its id.
type Upload struct {
	ID        uuid.UUID  `json:"id"`
	ExpiresAt event.Time `json:"expiresAt"`
	event.Uploaded
}

// Keep stores an upload of an instance.
func (l *Library) Keep(ctx context.Context, instance int64, u event.Uploaded) (Upload, error) {
	id, err := uuid.NewV7()
	if err != nil {
		return Upload{}, fmt.Errorf("media: %w", err)
	}
	kept := Upload{ID: id, ExpiresAt: event.At(u.UploadedAt.Add(Life)), Uploaded: u}
	err = l.cfg.Store.Update(ctx, func(tx *store.Tx) error {
		return errors.Join(
			store.PutJSON(tx, uploads, store.Key(instance, id), kept),
			tx.Put(uploadIDs, id[:], store.Key(instance)),
		)
	})
	if err != nil {
		return Upload{}, fmt.Errorf("media: keep upload: %w", err)
	}
	return kept, nil
}

// Upload returns an upload of an instance. Errors: ErrNotFound.
func (l *Library) Upload(instance int64, id uuid.UUID) (u Upload, err error) {
	err = l.cfg.Store.View(func(tx *store.Tx) error {
		u, err = upload(tx, instance, id)
		return err
	})
	return u, err
}

func upload(tx *store.Tx, instance int64, id uuid.UUID) (Upload, error) {
	u, found, err := store.GetJSON[Upload](tx, uploads, store.Key(instance, id))
	if err == nil && (!found || !tx.Now().Before(u.ExpiresAt.Time)) {
		err = ErrNotFound
	}
	return u, err
}

// Uploads returns at most limit uploads of an instance, the newest first,
// older than the one named before; the zero id is the beginning.
func (l *Library) Uploads(instance int64, before uuid.UUID, limit int) (all []Upload, err error) {
	r := store.Range{Prefix: store.Key(instance), Reverse: true}
	if before != uuid.Nil {
		r.Before = store.Key(instance, before)
	}
	err = l.cfg.Store.View(func(tx *store.Tx) error {
		return tx.Scan(uploads, r, func(k, _ []byte) (bool, error) {
			u, err := upload(tx, instance, uuid.UUID(k[len(k)-16:]))
			if err == nil {
				all = append(all, u)
			}
			if errors.Is(err, ErrNotFound) || errors.Is(err, store.ErrDamaged) {
				err = nil // expired, or reported by the store
			}
			return len(all) < limit, err
		})
	})
	return all, err
}

// Delete forgets an upload of an instance and returns what it was. Messages
// that point to the file keep it. Errors: ErrNotFound.
func (l *Library) Delete(ctx context.Context, instance int64, id uuid.UUID) (u Upload, err error) {
	err = l.cfg.Store.Update(ctx, func(tx *store.Tx) error {
		if u, err = upload(tx, instance, id); err != nil {
			return err
		}
		return remove(tx, instance, id)
	})
	return u, err
}

func remove(tx *store.Tx, instance int64, id uuid.UUID) error {
	return errors.Join(tx.Delete(uploads, store.Key(instance, id)), tx.Delete(uploadIDs, id[:]))
}

// Forget removes the uploads of an instance in the caller's transaction.
func Forget(tx *store.Tx, instance int64) error {
	var ids []uuid.UUID
	err := tx.Scan(uploads, store.Range{Prefix: store.Key(instance)}, func(k, _ []byte) (bool, error) {
		ids = append(ids, uuid.UUID(k[len(k)-16:]))
		return true, nil
	})
	if err != nil {
		return err
	}
	for _, id := range ids {
		if err := tx.Delete(uploadIDs, id[:]); err != nil {
			return err
		}
	}
	_, err = tx.DeletePrefix(uploads, store.Key(instance))
	return err
}

// Prune forgets expired uploads in small commits and returns how many.
func (l *Library) Prune(ctx context.Context) (removed int, err error) {
	for {
		n, err := l.pruneSome(ctx)
		removed += n
		if err != nil || n < pruneStep {
			return removed, err
		}
	}
}

func (l *Library) pruneSome(ctx context.Context) (n int, err error) {
	type row struct {
		instance int64
		id       uuid.UUID
	}
	var expired []row
	err = l.cfg.Store.View(func(tx *store.Tx) error {
		return tx.Scan(uploadIDs, store.Range{}, func(k, v []byte) (bool, error) {
			r := row{number(v), uuid.UUID(k)}
			if _, err := upload(tx, r.instance, r.id); errors.Is(err, ErrNotFound) {
				expired = append(expired, r)
			}
			return len(expired) < pruneStep, nil
		})
	})
	if err != nil || len(expired) == 0 {
		return 0, err
	}
	err = l.cfg.Store.Update(ctx, func(tx *store.Tx) error {
		for _, r := range expired {
			if err := remove(tx, r.instance, r.id); err != nil {
				return err
			}
		}
		return nil
	})
	return len(expired), err
}

// forSend is the upload that a message names. A batch may use those of every
// instance: it sends by several, and the file is the same.
func (l *Library) forSend(instance int64, m *event.Media) (event.Uploaded, error) {
	id, err := uuid.Parse(m.UploadID)
	if err != nil {
		return event.Uploaded{}, fmt.Errorf("%w: mediaUploadId is no id of an upload", event.ErrMedia)
	}
	var u Upload
	err = l.cfg.Store.View(func(tx *store.Tx) error {
		if m.Shared {
			owner, err := tx.Get(uploadIDs, id[:])
			if err != nil || owner == nil {
				return errors.Join(err, ErrNotFound)
			}
			instance = number(owner)
		}
		u, err = upload(tx, instance, id)
		return err
	})
	switch {
	case errors.Is(err, ErrNotFound):
		return event.Uploaded{}, fmt.Errorf("%w: mediaUploadId names no upload of this instance, or one that expired", event.ErrMedia)
	case err != nil:
		return event.Uploaded{}, fmt.Errorf("media: upload %s: %w", id, err)
	case m.Kind != "" && !fits(u.Kind, m.Kind):
		return event.Uploaded{}, fmt.Errorf("%w: the upload was made to be sent as %s, not as %s", event.ErrMedia, u.Kind, m.Kind)
	}
	return u.Uploaded, nil
}

// fits tells whether a file that was prepared as one kind can be sent as
// another: what is encrypted alike and looks alike.
func fits(made, wanted event.MediaKind) bool {
	audio := func(k event.MediaKind) bool { return k == event.MediaAudio || k == event.MediaVoice }
	video := func(k event.MediaKind) bool { return k == event.MediaVideo || k == event.MediaPTV }
	return made == wanted || video(made) && video(wanted) || made == event.MediaVoice && audio(wanted)
}

func number(b []byte) int64 {
	if len(b) != 8 {
		return 0
	}
	return int64(binary.BigEndian.Uint64(b)) //nolint:gosec // as it was written
}
