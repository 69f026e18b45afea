package chats

import (
	"fmt"
	"net/http"

	"postern/event"
	"postern/httpapi/rest"
	"postern/instance"
)

func (a *API) listLabels(c *rest.Call) error {
	if _, err := c.Query(nil); err != nil {
		return err
	}
	return tell(a, c, instance.Account.Labels)
}

type createLabelRequest struct {
	Name  string `json:"name" strict:"required"`
	Color int64  `json:"color"`
}

func (a *API) createLabel(c *rest.Call) error {
	var in createLabelRequest
	if err := c.Decode(&in, rest.MaxBody); err != nil {
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
	ctx, done := c.SendContext()
	defer done()
	if err := c.Begin(); err != nil {
		return err
	}
	made, err := account.CreateLabel(ctx, in.Name, int(in.Color))
	if err != nil {
		return err
	}
	return c.Response.JSON(http.StatusCreated, made)
}

type editLabelRequest struct {
	LabelID string `json:"labelId" strict:"required"`
	event.LabelChange
}

func (a *API) editLabel(c *rest.Call) error {
	var in editLabelRequest
	if err := c.Decode(&in, rest.MaxBody); err != nil {
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
	changed, err := account.EditLabel(c.Request.Context(), in.LabelID, in.LabelChange)
	if err != nil {
		return err
	}
	return c.Response.JSON(http.StatusOK, changed)
}

// deletedLabel is the label before its deletion.
type deletedLabel struct {
	event.Label

	Deleted bool `json:"deleted" doc:"Always true." example:"true"`
}

func (a *API) deleteLabel(c *rest.Call) error {
	if err := c.NoBody(); err != nil {
		return err
	}
	q, err := c.Query([]string{"labelId"})
	if err != nil {
		return err
	}
	if !q.Has("labelId") {
		return rest.InvalidQuery("labelId is required")
	}
	id := q.Get("labelId")
	if err := event.CheckLabelID(id); err != nil {
		return err
	}
	account, err := a.account(c)
	if err != nil {
		return err
	}
	gone, err := account.DeleteLabel(c.Request.Context(), id)
	if err != nil {
		return err
	}
	return c.Response.JSON(http.StatusOK, deletedLabel{gone, true})
}

type labelChatRequest struct {
	LabelID string `json:"labelId" strict:"required"`
	Chat    string `json:"chat" strict:"required"`
}

type labelChatAnswer struct {
	LabelID string `json:"labelId"`
	ChatJID string `json:"chatJid"`
	Labeled bool   `json:"labeled" doc:"Whether the chat has the label now." example:"true"`
}

func (a *API) assignLabel(c *rest.Call) error   { return a.labelChat(c, true) }
func (a *API) unassignLabel(c *rest.Call) error { return a.labelChat(c, false) }

func (a *API) labelChat(c *rest.Call, labeled bool) error {
	var in labelChatRequest
	if err := c.Decode(&in, rest.MaxBody); err != nil {
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
	if err := account.LabelChat(c.Request.Context(), in.LabelID, chat.JID(), labeled); err != nil {
		return err
	}
	return c.Response.JSON(http.StatusOK, labelChatAnswer{in.LabelID, chat.JID(), labeled})
}
