package event

import (
	"fmt"
	"strings"
)

// NewsletterType is the "type" of news.letter.
type NewsletterType string

// The types of news.letter.
const (
	NewsletterJoin        NewsletterType = "join"
	NewsletterLeave       NewsletterType = "leave"
	NewsletterLiveUpdate  NewsletterType = "live.update"
	NewsletterMessageMeta NewsletterType = "message.meta"
	NewsletterMuteChange  NewsletterType = "mute.change"
)

func (NewsletterType) values() []string {
	return list(NewsletterJoin, NewsletterLeave, NewsletterLiveUpdate, NewsletterMessageMeta, NewsletterMuteChange)
}

// NewsletterUpdate is the data of news.letter.
type NewsletterUpdate struct {
	Type          NewsletterType `json:"type" doc:"What happened."`
	NewsletterJID string         `json:"newsletterJid,omitempty"`
	DateTime      Time           `json:"dateTime"`
	Extra         Extra          `json:"-"`
}

func (n NewsletterUpdate) about() About { return ofChat(n.NewsletterJID, false) }

// MarshalJSON puts the extra keys behind the declared ones.
func (n NewsletterUpdate) MarshalJSON() ([]byte, error) {
	type plain NewsletterUpdate
	return flatten(plain(n), n.Extra)
}

// ChannelLinkPrefix stands before the code in a link to a newsletter.
const ChannelLinkPrefix = "https://whatsapp.com/channel/"

// Channel is a newsletter, with the account's role in it.
type Channel struct {
	JID          string `json:"jid" doc:"The JID of the newsletter." example:"120363012345678901@newsletter"`
	Name         string `json:"name" doc:"Its name." example:"News of the engine"`
	Description  string `json:"description" doc:"Its description." example:"Once a week"`
	InviteCode   string `json:"inviteCode,omitempty"`
	Subscribers  int    `json:"subscribers" doc:"The number of followers." example:"1200" rules:"minimum=0"`
	Verification string `json:"verification,omitempty" doc:"Whether WhatsApp verified it." example:"verified" rules:"enum=verified|unverified"`
	State        string `json:"state,omitempty" doc:"The state of the newsletter." example:"active" rules:"enum=active|suspended|geosuspended"`
	CreatedAt    Time   `json:"createdAt,omitzero"`

	// The role of the account (owner, admin, subscriber or guest), and whether it
	// muted the channel; unknown when the channel was found by its invite.
	Role  string `json:"role,omitempty" doc:"The role of the account; absent when the newsletter was found by its invitation." example:"subscriber" rules:"enum=owner|admin|subscriber|guest"`
	Muted *bool  `json:"muted,omitempty"`
}

// ChannelPost is a post of a newsletter, with what its readers did.
type ChannelPost struct {
	ServerID  int               `json:"serverId" doc:"The newsletter's number of the post." example:"142"`
	Views     int               `json:"views" doc:"How many people saw it." example:"1200" rules:"minimum=0"`
	Reactions []ChannelReaction `json:"reactions" doc:"The reactions, the most frequent first."`
	Message   *PostedMessage    `json:"message" doc:"The post, in the form of a stored message; null if it was deleted or cannot be read."`
}

// PostedMessage is a post that may be stored.
type PostedMessage struct {
	ID *int64 `json:"id" doc:"The id of the stored message; null if it is not stored here." example:"42"`
	Message
}

// ChannelReaction is how many people reacted to a post with an emoji.
type ChannelReaction struct {
	Emoji string `json:"emoji" doc:"The reaction." example:"👍"`
	Count int    `json:"count" doc:"How many people chose it." example:"31" rules:"minimum=0"`
}

// ParseChannel reads the JID of a newsletter. The error wraps ErrRecipient.
func ParseChannel(s string) (string, error) {
	user, server, _ := strings.Cut(s, "@")
	if server != NewsletterServer || !allDigits(user) {
		return "", fmt.Errorf("%w: the JID of a newsletter has digits before @newsletter", ErrRecipient)
	}
	return s, nil
}

// ParseChannelInvite returns the code of a newsletter, given alone or as a
// link. The error wraps ErrArgument.
func ParseChannelInvite(s string) (string, error) {
	code := strings.TrimPrefix(s, ChannelLinkPrefix)
	if !isCode(code) {
		return "", fmt.Errorf("%w: inviteCode must be a code of letters, digits, - and _, or the link that ends in it", ErrArgument)
	}
	return code, nil
}
