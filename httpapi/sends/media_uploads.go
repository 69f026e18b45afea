package sends

import (
	"fmt"
	"net/http"
	"os"
	"slices"
	"unicode/utf8"

	"github.com/google/uuid"

	"postern/batch"
	"postern/event"
	"postern/httpapi/ref"
	"postern/httpapi/rest"
	"postern/httpapi/strict"
	"postern/media"
)

// UploadView is an upload without the key that decrypts it.
type UploadView struct {
	ID                 int64            `json:"id" doc:"The upload's number, over all instances." example:"17" rules:"minimum=1"`
	UUID               uuid.UUID        `json:"uuid" doc:"The upload's UUID, an alternative to its number." example:"$uuid"`
	InstanceID         int64            `json:"instanceId"`
	ExternalID         *string          `json:"externalId" doc:"The caller's name for it; null when none was given." example:"cat-7"`
	ExternalAttributes event.Attributes `json:"externalAttributes"`
	Kind               event.MediaKind  `json:"mediaType"`
	FileName           string           `json:"originalFileName" doc:"The file's name." example:"cat.jpg"`
	Size               int64            `json:"originalFileSize" doc:"The length of the file in bytes." example:"48213" rules:"minimum=0"`
	MimeType           string           `json:"mimetype"`
	Width              int              `json:"width,omitempty"`
	Height             int              `json:"height,omitempty"`
	Seconds            int              `json:"seconds,omitempty"`
	Upload             uploadedFile     `json:"upload" doc:"The address of the encrypted file at WhatsApp, without its key."`
	Expired            bool             `json:"expired" doc:"Whether it has expired, so that messages can no longer use it." example:"false"`
	ExpiresAt          event.Time       `json:"expiresAt"`
	CreatedAt          event.Time       `json:"createdAt"`
	UpdatedAt          event.Time       `json:"updatedAt"`
}

// uploadedFile is the location of the encrypted file at WhatsApp.
type uploadedFile struct {
	URL           string `json:"url" doc:"The address of the encrypted file." example:"https://mmg.whatsapp.net/v/t62.7118-24/1" rules:"format=uri"`
	DirectPath    string `json:"directPath" doc:"Its path on any of WhatsApp's hosts." example:"/v/t62.7118-24/1"`
	FileSHA256    []byte `json:"fileSha256" doc:"The SHA-256 of the file." example:"iFHmzHYLUhaZM3ZScsKTpinwJZaR1D41BnY2sIudWM0="`
	FileEncSHA256 []byte `json:"fileEncSha256" doc:"The SHA-256 of the encrypted file." example:"OvAA3++DhQrVBjQsrEhaOVU5q6M51ah6ujY0sryMdlo="`
	FileLength    int64  `json:"fileLength" doc:"The length of the file in bytes, before encryption." example:"48213" rules:"minimum=0"`

	// The same fields under the names that older clients read.
	AlsoFileSHA256    []byte `json:"fileSHA256" doc:"The same as fileSha256." example:"iFHmzHYLUhaZM3ZScsKTpinwJZaR1D41BnY2sIudWM0="`
	AlsoFileEncSHA256 []byte `json:"fileEncSHA256" doc:"The same as fileEncSha256." example:"OvAA3++DhQrVBjQsrEhaOVU5q6M51ah6ujY0sryMdlo="`
}

func (a *API) viewUpload(instance int64, u media.Upload) UploadView {
	return UploadView{
		ID: u.Number, UUID: u.ID, InstanceID: instance, ExternalID: event.OrNull(u.ExternalID), ExternalAttributes: u.ExternalAttributes,
		Kind: u.Kind, FileName: u.FileName, Size: u.Size, MimeType: u.MimeType, Width: u.Width, Height: u.Height, Seconds: u.Seconds,
		Upload:  uploadedFile{u.URL, u.DirectPath, u.FileSHA256, u.FileEncSHA256, u.Size, u.FileSHA256, u.FileEncSHA256},
		Expired: u.Expired(a.Store.Now()), ExpiresAt: u.ExpiresAt, CreatedAt: u.UploadedAt, UpdatedAt: u.UploadedAt,
	}
}

// uploadRequest is an upload of a file to be fetched.
type uploadRequest struct {
	Kind               event.MediaKind `json:"mediaType" strict:"required"`
	URL                string          `json:"media" strict:"required"`
	FileName           string          `json:"fileName"`
	MimeType           string          `json:"mimetype"`
	ExternalID         string          `json:"externalId"`
	ExternalAttributes *strict.Object  `json:"externalAttributes"`
}

// uploadFields are the fields of the form that contains the file itself.
func uploadFields() []string {
	return []string{"mediaType", "fileName", "mimetype", "externalId", "externalAttributes"}
}

// request returns a form as an uploadRequest without its file.
func uploadOf(f rest.Form) (in uploadRequest, err error) {
	if in.Kind, err = f.MediaType(); err != nil {
		return in, err
	}
	in.FileName, in.MimeType = ref.FirstGiven(f.Given("fileName"), &f.FileName), f.Fields["mimetype"]
	in.ExternalID = f.Fields["externalId"]
	in.ExternalAttributes, err = formObject(f, "externalAttributes")
	return in, err
}

const maxExternalID = 255 // characters

// tags checks the tags by which the upload can be found.
func (in *uploadRequest) tags() (t media.Tags, err error) {
	if n := utf8.RuneCountInString(in.ExternalID); n > maxExternalID {
		return t, rest.InvalidField(fmt.Sprintf("externalId must have at most %d characters, this one has %d", maxExternalID, n))
	}
	t.ExternalID = in.ExternalID
	if in.ExternalAttributes != nil {
		if len(*in.ExternalAttributes) > rest.MaxFormField {
			return t, rest.InvalidField("externalAttributes must have at most 64 KiB")
		}
		t.ExternalAttributes = event.Attributes(*in.ExternalAttributes)
	}
	return t, nil
}

// createUpload uploads a file to WhatsApp before it is needed: from the body, or from a URL.
func (a *API) createUpload(c *rest.Call) error {
	m, tags, f, err := a.readUpload(c)
	if err != nil {
		return err
	}
	release, err := a.Media.Reserve(c.Instance.ID)
	if err != nil {
		f.Discard()
		return err
	}
	defer release()
	file, remove, err := ref.OpenFile(c, a.Media, m, f)
	if err != nil {
		return err
	}
	defer remove()
	kept, err := a.keepFile(c, file, tags)
	if err != nil {
		return err
	}
	return c.Response.JSON(http.StatusCreated, a.viewUpload(c.Instance.ID, kept))
}

// keepFile uploads a file to WhatsApp and stores its location.
func (a *API) keepFile(c *rest.Call, file event.MediaFile, tags media.Tags) (media.Upload, error) {
	account, err := a.Supervisor.Account(c.Request.Context(), c.Instance.ID)
	if err != nil {
		return media.Upload{}, err
	}
	uploaded, err := account.Upload(c.Request.Context(), file)
	if err != nil {
		return media.Upload{}, err
	}
	return a.Media.Keep(c.Request.Context(), c.Instance.ID, uploaded, tags)
}

// readUpload reads either form of body. For a form it sets the file's path.
func (a *API) readUpload(c *rest.Call) (m event.Media, tags media.Tags, f rest.Form, err error) {
	var in uploadRequest
	if rest.IsForm(c.Request.Header) {
		if f, err = c.ReadForm(a.Media.Spool, a.MaxMedia, uploadFields()...); err != nil {
			return m, tags, rest.Form{}, err
		}
		in, err = uploadOf(f)
	} else {
		err = c.Decode(&in, rest.MaxBody)
	}
	if err == nil {
		m = event.Media{Kind: in.Kind, URL: in.URL, FileName: in.FileName, MimeType: in.MimeType}
		err = m.CheckUpload()
	}
	if err == nil {
		tags, err = in.tags()
	}
	if err != nil && f.Path != "" {
		_ = os.Remove(f.Path)
	}
	return m, tags, f, err
}

// uploadQuery reads the filters and the page of the list of uploads.
func uploadQueryOf(c *rest.Call) (want media.UploadQuery, err error) {
	q, err := c.Query([]string{"mediaType", "expired", "externalId", "createdFrom", "createdTo", "limit", "nextCursor", "previousCursor"})
	if err != nil {
		return want, err
	}
	want.Kind, want.ExternalID = event.MediaKind(q.Get("mediaType")), q.Get("externalId")
	if want.Kind != "" && !slices.Contains(event.UploadKinds(), want.Kind) {
		return want, rest.InvalidQuery("mediaType must be one of: " + rest.Joined(event.UploadKinds()))
	}
	if q.Has("expired") {
		expired, err := rest.QueryFlag(q, "expired")
		if err != nil {
			return want, err
		}
		want.Expired = &expired
	}
	if want.From, err = rest.ParseTime("createdFrom", q.Get("createdFrom")); err != nil {
		return want, err
	}
	if want.To, err = rest.ParseTime("createdTo", q.Get("createdTo")); err != nil {
		return want, err
	}
	page, err := rest.ReadPage(q)
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

// uploadCursor is the position at which a page ended.
func uploadCursor(text string) (id uuid.UUID, err error) {
	if text == "" {
		return id, nil
	}
	if id, err = uuid.Parse(text); err != nil || id == uuid.Nil {
		return id, rest.InvalidCursor()
	}
	return id, nil
}

func (a *API) listUploads(c *rest.Call) error {
	want, err := uploadQueryOf(c)
	if err != nil {
		return err
	}
	page, err := a.Media.Uploads(c.Request.Context(), c.Instance.ID, want)
	if err != nil {
		return err
	}
	list := batch.List[UploadView]{TotalRecords: page.Total, TotalIsMinimum: page.Minimum, Records: []UploadView{}}
	for _, u := range page.Uploads {
		list.Records = append(list.Records, a.viewUpload(c.Instance.ID, u))
	}
	if page.Older != uuid.Nil {
		list.NextCursor = event.OrNull(page.Older.String())
	}
	if page.Newer != uuid.Nil {
		list.PreviousCursor = event.OrNull(page.Newer.String())
	}
	return c.Response.JSON(http.StatusOK, list)
}

func (a *API) showUpload(c *rest.Call) error {
	u, err := a.Media.Upload(c.Instance.ID, c.Params.ByName("id"))
	if err != nil {
		return err
	}
	return c.Response.JSON(http.StatusOK, a.viewUpload(c.Instance.ID, u))
}

func (a *API) deleteUpload(c *rest.Call) error {
	if err := c.NoBody(); err != nil {
		return err
	}
	if err := a.Media.Delete(c.Request.Context(), c.Instance.ID, c.Params.ByName("id")); err != nil {
		return err
	}
	return c.NoContent()
}
