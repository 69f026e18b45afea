package chats

import (
	"fmt"
	"net/http"
	"time"
	"unicode/utf8"

	"postern/event"
	"postern/httpapi/ref"
	"postern/httpapi/rest"
	"postern/messages"
)

const (
	maxHistoryCount = 500 // messages that one request asks the phone for
	maxSearch       = 255 // characters of a query
)

// historyRequest requests messages of a chat that are older than Before, or than all stored ones.
type historyRequest struct {
	Chat   string     `json:"chat" strict:"required"`
	Before ref.Quoted `json:"before" doc:"The stored message before which to start; 0 or absent: the oldest of the chat." example:"42"`
	Count  *int64     `json:"count"`
}

func (r *historyRequest) check() error {
	if r.Count == nil {
		r.Count = new(int64(rest.DefaultLimit))
	}
	if *r.Count < 1 || *r.Count > maxHistoryCount {
		return rest.InvalidField(fmt.Sprintf("count must be 1 to %d", maxHistoryCount))
	}
	return readChat("chat", &r.Chat)
}

// historyAnswer says what was requested from the phone.
type historyAnswer struct {
	Chat   string `json:"chat"`
	Before int64  `json:"before" doc:"The id of the message before which they start." example:"42"`
	Count  int64  `json:"count" doc:"How many messages were asked for." example:"50"`
}

// askHistory sends the request to the phone and does not wait for its answer.
func (a *API) askHistory(c *rest.Call) error {
	var in historyRequest
	if err := c.Decode(&in, rest.MaxBody); err != nil {
		return err
	}
	if err := in.check(); err != nil {
		return err
	}
	if a.Registry.Ignores(c.Instance.ID, in.Chat) {
		return rest.InvalidField("the settings of the instance ignore chat: none of its history would be stored")
	}
	anchor, err := a.anchor(c, &in)
	if err != nil {
		return err
	}
	account, err := a.account(c)
	if err != nil {
		return err
	}
	at := time.Unix(anchor.MessageTimestamp, 0)
	if err := account.AskHistory(c.Request.Context(), ref.Original(anchor).Key, at, int(*in.Count)); err != nil {
		return err
	}
	return c.Response.JSON(http.StatusAccepted, historyAnswer{in.Chat, anchor.ID, *in.Count})
}

// anchor returns the message before which messages are requested.
func (a *API) anchor(c *rest.Call, in *historyRequest) (event.Message, error) {
	id := int64(0)
	if in.Before.Given() {
		m, err := ref.Find(a.Messages, c.Instance.ID, in.Before.Message)
		if err != nil {
			return m, err
		}
		id = m.ID
	}
	return a.Messages.Anchor(c.Instance.ID, in.Chat, id)
}

// chatMessages is a page of the messages of a chat, newest first. A page may have fewer records than
// its limit, even none, and still have a next one.
type chatMessages struct {
	NextCursor     *string           `json:"nextCursor"`     // null at the end
	PreviousCursor *string           `json:"previousCursor"` // null at the beginning
	TotalRecords   *int              `json:"totalRecords" doc:"How many messages of the chat are stored; null with a query, or when there are too many to count." example:"120" rules:"minimum=0"`
	Records        []messages.Stored `json:"records"`
}

func (a *API) searchChat(c *rest.Call) error {
	q, err := c.Query([]string{"query", "limit", "nextCursor", "previousCursor"})
	if err != nil {
		return err
	}
	if limit, err := rest.QueryLimit(q); err == nil && limit != nil && (*limit < 1 || *limit > maxMessageLimit) {
		return rest.InvalidQuery("limit must be between 1 and 100")
	}
	limit, before, err := rest.PageOf(q)
	if err != nil {
		return err
	}
	after, err := rest.ReadCursor(q.Get("previousCursor"))
	text := q.Get("query")
	switch {
	case err != nil:
		return err
	case before > 0 && after > 0:
		return rest.InvalidQuery("nextCursor and previousCursor exclude each other")
	case q.Has("query") && text == "" || utf8.RuneCountInString(text) > maxSearch:
		return rest.InvalidQuery(fmt.Sprintf("query must have 1 to %d characters", maxSearch))
	case !utf8.ValidString(text):
		return rest.InvalidQuery("query must be UTF-8")
	}
	chat := c.Params.ByName("jid")
	if err := readChat("the chat in the path", &chat); err != nil {
		return err
	}
	page, err := a.Messages.Messages(c.Request.Context(), c.Instance.ID, messages.Query{Chat: chat, Text: text, Limit: limit, Before: before, After: after})
	if err != nil {
		return err
	}
	list := chatMessages{NextCursor: rest.CursorAt(page.Older), PreviousCursor: rest.CursorAt(page.Newer), Records: page.Messages}
	if list.Records == nil {
		list.Records = []messages.Stored{}
	}
	if text == "" {
		n, ok, err := a.Messages.CountChat(c.Instance.ID, chat)
		if err != nil {
			return err
		}
		if ok {
			list.TotalRecords = &n
		}
	}
	return c.Response.JSON(http.StatusOK, list)
}
