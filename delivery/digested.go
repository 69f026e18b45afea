package delivery

import (
	"context"
	"errors"
	"slices"
	"time"

	"postern/delivery/digest"
	"postern/event"
	"postern/store"
)

// leftDigest is what an orderly stop records of the digest: it has a row for each record, the
// numbers by state match its rows, and nothing is pending in memory only.
const leftDigest = "delivery digest"

var digestOf = []string{records, digests, logs}

// interrupted is the reason of a delivery of the in-memory flow that was lost with its
// process.
const interrupted = "the program ended before it was delivered"

const lostStep = 500 // records of one commit

// openDigest opens the digest, and ends the deliveries that waited in the memory of a killed
// process.
func (l *Ledger) openDigest() error {
	err := l.store.Update(context.Background(), func(tx *store.Tx) error {
		_, err := tx.DeletePrefix(logs, gonePrefix)
		return err
	})
	if err != nil {
		return err
	}
	l.store.AtStop(leftDigest, digestOf, l.leaveDigest)
	_, trusted := l.store.Left(leftDigest, digestOf)
	cfg := digest.Config{
		Store: l.store, Records: records, Blocks: digests, Names: requests, Keys: logs,
		Read: readFields, Later: laterNames,
	}
	d, found, rebuilt, err := digest.Open(cfg, trusted)
	if l.digest = d; err != nil {
		return err
	}
	if rebuilt > 0 {
		l.log.Warn("the digest of deliveries was made anew where it did not fit its records", "blocks", rebuilt)
	}
	if l.unread = found == nil; l.unread {
		return nil
	}
	now := Counts(found.States[:len(states)])
	err = l.store.Update(context.Background(), func(tx *store.Tx) error {
		stored, err := ReadCounts(tx)
		if err == nil && stored == now || err != nil && !errors.Is(err, store.ErrDamaged) {
			return err
		}
		return putCounts(tx, now)
	})
	if err != nil {
		return err
	}
	for some := range slices.Chunk(found.Memory, lostStep) {
		if err := l.endLost(some); err != nil {
			return err
		}
	}
	return nil
}

// endLost ends records that waited in memory.
func (l *Ledger) endLost(ids []uint64) error {
	return l.store.Update(context.Background(), func(tx *store.Tx) error {
		for _, id := range ids {
			old, found, err := Find(tx, id)
			if errors.Is(err, store.ErrDamaged) || err == nil && (!found || !old.InMemory()) {
				continue
			}
			if err != nil {
				return err
			}
			now := old.after(Dropped, Attempt{Error: interrupted})
			if err := tx.Put(records, store.Key(id), encodeRecord(now)); err != nil {
				return err
			}
			if err := l.note(tx, &now, &old); err != nil {
				return err
			}
		}
		return nil
	})
}

// leaveDigest is called at an orderly stop.
func (l *Ledger) leaveDigest() []byte {
	if l.hooks.Settled != nil && !l.hooks.Settled() {
		return nil
	}
	return []byte{}
}

// verifyDigest verifies the digest of a file that the start did not read, rebuilds damaged
// blocks, and so brings it into the system's page cache for the first list. It pauses after
// each read for as long as the read took.
func (l *Ledger) verifyDigest(ctx context.Context) {
	for from := uint64(0); ctx.Err() == nil; {
		began := time.Now()
		damaged, next, err := l.digest.Verify(from)
		err = errors.Join(err, l.digest.Rebuild(damaged))
		if err != nil && ctx.Err() == nil {
			l.log.Warn("the digest of deliveries was not verified to its end", "error", err)
		}
		if err != nil || next == 0 {
			return
		}
		from = next
		pause := time.NewTimer(time.Since(began))
		select {
		case <-pause.C:
		case <-ctx.Done():
			pause.Stop()
		}
	}
}

// fields returns what the digest has of a record.
func (r *Record) fields() digest.Fields {
	f := digest.Fields{
		ID: r.ID, State: stateNumber(r.State), Target: targetNumber(r.Lane.Target), Event: kindNumber(r.Event), Instance: r.Instance,
		Made: r.CreatedAt, Ended: r.endedAt(), Duration: r.Duration, EventID: r.EventID,
		Endpoint: r.Lane.Endpoint, Chat: r.Chat, ChatLID: r.ChatLID, RequestID: r.RequestID, Retried: r.Attempts > 1,
	}
	for _, mark := range [...]struct {
		mark digest.Marks
		is   bool
	}{
		{digest.Batch, r.Lane.Flow == FlowBatch},
		{digest.Replay, r.ReplayOf != 0},
		{digest.Replayed, r.Replayed},
		{digest.Memory, r.InMemory()},
	} {
		if mark.is {
			f.Marks |= mark.mark
		}
	}
	return f
}

// targets gives each target its number in the digest; 0 is none.
var targets = [...]event.Target{"", event.TargetWebhook, event.TargetGlobal, event.TargetEndpoint}

func targetNumber(t event.Target) uint8 { return uint8(max(0, slices.Index(targets[:], t))) }

// endedAt returns when a record ended, as far as it states that.
func (r *Record) endedAt() time.Time {
	switch {
	case r.State == Expired && !r.ExpiresAt.IsZero():
		return r.ExpiresAt
	case !r.LastAttemptAt.IsZero():
		return r.LastAttemptAt.Add(r.Duration)
	}
	return r.CreatedAt
}

// readFields and laterNames read records for the digest. The request id of a row is that of
// the first attempt; those of later ones are further names.
func readFields(tx *store.Tx, first, last uint64, fn func(digest.Fields) error) error {
	return eachRecord(tx, first, last, func(r Record) error {
		f := r.fields()
		a, err := firstAttempt(tx, r)
		if err != nil {
			return err
		}
		if a.Number > 0 {
			f.RequestID = a.RequestID
		}
		return fn(f)
	})
}

func laterNames(tx *store.Tx, first, last uint64, fn func(id uint64, name string) error) error {
	return eachRecord(tx, first, last, func(r Record) error {
		if r.Attempts < 2 {
			return nil
		}
		all, err := AttemptsOf(tx, r)
		for _, a := range all {
			if err == nil && a.Number > 1 {
				err = fn(r.ID, a.RequestID)
			}
		}
		return err
	})
}

// eachRecord calls fn for the readable records from the id first to before last.
func eachRecord(tx *store.Tx, first, last uint64, fn func(Record) error) error {
	return tx.Scan(records, store.Range{From: store.Key(first), Before: store.Key(last)}, func(key, raw []byte) (bool, error) {
		id, _ := digest.IDOf(key)
		r, err := decodeRecord(id, raw)
		if err != nil {
			return true, tx.Unreadable(records, key, err)
		}
		return true, fn(r)
	})
}
