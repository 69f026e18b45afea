package instance

import (
	"context"

	"postern/event"
)

// Channels is what the account does with newsletters, which WhatsApp's
// clients call channels. A newsletter is given by its JID.
type Channels interface {
	// FollowedChannels are those that the account follows or owns.
	FollowedChannels(ctx context.Context) ([]event.Channel, error)
	Channel(ctx context.Context, channel string) (event.Channel, error)
	// InvitedChannel finds a newsletter by the code of its link.
	InvitedChannel(ctx context.Context, code string) (event.Channel, error)

	// FollowChannel follows or unfollows.
	FollowChannel(ctx context.Context, channel string, follow bool) error
	// MuteChannel has an effect on newsletters that are followed.
	MuteChannel(ctx context.Context, channel string, muted bool) error
}
