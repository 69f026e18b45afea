package instance

import (
	"context"

	"postern/event"
)

// Profile shows and changes what the account shows of itself, and who sees it. Each change is a step of its
// own at WhatsApp.
type Profile interface {
	Profile(ctx context.Context) (event.Profile, error)
	// SetName's further error is event.ErrStateConflict.
	SetName(ctx context.Context, name string) error
	SetAbout(ctx context.Context, about string) error
	// SetOwnPicture sets a JPEG as the picture and returns its id; nothing removes it.
	SetOwnPicture(ctx context.Context, jpeg []byte) (id string, err error)

	// Privacy asks WhatsApp. SetPrivacy sets the fields that are not empty.
	Privacy(ctx context.Context) (event.Privacy, error)
	SetPrivacy(ctx context.Context, p event.Privacy) error
}
