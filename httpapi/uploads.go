package httpapi

import (
	"context"
	"mime"
	"net/http"
	"os"

	"github.com/google/uuid"

	"postern/event"
	"postern/media"
)

// uploadView is an upload without the keys that open it.
type uploadView struct {
	ID        uuid.UUID       `json:"id"`
	Kind      event.MediaKind `json:"mediaType"`
	FileName  string          `json:"fileName,omitempty"`
	MimeType  string          `json:"mimetype"`
	Size      int64           `json:"size"` // bytes
	Width     int             `json:"width,omitempty"`
	Height    int             `json:"height,omitempty"`
	Seconds   int             `json:"seconds,omitempty"`
	CreatedAt event.Time      `json:"createdAt"`
	ExpiresAt event.Time      `json:"expiresAt"`
}

func viewUpload(u media.Upload) uploadView {
	return uploadView{
		ID: u.ID, Kind: u.Kind, FileName: u.FileName, MimeType: u.MimeType, Size: u.Size,
		Width: u.Width, Height: u.Height, Seconds: u.Seconds, CreatedAt: u.UploadedAt, ExpiresAt: u.ExpiresAt,
	}
}

// uploadRequest is an upload whose file is fetched.
type uploadRequest struct {
	Kind     event.MediaKind `json:"mediaType" strict:"required"`
	URL      string          `json:"media" strict:"required"`
	FileName string          `json:"fileName"`
	MimeType string          `json:"mimetype"`
}

// createUpload brings a file to WhatsApp before it is needed: from the body,
// or from a URL.
func (a *api) createUpload(c *call) error {
	m, f, err := a.readUpload(c)
	if err != nil {
		return err
	}
	file, remove, err := a.uploadFile(c, m, f)
	if err != nil {
		return err
	}
	defer remove()
	kept, err := a.keepFile(c, file)
	if err != nil {
		return err
	}
	return c.w.json(http.StatusCreated, viewUpload(kept))
}

// uploadFile is the file of an upload, ready to be sent, and how it is removed.
func (a *api) uploadFile(c *call, m event.Media, f form) (event.MediaFile, func(), error) {
	if f.path != "" {
		file, err := a.prepare(c, f, m)
		return file, func() { media.Remove(file) }, err
	}
	source, err := a.Media.Open(c.r.Context(), c.instance.ID, &m)
	if err != nil {
		return event.MediaFile{}, nil, err
	}
	return *source.File, source.Close, nil
}

// keepFile brings a file to WhatsApp and stores where it lies.
func (a *api) keepFile(c *call, file event.MediaFile) (media.Upload, error) {
	account, err := a.Supervisor.Account(c.r.Context(), c.instance.ID)
	if err != nil {
		return media.Upload{}, err
	}
	uploaded, err := account.Upload(c.r.Context(), file)
	if err != nil {
		return media.Upload{}, err
	}
	return a.Media.Keep(c.r.Context(), c.instance.ID, uploaded)
}

// readUpload reads either body. Of a form, the file's path is set.
func (a *api) readUpload(c *call) (m event.Media, f form, err error) {
	if kind, _, err := mime.ParseMediaType(c.r.Header.Get("Content-Type")); err == nil && kind == "multipart/form-data" {
		if f, err = c.readForm(a.Media.Spool, a.MaxMedia, "mediaType", "fileName", "mimetype"); err != nil {
			return m, form{}, err
		}
		if m.Kind, err = f.mediaType(); err != nil {
			_ = os.Remove(f.path)
			return m, form{}, err
		}
		m.FileName, m.MimeType = firstGiven(f.given("fileName"), &f.fileName), f.fields["mimetype"]
	} else {
		var in uploadRequest
		if err := c.decode(&in, maxBody); err != nil {
			return m, form{}, err
		}
		m = event.Media{Kind: in.Kind, URL: in.URL, FileName: in.FileName, MimeType: in.MimeType}
	}
	if err = m.CheckUpload(); err != nil && f.path != "" {
		_ = os.Remove(f.path)
	}
	return m, f, err
}

// checkUpload refuses a file that was uploaded before when the instance has no
// such upload, or when it cannot be sent as m says.
func (a *api) checkUpload(ctx context.Context, instance int64, m *event.Media) error {
	if m == nil || m.UploadID == "" {
		return nil
	}
	source, err := a.Media.Open(ctx, instance, m)
	if err != nil {
		return err
	}
	defer source.Close()
	if m.Kind != "" {
		return nil
	}
	return m.CheckAs(source.Uploaded.Kind)
}

// uploadList is one page of uploads, the newest first.
type uploadList struct {
	NextCursor *string      `json:"nextCursor"` // null at the end
	Records    []uploadView `json:"records"`
}

func (a *api) listUploads(c *call) error {
	q, err := c.query([]string{"limit", "nextCursor"})
	if err != nil {
		return err
	}
	limit, err := limitOf(q)
	if err != nil {
		return err
	}
	var before uuid.UUID
	if q.Has("nextCursor") {
		if before, err = uuid.Parse(q.Get("nextCursor")); err != nil {
			return errNoCursor()
		}
	}
	all, err := a.Media.Uploads(c.instance.ID, before, limit+1)
	if err != nil {
		return err
	}
	list := uploadList{Records: []uploadView{}}
	for _, u := range all[:min(limit, len(all))] {
		list.Records = append(list.Records, viewUpload(u))
	}
	if len(all) > limit {
		last := list.Records[limit-1].ID.String()
		list.NextCursor = &last
	}
	return c.w.json(http.StatusOK, list)
}

func (a *api) showUpload(c *call) error {
	id, err := c.uploadID()
	if err != nil {
		return err
	}
	u, err := a.Media.Upload(c.instance.ID, id)
	if err != nil {
		return err
	}
	return c.w.json(http.StatusOK, viewUpload(u))
}

func (a *api) deleteUpload(c *call) error {
	if err := c.noBody(); err != nil {
		return err
	}
	id, err := c.uploadID()
	if err != nil {
		return err
	}
	u, err := a.Media.Delete(c.r.Context(), c.instance.ID, id)
	if err != nil {
		return err
	}
	return c.w.json(http.StatusOK, viewUpload(u))
}

func (c *call) uploadID() (uuid.UUID, error) {
	text := c.params.ByName("id")
	id, err := uuid.Parse(text)
	if err != nil || len(text) != len(id.String()) {
		return uuid.UUID{}, media.ErrNotFound
	}
	return id, nil
}
