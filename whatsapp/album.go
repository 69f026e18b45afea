package whatsapp

import (
	"context"
	"fmt"

	"go.mau.fi/whatsmeow/proto/waE2E"

	"postern/event"
	"postern/whatsapp/translate"
)

// composeAlbum builds the message that begins an album, and uploads its files: when one of them cannot be sent,
// nothing is.
func (fs *Files) composeAlbum(ctx context.Context, a *event.AlbumContent) (*waE2E.Message, error) {
	var images, videos uint32
	for i, m := range a.Files {
		u, err := fs.uploaded(ctx, m)
		if err != nil {
			return nil, fmt.Errorf("items[%d]: %w", i, err)
		}
		if !m.Shared {
			m.Done = &u
		}
		if m.Kind == event.MediaVideo {
			videos++
		} else {
			images++
		}
	}
	return &waE2E.Message{AlbumMessage: &waE2E.AlbumMessage{ExpectedImageCount: &images, ExpectedVideoCount: &videos}}, nil
}

// associate makes a message part of the album that another message of the account began.
func associate(m *waE2E.Message, own translate.Account, out event.Outgoing) error {
	key, err := wireKey(own, event.MessageKey{RemoteJID: out.To, FromMe: true, ID: out.Album})
	if err != nil {
		return err
	}
	if m.MessageContextInfo == nil {
		m.MessageContextInfo = &waE2E.MessageContextInfo{}
	}
	m.MessageContextInfo.MessageAssociation = &waE2E.MessageAssociation{
		AssociationType: waE2E.MessageAssociation_MEDIA_ALBUM.Enum(), ParentMessageKey: key,
	}
	return nil
}
