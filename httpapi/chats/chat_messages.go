package chats

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"time"

	"postern/event"
	"postern/httpapi/ref"
	"postern/httpapi/rest"
)

// readRequest names messages in one of three ways: stored ones by MessageID, any by their keys in
// ReadMessages, or those of one sender by Chat, Sender and KeyIDs. Older clients send MessageID as
// IDs and KeyIDs as MessageIDs.
type readRequest struct {
	MessageID    []ref.Message      `json:"messageId"`
	IDs          []ref.Message      `json:"ids"`
	ReadMessages []event.MessageKey `json:"readMessages"`
	Chat         string             `json:"chat" doc:"The chat of keyIds: a phone number with its country code, or the JID of a person or a group." example:"$jid"`
	Sender       string             `json:"sender" doc:"Who sent the messages of keyIds; needed in groups." example:"$jid"`
	KeyIDs       []string           `json:"keyIds"`
	MessageIDs   []string           `json:"messageIds"`
	Played       bool               `json:"played" doc:"Whether they are voice messages that were played." example:"false"`
}

func (r *readRequest) check() error {
	ways := 0
	for _, n := range []int{len(r.MessageID), len(r.IDs), len(r.ReadMessages), len(r.KeyIDs), len(r.MessageIDs)} {
		if n > maxRead {
			return rest.InvalidField(fmt.Sprintf("at most %d messages can be given", maxRead))
		}
		if n > 0 {
			ways++
		}
	}
	r.MessageID, r.KeyIDs = slices.Concat(r.MessageID, r.IDs), slices.Concat(r.KeyIDs, r.MessageIDs)
	if ways != 1 || (r.Chat != "" || r.Sender != "") != (len(r.KeyIDs) > 0) {
		return rest.InvalidField("give exactly one of messageId, ids, readMessages, and chat with keyIds or messageIds; none may be empty")
	}
	return nil
}

// keys returns the messages of a request.
func (a *API) readKeys(c *rest.Call, r *readRequest) (keys []event.MessageKey, err error) {
	for i, named := range r.MessageID {
		m, err := ref.FindToWrite(c, a.Messages, named)
		if err != nil {
			return nil, fmt.Errorf("messageId[%d]: %w", i, err)
		}
		keys = append(keys, ref.Original(m).Key)
	}
	for _, id := range r.KeyIDs {
		keys = append(keys, event.MessageKey{RemoteJID: r.Chat, ID: id, Participant: r.Sender})
	}
	keys = append(keys, r.ReadMessages...)
	for i := range keys {
		if err := checkRead(&keys[i]); err != nil {
			return nil, fmt.Errorf("message %d: %w", i, err)
		}
	}
	return keys, nil
}

// checkRead reads the addresses of a key.
func checkRead(k *event.MessageKey) error {
	switch {
	case k.FromMe:
		return fmt.Errorf("%w: messages of the account itself cannot be marked as read", event.ErrContent)
	case k.ID == "":
		return fmt.Errorf("%w: its id is empty", event.ErrContent)
	}
	chat, err := event.ParseChat(k.RemoteJID)
	if err != nil {
		return err
	}
	k.RemoteJID = chat.JID()
	if k.Participant != "" {
		return readPerson("its sender", &k.Participant)
	}
	if chat.IsGroup() {
		return fmt.Errorf("%w: in a group its sender must be given", event.ErrContent)
	}
	return nil
}

type readAnswer struct {
	Message string `json:"message" doc:"What was done, in words." example:"Read messages"`
	Read    string `json:"read" doc:"That it was done." example:"success"`
}

// readMessages sends one receipt for each chat and sender.
func (a *API) readMessages(c *rest.Call) error {
	var in readRequest
	if err := c.Decode(&in, rest.MaxBody); err != nil {
		return err
	}
	if err := in.check(); err != nil {
		return err
	}
	keys, err := a.readKeys(c, &in)
	if err != nil {
		return err
	}
	account, err := a.account(c)
	if err != nil {
		return err
	}
	type place struct{ chat, sender string }
	var order []place
	ids := map[place][]string{}
	for _, k := range keys {
		if err := c.MayWriteTo(k.RemoteJID); err != nil {
			return err
		}
		p := place{k.RemoteJID, k.Participant}
		if ids[p] == nil {
			order = append(order, p)
		}
		ids[p] = append(ids[p], k.ID)
	}
	for _, p := range order {
		if err := account.MarkRead(c.Request.Context(), p.chat, p.sender, ids[p], in.Played); err != nil {
			return err
		}
	}
	return c.Response.JSON(http.StatusOK, readAnswer{"Read messages", "success"})
}

// deleteForMe deletes a stored message on the account's devices, and then here.
func (a *API) deleteForMe(c *rest.Call) error {
	q, err := c.Query([]string{"messageId"})
	if err != nil {
		return err
	}
	if q.Get("messageId") == "" {
		return rest.InvalidQuery("messageId is required: the id of a stored message, or its key id")
	}
	if err := c.NoBody(); err != nil {
		return err
	}
	m, err := ref.FindByText(a.Messages, c.Instance.ID, q.Get("messageId"))
	if err != nil {
		return err
	}
	account, err := a.account(c)
	if err != nil {
		return err
	}
	if err := account.DeleteForMe(c.Request.Context(), ref.Original(m).Key, time.Unix(m.MessageTimestamp, 0)); err != nil {
		return err
	}
	// It is deleted there: remove it even if the caller gives up.
	if err := a.Messages.Remove(context.WithoutCancel(c.Request.Context()), c.Instance.ID, m.ID); err != nil {
		return err
	}
	return c.NoContent()
}

// starRequest names a stored message.
type starRequest struct {
	MessageID ref.Message `json:"messageId" strict:"required"`
	Starred   bool        `json:"starred" strict:"required"`
}

type starAnswer struct {
	MessageID int64 `json:"messageId"`
	Starred   bool  `json:"starred"`
}

func (a *API) starMessage(c *rest.Call) error {
	var in starRequest
	if err := c.Decode(&in, rest.MaxBody); err != nil {
		return err
	}
	m, err := ref.Find(a.Messages, c.Instance.ID, in.MessageID)
	if err != nil {
		return err
	}
	account, err := a.account(c)
	if err != nil {
		return err
	}
	if err := account.Star(c.Request.Context(), ref.Original(m).Key, in.Starred); err != nil {
		return err
	}
	return c.Response.JSON(http.StatusOK, starAnswer{m.ID, in.Starred})
}
