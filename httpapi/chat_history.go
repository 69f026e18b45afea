package httpapi

import (
	"fmt"
	"net/http"
	"time"
	"unicode/utf8"

	"postern/event"
	"postern/messages"
)

const (
	maxHistoryCount = 500 // messages that one request asks the phone for
	maxSearch       = 255 // characters of a query
)

// historyRequest asks for messages of a chat that are older than Before, or
// than all that are stored.
type historyRequest struct {
	Chat   string    `json:"chat" strict:"required"`
	Before quotedRef `json:"before"`
	Count  *int64    `json:"count"`
}

func (r *historyRequest) check() error {
	if r.Count == nil {
		r.Count = new(int64(defaultLimit))
	}
	if *r.Count < 1 || *r.Count > maxHistoryCount {
		return invalidField(fmt.Sprintf("count must be 1 to %d", maxHistoryCount))
	}
	return readChat("chat", &r.Chat)
}

// historyAnswer says what the phone was asked for.
type historyAnswer struct {
	Chat   string `json:"chat"`
	Before int64  `json:"before"` // id of the message that they are older than
	Count  int64  `json:"count"`
}

// askHistory asks the phone and does not wait for what it says.
func (a *api) askHistory(c *call) error {
	var in historyRequest
	if err := c.decode(&in, maxBody); err != nil {
		return err
	}
	if err := in.check(); err != nil {
		return err
	}
	if a.Registry.Ignores(c.instance.ID, in.Chat) {
		return invalidField("the settings of the instance ignore chat: none of its history would be stored")
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
	if err := account.AskHistory(c.r.Context(), originalOf(anchor).Key, at, int(*in.Count)); err != nil {
		return err
	}
	return c.w.json(http.StatusAccepted, historyAnswer{in.Chat, anchor.ID, *in.Count})
}

// anchor is the message that the wanted ones are older than.
func (a *api) anchor(c *call, in *historyRequest) (event.Message, error) {
	id := int64(0)
	if in.Before.given() {
		m, err := a.message(c.instance.ID, in.Before.messageRef)
		if err != nil {
			return m, err
		}
		id = m.ID
	}
	return a.Messages.Anchor(c.instance.ID, in.Chat, id)
}

// chatMessages is a page of the messages of a chat, the newest first. A page may
// have fewer records than its limit, even none, and still have a next one.
type chatMessages struct {
	NextCursor     *string           `json:"nextCursor"`     // null at the end
	PreviousCursor *string           `json:"previousCursor"` // null at the beginning
	TotalRecords   *int              `json:"totalRecords"`   // null when counting would cost too much
	Records        []messages.Stored `json:"records"`
}

func (a *api) searchChat(c *call) error {
	q, err := c.query([]string{"query", "limit", "nextCursor", "previousCursor"})
	if err != nil {
		return err
	}
	if limit, err := queryLimit(q); err == nil && limit != nil && (*limit < 1 || *limit > maxMessageLimit) {
		return invalidQuery("limit must be between 1 and 100")
	}
	limit, before, err := pageOf(q)
	if err != nil {
		return err
	}
	after, err := readCursor(q.Get("previousCursor"))
	text := q.Get("query")
	switch {
	case err != nil:
		return err
	case before > 0 && after > 0:
		return invalidQuery("nextCursor and previousCursor exclude each other")
	case q.Has("query") && text == "" || utf8.RuneCountInString(text) > maxSearch:
		return invalidQuery(fmt.Sprintf("query must have 1 to %d characters", maxSearch))
	case !utf8.ValidString(text):
		return invalidQuery("query must be UTF-8")
	}
	chat := c.params.ByName("jid")
	if err := readChat("the chat in the path", &chat); err != nil {
		return err
	}
	page, err := a.Messages.Messages(c.r.Context(), c.instance.ID, messages.Query{Chat: chat, Text: text, Limit: limit, Before: before, After: after})
	if err != nil {
		return err
	}
	list := chatMessages{NextCursor: cursorAt(page.Older), PreviousCursor: cursorAt(page.Newer), Records: page.Messages}
	if list.Records == nil {
		list.Records = []messages.Stored{}
	}
	if text == "" {
		n, ok, err := a.Messages.CountChat(c.instance.ID, chat)
		if err != nil {
			return err
		}
		if ok {
			list.TotalRecords = &n
		}
	}
	return c.w.json(http.StatusOK, list)
}
