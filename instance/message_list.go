package instance

import (
	"bytes"
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
	// A message that is decoded, because its bytes may fit, counts as readCost.
	scanStep = 1000
	scanMax  = 50_000
	readCost = 10

	// searchMax is scanMax for a text, which is looked for in every content.
	searchMax = 20_000

	// scanBytes is how much content one call reads, in bytes: a message can have
	// a megabyte of it.
	scanBytes = 64 << 20
)

// MessageQuery selects stored messages, the newest first. Zero fields select
// all.
type MessageQuery struct {
	ID          int64
	KeyID       string // WhatsApp's id; several chats may have a message of one
	Chat        string // the phone JID or the LID of the chat
	Participant string // the phone JID or the LID of the sender in a group
	FromMe      *bool
	IsGroup     *bool
	Type        string             // the messageType
	Status      event.UpdateStatus // the newest update's
	Device      string
	PushName    string

	Limit  int   // at most so many; 0 means 50
	Before int64 // only ids below it; 0: from the newest
	After  int64 // only ids above it, those next to it; excludes Before
	Skip   int   // so many that fit are passed over first

	Text string // only messages that have these words in them, whatever their case
}

// narrow tells whether the query selects by more than the chat.
func (q *MessageQuery) narrow() bool {
	return q.ID != 0 || q.KeyID != "" || q.Participant != "" || q.FromMe != nil || q.IsGroup != nil ||
		q.Type != "" || q.Status != "" || q.Device != "" || q.PushName != "" || q.Text != ""
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
// neither repeats nor misses a message that stays. Of one chat, messages of the
// history come after all others, by their times. Errors: ErrNotFound.
func (r *Registry) Messages(ctx context.Context, instance int64, q MessageQuery) (MessagePage, error) {
	if r.entry(instance) == nil {
		return MessagePage{}, ErrNotFound
	}
	if q.Limit <= 0 {
		q.Limit = messagePage
	}
	w := &messageWalk{instance: instance, q: q, up: q.After > 0, words: wordsOf(q.Text)}
	err := r.walk(ctx, w)
	return w.page(), err
}

func (r *Registry) walk(ctx context.Context, w *messageWalk) error {
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
		if err := r.cfg.Store.View(w.step); err != nil {
			return fmt.Errorf("list messages of instance %d: %w", w.instance, err)
		}
		if w.looked == 0 {
			break
		}
	}
	return nil
}

// countStep is how many keys one read transaction counts, countMax how many one call
// does.
const (
	countStep = 20_000
	countMax  = 200_000
)

// CountMessages returns how many messages a query selects, whatever its page is:
// of an instance or a chat, up to 200 000 under each name; of those that a query selects
// by more than that, the ones among the newest that one page looks at. Errors: ErrNotFound.
func (r *Registry) CountMessages(ctx context.Context, instance int64, q MessageQuery) (n int, err error) {
	if r.entry(instance) == nil {
		return 0, ErrNotFound
	}
	if q.narrow() {
		q.Before, q.After, q.Limit, q.Skip = 0, 0, 1, 0
		w := &messageWalk{instance: instance, q: q, words: wordsOf(q.Text), counts: true}
		err := r.walk(ctx, w)
		return w.passed, err
	}
	prefixes := [][]byte{store.Key(instance)}
	if q.Chat != "" {
		prefixes = nil
		err := r.cfg.Store.View(func(tx *store.Tx) error {
			for _, chat := range chatNames(tx, instance, q.Chat) {
				prefixes = append(prefixes, chatPrefix(instance, chat))
			}
			return nil
		})
		if err != nil {
			return 0, err
		}
	}
	for _, prefix := range prefixes {
		of, err := r.countKeys(ctx, prefix)
		if n += of; err != nil {
			return n, fmt.Errorf("count messages of instance %d: %w", instance, err)
		}
	}
	return n, nil
}

// CountChat returns how many messages of a chat are stored; ok is false when
// they are more than can be counted at once, 20 000 under each of its names.
// Errors: ErrNotFound.
func (r *Registry) CountChat(instance int64, chat string) (n int, ok bool, err error) {
	if r.entry(instance) == nil {
		return 0, false, ErrNotFound
	}
	ok = true
	err = r.cfg.Store.View(func(tx *store.Tx) error {
		for _, name := range chatNames(tx, instance, chat) {
			of := 0
			err := tx.Scan(messageChats, store.Range{Prefix: chatPrefix(instance, name), Limit: countStep}, func(_, _ []byte) (bool, error) {
				of++
				return true, nil
			})
			if n += of; err != nil {
				return err
			}
			ok = ok && of < countStep
		}
		return nil
	})
	return n, ok, err
}

// countKeys counts what the index of messages by chat has below a prefix.
func (r *Registry) countKeys(ctx context.Context, prefix []byte) (n int, err error) {
	rows := store.Range{Prefix: prefix}
	for {
		step := 0
		err := r.cfg.Store.View(func(tx *store.Tx) error {
			return tx.Walk(messageChats, rows, func(k []byte) (bool, error) {
				if step++; step == countStep {
					rows.From = append(bytes.Clone(k), 0) // past it
				}
				return step < countStep, nil
			})
		})
		n += step
		if err == nil && ctx.Err() != nil {
			err = context.Cause(ctx)
		}
		if err != nil || step < countStep || n >= countMax {
			return n, err
		}
	}
}

// messageWalk goes from one message to the next, over several transactions.
type messageWalk struct {
	instance int64
	q        MessageQuery
	chats    []string // names of the chat asked for; nil: all chats
	senders  []string // names of the participant asked for; nil: all
	words    words    // of q.Text; empty: any
	up       bool     // towards the newer ones
	at       []byte   // the place of the last message looked at, nil at the beginning
	needles  [][]byte // texts that the record of a message has that fits
	counts   bool     // what fits is counted only, in passed
	most     int      // that looked goes up to
	looked   int
	read     int  // bytes of content
	more     bool // there may be more in this direction
	passed   int  // so many of q.Skip were passed over
	full     bool // one more than the page takes was found
	found    []StoredMessage
}

func (w *messageWalk) step(tx *store.Tx) error {
	if w.q.Chat != "" && w.chats == nil {
		w.chats = chatNames(tx, w.instance, w.q.Chat)
	}
	if w.q.Participant != "" && w.senders == nil {
		w.senders = chatNames(tx, w.instance, w.q.Participant)
	}
	w.begin(tx)
	places, err := w.places(tx)
	w.more = len(places) == scanStep
	for _, place := range places {
		if err != nil || w.full {
			break
		}
		if !w.room() {
			w.more = true
			break
		}
		w.looked++
		err = w.look(tx, place)
	}
	return err
}

// begin finds the place of the message that the page lies beside. One that is
// gone counts as one that came by itself.
func (w *messageWalk) begin(tx *store.Tx) {
	beside := max(w.q.Before, w.q.After)
	if w.at != nil || beside == 0 {
		return
	}
	w.at = store.Key(beside)
	if w.chats == nil || w.isNamed() {
		return
	}
	if m, err := message(tx, w.instance, beside); err == nil {
		w.at = placeOf(&m)
	}
}

// isNamed tells whether the query names its messages itself.
func (w *messageWalk) isNamed() bool { return w.q.ID > 0 || w.q.KeyID != "" }

// look takes a message when it fits. A damaged one counts as not stored.
func (w *messageWalk) look(tx *store.Tx, place []byte) error {
	id := idAt(place)
	if passed, err := w.passOver(tx, id); passed || err != nil {
		w.at = place
		return err
	}
	if w.words == "" {
		w.looked += readCost - 1
	}
	m, err := message(tx, w.instance, id)
	if errors.Is(err, store.ErrDamaged) || errors.Is(err, ErrNotFound) {
		w.at = place
		return nil
	}
	if err != nil {
		return err
	}
	w.read += len(m.Content)
	if !w.fits(&m) {
		w.at = place
		return nil
	}
	updates, err := updatesOf(tx, w.instance, id)
	if err != nil {
		return err
	}
	if w.q.Status == "" || len(updates) > 0 && updates[len(updates)-1].Status == w.q.Status {
		if w.take(m, updates); w.full {
			return nil
		}
	}
	w.at = place
	return nil
}

// take adds a message that fits to the page, or passes it over.
func (w *messageWalk) take(m event.Message, updates []StoredUpdate) {
	switch {
	case w.counts || w.passed < w.q.Skip:
		w.passed++
	case len(w.found) == w.q.Limit:
		w.full, w.more = true, false
	default:
		m.InstanceID = w.instance
		w.found = append(w.found, StoredMessage{m, updates})
	}
}

// fits tells whether the query selects a message, whatever became of it.
func (w *messageWalk) fits(m *event.Message) bool {
	return w.q.fits(m) && (w.chats == nil || slices.Contains(w.chats, chatOf(m))) && w.sentBy(m) && w.words.in(m)
}

func (q *MessageQuery) fits(m *event.Message) bool {
	switch {
	case q.FromMe != nil && m.KeyFromMe != *q.FromMe, q.IsGroup != nil && m.IsGroup != *q.IsGroup,
		q.Type != "" && m.MessageType != q.Type,
		q.KeyID != "" && m.KeyID != q.KeyID,
		q.Device != "" && (m.Device == nil || *m.Device != q.Device),
		q.PushName != "" && (m.PushName == nil || *m.PushName != q.PushName):
		return false
	}
	return true
}

// sentBy tells whether the participant that is asked for, if any, wrote m.
func (w *messageWalk) sentBy(m *event.Message) bool {
	if w.senders == nil {
		return true
	}
	for _, name := range []*string{m.KeyParticipant, m.KeyParticipantLID} {
		if name != nil && slices.Contains(w.senders, *name) {
			return true
		}
	}
	return false
}

// page is what was found, the newest first, and where the next ones begin.
func (w *messageWalk) page() MessagePage {
	p := MessagePage{Messages: w.found}
	further := int64(0)
	if w.full || w.more {
		further = idAt(w.at)
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

// named are the messages that a query names itself, by their ids.
func (w *messageWalk) named(tx *store.Tx) (all [][]byte, err error) {
	if w.q.ID > 0 {
		all = [][]byte{store.Key(w.q.ID)}
	} else {
		r := store.Range{Prefix: store.Key(w.instance, w.q.KeyID, byte(0)), Limit: sharedID}
		err = tx.Scan(messageKeys, r, func(_, v []byte) (bool, error) {
			all = append(all, v)
			return true, nil
		})
	}
	all = slices.DeleteFunc(all, func(id []byte) bool {
		side := bytes.Compare(id, w.at)
		return w.at != nil && (w.up && side <= 0 || !w.up && side >= 0)
	})
	w.sort(all)
	return all, err
}

func (w *messageWalk) sort(places [][]byte) {
	slices.SortFunc(places, bytes.Compare)
	if !w.up {
		slices.Reverse(places)
	}
}

// places are the next messages to look at, at most scanStep.
func (w *messageWalk) places(tx *store.Tx) (all [][]byte, err error) {
	if w.isNamed() {
		return w.named(tx)
	}
	prefixes := [][]byte{store.Key(w.instance)}
	bucket := messages
	if w.chats != nil {
		bucket, prefixes = messageChats, nil
		for _, chat := range w.chats {
			prefixes = append(prefixes, chatPrefix(w.instance, chat))
		}
	}
	for _, prefix := range prefixes {
		r := store.Range{Prefix: prefix, Reverse: !w.up}
		switch {
		case w.up:
			r.From = append(slices.Concat(prefix, w.at), 0) // past it
		case w.at != nil:
			r.Before = slices.Concat(prefix, w.at)
		}
		n := 0
		err := tx.Walk(bucket, r, func(k []byte) (bool, error) {
			n++
			all = append(all, bytes.Clone(k[len(prefix):]))
			return n < scanStep, nil
		})
		if err != nil {
			return nil, err
		}
	}
	w.sort(all)
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
