package messages

import (
	"bytes"
	"context"
	"errors"
	"fmt"

	"postern/event"
	"postern/store"
)

// removeSome removes messages, as many of the first as fit in one commit, and returns their number.
func (a *Archive) removeSome(tx *store.Tx, instance int64, all []event.Message) (n int, err error) {
	room := pruneUpdates
	for _, m := range all {
		removed, err := deleteUpdates(tx, instance, m.ID, room)
		if err != nil {
			return n, err
		}
		if room -= removed; room == 0 {
			return n, nil // this message may have more updates
		}
		if err := deleteMessage(tx, instance, &m); err != nil {
			return n, err
		}
		if a.cfg.Deleted != nil {
			if err := a.cfg.Deleted(tx, instance, m.ID); err != nil {
				return n, err
			}
		}
		n++
	}
	return n, nil
}

// bare returns what the removal of a message needs: its key, and of a vote the poll. Other contents have up to
// megabytes.
func bare(m event.Message) event.Message {
	if m.MessageType != voteType {
		m.Content = nil
	}
	return m
}

// Remove removes stored messages, in small commits. One that is not there, or is damaged, is passed over.
func (a *Archive) Remove(ctx context.Context, instance int64, ids ...int64) error {
	for len(ids) > 0 {
		var done int
		err := a.cfg.Store.Update(ctx, func(tx *store.Tx) (err error) {
			done, err = a.removeNext(tx, instance, ids)
			return err
		})
		if err != nil {
			return fmt.Errorf("remove messages of instance %d: %w", instance, err)
		}
		ids = ids[done:]
	}
	return nil
}

// removeNext removes the first of some messages, and returns how many of them need no further attempt.
func (a *Archive) removeNext(tx *store.Tx, instance int64, ids []int64) (done int, err error) {
	var some []event.Message
	var ends []int // index of the id after each of them
	for i, id := range ids[:min(len(ids), pruneStep)] {
		m, err := message(tx, instance, id)
		switch {
		case err == nil:
			some, ends = append(some, bare(m)), append(ends, i+1)
		case !errors.Is(err, ErrNoMessage) && !errors.Is(err, store.ErrDamaged):
			return 0, err
		}
	}
	n, err := a.removeSome(tx, instance, some)
	switch {
	case err != nil:
		return 0, err
	case n == len(some):
		return min(len(ids), pruneStep), nil
	case n == 0:
		return 0, nil
	}
	return ends[n-1], nil
}

// RemoveChat removes the stored messages of a chat, in small commits.
func (a *Archive) RemoveChat(ctx context.Context, instance int64, chat string) error {
	var names []string
	err := a.cfg.Store.View(func(tx *store.Tx) error {
		names = chatNames(tx, instance, chat)
		return nil
	})
	for _, name := range names {
		if err == nil {
			err = a.removeUnder(ctx, instance, chatPrefix(instance, name))
		}
	}
	return err
}

// removeUnder removes the messages in a part of the index by chat.
func (a *Archive) removeUnder(ctx context.Context, instance int64, prefix []byte) error {
	for from := prefix; ; {
		var ids []int64
		err := a.cfg.Store.View(func(tx *store.Tx) error {
			ids = ids[:0]
			return tx.Walk(messageChats, store.Range{Prefix: prefix, From: from, Limit: pruneStep}, func(k []byte) (bool, error) {
				ids, from = append(ids, idAt(k)), append(bytes.Clone(k), 0)
				return true, nil
			})
		})
		if err != nil || len(ids) == 0 {
			return err
		}
		if err := a.Remove(ctx, instance, ids...); err != nil {
			return err
		}
	}
}
