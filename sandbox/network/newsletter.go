package network

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	waBinary "go.mau.fi/whatsmeow/binary"
	"go.mau.fi/whatsmeow/types"
)

// channel is a newsletter as stored by an account that follows it. There is no other
// record: one without followers is forgotten. Like a number, a well-formed address
// always names a channel.
type channel struct {
	Name        string `json:"name,omitempty"`
	Description string `json:"description,omitempty"`
	Created     int64  `json:"created"` // Unix seconds
	Muted       bool   `json:"muted,omitempty"`
	Owned       bool   `json:"owned,omitempty"`
	Admin       bool   `json:"admin,omitempty"` // and not the owner
}

// invitePrefix begins the invite code of every channel; the channel's number follows.
const invitePrefix = "SBX"

// ChannelAddress returns the address of a channel of this name, always the same.
func ChannelAddress(name string) types.JID {
	sum := sha256.Sum256([]byte("sandbox newsletter " + name))
	return types.NewJID(fmt.Sprintf("120363%012d", binary.BigEndian.Uint64(sum[:])%1e12), types.NewsletterServer)
}

// ParseChannel parses the address of a channel.
func ParseChannel(text string) (jid types.JID, ok bool) {
	jid, err := types.ParseJID(text)
	return jid, err == nil && jid.Server == types.NewsletterServer && digits(jid.User)
}

// Follow makes an account follow a channel in a role, with an optional name and description, and
// notifies its devices. An empty role leaves it as it is. Errors: ErrClosed, phone.ErrNoAccount.
func (s *Server) Follow(of, channel types.JID, name, description string, role types.NewsletterRole) error {
	return s.with(of, func(a *account) {
		c, _ := s.channelFor(a, channel)
		if role != "" {
			c.Owned, c.Admin = role == types.NewsletterRoleOwner, role == types.NewsletterRoleAdmin
		}
		if name != "" {
			c.Name = name
		}
		if description != "" {
			c.Description = description
		}
		s.follow(a, nil, channel, c)
	})
}

// Unfollow reverses Follow. Errors: ErrClosed, phone.ErrNoAccount.
func (s *Server) Unfollow(of, channel types.JID) error {
	return s.with(of, func(a *account) { s.unfollow(a, nil, channel) })
}

// MuteChannel mutes or unmutes a channel for an account, and notifies its devices.
// Errors: ErrClosed, phone.ErrNoAccount.
func (s *Server) MuteChannel(of, channel types.JID, muted bool) error {
	return s.with(of, func(a *account) { s.muteChannel(a, nil, channel, muted) })
}

// UpdateChannel notifies an account's devices of the new counts of a channel's message.
// Errors: ErrClosed, phone.ErrNoAccount.
func (s *Server) UpdateChannel(of, channel types.JID, message waBinary.Node) error {
	return s.with(of, func(a *account) {
		s.notify(a, "newsletter", channel, nil, waBinary.Node{Tag: "live_updates", Content: []waBinary.Node{message}})
	})
}

// channelFor returns a channel as the account sees it, and its number of followers. The
// caller holds s.mu.
func (s *Server) channelFor(a *account, jid types.JID) (c channel, followers int) {
	c = channel{Name: "Channel " + jid.User}
	for _, other := range s.byPN {
		followed, ok := other.profile.Channels[jid.User]
		if !ok {
			continue
		}
		followers++
		if !a.follows(jid) {
			c = channel{Name: followed.Name, Description: followed.Description, Created: followed.Created}
		}
	}
	if own, ok := a.profile.Channels[jid.User]; ok {
		c = own
	}
	return c, followers
}

func (a *account) follows(jid types.JID) bool {
	_, ok := a.profile.Channels[jid.User]
	return ok
}

// followed lists the channels of an account by number.
func (a *account) followed() []types.JID {
	var list []types.JID
	for _, user := range slices.Sorted(maps.Keys(a.profile.Channels)) {
		list = append(list, types.NewJID(user, types.NewsletterServer))
	}
	return list
}

// follow adds a channel and notifies the account's other devices.
func (s *Server) follow(a *account, by *device, jid types.JID, c channel) {
	if c.Created == 0 {
		c.Created = time.Now().Unix()
	}
	if a.profile.Channels == nil {
		a.profile.Channels = map[string]channel{}
	}
	a.profile.Channels[jid.User] = c
	s.persist.account(a)
	s.mex(a, by, "NotificationNewsletterJoin", "xwa2_notify_newsletter_on_join", s.channelData(a, jid, true))
}

// unfollow removes a channel and notifies the account's other devices.
func (s *Server) unfollow(a *account, by *device, jid types.JID) {
	delete(a.profile.Channels, jid.User)
	s.persist.account(a)
	s.mex(a, by, "NotificationNewsletterLeave", "xwa2_notify_newsletter_on_leave", map[string]any{"id": jid.String(), "role": "guest"})
}

// muteChannel notifies the account's other devices; only a followed channel stays
// muted.
func (s *Server) muteChannel(a *account, by *device, jid types.JID, muted bool) {
	if c, ok := a.profile.Channels[jid.User]; ok {
		c.Muted = muted
		a.profile.Channels[jid.User] = c
		s.persist.account(a)
	}
	s.mex(a, by, "NotificationNewsletterMuteChange", "xwa2_notify_newsletter_on_mute_change",
		map[string]any{"id": jid.String(), "mute": strings.ToUpper(muteState(muted))})
}

func muteState(muted bool) string {
	if muted {
		return "on"
	}
	return "off"
}

// channelData is a channel in the network's JSON; viewer adds its relation to the
// account.
func (s *Server) channelData(a *account, jid types.JID, viewer bool) map[string]any {
	c, followers := s.channelFor(a, jid)
	created := strconv.FormatInt(c.Created, 10)
	text := func(text string) map[string]any {
		return map[string]any{"text": text, "id": "1", "update_time": created + "000000"}
	}
	data := map[string]any{
		"id":    jid.String(),
		"state": map[string]any{"type": "ACTIVE"},
		"thread_metadata": map[string]any{
			"creation_time": created, "invite": invitePrefix + jid.User, "name": text(c.Name), "description": text(c.Description),
			"subscribers_count": strconv.Itoa(followers), "verification": "UNVERIFIED",
			"settings": map[string]any{"reaction_codes": map[string]any{"value": "all"}},
		},
	}
	if viewer {
		data["viewer_metadata"] = map[string]any{"mute": muteState(c.Muted), "role": a.role(jid)}
	}
	return data
}

func (a *account) role(jid types.JID) types.NewsletterRole {
	c, ok := a.profile.Channels[jid.User]
	switch {
	case !ok:
		return types.NewsletterRoleGuest
	case c.Owned:
		return types.NewsletterRoleOwner
	case c.Admin:
		return types.NewsletterRoleAdmin
	default:
		return types.NewsletterRoleSubscriber
	}
}
