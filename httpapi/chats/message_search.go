package chats

import (
	"fmt"
	"net/http"
	"net/url"
	"time"
	"unicode/utf8"

	"postern/httpapi/rest"
	"postern/messages"
)

// minSearch is the least length of a text that is searched for in all chats, in characters; maxSearchAll is the
// greatest.
const (
	minSearch    = 2
	maxSearchAll = 200
)

// foundMessages is a page of a search. It may have fewer messages than its limit, even none, and still have a next one.
type foundMessages struct {
	NextCursor   *string           `json:"nextCursor"` // null at the end
	TotalRecords *int              `json:"totalRecords" doc:"Always null: the search does not count." example:"null"`
	Records      []messages.Stored `json:"records"`
}

// searchMessages searches the texts of all chats.
func (a *API) searchMessages(c *rest.Call) error {
	q, err := c.Query([]string{"query", "from", "to", "type", "fromMe", "chat", "limit", "cursor"})
	if err != nil {
		return err
	}
	search, err := readSearch(q)
	if err != nil {
		return err
	}
	page, err := a.Messages.Messages(c.Request.Context(), c.Instance.ID, search)
	if err != nil {
		return err
	}
	out := foundMessages{NextCursor: rest.CursorAt(page.Older), Records: page.Messages}
	if out.Records == nil {
		out.Records = []messages.Stored{}
	}
	return c.Response.JSON(http.StatusOK, out)
}

func readSearch(q url.Values) (s messages.Query, err error) {
	s = messages.Query{Text: q.Get("query"), Type: q.Get("type"), Chat: q.Get("chat")}
	if n := utf8.RuneCountInString(s.Text); n < minSearch || n > maxSearchAll || !utf8.ValidString(s.Text) {
		return s, rest.InvalidQuery(fmt.Sprintf("query must have %d to %d characters, in UTF-8", minSearch, maxSearchAll))
	}
	if s.Chat != "" {
		if err := readChat("chat", &s.Chat); err != nil {
			return s, err
		}
	}
	if q.Has("fromMe") {
		own, err := rest.QueryFlag(q, "fromMe")
		if err != nil {
			return s, err
		}
		s.FromMe = &own
	}
	for name, into := range map[string]*int64{"from": &s.From, "to": &s.To} {
		if !q.Has(name) {
			continue
		}
		at, err := time.Parse(time.RFC3339, q.Get(name))
		if err != nil {
			return s, rest.InvalidQuery(name + " must be a time in RFC 3339")
		}
		*into = at.Unix()
	}
	limit, err := rest.QueryLimit(q)
	switch {
	case err != nil:
		return s, err
	case limit == nil:
		s.Limit = rest.DefaultLimit
	case *limit < 1 || *limit > maxMessageLimit:
		return s, rest.InvalidQuery(fmt.Sprintf("limit must be between 1 and %d", maxMessageLimit))
	default:
		s.Limit = int(*limit)
	}
	s.Before, err = rest.ReadCursor(q.Get("cursor"))
	return s, err
}
