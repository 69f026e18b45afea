package httpapi

import (
	"errors"
	"fmt"
	"net/http"
	"os"
	"slices"
	"unicode/utf8"

	"github.com/google/uuid"

	"postern/access"
	"postern/batch"
	"postern/event"
	"postern/httpapi/strict"
	"postern/media"
)

// uploadView is an upload without the key that opens it.
type uploadView struct {
	ID                 int64            `json:"id"`
	UUID               uuid.UUID        `json:"uuid"`
	InstanceID         int64            `json:"instanceId"`
	ExternalID         *string          `json:"externalId"`
	ExternalAttributes event.Attributes `json:"externalAttributes"`
	Kind               event.MediaKind  `json:"mediaType"`
	FileName           string           `json:"originalFileName"`
	Size               int64            `json:"originalFileSize"` // bytes
	MimeType           string           `json:"mimetype"`
	Width              int              `json:"width,omitempty"`
	Height             int              `json:"height,omitempty"`
	Seconds            int              `json:"seconds,omitempty"`
	Upload             uploadedFile     `json:"upload"`
	Expired            bool             `json:"expired"`
	ExpiresAt          event.Time       `json:"expiresAt"`
	CreatedAt          event.Time       `json:"createdAt"`
	UpdatedAt          event.Time       `json:"updatedAt"`
}

// uploadedFile is where the file lies at WhatsApp, encrypted.
type uploadedFile struct {
	URL           string `json:"url"`
	DirectPath    string `json:"directPath"`
	FileSHA256    []byte `json:"fileSha256"`
	FileEncSHA256 []byte `json:"fileEncSha256"`
	FileLength    int64  `json:"fileLength"` // bytes, before encryption

	// The same again, under the names that older clients read.
	AlsoFileSHA256    []byte `json:"fileSHA256"`
	AlsoFileEncSHA256 []byte `json:"fileEncSHA256"`
}

func (a *api) viewUpload(instance int64, u media.Upload) uploadView {
	return uploadView{
		ID: u.Number, UUID: u.ID, InstanceID: instance, ExternalID: orNull(u.ExternalID), ExternalAttributes: u.ExternalAttributes,
		Kind: u.Kind, FileName: u.FileName, Size: u.Size, MimeType: u.MimeType, Width: u.Width, Height: u.Height, Seconds: u.Seconds,
		Upload:  uploadedFile{u.URL, u.DirectPath, u.FileSHA256, u.FileEncSHA256, u.Size, u.FileSHA256, u.FileEncSHA256},
		Expired: u.Expired(a.Store.Now()), ExpiresAt: u.ExpiresAt, CreatedAt: u.UploadedAt, UpdatedAt: u.UploadedAt,
	}
}

// uploadRequest is an upload whose file is fetched.
type uploadRequest struct {
	Kind               event.MediaKind `json:"mediaType" strict:"required"`
	URL                string          `json:"media" strict:"required"`
	FileName           string          `json:"fileName"`
	MimeType           string          `json:"mimetype"`
	ExternalID         string          `json:"externalId"`
	ExternalAttributes *strict.Object  `json:"externalAttributes"`
}

// uploadFields are the fields of the form that has the file itself.
func uploadFields() []string {
	return []string{"mediaType", "fileName", "mimetype", "externalId", "externalAttributes"}
}

// request is a form as the request that it is without its file.
func (f form) upload() (in uploadRequest, err error) {
	if in.Kind, err = f.mediaType(); err != nil {
		return in, err
	}
	in.FileName, in.MimeType = firstGiven(f.given("fileName"), &f.fileName), f.fields["mimetype"]
	in.ExternalID = f.fields["externalId"]
	in.ExternalAttributes, err = f.object("externalAttributes")
	return in, err
}

const maxExternalID = 255 // characters

// tags checks what the upload is to be found by.
func (in *uploadRequest) tags() (t media.Tags, err error) {
	if n := utf8.RuneCountInString(in.ExternalID); n > maxExternalID {
		return t, invalidField(fmt.Sprintf("externalId must have at most %d characters, this one has %d", maxExternalID, n))
	}
	t.ExternalID = in.ExternalID
	if in.ExternalAttributes != nil {
		if len(*in.ExternalAttributes) > maxFormField {
			return t, invalidField("externalAttributes must have at most 64 KiB")
		}
		t.ExternalAttributes = event.Attributes(*in.ExternalAttributes)
	}
	return t, nil
}

// createUpload brings a file to WhatsApp before it is needed: from the body,
// or from a URL.
func (a *api) createUpload(c *call) error {
	m, tags, f, err := a.readUpload(c)
	if err != nil {
		return err
	}
	release, err := a.Media.Reserve(c.instance.ID)
	if err != nil {
		f.discard()
		return err
	}
	defer release()
	file, remove, err := a.uploadFile(c, m, f)
	if err != nil {
		return err
	}
	defer remove()
	kept, err := a.keepFile(c, file, tags)
	if err != nil {
		return err
	}
	return c.w.json(http.StatusCreated, a.viewUpload(c.instance.ID, kept))
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
func (a *api) keepFile(c *call, file event.MediaFile, tags media.Tags) (media.Upload, error) {
	account, err := a.Supervisor.Account(c.r.Context(), c.instance.ID)
	if err != nil {
		return media.Upload{}, err
	}
	uploaded, err := account.Upload(c.r.Context(), file)
	if err != nil {
		return media.Upload{}, err
	}
	return a.Media.Keep(c.r.Context(), c.instance.ID, uploaded, tags)
}

// readUpload reads either body. Of a form, the file's path is set.
func (a *api) readUpload(c *call) (m event.Media, tags media.Tags, f form, err error) {
	var in uploadRequest
	if isForm(c.r.Header) {
		if f, err = c.readForm(a.Media.Spool, a.MaxMedia, uploadFields()...); err != nil {
			return m, tags, form{}, err
		}
		in, err = f.upload()
	} else {
		err = c.decode(&in, maxBody)
	}
	if err == nil {
		m = event.Media{Kind: in.Kind, URL: in.URL, FileName: in.FileName, MimeType: in.MimeType}
		err = m.CheckUpload()
	}
	if err == nil {
		tags, err = in.tags()
	}
	if err != nil && f.path != "" {
		_ = os.Remove(f.path)
	}
	return m, tags, f, err
}

// mayUseUploads refuses a key that may not use files that were uploaded before, whether
// or not there is the one that m names.
func (c *call) mayUseUploads(m *event.Media) error {
	if c.key == nil || m == nil || m.UploadID == "" || c.key.Has(access.Media) {
		return nil
	}
	return errScope("the key needs the scope media for mediaUploadId")
}

// checkUpload refuses a file that was uploaded before when the key of c may not use
// it, when the instance has no such upload, or when it cannot be sent as m says.
func (a *api) checkUpload(c *call, instance int64, m *event.Media) error {
	if m == nil || m.UploadID == "" {
		return nil
	}
	if err := c.mayUseUploads(m); err != nil {
		return err
	}
	source, err := a.Media.Open(c.r.Context(), instance, m)
	if err != nil {
		return err
	}
	defer source.Close()
	if m.Kind != "" {
		return nil
	}
	return m.CheckAs(source.Uploaded.Kind)
}

// mayUseUpload refuses a file that was uploaded by an instance that the key of c does
// not open, as if there were none: batches may use those of every instance.
func (a *api) mayUseUpload(c *call, m *event.Media) error {
	if err := c.mayUseUploads(m); err != nil {
		return err
	}
	if c.key == nil || c.key.Everywhere() || m == nil || m.UploadID == "" {
		return nil
	}
	owner, err := a.Media.Owner(m.UploadID)
	if err == nil && c.key.Opens(owner) {
		return nil
	}
	if err == nil || errors.Is(err, media.ErrNotFound) {
		return fmt.Errorf("%w: mediaUploadId names no upload of the key's instances, or one that expired", event.ErrMedia)
	}
	return err
}

// uploadQuery reads the filters and the page of the list of uploads.
func (c *call) uploadQuery() (want media.UploadQuery, err error) {
	q, err := c.query([]string{"mediaType", "expired", "externalId", "createdFrom", "createdTo", "limit", "nextCursor", "previousCursor"})
	if err != nil {
		return want, err
	}
	want.Kind, want.ExternalID = event.MediaKind(q.Get("mediaType")), q.Get("externalId")
	if want.Kind != "" && !slices.Contains(event.UploadKinds(), want.Kind) {
		return want, invalidQuery("mediaType must be one of: " + joined(event.UploadKinds()))
	}
	if q.Has("expired") {
		expired, err := queryFlag(q, "expired")
		if err != nil {
			return want, err
		}
		want.Expired = &expired
	}
	if want.From, err = instant("createdFrom", q.Get("createdFrom")); err != nil {
		return want, err
	}
	if want.To, err = instant("createdTo", q.Get("createdTo")); err != nil {
		return want, err
	}
	page, err := readPage(q)
	if err != nil {
		return want, err
	}
	want.Limit = page.Limit
	if want.Before, err = uploadCursor(page.Next); err != nil {
		return want, err
	}
	want.After, err = uploadCursor(page.Previous)
	return want, err
}

// uploadCursor is the upload at which a page ended.
func uploadCursor(text string) (id uuid.UUID, err error) {
	if text == "" {
		return id, nil
	}
	if id, err = uuid.Parse(text); err != nil || id == uuid.Nil {
		return id, errNoCursor()
	}
	return id, nil
}

func (a *api) listUploads(c *call) error {
	want, err := c.uploadQuery()
	if err != nil {
		return err
	}
	page, err := a.Media.Uploads(c.r.Context(), c.instance.ID, want)
	if err != nil {
		return err
	}
	list := batch.List[uploadView]{TotalRecords: page.Total, TotalIsMinimum: page.Minimum, Records: []uploadView{}}
	for _, u := range page.Uploads {
		list.Records = append(list.Records, a.viewUpload(c.instance.ID, u))
	}
	if page.Older != uuid.Nil {
		list.NextCursor = orNull(page.Older.String())
	}
	if page.Newer != uuid.Nil {
		list.PreviousCursor = orNull(page.Newer.String())
	}
	return c.w.json(http.StatusOK, list)
}

func (a *api) showUpload(c *call) error {
	u, err := a.Media.Upload(c.instance.ID, c.params.ByName("id"))
	if err != nil {
		return err
	}
	return c.w.json(http.StatusOK, a.viewUpload(c.instance.ID, u))
}

func (a *api) deleteUpload(c *call) error {
	if err := c.noBody(); err != nil {
		return err
	}
	if err := a.Media.Delete(c.r.Context(), c.instance.ID, c.params.ByName("id")); err != nil {
		return err
	}
	return c.nothing()
}
