package httpapi

import (
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"postern/event"
	"postern/instance"
)

const (
	maxMessageLimit = 100
	codeNoCursor    = "INVALID_CURSOR"
)

// messageFilter selects stored messages.
type messageFilter struct {
	KeyRemoteJID string             `json:"keyRemoteJid"`
	KeyFromMe    *bool              `json:"keyFromMe"`
	MessageType  string             `json:"messageType"`
	Status       event.UpdateStatus `json:"status"` // of the newest update
}

// updateStatuses are what the newest update of a message can say.
func updateStatuses() []event.UpdateStatus {
	return []event.UpdateStatus{
		event.StatusDelivered, event.StatusSent, event.StatusRead, event.StatusPlayed,
		event.StatusServerError, event.StatusRetry, event.StatusUnknown,
	}
}

// query checks the filter. The types of messages are WhatsApp's, which adds to
// them: one that is not known here selects nothing.
func (f messageFilter) query() (instance.MessageQuery, error) {
	q := instance.MessageQuery{FromMe: f.KeyFromMe, Type: f.MessageType, Status: f.Status}
	if f.Status != "" && !slices.Contains(updateStatuses(), f.Status) {
		return q, invalidQuery(fmt.Sprintf("status %q is not one of %s", f.Status, joined(updateStatuses())))
	}
	if f.KeyRemoteJID != "" {
		chat, err := event.ParseChat(f.KeyRemoteJID)
		if err != nil {
			return q, fmt.Errorf("keyRemoteJid: %w", err)
		}
		q.Chat = chat.JID()
	}
	return q, nil
}

// listMessagesRequest is the body of db/messages.
type listMessagesRequest struct {
	Filter         messageFilter `json:"filter"`
	Limit          *int64        `json:"limit"`
	NextCursor     string        `json:"nextCursor"`
	PreviousCursor string        `json:"previousCursor"`
}

// findMessagesRequest is the body of the older path. Offset is the length of a
// page there.
type findMessagesRequest struct {
	Where  messageFilter `json:"where"`
	Offset *int64        `json:"offset"`
	Page   *int64        `json:"page"` // from 1
}

// messageList is a page of stored messages, the newest first.
type messageList struct {
	Messages messageRecords `json:"messages"`
}

type messageRecords struct {
	Records  []instance.StoredMessage `json:"records"`
	PageInfo pageInfo                 `json:"pageInfo"`
}

// pageInfo says where the page lies. A page may have fewer records than its
// limit and still have a next one.
type pageInfo struct {
	Limit          int     `json:"limit"`
	HasNext        bool    `json:"hasNext"`
	HasPrevious    bool    `json:"hasPrevious"`
	NextCursor     *string `json:"nextCursor"`
	PreviousCursor *string `json:"previousCursor"`
}

func joined[T ~string](words []T) string {
	texts := make([]string, len(words))
	for i, w := range words {
		texts[i] = string(w)
	}
	return strings.Join(texts, ", ")
}

func (a *api) listMessages(c *call) error {
	var in listMessagesRequest
	if err := c.decode(&in, maxBody); err != nil {
		return err
	}
	q, err := in.Filter.query()
	if err != nil {
		return err
	}
	if q.Limit, err = messageLimit("limit", in.Limit); err != nil {
		return err
	}
	if in.NextCursor != "" && in.PreviousCursor != "" {
		return invalidQuery("nextCursor and previousCursor exclude each other")
	}
	if q.Before, err = readCursor(in.NextCursor); err != nil {
		return err
	}
	if q.After, err = readCursor(in.PreviousCursor); err != nil {
		return err
	}
	return a.answerMessages(c, q)
}

// findMessages is listMessages with numbered pages. Each page costs what all
// before it cost, so that they end somewhere.
func (a *api) findMessages(c *call) error {
	var in findMessagesRequest
	if err := c.decode(&in, maxBody); err != nil {
		return err
	}
	q, err := in.Where.query()
	if err != nil {
		return err
	}
	if q.Limit, err = messageLimit("offset", in.Offset); err != nil {
		return err
	}
	const deepest = 10_000
	if in.Page != nil {
		if *in.Page < 1 || (*in.Page-1)*int64(q.Limit) > deepest {
			return invalidQuery(fmt.Sprintf("page must be at least 1 and end before message %d; cursors of db/messages go further", deepest))
		}
		q.Skip = int(*in.Page-1) * q.Limit
	}
	return a.answerMessages(c, q)
}

func (a *api) answerMessages(c *call, q instance.MessageQuery) error {
	page, err := a.Registry.Messages(c.r.Context(), c.instance.ID, q)
	if err != nil {
		return err
	}
	info := pageInfo{
		Limit: q.Limit, NextCursor: cursorAt(page.Older), PreviousCursor: cursorAt(page.Newer),
		HasNext: page.Older > 0, HasPrevious: page.Newer > 0,
	}
	records := page.Messages
	if records == nil {
		records = []instance.StoredMessage{}
	}
	return c.w.json(http.StatusOK, messageList{messageRecords{records, info}})
}

func messageLimit(name string, given *int64) (int, error) {
	switch {
	case given == nil:
		return defaultLimit, nil
	case *given < 1 || *given > maxMessageLimit:
		return 0, invalidQuery(name + " must be between 1 and 100")
	}
	return int(*given), nil
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

// contactList and chatList are pages of what is stored of an account.
type contactList struct {
	NextCursor *string            `json:"nextCursor"` // null at the end
	Records    []instance.Contact `json:"records"`
}

type chatList struct {
	NextCursor *string         `json:"nextCursor"` // null at the end
	Records    []instance.Chat `json:"records"`
}

func (a *api) listContacts(c *call) error {
	q, err := c.query([]string{"limit", "nextCursor", "jid", "name"})
	if err != nil {
		return err
	}
	limit, after, err := pageOf(q)
	if err != nil {
		return err
	}
	want := instance.ContactQuery{After: after, Limit: limit, Name: q.Get("name")}
	if q.Has("jid") {
		who, err := event.ParseRecipient(q.Get("jid"))
		if err != nil {
			return fmt.Errorf("jid: %w", err)
		}
		want.JID = who.JID()
	}
	page, err := a.Registry.Contacts(c.r.Context(), c.instance.ID, want)
	if err != nil {
		return err
	}
	if page.Contacts == nil {
		page.Contacts = []instance.Contact{}
	}
	return c.w.json(http.StatusOK, contactList{cursorAt(page.Next), page.Contacts})
}

func (a *api) listChats(c *call) error {
	q, err := c.query([]string{"limit", "nextCursor"})
	if err != nil {
		return err
	}
	limit, before, err := pageOf(q)
	if err != nil {
		return err
	}
	page, next, err := a.Registry.Chats(c.instance.ID, before, limit)
	if err != nil {
		return err
	}
	return c.w.json(http.StatusOK, chatList{cursorAt(next), page})
}
