package instance

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"postern/event"
	"postern/store"
)

const (
	messagePage = 50

	// scanStep is how many messages one read transaction looks at, scanMax how
	// many one call does: a filter that almost nothing fits must neither pin
	// the file nor keep its caller waiting. The page then ends early.
	scanStep = 1000
	scanMax  = 50_000
)

// MessageQuery selects stored messages, the newest first. Zero fields select
// all.
type MessageQuery struct {
	Chat   string // the phone JID or the LID of the chat
	FromMe *bool
	Type   string             // the messageType
	Status event.UpdateStatus // the newest update's

	Limit  int   // at most so many; 0 means 50
	Before int64 // only ids below it; 0: from the newest
	After  int64 // only ids above it, those next to it; excludes Before
	Skip   int   // so many that fit are passed over first
}

// StoredMessage is a message with what became of it.
type StoredMessage struct {
	event.Message
	Updates []StoredUpdate `json:"messageUpdates"` // the oldest first
}

// StoredUpdate is one update of a stored message.
type StoredUpdate struct {
	Status event.UpdateStatus `json:"status"`
	At     event.Time         `json:"dateTime"`
}

// MessagePage is a part of the messages of an instance, the newest first. Older
// and Newer are the Before and After of the pages next to it, 0 when there is
// none. A page may be shorter than asked for, even empty, with more to come:
// when many messages were looked at that do not fit.
type MessagePage struct {
	Messages     []StoredMessage
	Older, Newer int64
}

// Messages returns a page of an instance's stored messages. Ids rise with the
// time of storing and are never used again, so walking through the pages
// neither repeats nor misses a message that stays. Errors: ErrNotFound.
func (r *Registry) Messages(ctx context.Context, instance int64, q MessageQuery) (MessagePage, error) {
	if r.entry(instance) == nil {
		return MessagePage{}, ErrNotFound
	}
	if q.Limit <= 0 {
		q.Limit = messagePage
	}
	w := &messageWalk{instance: instance, q: q, up: q.After > 0, at: max(q.Before, q.After)}
	for w.more && w.looked < scanMax || w.looked == 0 {
		if ctx.Err() != nil {
			return MessagePage{}, context.Cause(ctx)
		}
		if err := r.cfg.Store.View(w.step); err != nil {
			return MessagePage{}, fmt.Errorf("list messages of instance %d: %w", instance, err)
		}
		if w.looked == 0 {
			break
		}
	}
	return w.page(), nil
}

// messageWalk goes from one message to the next, over several transactions.
type messageWalk struct {
	instance int64
	q        MessageQuery
	chats    []string // names of the chat asked for; nil: all chats
	up       bool     // towards the newer ones
	at       int64    // the last id looked at, 0 at the beginning
	looked   int
	more     bool // there may be more in this direction
	passed   int  // so many of q.Skip were passed over
	full     bool // one more than the page takes was found
	found    []StoredMessage
}

func (w *messageWalk) step(tx *store.Tx) error {
	if w.q.Chat != "" && w.chats == nil {
		w.chats = chatNames(tx, w.instance, w.q.Chat)
	}
	ids, err := w.ids(tx)
	w.more = len(ids) == scanStep
	for _, id := range ids {
		if err != nil || w.full {
			break
		}
		w.looked++
		err = w.look(tx, id)
	}
	return err
}

// look takes a message when it fits. A damaged one counts as not stored.
func (w *messageWalk) look(tx *store.Tx, id int64) error {
	m, err := message(tx, w.instance, id)
	if errors.Is(err, store.ErrDamaged) || errors.Is(err, ErrNotFound) {
		w.at = id
		return nil
	}
	if err != nil {
		return err
	}
	updates, err := updatesOf(tx, w.instance, id)
	if err != nil {
		return err
	}
	if w.q.fits(&m, updates) {
		switch {
		case w.passed < w.q.Skip:
			w.passed++
		case len(w.found) == w.q.Limit:
			w.full, w.more = true, false
			return nil
		default:
			w.found = append(w.found, StoredMessage{m, updates})
		}
	}
	w.at = id
	return nil
}

func (q *MessageQuery) fits(m *event.Message, updates []StoredUpdate) bool {
	if q.FromMe != nil && m.KeyFromMe != *q.FromMe || q.Type != "" && m.MessageType != q.Type {
		return false
	}
	return q.Status == "" || len(updates) > 0 && updates[len(updates)-1].Status == q.Status
}

// page is what was found, the newest first, and where the next ones begin.
func (w *messageWalk) page() MessagePage {
	p := MessagePage{Messages: w.found}
	further := int64(0)
	if w.full || w.more {
		further = w.at
	}
	if w.up {
		slices.Reverse(p.Messages)
		p.Newer, p.Older = further, w.q.After+1
		if len(w.found) > 0 {
			p.Older = w.found[len(w.found)-1].ID
		}
		return p
	}
	p.Older = further
	switch {
	case len(w.found) > 0 && (w.q.Before > 0 || w.passed > 0):
		p.Newer = w.found[0].ID
	case w.q.Before > 0:
		p.Newer = w.q.Before - 1
	}
	return p
}

// ids are the next ids to look at, at most scanStep.
func (w *messageWalk) ids(tx *store.Tx) (all []int64, err error) {
	prefixes := [][]byte{store.Key(w.instance)}
	bucket := messages
	if w.chats != nil {
		bucket, prefixes = messageChats, nil
		for _, chat := range w.chats {
			prefixes = append(prefixes, chatPrefix(w.instance, chat))
		}
	}
	for _, prefix := range prefixes {
		r := store.Range{Prefix: prefix, Limit: scanStep, Reverse: !w.up}
		switch {
		case w.up:
			r.From = store.Key(prefix, w.at+1)
		case w.at > 0:
			r.Before = store.Key(prefix, w.at)
		}
		err := tx.Scan(bucket, r, func(k, _ []byte) (bool, error) {
			all = append(all, number(k[len(k)-8:]))
			return true, nil
		})
		if err != nil {
			return nil, err
		}
	}
	slices.Sort(all)
	if !w.up {
		slices.Reverse(all)
	}
	return all[:min(len(all), scanStep)], nil
}

func updatesOf(tx *store.Tx, instance, id int64) ([]StoredUpdate, error) {
	all := []StoredUpdate{}
	err := tx.Scan(messageUpdates, store.Range{Prefix: store.Key(instance, id)}, func(k, _ []byte) (bool, error) {
		u, found, err := store.GetJSON[storedUpdate](tx, messageUpdates, k)
		if err == nil && found {
			all = append(all, StoredUpdate(u))
		}
		return true, err
	})
	return all, err
}
