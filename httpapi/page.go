package httpapi

import (
	"encoding/base64"
	"encoding/binary"
	"net/http"
	"net/url"
	"strconv"
)

// Bounds of the length of a page.
const (
	defaultLimit = 50
	maxLimit     = 200
)

// pageRequest is the part that the filters of all lists share.
type pageRequest struct {
	limit          *int64
	next, previous string
}

// listPage is a page of a list that a request asks for.
type listPage struct {
	Limit          int
	Next, Previous string
}

// page checks the bounds; the cursors are the engine's to read.
func (p pageRequest) page() (listPage, error) {
	limit := int64(defaultLimit)
	if p.limit != nil {
		limit = *p.limit
	}
	if limit < 1 || limit > maxLimit {
		return listPage{}, invalidQuery("limit must be between 1 and 200")
	}
	if p.next != "" && p.previous != "" {
		return listPage{}, invalidQuery("nextCursor and previousCursor exclude each other")
	}
	return listPage{Limit: int(limit), Next: p.next, Previous: p.previous}, nil
}

// readPage reads limit and the cursors of a list's query.
func readPage(q url.Values) (listPage, error) {
	limit, err := queryLimit(q)
	if err != nil {
		return listPage{}, err
	}
	return pageRequest{limit, q.Get("nextCursor"), q.Get("previousCursor")}.page()
}

func queryLimit(q url.Values) (*int64, error) {
	if !q.Has("limit") {
		return nil, nil
	}
	n, err := strconv.ParseInt(q.Get("limit"), 10, 64)
	if err != nil {
		return nil, invalidQuery("limit must be an integer")
	}
	return &n, nil
}

// limitOf is queryLimit with its default and bounds.
func limitOf(q url.Values) (int, error) {
	limit, err := queryLimit(q)
	if err != nil {
		return 0, err
	}
	page, err := pageRequest{limit: limit}.page()
	return page.Limit, err
}

func errNoCursor() error {
	return refuse(http.StatusBadRequest, codeNoCursor, "the cursor was not made by this list")
}

// cursorAt is a position that a caller passes back as it is; nil for none.
func cursorAt(id int64) *string {
	if id <= 0 {
		return nil
	}
	text := base64.RawURLEncoding.EncodeToString(binary.BigEndian.AppendUint64(nil, uint64(id))) //nolint:gosec // above 0
	return &text
}

func readCursor(text string) (int64, error) {
	if text == "" {
		return 0, nil
	}
	raw, err := base64.RawURLEncoding.Strict().DecodeString(text)
	if err != nil || len(raw) != 8 || raw[0]&0x80 != 0 || binary.BigEndian.Uint64(raw) == 0 {
		return 0, errNoCursor()
	}
	return int64(binary.BigEndian.Uint64(raw)), nil //nolint:gosec // its first bit is not set
}

// pageOf reads limit and nextCursor of a query.
func pageOf(q url.Values) (limit int, at int64, err error) {
	if limit, err = limitOf(q); err != nil {
		return 0, 0, err
	}
	at, err = readCursor(q.Get("nextCursor"))
	return limit, at, err
}
