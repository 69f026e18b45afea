package messages

import (
	"bytes"
	"context"
	"fmt"

	"postern/store"
)

// countStep is the number of keys counted per transaction, countMax per call.
const (
	countStep = 20_000
	countMax  = 200_000
)

// CountMessages returns the number of messages that a query selects, regardless of
// paging: of an instance or a chat, up to 200 000 under each name; with further filters,
// only among the newest messages that one page scans. Errors: those of
// Config.Owner.
func (a *Archive) CountMessages(ctx context.Context, instance int64, q Query) (n int, err error) {
	if err := a.owner(instance); err != nil {
		return 0, err
	}
	if q.narrow() {
		q.Before, q.After, q.Limit, q.Skip = 0, 0, 1, 0
		w := &messageWalk{instance: instance, q: q, words: wordsOf(q.Text), counts: true}
		err := a.walk(ctx, w)
		return w.passed, err
	}
	prefixes := [][]byte{store.Key(instance)}
	if q.Chat != "" {
		prefixes = nil
		err := a.cfg.Store.View(func(tx *store.Tx) error {
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
		of, err := a.countKeys(ctx, prefix)
		if n += of; err != nil {
			return n, fmt.Errorf("count messages of instance %d: %w", instance, err)
		}
	}
	return n, nil
}

// CountChat returns the number of stored messages of a chat; ok is false if there are
// more than one call counts, 20 000 under each name. Errors: those of
// Config.Owner.
func (a *Archive) CountChat(instance int64, chat string) (n int, ok bool, err error) {
	if err := a.owner(instance); err != nil {
		return 0, false, err
	}
	ok = true
	err = a.cfg.Store.View(func(tx *store.Tx) error {
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

// countKeys counts the entries of the index of messages by chat under a prefix.
func (a *Archive) countKeys(ctx context.Context, prefix []byte) (n int, err error) {
	rows := store.Range{Prefix: prefix}
	for {
		step := 0
		err := a.cfg.Store.View(func(tx *store.Tx) error {
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
