package chats

import (
	"errors"
	"fmt"
	"net/http"
	"os"

	"postern/event"
	"postern/httpapi/ref"
	"postern/httpapi/rest"
	"postern/httpapi/strict"
	"postern/instance"
	"postern/media"
)

// pictureRequest has the URL of the image, or "" to remove the picture; or the id of an earlier
// upload.
type pictureRequest struct {
	groupTarget

	Image    *string         `json:"image"`
	UploadID *event.UploadID `json:"mediaUploadId"`
}

// PicturedGroup is a group with its new picture.
type PicturedGroup struct {
	event.GroupUpsert

	PictureID string `json:"pictureId" doc:"WhatsApp's id of the new picture; empty when it was removed." example:"1709294400"`
}

func (a *API) changePicture(c *rest.Call) error {
	in, f, err := a.readPicture(c)
	if err != nil {
		return err
	}
	if f.Path != "" {
		defer media.Remove(event.MediaFile{Path: f.Path})
	}
	group, err := groupOf(c, in.groupTarget)
	if err != nil {
		return err
	}
	// The account is checked before the image is fetched, in case it is not connected.
	account, err := a.account(c)
	if err != nil {
		return err
	}
	avatar, err := a.avatar(c, account, "image", in, f)
	if err != nil {
		return err
	}
	// Read first: an answer that fails must not hide a change.
	shown, err := account.Group(c.Request.Context(), group)
	if err != nil {
		return err
	}
	id, err := account.SetGroupPicture(c.Request.Context(), group, avatar)
	if err != nil {
		return err
	}
	return c.Response.JSON(http.StatusOK, PicturedGroup{shown, id})
}

// readPicture reads either form of body. For a form it sets the file's path; for JSON one of the two
// fields.
func (a *API) readPicture(c *rest.Call) (in pictureRequest, f rest.Form, err error) {
	if !rest.IsForm(c.Request.Header) {
		if err := c.Decode(&in, rest.MaxBody); err != nil {
			return in, rest.Form{}, err
		}
		if err := in.check(); err != nil || in.UploadID == nil {
			return in, rest.Form{}, err
		}
		return in, rest.Form{}, c.MayUseUploads(&event.Media{UploadID: string(*in.UploadID)})
	}
	f, err = c.ReadForm(a.Media.Spool, a.MaxMedia, "groupJid")
	in.GroupJID = f.Fields["groupJid"]
	return in, f, err
}

func (r *pictureRequest) check() error {
	switch {
	case r.Image == nil && r.UploadID == nil:
		return strict.Missing("image", "is required, or mediaUploadId instead")
	case r.Image != nil && r.UploadID != nil:
		return fmt.Errorf("%w: exactly one of image and mediaUploadId must be given", event.ErrContent)
	case r.UploadID != nil && *r.UploadID == "":
		return fmt.Errorf("%w: mediaUploadId must not be empty; an empty image removes the picture", event.ErrContent)
	}
	return nil
}

// avatar returns the JPEG for a picture, or nothing to remove it. Errors name field.
func (a *API) avatar(c *rest.Call, account instance.Account, field string, in pictureRequest, f rest.Form) ([]byte, error) {
	if in.Image != nil && *in.Image == "" {
		return nil, nil
	}
	file, remove, err := a.imageFile(c, account, in, f)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", field, err)
	}
	defer remove()
	return a.Media.Avatar(c.Request.Context(), c.Instance.ID, file)
}

// imageFile returns the image of a request, and a function that removes it.
func (a *API) imageFile(c *rest.Call, account instance.Account, in pictureRequest, f rest.Form) (event.MediaFile, func(), error) {
	m := event.Media{Kind: event.MediaImage}
	switch {
	case in.UploadID != nil:
		m.UploadID = string(*in.UploadID)
		file, err := a.fetchBack(c, account, m)
		return file, func() { media.Remove(file) }, err
	case in.Image != nil:
		m.URL = *in.Image
		if err := m.CheckUpload(); err != nil {
			return event.MediaFile{}, nil, err
		}
	}
	return ref.OpenFile(c, a.Media, m, f)
}

// fetchBack downloads an earlier upload from WhatsApp, because no copy is kept here.
func (a *API) fetchBack(c *rest.Call, account instance.Account, m event.Media) (event.MediaFile, error) {
	source, err := a.Media.Open(c.Request.Context(), c.Instance.ID, &m)
	if err != nil {
		return event.MediaFile{}, err
	}
	defer source.Close()
	file, err := a.Media.Create()
	if err != nil {
		return event.MediaFile{}, err
	}
	if err := errors.Join(account.Fetch(c.Request.Context(), *source.Uploaded, file, a.MaxMedia), file.Close()); err != nil {
		_ = os.Remove(file.Name())
		return event.MediaFile{}, err
	}
	return a.Media.Prepare(c.Request.Context(), file.Name(), media.Wish{Instance: c.Instance.ID, Kind: m.Kind})
}
