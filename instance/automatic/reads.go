package automatic

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"postern/event"
	"postern/store"
)

const (
	readStep  = 100                    // maximum number of messages in one receipt
	readPause = 500 * time.Millisecond // collects messages that arrive together, and lets the delivery be reported first
)

// dueRead is a message to be marked as read. It is stored in the commit of the message,
// so that a crash leaves none unmarked.
type dueRead struct {
	Account string `json:"account"` // the receiving account
	Chat    string `json:"chat"`
	Sender  string `json:"sender,omitempty"` // in a group
	KeyID   string `json:"keyId"`
}

// readable returns what marks a message as read; false for statuses and for changes of
// other messages, for which no receipt is sent.
func readable(account string, m *event.Message) (dueRead, bool) {
	if m.KeyFromMe || m.KeyRemoteJID == nil || *m.KeyRemoteJID == event.StatusBroadcast {
		return dueRead{}, false
	}
	switch m.MessageType {
	case "protocolMessage", "reactionMessage", "encReactionMessage", "pollUpdateMessage", "pinInChatMessage", "keepInChatMessage":
		return dueRead{}, false
	}
	due := dueRead{Account: account, Chat: *m.KeyRemoteJID, KeyID: m.KeyID}
	if who := cmp.Or(m.KeyParticipantLID, m.KeyParticipant); who != nil && m.IsGroup {
		due.Sender = *who
	}
	return due, true
}

// WantRead stores that a message of an account is to be marked as read.
func WantRead(tx *store.Tx, instance int64, account string, m *event.Message) error {
	due, ok := readable(account, m)
	if !ok {
		return nil
	}
	n, err := tx.NextID(readsDue)
	if err != nil {
		return err
	}
	return store.PutJSON(tx, readsDue, store.Key(instance, n), due)
}

// nextReads returns the oldest messages to be marked as read, with their keys. They may
// include those of a former account of the instance.
func (a *Actions) nextReads() (reads []dueRead, keys [][]byte, err error) {
	err = a.cfg.Store.View(func(tx *store.Tx) error {
		return tx.Scan(readsDue, store.Range{Prefix: store.Key(a.cfg.Instance), Limit: readStep}, func(k, v []byte) (bool, error) {
			var due dueRead
			if err := json.Unmarshal(v, &due); err != nil {
				_ = tx.Unreadable(readsDue, k, err) // counted; has no account, so it is removed
				due = dueRead{}
			}
			reads, keys = append(reads, due), append(keys, k)
			return true, nil
		})
	})
	return reads, keys, err
}

// readsWait reports whether there are any.
func (a *Actions) readsWait() (wait bool) {
	err := a.cfg.Store.View(func(tx *store.Tx) error {
		return tx.Scan(readsDue, store.Range{Prefix: store.Key(a.cfg.Instance), Limit: 1}, func(_, _ []byte) (bool, error) {
			wait = true
			return false, nil
		})
	})
	return wait || err != nil // the following read logs the error
}

func (a *Actions) dropReads(ctx context.Context, keys [][]byte) error {
	return a.cfg.Store.Update(ctx, func(tx *store.Tx) error {
		for _, k := range keys {
			if err := tx.Delete(readsDue, k); err != nil {
				return err
			}
		}
		return nil
	})
}

// markRead marks due messages as read, in at most one goroutine.
func (a *Actions) markRead() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.more = true
	if a.reading {
		return
	}
	a.reading = a.cfg.Spawn(a.readAll)
}

func (a *Actions) readAll() {
	for again := true; again; {
		select {
		case <-time.After(readPause):
		case <-a.cfg.Life.Done():
		}
		a.mu.Lock()
		a.more = false
		a.mu.Unlock()
		err := a.ReadDue()
		if err != nil && a.cfg.Life.Err() == nil {
			// The rest remains stored until the next message or connection.
			a.cfg.Log.Warn("messages not marked as read", "instance_id", a.cfg.Instance, "error", err)
		}
		a.mu.Lock()
		again = a.more && err == nil && a.cfg.Life.Err() == nil
		a.reading = again
		a.mu.Unlock()
	}
}

// ReadDue marks all due messages as read. Without a connection it does nothing.
func (a *Actions) ReadDue() error {
	for a.cfg.Session.Online() && a.cfg.Life.Err() == nil {
		account, err := a.cfg.Account()
		if err != nil {
			return err
		}
		reads, keys, err := a.nextReads()
		if err != nil || len(keys) == 0 {
			return err
		}
		if err := a.tellRead(account, reads); err != nil {
			return err
		}
		if err := a.dropReads(a.cfg.Life, keys); err != nil {
			return fmt.Errorf("forget what was marked: %w", err)
		}
	}
	return nil
}

// tellRead sends one receipt per chat and sender. It does not retry what WhatsApp's
// client rejects.
func (a *Actions) tellRead(account string, reads []dueRead) error {
	type place struct{ chat, sender string }
	ids := map[place][]string{}
	for _, due := range reads {
		if due.Account == account && due.KeyID != "" {
			p := place{due.Chat, due.Sender}
			ids[p] = append(ids[p], due.KeyID)
		}
	}
	for p, all := range ids {
		err := a.cfg.Session.MarkRead(a.cfg.Life, p.chat, p.sender, all, false)
		if errors.Is(err, event.ErrRefused) {
			a.cfg.Log.Debug("message cannot be marked as read", "instance_id", a.cfg.Instance, "error", err)
			continue
		}
		if err != nil {
			return err
		}
	}
	return nil
}
