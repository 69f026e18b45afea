package httpapi

import (
	"fmt"
	"net/http"
	"time"

	"postern/event"
	"postern/messages"
	"postern/store"
)

// editRequest names the message by one of its two fields.
type editRequest struct {
	MessageID *messageRef `json:"messageId"`
	ID        *messageRef `json:"id"`
	Text      string      `json:"text" strict:"required"`
}

func (r editRequest) ref() (messageRef, error) {
	switch {
	case r.MessageID != nil && r.ID == nil:
		return *r.MessageID, nil
	case r.ID != nil && r.MessageID == nil:
		return *r.ID, nil
	}
	return messageRef{}, invalidField("give exactly one of messageId and id")
}

// editMessage replaces the text of an own message, at WhatsApp and then here:
// the commit that stores the edit changes the stored message too.
func (a *api) editMessage(c *call) error {
	var in editRequest
	if err := c.decode(&in, maxBody); err != nil {
		return err
	}
	ref, err := in.ref()
	if err != nil {
		return err
	}
	m, err := a.message(c.instance.ID, ref)
	if err != nil {
		return err
	}
	edit := event.EditContent{Original: *originalOf(m), Text: in.Text}
	if err := mayEdit(m, edit); err != nil {
		return err
	}
	return a.sendAbout(c, http.StatusOK, edit.Original.Key.RemoteJID, event.Content{Edit: &edit}, nil, func(tx *store.Tx, sent event.Message) error {
		return a.Messages.EditMessage(tx, c.instance.ID, m.ID, sent.Content)
	})
}

func mayEdit(m event.Message, edit event.EditContent) error {
	switch {
	case !m.KeyFromMe:
		return fmt.Errorf("%w: only messages of the account itself can be edited", event.ErrContent)
	case !messages.Editable(m):
		return fmt.Errorf("%w: a message of type %s has no text to edit", event.ErrContent, m.MessageType)
	case time.Since(time.Unix(m.MessageTimestamp, 0)) > event.EditWindow:
		return fmt.Errorf("%w: the message is older than %d minutes, and WhatsApp ignores later edits", event.ErrContent, int(event.EditWindow.Minutes()))
	}
	return edit.Check()
}

// deleteMessage deletes a message for everyone at WhatsApp. The message stays
// stored here, as one that somebody else deletes does.
func (a *api) deleteMessage(c *call) error {
	q, err := c.query([]string{"id"})
	if err != nil {
		return err
	}
	id := q.Get("id")
	if id == "" {
		return invalidQuery("id is required: the id of a stored message, or its key id")
	}
	c.once.Names(id) // the body says nothing of it
	if err := c.noBody(); err != nil {
		return err
	}
	m, err := a.messageByText(c.instance.ID, id)
	if err != nil {
		return err
	}
	o := originalOf(m)
	if !m.KeyFromMe && !m.IsGroup {
		return fmt.Errorf("%w: messages of others can be deleted for everyone only in groups, by an admin", event.ErrContent)
	}
	return a.sendAbout(c, http.StatusNoContent, o.Key.RemoteJID, event.Content{Delete: &o.Key}, nil, nil)
}
