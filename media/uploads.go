package media

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strconv"
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

	// Shown is how long an expired upload is still listed, as expired.
	Shown = 14 * 24 * time.Hour
)

// Buckets returns the buckets of this package.
func Buckets() []store.Bucket {
	return []store.Bucket{
		{Name: uploads, Owner: "media", Key: "instance id + UUID", Value: "JSON: what a message needs to point to the file", Needs: uploadNeeds, Of: store.FirstID},
		{Name: uploadIDs, Owner: "media", Key: "UUID, or number", Value: "instance id + number, or instance id + UUID", Needs: uploadIDNeeds},
	}
}

// Upload is a file at WhatsApp that messages of its instance, and batches, may
// point to by either of its ids until it expires.
type Upload struct {
	ID        uuid.UUID  `json:"id"`
	Number    int64      `json:"number"` // counts from 1 over all instances, and is never used again
	ExpiresAt event.Time `json:"expiresAt"`
	Tags
	event.Uploaded
}

// Tags are what the caller wants to find an upload by.
type Tags struct {
	ExternalID         string           `json:"externalId,omitempty"`
	ExternalAttributes event.Attributes `json:"externalAttributes,omitempty"`
}

// Expired tells whether messages cannot point to the upload any more.
func (u *Upload) Expired(now time.Time) bool { return !now.Before(u.ExpiresAt.Time) }

// Keep stores an upload of an instance, as made now. Errors are those of Config.Owner and of the
// store.
func (l *Library) Keep(ctx context.Context, instance int64, u event.Uploaded, tags Tags) (Upload, error) {
	id, err := uuid.NewV7()
	if err != nil {
		return Upload{}, fmt.Errorf("media: %w", err)
	}
	u.UploadedAt = event.At(l.cfg.Store.Now())
	kept := Upload{ID: id, ExpiresAt: event.At(u.UploadedAt.Add(Life)), Tags: tags, Uploaded: u}
	err = l.cfg.Store.Update(ctx, func(tx *store.Tx) error {
		if l.cfg.Owner != nil {
			if err := l.cfg.Owner(tx, instance); err != nil {
				return err
			}
		}
		n, err := tx.NextID(uploads)
		if err != nil {
			return err
		}
		kept.Number = int64(n) //nolint:gosec // counts from 1
		return put(tx, instance, kept)
	})
	if err != nil {
		return Upload{}, fmt.Errorf("media: keep upload: %w", err)
	}
	return kept, nil
}

func put(tx *store.Tx, instance int64, u Upload) error {
	return errors.Join(
		store.PutJSON(tx, uploads, store.Key(instance, u.ID), u),
		tx.Put(uploadIDs, u.ID[:], store.Key(instance, u.Number)),
		tx.Put(uploadIDs, store.Key(u.Number), store.Key(instance, u.ID)),
	)
}

// Upload returns an upload of an instance by its UUID or its number, also one that
// has expired. Errors: ErrNotFound.
func (l *Library) Upload(instance int64, id string) (u Upload, err error) {
	err = l.cfg.Store.View(func(tx *store.Tx) error {
		u, err = uploadOf(tx, instance, id)
		return err
	})
	return u, err
}

// Owner is the instance that an upload belongs to, by either of its ids, also of one
// that has expired. Errors: ErrNotFound.
func (l *Library) Owner(id string) (instance int64, err error) {
	err = l.cfg.Store.View(func(tx *store.Tx) error {
		instance, _, err = locate(tx, id)
		return err
	})
	return instance, err
}

func uploadOf(tx *store.Tx, instance int64, id string) (Upload, error) {
	owner, key, err := locate(tx, id)
	if err == nil && owner != instance {
		err = ErrNotFound
	}
	if err != nil {
		return Upload{}, err
	}
	return upload(tx, instance, key)
}

// locate finds whose an upload is, and its key there, by either of its ids.
func locate(tx *store.Tx, id string) (instance int64, key uuid.UUID, err error) {
	if n, err := strconv.ParseInt(id, 10, 64); err == nil && n > 0 {
		v, err := tx.Get(uploadIDs, store.Key(n))
		if err != nil || len(v) != 8+len(key) {
			return 0, key, errors.Join(err, ErrNotFound)
		}
		return number(v[:8]), uuid.UUID(v[8:]), nil
	}
	if key, err = uuid.Parse(id); err != nil || len(id) != len(key.String()) {
		return 0, key, ErrNotFound
	}
	v, err := tx.Get(uploadIDs, key[:])
	if err != nil || len(v) < 8 {
		return 0, key, errors.Join(err, ErrNotFound)
	}
	return number(v[:8]), key, nil
}

func upload(tx *store.Tx, instance int64, key uuid.UUID) (Upload, error) {
	u, found, err := store.GetJSON[Upload](tx, uploads, store.Key(instance, key))
	if err == nil && !found {
		err = ErrNotFound
	}
	return u, err
}

// Delete forgets an upload of an instance. Messages that point to the file keep
// it. Errors: ErrNotFound.
func (l *Library) Delete(ctx context.Context, instance int64, id string) error {
	return l.cfg.Store.Update(ctx, func(tx *store.Tx) error {
		u, err := uploadOf(tx, instance, id)
		if err != nil {
			return err
		}
		return remove(tx, instance, u.ID)
	})
}

// remove forgets an upload, whether its record can be read or not.
func remove(tx *store.Tx, instance int64, key uuid.UUID) error {
	v, err := tx.Get(uploadIDs, key[:])
	if err == nil && len(v) == 16 {
		err = tx.Delete(uploadIDs, v[8:])
	}
	return errors.Join(err, tx.Delete(uploads, store.Key(instance, key)), tx.Delete(uploadIDs, key[:]))
}

// Forget removes the uploads of an instance in the caller's transaction.
func Forget(tx *store.Tx, instance int64) error {
	var keys []uuid.UUID
	err := tx.Scan(uploads, store.Range{Prefix: store.Key(instance)}, func(k, _ []byte) (bool, error) {
		keys = append(keys, uuid.UUID(k[len(k)-16:]))
		return true, nil
	})
	if err != nil {
		return err
	}
	for _, key := range keys {
		if err := remove(tx, instance, key); err != nil {
			return err
		}
	}
	_, err = tx.DeletePrefix(uploads, store.Key(instance))
	return err
}

// forSend is the upload that a message names. A batch may use those of every
// instance: it sends by several, and the file is the same.
func (l *Library) forSend(instance int64, m *event.Media) (event.Uploaded, error) {
	var u Upload
	err := l.cfg.Store.View(func(tx *store.Tx) error {
		owner, key, err := locate(tx, m.UploadID)
		if err == nil && owner != instance && !m.Shared {
			err = ErrNotFound
		}
		if err == nil {
			u, err = upload(tx, owner, key)
		}
		if err == nil && u.Expired(tx.Now()) {
			err = ErrNotFound
		}
		return err
	})
	switch {
	case errors.Is(err, ErrNotFound):
		return event.Uploaded{}, fmt.Errorf("%w: mediaUploadId names no upload of this instance, or one that expired", event.ErrMedia)
	case err != nil:
		return event.Uploaded{}, fmt.Errorf("media: upload %.100q: %w", m.UploadID, err)
	case m.Kind != "" && !fits(u.Uploaded, m.Kind):
		return event.Uploaded{}, fmt.Errorf("%w: the upload was made to be sent as %s, not as %s", event.ErrMedia, u.Kind, m.Kind)
	}
	return u.Uploaded, nil
}

// fits tells whether a file that was prepared as one kind can be sent as
// another: what is encrypted alike, and is of a type that the other takes.
func fits(made event.Uploaded, wanted event.MediaKind) bool {
	audio := func(k event.MediaKind) bool { return k == event.MediaAudio || k == event.MediaVoice }
	video := func(k event.MediaKind) bool { return k == event.MediaVideo || k == event.MediaPTV }
	alike := audio(made.Kind) && audio(wanted) || video(made.Kind) && video(wanted)
	return made.Kind == wanted || alike && slices.Contains(accepted(wanted), made.MimeType)
}

func number(b []byte) int64 {
	if len(b) != 8 {
		return 0
	}
	return int64(binary.BigEndian.Uint64(b)) //nolint:gosec // as it was written
}
