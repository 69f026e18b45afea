package ref

import (
	"context"
	"errors"
	"fmt"

	"postern/event"
	"postern/httpapi/rest"
	"postern/media"
)

// Files finds and prepares the files of messages.
type Files interface {
	Open(ctx context.Context, instance int64, m *event.Media) (event.MediaSource, error)
	Owner(id string) (instance int64, err error)
	Prepare(ctx context.Context, path string, w media.Wish) (event.MediaFile, error)
}

// CheckUpload refuses an earlier upload if the key of c may not use it, if the instance does not have it, or if
// it cannot be sent as m requires.
func CheckUpload(c *rest.Call, files Files, instance int64, m *event.Media) error {
	if m == nil || m.UploadID == "" {
		return nil
	}
	if err := c.MayUseUploads(m); err != nil {
		return err
	}
	source, err := files.Open(c.Request.Context(), instance, m)
	if err != nil {
		return err
	}
	defer source.Close()
	if m.Kind != "" {
		return nil
	}
	return m.CheckAs(source.Uploaded.Kind)
}

// MayUseUpload refuses a file that was uploaded by an instance that the key of c does not open, as if it did not
// exist, because batches may use the uploads of every instance.
func MayUseUpload(c *rest.Call, files Files, m *event.Media) error {
	if err := c.MayUseUploads(m); err != nil {
		return err
	}
	if c.Key == nil || c.Key.Everywhere() || m == nil || m.UploadID == "" {
		return nil
	}
	owner, err := files.Owner(m.UploadID)
	if err == nil && c.Key.Opens(owner) {
		return nil
	}
	if err == nil || errors.Is(err, media.ErrNotFound) {
		return fmt.Errorf("%w: mediaUploadId names no upload of the key's instances, or one that expired", event.ErrMedia)
	}
	return err
}

// OpenFile returns the file of an upload, ready to be sent, and a function that removes it.
func OpenFile(c *rest.Call, files Files, m event.Media, f rest.Form) (event.MediaFile, func(), error) {
	if f.Path != "" {
		file, err := PrepareFile(c, files, f, m)
		return file, func() { media.Remove(file) }, err
	}
	source, err := files.Open(c.Request.Context(), c.Instance.ID, &m)
	if err != nil {
		return event.MediaFile{}, nil, err
	}
	return *source.File, source.Close, nil
}

// PrepareFile prepares the file of a form for its message.
func PrepareFile(c *rest.Call, files Files, f rest.Form, m event.Media) (event.MediaFile, error) {
	return files.Prepare(c.Request.Context(), f.Path, media.Of(c.Instance.ID, m))
}
