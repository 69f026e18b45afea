package chats

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"unicode/utf8"

	"postern/event"
	"postern/httpapi/rest"
	"postern/instance"
)

func (a *API) showProfile(c *rest.Call) error { return tell(a, c, instance.Account.Profile) }

// profileRequest has the changes of a profile. Absent fields change nothing.
type profileRequest struct {
	Name    *string    `json:"name"`
	About   *string    `json:"about"`
	Picture PictureURL `json:"picture"`
}

// PictureURL is the URL of a picture, or null; nothing if it is absent.
type PictureURL json.RawMessage

// UnmarshalJSON implements [json.Unmarshaler].
func (u *PictureURL) UnmarshalJSON(raw []byte) error {
	var url *string
	if err := json.Unmarshal(raw, &url); err != nil {
		return errors.New("a URL or null")
	}
	*u = slices.Clone(raw)
	return nil
}

// TakesNull implements [strict.NullTaker].
func (*PictureURL) TakesNull() {}

func (r *profileRequest) check() error {
	length := func(text *string, least, most int, name string) error {
		if text == nil {
			return nil
		}
		if n := utf8.RuneCountInString(*text); n < least || n > most {
			return rest.InvalidField(fmt.Sprintf("%s has %d characters and must have %d to %d", name, n, least, most))
		}
		return nil
	}
	if r.Name == nil && r.About == nil && r.Picture == nil {
		return rest.InvalidField("give at least one of name, about and picture")
	}
	if err := length(r.Name, 1, event.MaxProfileName, "name"); err != nil {
		return err
	}
	return length(r.About, 0, event.MaxProfileAbout, "about")
}

// picture returns the request of a picture, nil if it stays as it is.
func (r *profileRequest) picture() (*pictureRequest, error) {
	if r.Picture == nil {
		return nil, nil //nolint:nilnil // most changes have none
	}
	in := pictureRequest{Image: new("")} // null removes it
	if string(r.Picture) == "null" {
		return &in, nil
	}
	if err := json.Unmarshal(r.Picture, in.Image); err != nil || *in.Image == "" {
		return nil, rest.InvalidField("picture must be the URL of an image or the image in base64; null removes it")
	}
	return &in, nil
}

// ProfileStep is the result of one change.
type ProfileStep struct {
	OK        bool    `json:"ok" doc:"Whether it was changed." example:"true"`
	PictureID *string `json:"pictureId,omitempty" doc:"WhatsApp's id of the new picture; empty when it was removed." example:"1709294400"`
	Code      string  `json:"code,omitempty" doc:"The error code, when it was not changed." example:"REFUSED_BY_WHATSAPP"`
}

// ChangedProfile has the result of each change that was requested.
type ChangedProfile struct {
	Name    *ProfileStep `json:"name,omitempty" doc:"The change of the name."`
	About   *ProfileStep `json:"about,omitempty" doc:"The change of the text about the account."`
	Picture *ProfileStep `json:"picture,omitempty" doc:"The change of the picture."`
}

// changeProfile checks all changes, and makes them one by one. The answer is an error if none could be made.
func (a *API) changeProfile(c *rest.Call) error {
	var in profileRequest
	if err := c.Decode(&in, rest.MaxBody); err != nil {
		return err
	}
	if err := in.check(); err != nil {
		return err
	}
	picture, err := in.picture()
	if err != nil {
		return err
	}
	account, err := a.account(c)
	if err != nil {
		return err
	}
	var avatar []byte
	if picture != nil {
		if avatar, err = a.avatar(c, account, "picture", *picture, rest.Form{}); err != nil {
			return err
		}
	}
	var out ChangedProfile
	var failed error
	changed := false
	step := func(into **ProfileStep, do func(context.Context, *ProfileStep) error) {
		s := &ProfileStep{}
		if err := do(c.Request.Context(), s); err != nil {
			failed = err
			r, _ := c.AnswerTo(err)
			*s = ProfileStep{Code: r.Code}
		} else {
			s.OK, changed = true, true
		}
		*into = s
	}
	if in.Name != nil {
		step(&out.Name, func(ctx context.Context, _ *ProfileStep) error { return account.SetName(ctx, *in.Name) })
	}
	if in.About != nil {
		step(&out.About, func(ctx context.Context, _ *ProfileStep) error { return account.SetAbout(ctx, *in.About) })
	}
	if picture != nil {
		step(&out.Picture, func(ctx context.Context, s *ProfileStep) error {
			id, err := account.SetOwnPicture(ctx, avatar)
			s.PictureID = &id
			return err
		})
	}
	if !changed {
		return failed
	}
	return c.Response.JSON(http.StatusOK, out)
}

func (a *API) showPrivacy(c *rest.Call) error { return tell(a, c, instance.Account.Privacy) }

// changePrivacy sets some settings and answers with all.
func changePrivacy(c *rest.Call, account instance.Account, in *event.Privacy) (event.Privacy, error) {
	if err := account.SetPrivacy(c.Request.Context(), *in); err != nil {
		return event.Privacy{}, err
	}
	return account.Privacy(c.Request.Context())
}
