package instance

import (
	"context"

	"postern/event"
)

// Channels is the account's use of newsletters, which WhatsApp's clients call channels. A
// newsletter is identified by its JID.
type Channels interface {
	// FollowedChannels returns the newsletters that the account follows or owns.
	FollowedChannels(ctx context.Context) ([]event.Channel, error)
	Channel(ctx context.Context, channel string) (event.Channel, error)
	// InvitedChannel finds a newsletter by the code of its link.
	InvitedChannel(ctx context.Context, code string) (event.Channel, error)

	// ChannelPosts returns at most limit posts of a newsletter, the newest first, or those before the
	// one with a number.
	ChannelPosts(ctx context.Context, channel string, before, limit int) ([]event.ChannelPost, error)

	// FollowChannel follows or unfollows.
	FollowChannel(ctx context.Context, channel string, follow bool) error
	// MuteChannel affects only followed newsletters.
	MuteChannel(ctx context.Context, channel string, muted bool) error
}
