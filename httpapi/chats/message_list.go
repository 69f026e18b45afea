package chats

import (
	"fmt"
	"net/http"

	"postern/httpapi/rest"
	"postern/messages"
)

const (
	maxMessageLimit = 100
)

// listMessagesRequest is the body of db/messages.
type listMessagesRequest struct {
	Filter         messageFilter `json:"filter" doc:"The messages to select."`
	Limit          *int64        `json:"limit"`
	NextCursor     string        `json:"nextCursor"`
	PreviousCursor string        `json:"previousCursor"`
	Cursor         MessageCursor `json:"cursor" doc:"The start of the page, instead of the other cursors."`
}

// findMessagesRequest is the body of the older path. There, Offset is the length of a page.
type findMessagesRequest struct {
	Where  foundFilter   `json:"where" doc:"The messages to select."`
	Offset *int64        `json:"offset"`
	Page   *int64        `json:"page" doc:"The number of the page, from 1." example:"1" rules:"minimum=1"`
	Cursor MessageCursor `json:"cursor" doc:"The start of the page, instead of page."`
}

// foundFilter adds a second name of one field to messageFilter.
type foundFilter struct {
	messageFilter
	AlsoKeyID string `json:"keyid" doc:"The same as keyId." example:"$keyid"`
}

// MessageList is a page of stored messages, newest first.
type MessageList struct {
	Messages messageRecords `json:"messages" doc:"The page."`
}

type messageRecords struct {
	Records  []messages.Stored `json:"records"`
	PageInfo pageInfo          `json:"pageInfo" doc:"The position of the page."`
}

// FoundList is a numbered page of stored messages, newest first.
type FoundList struct {
	Messages foundRecords `json:"messages" doc:"The page."`
}

type foundRecords struct {
	Total       int            `json:"total"`
	Pages       int            `json:"pages" doc:"The number of pages." example:"3" rules:"minimum=0"`
	CurrentPage int            `json:"currentPage" doc:"The number of this page, from 1." example:"1" rules:"minimum=1"`
	Records     []foundMessage `json:"records"`
	PageInfo    pageInfo       `json:"pageInfo" doc:"The position of the page."`
}

// foundMessage has its updates under two names.
type foundMessage struct {
	messages.Stored
	AlsoUpdates []messages.StoredUpdate `json:"MessageUpdate" doc:"The same as messageUpdates."`
}

// pageInfo is the position of the page. A page may have fewer records than its limit and still have
// a next one.
type pageInfo struct {
	Limit          int     `json:"limit"`
	HasNext        bool    `json:"hasNext" doc:"Whether there is a next page." example:"true"`
	HasPrevious    bool    `json:"hasPrevious" doc:"Whether there is a previous page." example:"false"`
	NextCursor     *string `json:"nextCursor"`
	PreviousCursor *string `json:"previousCursor"`
}

func (a *API) listMessages(c *rest.Call) error {
	var in listMessagesRequest
	if err := c.Decode(&in, rest.MaxBody); err != nil {
		return err
	}
	q, err := in.Filter.query()
	if err != nil {
		return err
	}
	if q.Limit, err = messageLimit("limit", in.Limit); err != nil {
		return err
	}
	if err := a.placeOf(c, &in, &q); err != nil {
		return err
	}
	records, info, err := a.messagePage(c, q)
	if err != nil {
		return err
	}
	return c.Response.JSON(http.StatusOK, MessageList{messageRecords{records, info}})
}

// placeOf reads the cursor of a request, in any of its forms.
func (a *API) placeOf(c *rest.Call, in *listMessagesRequest, q *messages.Query) (err error) {
	if in.Cursor.given() && in.NextCursor+in.PreviousCursor != "" || in.NextCursor != "" && in.PreviousCursor != "" {
		return rest.InvalidQuery("nextCursor, previousCursor and cursor exclude each other")
	}
	if in.Cursor.given() {
		return a.placeAt(c, in.Cursor, q)
	}
	if q.Before, _, err = readMessageCursor(in.NextCursor); err == nil {
		q.After, _, err = readMessageCursor(in.PreviousCursor)
	}
	return err
}

// findMessages is listMessages with numbered pages. A page costs as much as all pages before it, so
// their number is limited.
func (a *API) findMessages(c *rest.Call) error {
	var in findMessagesRequest
	if err := c.Decode(&in, rest.MaxBody); err != nil {
		return err
	}
	filter, err := in.Where.messageFilter, error(nil)
	if filter.KeyID, err = oneOf("keyid", in.Where.AlsoKeyID, "keyId", filter.KeyID); err != nil {
		return err
	}
	q, err := filter.query()
	if err != nil {
		return err
	}
	if q.Limit, err = messageLimit("offset", in.Offset); err != nil {
		return err
	}
	const deepest = 10_000
	number := int64(1)
	if in.Page != nil {
		number = *in.Page
	}
	if number < 1 || number-1 > deepest/int64(q.Limit) { // by division: a product can overflow
		return rest.InvalidQuery(fmt.Sprintf("page must be at least 1 and end before message %d; the cursors of db/messages have no such limit", deepest))
	}
	q.Skip = int(number-1) * q.Limit
	if in.Cursor.given() {
		if number > 1 {
			return rest.InvalidQuery("page and cursor exclude each other")
		}
		if err := a.placeAt(c, in.Cursor, &q); err != nil {
			return err
		}
	}
	records, info, err := a.messagePage(c, q)
	if err != nil {
		return err
	}
	total, err := a.Messages.CountMessages(c.Request.Context(), c.Instance.ID, q)
	if err != nil {
		return err
	}
	found := foundRecords{
		Total: total, Pages: (total + q.Limit - 1) / q.Limit, CurrentPage: int(number), Records: make([]foundMessage, len(records)), PageInfo: info,
	}
	for i, m := range records {
		found.Records[i] = foundMessage{m, m.Updates}
	}
	return c.Response.JSON(http.StatusOK, FoundList{found})
}

func (a *API) messagePage(c *rest.Call, q messages.Query) ([]messages.Stored, pageInfo, error) {
	page, err := a.Messages.Messages(c.Request.Context(), c.Instance.ID, q)
	if err != nil {
		return nil, pageInfo{}, err
	}
	info := pageInfo{
		Limit: q.Limit, NextCursor: rest.CursorAt(page.Older), PreviousCursor: cursorBefore(page.Newer),
		HasNext: page.Older > 0, HasPrevious: page.Newer > 0,
	}
	if page.Messages == nil {
		page.Messages = []messages.Stored{}
	}
	return page.Messages, info, nil
}

func messageLimit(name string, given *int64) (int, error) {
	switch {
	case given == nil:
		return rest.DefaultLimit, nil
	case *given < 1 || *given > maxMessageLimit:
		return 0, rest.InvalidQuery(name + " must be between 1 and 100")
	}
	return int(*given), nil
}
