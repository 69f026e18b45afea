package files

import (
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"postern/event"
	"postern/httpapi/rest"
	"postern/media/display"
	"postern/media/link"
	"postern/messages"
)

// LinkLife is the range of expiresIn of a link.
func LinkLife() rest.Lifetime { return rest.Lifetime{Least: 60, Most: 31_536_000} }

const maxAge = time.Hour // that a browser may keep a file of a link

// errNoFile answers every token that opens nothing, whatever the reason.
func errNoFile() error {
	return rest.Refuse(http.StatusNotFound, rest.CodeNotFound, "there is no such file")
}

// showFile answers with the file of a message of the instance.
func (a *API) showFile(c *rest.Call) error {
	guard(c.Response.Header())
	attached, err := wantsDownload(c)
	if err != nil {
		return err
	}
	m, f, err := a.fileOf(c)
	if err != nil {
		return err
	}
	return a.serve(c, &subject{instance: c.Instance.ID, message: m, file: f, age: "private, no-cache", attached: attached})
}

// wantsDownload reads the query of the header route.
func wantsDownload(c *rest.Call) (bool, error) {
	q, err := c.Query([]string{"download"})
	if err != nil || !q.Has("download") {
		return false, err
	}
	if q.Get("download") == "1" {
		return true, nil
	}
	return rest.QueryFlag(q, "download")
}

// fileOf returns the message of a path, and its file.
func (a *API) fileOf(c *rest.Call) (m event.Message, f display.File, err error) {
	if m, err = a.messageOf(c); err == nil {
		f, err = display.Of(&m)
	}
	return m, f, err
}

// messageOf returns the message of a path. Senders choose key ids, so these name none.
func (a *API) messageOf(c *rest.Call) (event.Message, error) {
	text := c.Params.ByName("id")
	id, err := strconv.ParseInt(text, 10, 64)
	if err != nil || id < 1 || strconv.FormatInt(id, 10) != text {
		return event.Message{}, fmt.Errorf("%w: the path takes the integer id of a stored message", messages.ErrNoMessage)
	}
	return a.Messages.Message(c.Instance.ID, id)
}

// showLinked answers with the file of a link. Its query is not checked, since whatever
// opens links may add to it.
func (a *API) showLinked(c *rest.Call) error {
	guardPublic(c.Response.Header())
	claim, err := a.Links.Read(c.Params.ByName("token"))
	if errors.Is(err, link.ErrInvalid) {
		return errNoFile()
	}
	if err != nil {
		return err
	}
	m, err := a.Messages.Message(claim.Instance, claim.Message)
	if errors.Is(err, messages.ErrNoMessage) {
		return errNoFile()
	}
	if err != nil {
		return err
	}
	left := claim.Expires.Sub(a.Store.Now())
	if left <= 0 {
		return rest.Refuse(http.StatusGone, "LINK_EXPIRED", "the link has expired")
	}
	f, err := display.Of(&m)
	if err != nil {
		return err
	}
	download := c.Request.URL.Query().Get("download")
	return a.serve(c, &subject{
		instance: claim.Instance, message: m, file: f, attached: download == "1" || download == "true",
		age: fmt.Sprintf("private, max-age=%d", int(min(left, maxAge).Seconds())),
	})
}

type linkRequest struct {
	ExpiresIn *int64 `json:"expiresIn"` // seconds
}

// makeLink returns a link to the file of a message.
func (a *API) makeLink(c *rest.Call) error {
	var in linkRequest
	if err := c.Decode(&in, rest.MaxBody); err != nil {
		return err
	}
	life := a.LinkTTL
	if in.ExpiresIn != nil {
		if err := LinkLife().Check(*in.ExpiresIn); err != nil {
			return err
		}
		life = time.Duration(*in.ExpiresIn) * time.Second
	}
	m, f, err := a.fileOf(c)
	if err != nil {
		return err
	}
	until := a.Store.Now().Add(life).Truncate(time.Second)
	token, err := a.Links.New(link.Claim{Instance: c.Instance.ID, Message: m.ID, Expires: until})
	if err != nil {
		return err
	}
	return c.Response.JSON(http.StatusCreated, f.Link(c.PublicURL(), token, until))
}

// dropFile removes the kept file of a message. The message stays.
func (a *API) dropFile(c *rest.Call) error {
	m, err := a.messageOf(c)
	if err != nil {
		return err
	}
	key := (&subject{instance: c.Instance.ID, message: m}).key()
	if err := a.Kept.Delete(c.Request.Context(), key); err != nil {
		return err
	}
	a.Cache.Drop(key)
	return c.NoContent()
}

type revokedLinks struct {
	InstanceName string     `json:"instanceName"`
	RevokedAt    event.Time `json:"revokedAt" doc:"When the earlier links became invalid." example:"$time"`
}

// revokeLinks makes the links of the instance invalid that were made before.
func (a *API) revokeLinks(c *rest.Call) error {
	if err := c.Decode(&struct{}{}, rest.MaxBody); err != nil {
		return err
	}
	at, err := a.Links.Revoke(c.Request.Context(), c.Instance.ID)
	if err != nil {
		return err
	}
	return c.Response.JSON(http.StatusOK, revokedLinks{c.Instance.Name, at})
}
