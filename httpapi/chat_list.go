package httpapi

import (
	"fmt"
	"net/http"

	"postern/event"
	"postern/messages"
)

// contactList and chatList are pages of what is stored of an account.
type contactList struct {
	NextCursor *string            `json:"nextCursor"` // null at the end
	Records    []messages.Contact `json:"records"`
}

type chatList struct {
	NextCursor *string         `json:"nextCursor"` // null at the end
	Records    []messages.Chat `json:"records"`
}

func (a *api) listContacts(c *call) error {
	q, err := c.query([]string{"limit", "nextCursor", "jid", "name"})
	if err != nil {
		return err
	}
	limit, after, err := pageOf(q)
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
	page, err := a.Messages.Contacts(c.r.Context(), c.instance.ID, want)
	if err != nil {
		return err
	}
	if page.Contacts == nil {
		page.Contacts = []messages.Contact{}
	}
	return c.w.json(http.StatusOK, contactList{cursorAt(page.Next), page.Contacts})
}

func (a *api) listChats(c *call) error {
	q, err := c.query([]string{"limit", "nextCursor"})
	if err != nil {
		return err
	}
	limit, before, err := pageOf(q)
	if err != nil {
		return err
	}
	page, next, err := a.Messages.Chats(c.instance.ID, before, limit)
	if err != nil {
		return err
	}
	return c.w.json(http.StatusOK, chatList{cursorAt(next), page})
}
