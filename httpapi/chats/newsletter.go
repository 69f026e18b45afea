package chats

import (
	"fmt"
	"math"
	"net/http"
	"net/url"
	"strconv"

	"postern/event"
	"postern/httpapi/rest"
	"postern/instance"
)

func (a *API) listChannels(c *rest.Call) error {
	if _, err := c.Query(nil); err != nil {
		return err
	}
	return tell(a, c, instance.Account.FollowedChannels)
}

// showChannel finds a newsletter by its JID or by its invite code.
func (a *API) showChannel(c *rest.Call) error {
	q, err := c.Query([]string{"newsletterJid", "inviteCode"})
	if err != nil {
		return err
	}
	if q.Has("newsletterJid") == q.Has("inviteCode") {
		return rest.InvalidQuery("give one of newsletterJid and inviteCode")
	}
	find, err := channelFinder(q)
	if err != nil {
		return err
	}
	account, err := a.account(c)
	if err != nil {
		return err
	}
	found, err := find(c, account)
	if err != nil {
		return err
	}
	return c.Response.JSON(http.StatusOK, found)
}

func channelFinder(q url.Values) (func(*rest.Call, instance.Account) (event.Channel, error), error) {
	if q.Has("inviteCode") {
		code, err := event.ParseChannelInvite(q.Get("inviteCode"))
		return func(c *rest.Call, by instance.Account) (event.Channel, error) {
			return by.InvitedChannel(c.Request.Context(), code)
		}, err
	}
	jid, err := channelJID(q.Get("newsletterJid"))
	return func(c *rest.Call, by instance.Account) (event.Channel, error) {
		return by.Channel(c.Request.Context(), jid)
	}, err
}

func channelJID(text string) (string, error) {
	jid, err := event.ParseChannel(text)
	if err != nil {
		return "", fmt.Errorf("newsletterJid: %w", err)
	}
	return jid, nil
}

type channelRequest struct {
	NewsletterJID string `json:"newsletterJid" strict:"required"`
}

type followAnswer struct {
	NewsletterJID string `json:"newsletterJid"`
	Following     bool   `json:"following" doc:"Whether the account follows it now." example:"true"`
}

// MuteAnswer answers muting.
type MuteAnswer struct {
	NewsletterJID string `json:"newsletterJid"`
	Muted         bool   `json:"muted"`
}

func (a *API) followChannel(c *rest.Call) error   { return a.follow(c, true) }
func (a *API) unfollowChannel(c *rest.Call) error { return a.follow(c, false) }
func (a *API) muteChannel(c *rest.Call) error     { return a.mute(c, true) }
func (a *API) unmuteChannel(c *rest.Call) error   { return a.mute(c, false) }

func (a *API) follow(c *rest.Call, follow bool) error {
	jid, account, err := a.channelOf(c)
	if err != nil {
		return err
	}
	if err := account.FollowChannel(c.Request.Context(), jid, follow); err != nil {
		return err
	}
	return c.Response.JSON(http.StatusOK, followAnswer{jid, follow})
}

func (a *API) mute(c *rest.Call, muted bool) error {
	jid, account, err := a.channelOf(c)
	if err != nil {
		return err
	}
	if err := account.MuteChannel(c.Request.Context(), jid, muted); err != nil {
		return err
	}
	return c.Response.JSON(http.StatusOK, MuteAnswer{jid, muted})
}

// channelOf returns the newsletter that a body names, and the session to ask about it.
func (a *API) channelOf(c *rest.Call) (string, instance.Account, error) {
	var in channelRequest
	if err := c.Decode(&in, rest.MaxBody); err != nil {
		return "", nil, err
	}
	jid, err := channelJID(in.NewsletterJID)
	if err != nil {
		return "", nil, err
	}
	account, err := a.account(c)
	return jid, account, err
}

// maxPosts is the maximum length of a page of posts.
const maxPosts = 100

type postList struct {
	TotalRecords   *int                `json:"totalRecords" doc:"Always null: WhatsApp does not say how many there are."`
	NextCursor     *string             `json:"nextCursor" doc:"The value of before for older posts; null at the end. After a page of 100 it may be empty."`
	PreviousCursor *string             `json:"previousCursor" doc:"Always null."`
	Records        []event.ChannelPost `json:"records" doc:"The posts, newest first."`
}

// listPosts lists the posts of a newsletter, which WhatsApp is asked for.
func (a *API) listPosts(c *rest.Call) error {
	q, err := c.Query([]string{"newsletterJid", "before", "limit"})
	if err != nil {
		return err
	}
	before, err := positive(q, "before", 0, math.MaxInt32)
	if err != nil {
		return err
	}
	limit, err := positive(q, "limit", rest.DefaultLimit, maxPosts)
	if err != nil {
		return err
	}
	jid, err := channelJID(q.Get("newsletterJid"))
	if err != nil {
		return err
	}
	account, err := a.account(c)
	if err != nil {
		return err
	}
	// WhatsApp answers with at most maxPosts: whether more follow a page of as many, only the next one says.
	posts, err := account.ChannelPosts(c.Request.Context(), jid, before, min(limit+1, maxPosts))
	if err != nil {
		return err
	}
	list := postList{Records: posts[:min(len(posts), limit)]}
	for _, post := range list.Records {
		if m := post.Message; m != nil {
			if id, err := a.Messages.Find(c.Instance.ID, m.KeyID, jid); err == nil && id > 0 {
				m.ID = &id
				if stored, err := a.Messages.Message(c.Instance.ID, id); err == nil {
					m.KeyFromMe = stored.KeyFromMe // WhatsApp's list has no sender
				}
			}
		}
	}
	if len(posts) > limit || len(posts) == maxPosts {
		list.NextCursor = event.OrNull(strconv.Itoa(posts[limit-1].ServerID))
	}
	return c.Response.JSON(http.StatusOK, list)
}

// positive reads a number of a query from 1 to most; without it, otherwise.
func positive(q url.Values, name string, otherwise, most int) (int, error) {
	if !q.Has(name) {
		return otherwise, nil
	}
	n, err := strconv.Atoi(q.Get(name))
	if err != nil || n < 1 || n > most {
		return 0, rest.InvalidQuery(fmt.Sprintf("%s must be an integer from 1 to %d", name, most))
	}
	return n, nil
}
