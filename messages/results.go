package messages

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"postern/event"
	"postern/store"
)

// Sending is what was sent to one person: one message or several, in order.
type Sending struct {
	JID      string    // phone JID or LID of the person
	At       time.Time // when it was sent
	Messages []SentMessage
}

// SentMessage is one message of a Sending.
type SentMessage struct {
	Instance int64
	ID       int64 // of the stored message
	KeyID    string
}

// Result is what became of a Sending: the first time of each, zero if none is stored.
type Result struct {
	Delivered time.Time // a read message was delivered, too
	Read      time.Time
	Replied   time.Time
}

// A reply quotes one of the messages, or is written within replyTime. Own messages do not
// end the search: replyRows index rows are searched, of which replyLook messages are read.
const (
	replyTime = 7 * 24 * time.Hour
	replyRows = 1000
	replyLook = 50
)

// Keeps reports whether receipts are stored, and received messages. Of what is not stored
// a Result has no times.
func (a *Archive) Keeps() (receipts, received bool) { return a.cfg.SaveUpdates, a.cfg.SaveMessages }

// Results returns the result of each sending. It is one read transaction: a caller with
// many asks for some at a time.
func (a *Archive) Results(all []Sending) ([]Result, error) {
	results := make([]Result, len(all))
	err := a.cfg.Store.View(func(tx *store.Tx) error {
		for i := range all {
			if err := a.result(tx, &all[i], &results[i]); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("read the results of sent messages: %w", err)
	}
	return results, nil
}

func (a *Archive) result(tx *store.Tx, s *Sending, r *Result) error {
	var searched []int64 // instances
	for _, m := range s.Messages {
		if m.ID == 0 {
			continue
		}
		if a.cfg.SaveUpdates {
			if err := r.addReceipts(tx, m); err != nil {
				return err
			}
		}
		if a.cfg.SaveMessages && !slices.Contains(searched, m.Instance) {
			searched = append(searched, m.Instance)
			if err := r.addReply(tx, s, m); err != nil {
				return err
			}
		}
	}
	return nil
}

func (r *Result) addReceipts(tx *store.Tx, m SentMessage) error {
	updates, err := updatesOf(tx, m.Instance, m.ID)
	for _, u := range updates {
		switch u.Status {
		case event.StatusRead, event.StatusPlayed:
			earliest(&r.Read, u.At.Time)
			earliest(&r.Delivered, u.At.Time)
		case event.StatusDelivered:
			earliest(&r.Delivered, u.At.Time)
		default:
		}
	}
	return err
}

// addReply searches the chat after m, the first message from its instance. History has its
// own rows, by time.
func (r *Result) addReply(tx *store.Tx, s *Sending, m SentMessage) error {
	for _, name := range chatNames(tx, m.Instance, s.JID) {
		prefix := chatPrefix(m.Instance, name)
		live := slices.Concat(prefix, store.Key(m.ID+1))
		history := slices.Concat(prefix, store.Key(int64(0), max(0, s.At.Unix())))
		for _, rows := range []store.Range{
			{Prefix: prefix, From: live, Limit: replyRows},
			{Prefix: prefix, From: history, Before: slices.Concat(prefix, store.Key(int64(1))), Limit: replyRows},
		} {
			at, err := firstReply(tx, m.Instance, s, rows)
			if err != nil {
				return err
			}
			if !at.IsZero() {
				earliest(&r.Replied, at)
			}
		}
	}
	return nil
}

func firstReply(tx *store.Tx, instance int64, s *Sending, rows store.Range) (at time.Time, err error) {
	until, looks := s.At.Add(replyTime), 0
	err = tx.Scan(messageChats, rows, func(key, whose []byte) (bool, error) {
		if bytes.Equal(whose, ownMessage) {
			return true, nil
		}
		if looks++; looks > replyLook {
			return false, nil
		}
		m, err := message(tx, instance, idAt(key))
		if err != nil || m.KeyFromMe {
			return true, nil //nolint:nilerr // a damaged message counts as not stored
		}
		if wrote := time.Unix(m.MessageTimestamp, 0); !wrote.After(until) || s.quotedBy(&m) {
			at = wrote
		}
		return at.IsZero(), nil
	})
	return at, err
}

// quotedBy reports whether a message quotes one of the sending's.
func (s *Sending) quotedBy(m *event.Message) bool {
	var content struct {
		ContextInfo struct {
			StanzaID string `json:"stanzaId"`
		} `json:"contextInfo"`
	}
	if json.Unmarshal(m.Content, &content) != nil || content.ContextInfo.StanzaID == "" {
		return false
	}
	return slices.ContainsFunc(s.Messages, func(of SentMessage) bool { return of.KeyID == content.ContextInfo.StanzaID })
}

// earliest sets *t to at unless it has an earlier time.
func earliest(t *time.Time, at time.Time) {
	if t.IsZero() || at.Before(*t) {
		*t = at
	}
}
