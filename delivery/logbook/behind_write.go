package logbook

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"postern/delivery"
	"postern/store"
)

// writeBehind writes the records of the in-memory flow until done is closed.
func (l *Log) writeBehind(done <-chan struct{}) {
	for {
		select {
		case <-l.behind.kick:
		case <-done:
			return
		}
		wait := time.NewTimer(company)
		select {
		case <-l.behind.full:
		case <-wait.C:
		case <-done:
			wait.Stop()
			return
		}
		wait.Stop()
		l.behind.turn <- struct{}{}
		_ = l.writeAll(l.behind.take(false)) // writeAll logs and counts errors
		<-l.behind.turn
		signal(l.grown)
		l.behind.again()
	}
}

// again makes the writer return for what take left.
func (b *behind) again() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.waiting)+len(b.ended) > 0 {
		signal(b.kick)
	}
}

// Flush returns once everything noted before the call is in the file.
func (l *Log) Flush(ctx context.Context) error {
	if !l.ledger.LogIsOn() {
		return nil
	}
	select {
	case l.behind.turn <- struct{}{}:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	defer func() { <-l.behind.turn }()
	return l.writeAll(l.behind.take(true))
}

// catchUp lets a reader see everything noted before the call. If a record cannot be written,
// the reader still sees the others.
func (l *Log) catchUp(ctx context.Context) error {
	_ = l.Flush(ctx)
	return ctx.Err()
}

// LogDropped returns how many records were not written because the writer could not keep up.
func (l *Log) LogDropped() uint64 { return l.behind.dropped.Load() }

// writeAll writes in the order of the ids, so that the records share blocks.
func (l *Log) writeAll(all []writing) (err error) {
	for _, w := range all {
		w.shown = delivery.ShownURL(w.url)
	}
	slices.SortFunc(all, func(a, b writing) int { return cmp.Compare(a.id, b.id) })
	for some := range slices.Chunk(all, behindStep) {
		err = errors.Join(err, l.writeSome(some))
	}
	return err
}

// writeSome makes one commit. If it fails, new records are lost and counted; records that the
// file has as pending are written with the next ones.
func (l *Log) writeSome(some []writing) error {
	err := l.store.Admit()
	if err != nil {
		// The end of records that the file already has is written anyway.
		var fresh, known []writing
		for _, w := range some {
			if w.update {
				known = append(known, w)
			} else {
				fresh = append(fresh, w)
			}
		}
		l.behind.written(fresh, err)
		some = known
	}
	if len(some) > 0 {
		failed := l.store.Update(context.Background(), func(tx *store.Tx) error {
			rows := l.behind.rows[:len(some)]
			for i, w := range some {
				rows[i] = w.flowed()
			}
			return l.ledger.PutFlow(tx, rows)
		})
		clear(l.behind.rows)
		l.behind.written(some, failed)
		err = errors.Join(err, failed)
	}
	if err != nil {
		l.tellLost(err)
	}
	return err
}

// written notes the outcome of writings.
func (b *behind) written(some []writing, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, w := range some {
		switch {
		case err == nil && !w.ended:
			b.stored++
		case err == nil && w.update:
			b.stored--
		case err == nil:
		case !w.ended:
			w.stored = false // its end is a new record
		case w.update && len(b.ended) < maxBehind:
			b.ended = append(b.ended, w.Entry)
			b.bytes += len(w.notice.Body)
		default:
			b.dropped.Add(1)
		}
	}
}
