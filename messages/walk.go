package messages

import (
	"bytes"
	"encoding/json"
	"errors"
	"slices"

	"postern/event"
	"postern/store"
)

// messageWalk iterates over messages in several transactions.
type messageWalk struct {
	instance int64
	q        Query
	chats    []string // names of the requested chat; nil: all chats
	senders  []string // names of the requested participant; nil: all
	words    words    // of q.Text; empty: any
	up       bool     // towards newer messages
	at       []byte   // place of the last message scanned, nil at the start
	needles  [][]byte // texts that every matching record contains
	counts   bool     // only count matches, in passed
	most     int      // limit of looked
	looked   int
	read     int  // bytes of content
	more     bool // more messages may follow in this direction
	passed   int  // matches skipped for q.Skip
	full     bool // one match more than the page takes was found
	found    []Stored
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

// begin finds the place of the message that the page starts next to. A removed one counts
// as a live message.
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

// isNamed reports whether the query identifies its messages by id.
func (w *messageWalk) isNamed() bool { return w.q.ID > 0 || w.q.KeyID != "" }

// look adds a message if it matches. A damaged one counts as not stored.
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
	if errors.Is(err, store.ErrDamaged) || errors.Is(err, ErrNoMessage) {
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
	if w.q.UndeliveredFor > 0 {
		is, err := undelivered(tx, w.instance, id, tx.Now().Add(-w.q.UndeliveredFor))
		if err != nil {
			return err
		}
		if !is {
			w.at = place
			return nil
		}
	}
	if w.q.Status == "" || statusOf(&m, updates) == w.q.Status {
		if w.take(m, updates); w.full {
			return nil
		}
	}
	w.at = place
	return nil
}

// ranks are the statuses of a message, the least first. Receipts arrive in any order, and in a
// group from each member: a later one does not take back an earlier one.
var ranks = []event.UpdateStatus{
	event.StatusUnknown, event.StatusRetry, event.StatusServerError, event.StatusSent, event.StatusDelivered, event.StatusRead, event.StatusPlayed,
}

// statusOf returns the highest status of a message; empty for a received one without updates. WhatsApp has
// accepted the account's own.
func statusOf(m *event.Message, updates []StoredUpdate) (status event.UpdateStatus) {
	if m.KeyFromMe && len(updates) == 0 {
		return event.StatusSent
	}
	best := -1
	for _, u := range updates {
		if rank := slices.Index(ranks, u.Status); rank > best {
			best, status = rank, u.Status
		}
	}
	return status
}

// take adds a matching message to the page, or skips it.
func (w *messageWalk) take(m event.Message, updates []StoredUpdate) {
	switch {
	case w.counts || w.passed < w.q.Skip:
		w.passed++
	case len(w.found) == w.q.Limit:
		w.full, w.more = true, false
	default:
		m.InstanceID = w.instance
		w.found = append(w.found, Stored{m, updates})
	}
}

// fits reports whether the query matches a message, regardless of its updates.
func (w *messageWalk) fits(m *event.Message) bool {
	return w.q.fits(m) && (w.chats == nil || slices.Contains(w.chats, chatOf(m))) && w.sentBy(m) && w.words.in(m)
}

func (q *Query) fits(m *event.Message) bool {
	switch {
	case q.FromMe != nil && m.KeyFromMe != *q.FromMe, q.IsGroup != nil && m.IsGroup != *q.IsGroup,
		q.Type != "" && m.MessageType != q.Type,
		q.From != 0 && m.MessageTimestamp < q.From, q.To != 0 && m.MessageTimestamp >= q.To,
		q.KeyID != "" && m.KeyID != q.KeyID,
		q.Device != "" && (m.Device == nil || *m.Device != q.Device),
		q.PushName != "" && (m.PushName == nil || *m.PushName != q.PushName):
		return false
	}
	return true
}

// sentBy reports whether m is from the requested participant, if any.
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

// page returns the messages found, newest first, and where the adjacent pages start.
func (w *messageWalk) page() Page {
	p := Page{Messages: w.found}
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

// named returns the ids of messages that the query identifies.
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

// places returns the next messages to scan, at most scanStep.
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
	err := tx.Scan(messageUpdates, store.Range{Prefix: store.Key(instance, id)}, func(k, v []byte) (bool, error) {
		var u StoredUpdate
		if err := json.Unmarshal(v, &u); err != nil {
			return true, tx.Unreadable(messageUpdates, k, err)
		}
		all = append(all, u)
		return true, nil
	})
	return all, err
}
