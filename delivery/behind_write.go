package delivery

import (
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"slices"
	"time"

	"postern/delivery/layout"
	"postern/store"
)

// writeBehind writes the records of the in-memory flow until done is closed.
func (l *Ledger) writeBehind(done <-chan struct{}) {
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
func (l *Ledger) Flush(ctx context.Context) error {
	if !l.cfg.Log {
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
func (l *Ledger) catchUp(ctx context.Context) error {
	_ = l.Flush(ctx)
	return ctx.Err()
}

// LogDropped returns how many records were not written because the writer could not keep up.
func (l *Ledger) LogDropped() uint64 { return l.behind.dropped.Load() }

// writeAll writes in the order of the ids, so that the records share blocks.
func (l *Ledger) writeAll(all []writing) (err error) {
	for _, w := range all {
		w.shown = ShownURL(w.url)
	}
	slices.SortFunc(all, func(a, b writing) int { return cmp.Compare(a.id, b.id) })
	for some := range slices.Chunk(all, behindStep) {
		err = errors.Join(err, l.writeSome(some))
	}
	return err
}

// writeSome makes one commit. If it fails, new records are lost and counted; records that the
// file has as pending are written with the next ones.
func (l *Ledger) writeSome(some []writing) error {
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
		failed := l.store.Update(context.Background(), func(tx *store.Tx) error { return l.putFlow(tx, some) })
		clear(l.behind.rows)
		l.behind.written(some, failed)
		err = errors.Join(err, failed)
	}
	if err != nil {
		l.tellLost(err)
	}
	return err
}

// putFlow writes records of the in-memory flow, in the order of their ids. The caller must
// hold turn.
func (l *Ledger) putFlow(tx *store.Tx, some []writing) error {
	rows, last := l.behind.rows, uint64(0)
	gone, w, key := map[int64]bool{}, layout.New(512), make([]byte, 8)
	for i, one := range some {
		if isGone(tx, one.notice.InstanceID, gone) {
			continue
		}
		c, err := l.changeOf(tx, one, &rows[i])
		if err != nil {
			return err
		}
		if c.now == nil {
			continue
		}
		if l.astray(c.now) {
			one.body = nil
			if err := l.strip(tx, c); err != nil {
				return err
			}
		}
		if err := l.putFlowBody(tx, c, one); err != nil {
			return err
		}
		w.Reset()
		writeRecord(w, c.now)
		binary.BigEndian.PutUint64(key, c.now.ID)
		if err := tx.Put(records, key, w.Raw); err != nil {
			return err
		}
		if err := l.note(tx, c.now, c.old); err != nil {
			return err
		}
		last = c.now.ID
	}
	return tx.TakeID(records, last)
}

// changeOf returns the change that a writing makes, with the resulting record in r. It
// returns no change if the record is no longer pending.
func (l *Ledger) changeOf(tx *store.Tx, w writing, r *Record) (c change, err error) {
	if !w.update {
		*r = w.record()
		return change{now: r}, nil
	}
	old, found, err := getRecord(tx, w.id)
	if errors.Is(err, store.ErrDamaged) {
		return c, nil
	}
	if err != nil || !found || old.State != Pending {
		return c, err
	}
	*r = old.after(w.state, w.attempt)
	return change{now: r, old: &old}, nil
}

// strip removes the body of a credential from a writing.
func (l *Ledger) strip(tx *store.Tx, c change) error {
	*c.now = c.now.withheld()
	if c.old == nil || !c.old.OwnBody {
		return nil
	}
	return tx.Delete(bodies, store.Key(c.now.ID))
}

// putFlowBody stores the body or discards it.
func (l *Ledger) putFlowBody(tx *store.Tx, c change, w writing) error {
	switch {
	case !l.cfg.wantsBody(c.now.State):
		if c.now.OwnBody = false; c.old != nil && c.old.OwnBody {
			return tx.Delete(bodies, store.Key(c.now.ID))
		}
	case w.body != nil && (c.old == nil || !c.old.OwnBody):
		c.now.OwnBody = true
		return putOwn(tx, c.now.ID, w.notice.OwnerJID, w.body)
	}
	return nil
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
