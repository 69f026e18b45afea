package rest

import (
	"encoding/base64"
	"encoding/binary"
	"net/http"
	"net/url"
	"strconv"
)

// Bounds of the length of a page.
const (
	DefaultLimit = 50
	MaxLimit     = 200
)

// PageRequest holds the fields that the filters of all lists share.
type PageRequest struct {
	Limit          *int64
	Next, Previous string
}

// Page is the page of a list that a request selects.
type Page struct {
	Limit          int
	Next, Previous string
}

// Page checks the bounds; the engine reads the cursors.
func (p PageRequest) Page() (Page, error) {
	limit := int64(DefaultLimit)
	if p.Limit != nil {
		limit = *p.Limit
	}
	if limit < 1 || limit > MaxLimit {
		return Page{}, InvalidQuery("limit must be between 1 and 200")
	}
	if p.Next != "" && p.Previous != "" {
		return Page{}, InvalidQuery("nextCursor and previousCursor exclude each other")
	}
	return Page{Limit: int(limit), Next: p.Next, Previous: p.Previous}, nil
}

// ReadPage reads limit and the cursors of a list's query.
func ReadPage(q url.Values) (Page, error) {
	limit, err := QueryLimit(q)
	if err != nil {
		return Page{}, err
	}
	return PageRequest{limit, q.Get("nextCursor"), q.Get("previousCursor")}.Page()
}

// QueryLimit reads limit of a query; nil if there is none. Its bounds are those of the list.
func QueryLimit(q url.Values) (*int64, error) {
	if !q.Has("limit") {
		return nil, nil
	}
	n, err := strconv.ParseInt(q.Get("limit"), 10, 64)
	if err != nil {
		return nil, InvalidQuery("limit must be an integer")
	}
	return &n, nil
}

// limitOf is queryLimit with its default and bounds.
func limitOf(q url.Values) (int, error) {
	limit, err := QueryLimit(q)
	if err != nil {
		return 0, err
	}
	page, err := PageRequest{Limit: limit}.Page()
	return page.Limit, err
}

// InvalidCursor is the error of a cursor that this list did not make.
func InvalidCursor() error {
	return Refuse(http.StatusBadRequest, CodeNoCursor, "the cursor was not made by this list")
}

// CursorAt returns the opaque cursor of a position; nil for none.
func CursorAt(id int64) *string {
	if id <= 0 {
		return nil
	}
	text := base64.RawURLEncoding.EncodeToString(binary.BigEndian.AppendUint64(nil, uint64(id))) //nolint:gosec // above 0
	return &text
}

// ReadCursor decodes a cursor; 0 for none.
func ReadCursor(text string) (int64, error) {
	if text == "" {
		return 0, nil
	}
	raw, err := base64.RawURLEncoding.Strict().DecodeString(text)
	if err != nil || len(raw) != 8 || raw[0]&0x80 != 0 || binary.BigEndian.Uint64(raw) == 0 {
		return 0, InvalidCursor()
	}
	return int64(binary.BigEndian.Uint64(raw)), nil //nolint:gosec // its first bit is not set
}

// PageOf reads limit and nextCursor of a query.
func PageOf(q url.Values) (limit int, at int64, err error) {
	if limit, err = limitOf(q); err != nil {
		return 0, 0, err
	}
	at, err = ReadCursor(q.Get("nextCursor"))
	return limit, at, err
}
