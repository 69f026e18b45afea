package media

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/google/uuid"

	"postern/event"
	"postern/store"
	"postern/store/schema"
)

// ErrNotFound reports that the instance has no upload with that id.
var ErrNotFound = errors.New("upload not found")

const (
	uploads   = "media_upload"
	uploadIDs = "media_upload_id"

	// Life is how long an upload can be used. WhatsApp guarantees nothing and removes
	// files after some weeks.
	Life = 14 * 24 * time.Hour

	// Shown is how long an expired upload remains listed.
	Shown = 14 * 24 * time.Hour
)

// Buckets returns the buckets of this package.
func Buckets() []schema.Bucket {
	return []schema.Bucket{
		{Name: uploads, Owner: "media", Key: "instance id + UUID", Value: "JSON: what a message needs to point to the file", Needs: schema.References(schema.JSONOf[Upload](24), "an upload is lost", toUUID, toNumber), Of: schema.FirstID},
		{Name: uploadIDs, Owner: "media", Key: "UUID, or number", Value: "instance id + number, or instance id + UUID", Needs: schema.References(schema.Sized(0), "", toUpload)},
	}
}

// Upload is a file at WhatsApp that messages of its instance, and batches, may refer to
// by either of its ids until it expires.
type Upload struct {
	ID        uuid.UUID  `json:"id"`
	Number    int64      `json:"number"` // counts from 1 over all instances; never reused
	ExpiresAt event.Time `json:"expiresAt"`
	Tags
	event.Uploaded
}

// Tags are the caller's search attributes of an upload.
type Tags struct {
	ExternalID         string           `json:"externalId,omitempty"`
	ExternalAttributes event.Attributes `json:"externalAttributes,omitempty"`
}

// Expired reports whether messages can no longer use the upload.
func (u *Upload) Expired(now time.Time) bool { return !now.Before(u.ExpiresAt.Time) }

// Keep stores a new upload of an instance. Errors are those of Config.Owner and of the
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

// Upload returns an upload of an instance by its UUID or number, including expired ones.
// Errors: ErrNotFound.
func (l *Library) Upload(instance int64, id string) (u Upload, err error) {
	err = l.cfg.Store.View(func(tx *store.Tx) error {
		u, err = uploadOf(tx, instance, id)
		return err
	})
	return u, err
}

// Owner returns the instance of an upload, by either of its ids, including expired ones.
// Errors: ErrNotFound.
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

// locate returns the instance and key of an upload, by either of its ids.
func locate(tx *store.Tx, id string) (instance int64, key uuid.UUID, err error) {
	if n, err := strconv.ParseInt(id, 10, 64); err == nil && n > 0 {
		v, err := tx.Get(uploadIDs, store.Key(n))
		if err != nil || len(v) != 8+len(key) {
			return 0, key, errors.Join(err, ErrNotFound)
		}
		return store.Number(v[:8]), uuid.UUID(v[8:]), nil
	}
	if key, err = uuid.Parse(id); err != nil || len(id) != len(key.String()) {
		return 0, key, ErrNotFound
	}
	v, err := tx.Get(uploadIDs, key[:])
	if err != nil || len(v) < 8 {
		return 0, key, errors.Join(err, ErrNotFound)
	}
	return store.Number(v[:8]), key, nil
}

func upload(tx *store.Tx, instance int64, key uuid.UUID) (Upload, error) {
	u, found, err := store.GetJSON[Upload](tx, uploads, store.Key(instance, key))
	if err == nil && !found {
		err = ErrNotFound
	}
	return u, err
}

// Delete removes an upload of an instance. Messages that refer to the file keep it.
// Errors: ErrNotFound.
func (l *Library) Delete(ctx context.Context, instance int64, id string) error {
	return l.cfg.Store.Update(ctx, func(tx *store.Tx) error {
		u, err := uploadOf(tx, instance, id)
		if err != nil {
			return err
		}
		return remove(tx, instance, u.ID)
	})
}

// remove removes an upload, readable or not.
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

// forSend returns the upload that a message names. A batch may use those of every
// instance, since it sends through several.
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
		return event.Uploaded{}, fmt.Errorf("%w: mediaUploadId names an unknown or expired upload of this instance", event.ErrMedia)
	case err != nil:
		return event.Uploaded{}, fmt.Errorf("media: upload %.100q: %w", m.UploadID, err)
	case m.Kind != "" && !fits(u.Uploaded, m.Kind):
		return event.Uploaded{}, fmt.Errorf("%w: the upload is for sending as %s, not as %s", event.ErrMedia, u.Kind, m.Kind)
	}
	return u.Uploaded, nil
}

// fits reports whether a file prepared as one kind can be sent as another: if both are
// encrypted alike and the type is accepted.
func fits(made event.Uploaded, wanted event.MediaKind) bool {
	audio := func(k event.MediaKind) bool { return k == event.MediaAudio || k == event.MediaVoice }
	video := func(k event.MediaKind) bool { return k == event.MediaVideo || k == event.MediaPTV }
	alike := audio(made.Kind) && audio(wanted) || video(made.Kind) && video(wanted)
	return made.Kind == wanted || alike && slices.Contains(accepted(wanted), made.MimeType)
}
