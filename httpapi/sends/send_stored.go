package sends

import (
	"net/http"

	"postern/event"
	"postern/httpapi/ref"
	"postern/httpapi/rest"
	"postern/httpapi/strict"
	"postern/store"
)

// The sends that refer to a stored message, and the status.

func (a *API) sendForward(c *rest.Call) error {
	var in sendForwardRequest
	if err := c.Decode(&in, rest.MaxBody); err != nil {
		return err
	}
	to, err := in.Destination()
	if err == nil {
		err = c.MayWriteTo(to.JID())
	}
	if err == nil {
		err = c.MayShow("messageId") // before the answer says whether it is there
	}
	if err != nil {
		return err
	}
	m, err := ref.Find(a.Messages, c.Instance.ID, in.MessageID)
	if err != nil {
		return err
	}
	return a.sendContent(c, &in.sendTarget, event.Content{Forward: ref.Original(m)})
}

func (a *API) sendStatus(c *rest.Call) error {
	var in sendStatusRequest
	given, err := a.decode(c, &in, 1)
	if err != nil {
		return err
	}
	defer given.Discard()
	content, err := in.StatusMessage.Content()
	if err != nil {
		return strict.Under(err, "statusMessage")
	}
	audience, err := in.StatusMessage.audience(c)
	if err != nil {
		return err
	}
	if err := a.attach(c, given, content); err != nil {
		return err
	}
	defer detach(content)
	if err := ref.CheckUpload(c, a.Media, c.Instance.ID, content.Media); err != nil {
		return err
	}
	options := sendOptions{ExternalAttributes: in.Options.ExternalAttributes}
	when, err := in.Options.when(a.Store.Now())
	if err != nil {
		return err
	}
	if err := a.Store.Admit(); err != nil {
		return err
	}
	out := event.Outgoing{ID: a.NewMessageID(), To: event.StatusBroadcast, Content: content, Audience: audience}
	if when != nil {
		return a.schedule(c, out, options.attributes(), when)
	}
	return a.sendNow(c, http.StatusOK, out, options.attributes(), nil)
}

// sendAbout sends content that no option changes.
func (a *API) sendAbout(c *rest.Call, status int, to string, content event.Content, also func(*store.Tx, event.Message) error) error {
	if err := a.Store.Admit(); err != nil {
		return err
	}
	return a.sendNow(c, status, event.Outgoing{ID: a.NewMessageID(), To: to, Content: content}, nil, also)
}
