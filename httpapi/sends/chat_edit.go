package sends

import (
	"fmt"
	"net/http"
	"time"

	"postern/event"
	"postern/httpapi/ref"
	"postern/httpapi/rest"
	"postern/messages"
	"postern/store"
)

// editRequest names the message by one of its two fields.
type editRequest struct {
	MessageID *ref.Message `json:"messageId"`
	ID        *ref.Message `json:"id" doc:"The same as messageId, under its other name." example:"42"`
	Text      string       `json:"text" strict:"required"`
}

func (r editRequest) named() (ref.Message, error) {
	switch {
	case r.MessageID != nil && r.ID == nil:
		return *r.MessageID, nil
	case r.ID != nil && r.MessageID == nil:
		return *r.ID, nil
	}
	return ref.Message{}, rest.InvalidField("give exactly one of messageId and id")
}

// editMessage replaces the text of an own message, first at WhatsApp and then here: the commit that stores the edit
// also changes the stored message.
func (a *API) editMessage(c *rest.Call) error {
	var in editRequest
	if err := c.Decode(&in, rest.MaxBody); err != nil {
		return err
	}
	named, err := in.named()
	if err != nil {
		return err
	}
	m, err := ref.FindToWrite(c, a.Messages, named)
	if err != nil {
		return err
	}
	edit := event.EditContent{Original: *ref.Original(m), Text: in.Text}
	if err := mayEdit(m, edit); err != nil {
		return err
	}
	return a.sendAbout(c, http.StatusOK, edit.Original.Key.RemoteJID, event.Content{Edit: &edit}, func(tx *store.Tx, sent event.Message) error {
		return a.Messages.EditMessage(tx, c.Instance.ID, m.ID, sent.Content)
	})
}

func mayEdit(m event.Message, edit event.EditContent) error {
	switch {
	case !m.KeyFromMe:
		return fmt.Errorf("%w: only messages of the account itself can be edited", event.ErrContent)
	case !messages.Editable(m):
		return fmt.Errorf("%w: a message of type %s has no text to edit", event.ErrContent, m.MessageType)
	}
	switch age := time.Since(time.Unix(m.MessageTimestamp, 0)); {
	case event.IsChannel(edit.Original.Key.RemoteJID):
		if age > event.PostEditWindow {
			return fmt.Errorf("%w: the post is older than %d days, and WhatsApp refuses later edits", event.ErrContent, int(event.PostEditWindow.Hours())/24)
		}
	case age > event.EditWindow:
		return fmt.Errorf("%w: the message is older than %d minutes, and WhatsApp ignores later edits", event.ErrContent, int(event.EditWindow.Minutes()))
	}
	return edit.Check()
}

// deleteMessage deletes a message for everyone at WhatsApp. The message remains stored here, as does a message that
// another person deletes. A message of the account and a post that WhatsApp has deleted are not deleted again. Of
// the messages of others in groups it is not known: an admin's deletion has an effect, others are accepted too.
func (a *API) deleteMessage(c *rest.Call) error {
	q, err := c.Query([]string{"id"})
	if err != nil {
		return err
	}
	id := q.Get("id")
	if id == "" {
		return rest.InvalidQuery("id is required: the id of a stored message, or its key id")
	}
	c.Once.Names(id) // the body says nothing of it
	if err := c.NoBody(); err != nil {
		return err
	}
	m, err := ref.FindToWrite(c, a.Messages, ref.Message{KeyID: id})
	if err != nil {
		return err
	}
	o := ref.Original(m)
	if !m.KeyFromMe && !m.IsGroup && !event.IsChannel(o.Key.RemoteJID) {
		return fmt.Errorf("%w: messages of others can be deleted for everyone only in groups and newsletters, by an admin", event.ErrContent)
	}
	if deleted, err := a.Messages.IsDeleted(c.Instance.ID, m.ID); err != nil {
		return err
	} else if deleted {
		return c.NoContent()
	}
	var mark func(*store.Tx, event.Message) error
	if m.KeyFromMe || event.IsChannel(o.Key.RemoteJID) {
		mark = func(tx *store.Tx, _ event.Message) error { return a.Messages.MarkDeleted(tx, c.Instance.ID, m.ID) }
	}
	return a.sendAbout(c, http.StatusNoContent, o.Key.RemoteJID, event.Content{Delete: &o.Key}, mark)
}
