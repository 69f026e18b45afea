package httpapi

import (
	"fmt"
	"mime"
	"net/http"

	"postern/event"
	"postern/media"
)

type subjectRequest struct {
	groupTarget

	Subject string `json:"subject" strict:"required"`
}

type subjectAnswer struct {
	GroupJID string `json:"groupJid"`
	Subject  string `json:"subject"`
}

func (a *api) changeSubject(c *call) error {
	var in subjectRequest
	if err := c.decode(&in, maxBody); err != nil {
		return err
	}
	group, err := c.group(in.groupTarget)
	if err != nil {
		return err
	}
	if err := event.CheckSubject(in.Subject); err != nil {
		return err
	}
	account, err := a.accountOf(c)
	if err != nil {
		return err
	}
	if err := account.SetSubject(c.r.Context(), group, in.Subject); err != nil {
		return err
	}
	return c.w.json(http.StatusOK, subjectAnswer{group, in.Subject})
}

// descriptionRequest with an empty description removes it.
type descriptionRequest struct {
	groupTarget

	Description string `json:"description" strict:"required"`
}

type descriptionAnswer struct {
	GroupJID    string `json:"groupJid"`
	Description string `json:"description"`
}

func (a *api) changeDescription(c *call) error {
	var in descriptionRequest
	if err := c.decode(&in, maxBody); err != nil {
		return err
	}
	group, err := c.group(in.groupTarget)
	if err != nil {
		return err
	}
	if err := event.CheckDescription(in.Description); err != nil {
		return err
	}
	account, err := a.accountOf(c)
	if err != nil {
		return err
	}
	if err := account.SetDescription(c.r.Context(), group, in.Description); err != nil {
		return err
	}
	return c.w.json(http.StatusOK, descriptionAnswer{group, in.Description})
}

type settingsRequest struct {
	groupTarget
	event.GroupSettings
}

// settingsAnswer has the settings that were changed.
type settingsAnswer struct {
	GroupJID          string `json:"groupJid"`
	Announce          *bool  `json:"announce,omitempty"`
	Restrict          *bool  `json:"restrict,omitempty"`
	MemberAddMode     *bool  `json:"memberAddMode,omitempty"`
	JoinApprovalMode  *bool  `json:"joinApprovalMode,omitempty"`
	EphemeralDuration *int64 `json:"ephemeralDuration,omitempty"`
}

func (a *api) changeSettings(c *call) error {
	var in settingsRequest
	if err := c.decode(&in, maxBody); err != nil {
		return err
	}
	group, err := c.group(in.groupTarget)
	if err != nil {
		return err
	}
	if err := in.Check(); err != nil {
		return err
	}
	account, err := a.accountOf(c)
	if err != nil {
		return err
	}
	if err := account.ChangeSettings(c.r.Context(), group, in.GroupSettings); err != nil {
		return err
	}
	s := in.GroupSettings
	return c.w.json(http.StatusOK, settingsAnswer{group, s.Announce, s.Restrict, s.MemberAddMode, s.JoinApprovalMode, s.EphemeralDuration})
}

// pictureRequest has the URL of the image, or "" to remove the picture.
type pictureRequest struct {
	groupTarget

	Image string `json:"image" strict:"required"`
}

type pictureAnswer struct {
	GroupJID  string `json:"groupJid"`
	PictureID string `json:"pictureId"` // empty: it was removed
}

func (a *api) changePicture(c *call) error {
	in, f, err := a.readPicture(c)
	if err != nil {
		return err
	}
	if f.path != "" {
		defer media.Remove(event.MediaFile{Path: f.path})
	}
	group, err := c.group(in.groupTarget)
	if err != nil {
		return err
	}
	// Asked for before the image is fetched: an account that is away needs none.
	account, err := a.accountOf(c)
	if err != nil {
		return err
	}
	avatar, err := a.avatar(c, in.Image, f)
	if err != nil {
		return err
	}
	id, err := account.SetGroupPicture(c.r.Context(), group, avatar)
	if err != nil {
		return err
	}
	return c.w.json(http.StatusOK, pictureAnswer{group, id})
}

// readPicture reads either body. Of a form, the file's path is set.
func (a *api) readPicture(c *call) (in pictureRequest, f form, err error) {
	if kind, _, err := mime.ParseMediaType(c.r.Header.Get("Content-Type")); err != nil || kind != "multipart/form-data" {
		err := c.decode(&in, maxBody)
		return in, form{}, err
	}
	f, err = c.readForm(a.Media.Spool, a.MaxMedia, "groupJid")
	in.GroupJID = f.fields["groupJid"]
	return in, f, err
}

// avatar is the JPEG for a picture, nothing for the end of one.
func (a *api) avatar(c *call, url string, f form) ([]byte, error) {
	m := event.Media{Kind: event.MediaImage, URL: url}
	if f.path == "" && url == "" {
		return nil, nil
	}
	if f.path == "" {
		if err := m.CheckUpload(); err != nil {
			return nil, err
		}
	}
	file, remove, err := a.uploadFile(c, m, f)
	if err != nil {
		return nil, fmt.Errorf("image: %w", err)
	}
	defer remove()
	return a.Media.Avatar(c.r.Context(), file)
}
