package instance

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"postern/event"
	"postern/store"
)

const readsDue = "read_due"

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
	if who := texts(m.KeyParticipantLID, m.KeyParticipant); len(who) > 0 && m.IsGroup {
		due.Sender = who[0]
	}
	return due, true
}

// wantRead stores that a message is to be marked as read, if the settings say so.
func (r *Registry) wantRead(tx *store.Tx, id int64, m *event.Message) error {
	e := r.entry(id)
	if e == nil || !e.wishes().ReadMessages {
		return nil
	}
	due, ok := readable(e.record.Load().OwnerJID, m)
	if !ok {
		return nil
	}
	n, err := tx.NextID(readsDue)
	if err != nil {
		return err
	}
	return store.PutJSON(tx, readsDue, store.Key(id, n), due)
}

// nextReads returns the oldest messages to be marked as read, with their keys. They may
// include those of a former account of the instance.
func (r *Registry) nextReads(id int64) (reads []dueRead, keys [][]byte, err error) {
	err = r.cfg.Store.View(func(tx *store.Tx) error {
		return tx.Scan(readsDue, store.Range{Prefix: store.Key(id), Limit: readStep}, func(k, v []byte) (bool, error) {
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
func (r *Registry) readsWait(id int64) (wait bool) {
	err := r.cfg.Store.View(func(tx *store.Tx) error {
		return tx.Scan(readsDue, store.Range{Prefix: store.Key(id), Limit: 1}, func(_, _ []byte) (bool, error) {
			wait = true
			return false, nil
		})
	})
	return wait || err != nil // the following read logs the error
}

func (r *Registry) dropReads(ctx context.Context, keys [][]byte) error {
	return r.cfg.Store.Update(ctx, func(tx *store.Tx) error {
		for _, k := range keys {
			if err := tx.Delete(readsDue, k); err != nil {
				return err
			}
		}
		return nil
	})
}

// markRead marks due messages as read, in at most one goroutine.
func (k *keeper) markRead() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.auto.more = true
	if k.auto.reading {
		return
	}
	k.auto.reading = k.sup.spawn(k.readAll)
}

func (k *keeper) readAll() {
	for again := true; again; {
		select {
		case <-time.After(readPause):
		case <-k.sup.life.Done():
		}
		k.mu.Lock()
		k.auto.more = false
		k.mu.Unlock()
		err := k.readDue()
		if err != nil && k.sup.life.Err() == nil {
			// The rest remains stored until the next message or connection.
			k.sup.log.Warn("messages not marked as read", "instance_id", k.id, "error", err)
		}
		k.mu.Lock()
		again = k.auto.more && err == nil && k.sup.life.Err() == nil
		k.auto.reading = again
		k.mu.Unlock()
	}
}

// readDue marks all due messages. Without a connection it does nothing.
func (k *keeper) readDue() error {
	for k.session.Online() && k.sup.life.Err() == nil {
		rec, err := k.sup.reg.ByID(k.id)
		if err != nil {
			return err
		}
		reads, keys, err := k.sup.reg.nextReads(k.id)
		if err != nil || len(keys) == 0 {
			return err
		}
		if err := k.tellRead(rec.OwnerJID, reads); err != nil {
			return err
		}
		if err := k.sup.reg.dropReads(k.sup.life, keys); err != nil {
			return fmt.Errorf("forget what was marked: %w", err)
		}
	}
	return nil
}

// tellRead sends one receipt per chat and sender. It does not retry what WhatsApp's
// client rejects.
func (k *keeper) tellRead(account string, reads []dueRead) error {
	type place struct{ chat, sender string }
	ids := map[place][]string{}
	for _, due := range reads {
		if due.Account == account && due.KeyID != "" {
			p := place{due.Chat, due.Sender}
			ids[p] = append(ids[p], due.KeyID)
		}
	}
	for p, all := range ids {
		err := k.session.MarkRead(k.sup.life, p.chat, p.sender, all, false)
		if errors.Is(err, event.ErrRefused) {
			k.sup.log.Debug("message cannot be marked as read", "instance_id", k.id, "error", err)
			continue
		}
		if err != nil {
			return err
		}
	}
	return nil
}
