package instance

import (
	"context"
	"fmt"
	"os"

	"postern/event"
)

// Account is what a connected session can do besides connecting and sending
// messages. Every error of its methods wraps one of [event.ErrNotConnected],
// [event.ErrRefused] and [event.ErrOutcomeUnknown], or one that the method
// names.
type Account interface {
	Files
	Chats
	Groups
	Channels
	Labels
	AppState
}

// Files brings files to WhatsApp and back.
type Files interface {
	// Upload encrypts a file and brings it to WhatsApp.
	Upload(ctx context.Context, f event.MediaFile) (event.Uploaded, error)
	// Download writes the file of a stored message, decrypted, to an empty
	// file; it may have at most limit bytes. What WhatsApp does not have any
	// more is asked of the account's phone. Errors: event.ErrNoMedia,
	// event.ErrMediaGone and event.ErrMedia too.
	Download(ctx context.Context, m event.Message, to *os.File, limit int64) error
	// Fetch does the same for a file that Upload brought to WhatsApp.
	Fetch(ctx context.Context, u event.Uploaded, to *os.File, limit int64) error
}

// Account returns the session of an instance that is connected now. Errors:
// ErrNotFound, event.ErrNotConnected.
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
