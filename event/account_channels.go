package event

import (
	"fmt"
	"strings"
)

// ChannelLinkPrefix stands before the code in a link to a newsletter.
const ChannelLinkPrefix = "https://whatsapp.com/channel/"

// Channel is a newsletter, with the account's role in it.
type Channel struct {
	JID          string `json:"jid"`
	Name         string `json:"name"`
	Description  string `json:"description"`
	InviteCode   string `json:"inviteCode,omitempty"`
	Subscribers  int    `json:"subscribers"`
	Verification string `json:"verification,omitempty"` // verified or unverified
	State        string `json:"state,omitempty"`        // active, suspended or geosuspended
	CreatedAt    Time   `json:"createdAt,omitzero"`

	// The role of the account (owner, admin, subscriber or guest), and whether it
	// muted the channel; unknown when the channel was found by its invite.
	Role  string `json:"role,omitempty"`
	Muted *bool  `json:"muted,omitempty"`
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
