package instance

import (
	"context"
	"fmt"
	"os"

	"postern/event"
)

// Account is what a connected session can do besides connecting and sending messages.
// Every error of its methods wraps [event.ErrNotConnected], [event.ErrRefused] or
// [event.ErrOutcomeUnknown], or an error that the method names.
type Account interface {
	Files
	Chats
	Groups
	Channels
	Labels
	AppState
	Profile
}

// Files transfers files to and from WhatsApp.
type Files interface {
	// Upload encrypts a file and uploads it to WhatsApp.
	Upload(ctx context.Context, f event.MediaFile) (event.Uploaded, error)
	// Download decrypts the file of a stored message into an empty file, up to limit
	// bytes. If WhatsApp no longer has the file, Download requests it from the account's
	// phone. Further errors: event.ErrNoMedia, event.ErrMediaGone, event.ErrMedia.
	Download(ctx context.Context, m event.Message, to *os.File, limit int64) error
	// DownloadHosted is Download without a request to the phone. It returns the file as WhatsApp has it.
	DownloadHosted(ctx context.Context, m event.Message, to *os.File, limit int64) (event.Uploaded, error)
	// Fetch does the same for a file uploaded by Upload.
	Fetch(ctx context.Context, u event.Uploaded, to *os.File, limit int64) error
}

// Account returns the session of a connected instance. Errors: ErrNotFound,
// event.ErrNotConnected.
func (s *Supervisor) Account(ctx context.Context, id int64) (Account, error) {
	k, err := s.keeper(ctx, id)
	if err != nil {
		return nil, err
	}
	if err := k.session.WrongNetwork(); err != nil {
		return nil, fmt.Errorf("instance %d: %w", id, err)
	}
	if !k.session.Online() {
		return nil, fmt.Errorf("instance %d: %w", id, event.ErrNotConnected)
	}
	return k.session, nil
}
