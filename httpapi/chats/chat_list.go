package chats

import (
	"fmt"
	"net/http"

	"postern/event"
	"postern/httpapi/rest"
	"postern/messages"
)

// contactList and chatList are pages of an account's stored contacts and chats.
type contactList struct {
	NextCursor *string            `json:"nextCursor"` // null at the end
	Records    []messages.Contact `json:"records"`
}

type chatList struct {
	NextCursor *string         `json:"nextCursor"` // null at the end
	Records    []messages.Chat `json:"records"`
}

func (a *API) listContacts(c *rest.Call) error {
	q, err := c.Query([]string{"limit", "nextCursor", "jid", "name"})
	if err != nil {
		return err
	}
	limit, after, err := rest.PageOf(q)
	if err != nil {
		return err
	}
	want := messages.ContactQuery{After: after, Limit: limit, Name: q.Get("name")}
	if q.Has("jid") {
		who, err := event.ParseRecipient(q.Get("jid"))
		if err != nil {
			return fmt.Errorf("jid: %w", err)
		}
		want.JID = who.JID()
	}
	page, err := a.Messages.Contacts(c.Request.Context(), c.Instance.ID, want)
	if err != nil {
		return err
	}
	if page.Contacts == nil {
		page.Contacts = []messages.Contact{}
	}
	return c.Response.JSON(http.StatusOK, contactList{rest.CursorAt(page.Next), page.Contacts})
}

func (a *API) listChats(c *rest.Call) error {
	q, err := c.Query([]string{"limit", "nextCursor"})
	if err != nil {
		return err
	}
	limit, before, err := rest.PageOf(q)
	if err != nil {
		return err
	}
	page, next, err := a.Messages.Chats(c.Instance.ID, before, limit)
	if err != nil {
		return err
	}
	return c.Response.JSON(http.StatusOK, chatList{rest.CursorAt(next), page})
}
