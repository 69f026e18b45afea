package httpapi

import (
	"fmt"
	"net/http"

	"postern/event"
	"postern/instance"
)

func (a *api) listLabels(c *call) error {
	if _, err := c.query(nil); err != nil {
		return err
	}
	return tell(a, c, instance.Account.Labels)
}

type createLabelRequest struct {
	Name  string `json:"name" strict:"required"`
	Color int64  `json:"color"`
}

func (a *api) createLabel(c *call) error {
	var in createLabelRequest
	if err := c.decode(&in, maxBody); err != nil {
		return err
	}
	wish := event.LabelChange{Name: &in.Name, Color: &in.Color}
	if err := wish.Check(); err != nil {
		return err
	}
	account, err := a.account(c)
	if err != nil {
		return err
	}
	ctx, done := c.patience()
	defer done()
	if err := c.begin(); err != nil {
		return err
	}
	made, err := account.CreateLabel(ctx, in.Name, int(in.Color))
	if err != nil {
		return err
	}
	return c.w.json(http.StatusCreated, made)
}

type editLabelRequest struct {
	LabelID string `json:"labelId" strict:"required"`
	event.LabelChange
}

func (a *api) editLabel(c *call) error {
	var in editLabelRequest
	if err := c.decode(&in, maxBody); err != nil {
		return err
	}
	if err := event.CheckLabelID(in.LabelID); err != nil {
		return err
	}
	if err := in.Check(); err != nil {
		return err
	}
	account, err := a.account(c)
	if err != nil {
		return err
	}
	changed, err := account.EditLabel(c.r.Context(), in.LabelID, in.LabelChange)
	if err != nil {
		return err
	}
	return c.w.json(http.StatusOK, changed)
}

// deletedLabel is the label as it was.
type deletedLabel struct {
	event.Label

	Deleted bool `json:"deleted"`
}

func (a *api) deleteLabel(c *call) error {
	if err := c.noBody(); err != nil {
		return err
	}
	q, err := c.query([]string{"labelId"})
	if err != nil {
		return err
	}
	if !q.Has("labelId") {
		return invalidQuery("labelId is required")
	}
	id := q.Get("labelId")
	if err := event.CheckLabelID(id); err != nil {
		return err
	}
	account, err := a.account(c)
	if err != nil {
		return err
	}
	gone, err := account.DeleteLabel(c.r.Context(), id)
	if err != nil {
		return err
	}
	return c.w.json(http.StatusOK, deletedLabel{gone, true})
}

type labelChatRequest struct {
	LabelID string `json:"labelId" strict:"required"`
	Chat    string `json:"chat" strict:"required"`
}

type labelChatAnswer struct {
	LabelID string `json:"labelId"`
	ChatJID string `json:"chatJid"`
	Labeled bool   `json:"labeled"`
}

func (a *api) assignLabel(c *call) error   { return a.labelChat(c, true) }
func (a *api) unassignLabel(c *call) error { return a.labelChat(c, false) }

func (a *api) labelChat(c *call, labeled bool) error {
	var in labelChatRequest
	if err := c.decode(&in, maxBody); err != nil {
		return err
	}
	if err := event.CheckLabelID(in.LabelID); err != nil {
		return err
	}
	chat, err := event.ParseChat(in.Chat)
	if err != nil {
		return fmt.Errorf("chat: %w", err)
	}
	account, err := a.account(c)
	if err != nil {
		return err
	}
	if err := account.LabelChat(c.r.Context(), in.LabelID, chat.JID(), labeled); err != nil {
		return err
	}
	return c.w.json(http.StatusOK, labelChatAnswer{in.LabelID, chat.JID(), labeled})
}
