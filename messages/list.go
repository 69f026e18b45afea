package messages

import (
	"context"
	"fmt"
	"time"

	"postern/event"
)

const (
	messagePage = 50

	// scanStep is the number of messages scanned per transaction, scanMax per call: a
	// selective filter must neither pin the file nor delay its caller. The page then ends
	// early. A decoded message costs readCost.
	scanStep = 1000
	scanMax  = 50_000
	readCost = 10

	// searchMax is scanMax for a text search, which reads every content.
	searchMax = 20_000

	// scanBytes is the content read per call, in bytes: one message can have a megabyte.
	scanBytes = 64 << 20
)

// Query selects stored messages, newest first. Zero fields do not filter.
type Query struct {
	ID          int64
	KeyID       string // WhatsApp's id; not unique across chats
	Chat        string // the phone JID or the LID of the chat
	Participant string // the phone JID or the LID of the sender in a group
	FromMe      *bool
	IsGroup     *bool
	Type        string             // the messageType
	Status      event.UpdateStatus // the highest of its updates
	Device      string
	PushName    string

	Limit  int   // page size; 0 means 50
	Before int64 // only ids below it; 0: start with the newest
	After  int64 // only the ids just above it; excludes Before
	Skip   int   // number of matches to skip

	UndeliveredFor time.Duration // only messages to a person that have no receipt so long after WhatsApp took them

	Text string // only messages that contain these words, ignoring case
	From int64  // only messages sent then or later, Unix seconds
	To   int64  // only messages sent before it, Unix seconds
}

// narrow reports whether the query filters by more than the chat.
func (q *Query) narrow() bool {
	return q.ID != 0 || q.KeyID != "" || q.Participant != "" || q.FromMe != nil || q.IsGroup != nil ||
		q.Type != "" || q.Status != "" || q.Device != "" || q.PushName != "" || q.Text != "" || q.UndeliveredFor != 0 || q.From != 0 || q.To != 0
}

// Stored is a message with its updates.
type Stored struct {
	event.Message
	Updates []StoredUpdate `json:"messageUpdates" doc:"Its status updates, oldest first."`
}

// StoredUpdate is one update of a message, and its record in the message_update bucket.
type StoredUpdate struct {
	Status event.UpdateStatus `json:"status" doc:"The status of the message." example:"delivered"`
	At     event.Time         `json:"dateTime"`
}

// Page is a part of the messages of an instance, newest first. Older and Newer are
// the Before and After of the adjacent pages, 0 if there is none. A page may be short or
// empty although more follow, if the scan met many messages that do not match.
type Page struct {
	Messages     []Stored
	Older, Newer int64
}

// Messages returns a page of an instance's stored messages. Ids rise with the time of
// storing and are never reused, so paging neither repeats nor misses a message that
// remains. History messages of a chat follow all others, ordered by time. Errors:
// those of Config.Owner.
func (a *Archive) Messages(ctx context.Context, instance int64, q Query) (Page, error) {
	if err := a.owner(instance); err != nil {
		return Page{}, err
	}
	if q.Limit <= 0 {
		q.Limit = messagePage
	}
	w := &messageWalk{instance: instance, q: q, up: q.After > 0, words: wordsOf(q.Text)}
	err := a.walk(ctx, w)
	return w.page(), err
}

func (a *Archive) walk(ctx context.Context, w *messageWalk) error {
	w.most = scanMax
	if w.words != "" {
		w.most = searchMax
	}
	w.most += w.q.Skip * readCost
	w.needles = w.q.needles()
	for w.more && w.room() || w.looked == 0 {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if err := a.cfg.Store.View(w.step); err != nil {
			return fmt.Errorf("list messages of instance %d: %w", w.instance, err)
		}
		if w.looked == 0 {
			break
		}
	}
	return nil
}
