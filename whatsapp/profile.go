package whatsapp

import (
	"context"
	"errors"

	"go.mau.fi/whatsmeow"
	"go.mau.fi/whatsmeow/appstate"
	"go.mau.fi/whatsmeow/types"

	"postern/event"
)

// Self shows and changes what the account shows of itself, and who sees it. It implements instance.Profile.
type Self struct {
	calls *calls
	state *AppState
}

// Profile implements instance.Profile.
func (ps *Self) Profile(ctx context.Context) (p event.Profile, err error) {
	own := ps.calls.conn.self()
	jid := own.JID.ToNonAD()
	err = ps.calls.ask(ctx, "show the profile", func(ctx context.Context, cli *whatsmeow.Client) error {
		p = event.Profile{JID: jid.String(), Name: cli.Store.PushName}
		if lid := own.LID.ToNonAD(); !lid.IsEmpty() {
			p.LID = new(lid.String())
		}
		infos, err := cli.GetUserInfo(ctx, []types.JID{jid})
		if err != nil {
			return err
		}
		p.About = event.OrNull(infos[jid].Status)
		picture, err := cli.GetProfilePictureInfo(ctx, jid, nil)
		switch {
		case errors.Is(err, whatsmeow.ErrProfilePictureNotSet):
			return nil
		case err == nil && picture != nil:
			p.PictureID, p.PictureURL = &picture.ID, &picture.URL
		}
		return err
	})
	return p, err
}

// SetName implements instance.Profile.
func (ps *Self) SetName(ctx context.Context, name string) error {
	return ps.state.change(ctx, "change the name", appstate.BuildSettingPushName(name))
}

// SetAbout implements instance.Profile.
func (ps *Self) SetAbout(ctx context.Context, about string) error {
	return ps.calls.ask(ctx, "change the about text", func(ctx context.Context, cli *whatsmeow.Client) error {
		return cli.SetStatusMessage(ctx, types.SetStatusInput{Text: &about})
	})
}

// SetOwnPicture implements instance.Profile.
func (ps *Self) SetOwnPicture(ctx context.Context, jpeg []byte) (id string, err error) {
	if len(jpeg) == 0 {
		jpeg = nil // removes
	}
	err = ps.calls.ask(ctx, "change the picture", func(ctx context.Context, cli *whatsmeow.Client) (err error) {
		id, err = cli.SetGroupPhoto(ctx, types.EmptyJID, jpeg)
		return err
	})
	if jpeg == nil {
		id = ""
	}
	return id, err
}

// Privacy implements instance.Profile.
func (ps *Self) Privacy(ctx context.Context) (p event.Privacy, err error) {
	err = ps.calls.ask(ctx, "show the privacy settings", func(ctx context.Context, cli *whatsmeow.Client) error {
		s, err := cli.TryFetchPrivacySettings(ctx, true)
		if err == nil {
			p = event.Privacy{
				GroupAdd: string(s.GroupAdd), LastSeen: string(s.LastSeen), Status: string(s.Status), Profile: string(s.Profile),
				ReadReceipts: string(s.ReadReceipts), Online: string(s.Online), CallAdd: string(s.CallAdd),
			}
		}
		return err
	})
	return p, err
}

// SetPrivacy implements instance.Profile.
func (ps *Self) SetPrivacy(ctx context.Context, p event.Privacy) error {
	for _, s := range event.PrivacySettings() {
		value := *s.Of(&p)
		if value == "" {
			continue
		}
		err := ps.calls.ask(ctx, "change the privacy setting "+s.Name, func(ctx context.Context, cli *whatsmeow.Client) error {
			_, err := cli.SetPrivacySetting(ctx, types.PrivacySettingType(s.Wire), types.PrivacySetting(value))
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}
