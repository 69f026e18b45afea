package instance

import (
	"context"
	"encoding/binary"
	"fmt"
	"time"

	"postern/store"
)

const callAnswers = "call_answer"

// answerPause is how long a caller who was answered is not answered again.
const answerPause = time.Hour

// staleAnswers bounds how many records one call cleans up.
const staleAnswers = 1000

// claimAnswer notes that a caller is answered now. It reports false when they
// were within the hour, by either of their addresses.
func (r *Registry) claimAnswer(ctx context.Context, id int64, caller string) (due bool, err error) {
	names := []string{caller}
	if r.cfg.Twin != nil {
		if twin := r.cfg.Twin(caller); twin != "" {
			names = append(names, twin)
		}
	}
	err = r.cfg.Store.Update(ctx, func(tx *store.Tx) error {
		due = false
		if !tx.Has(instances, store.Key(id)) {
			return ErrNotFound // deleted meanwhile
		}
		now := tx.Now()
		for _, name := range names {
			at, err := answeredAt(tx, store.Key(id, name))
			// A clock that was set back must not silence a caller for longer.
			if since := now.Sub(at); err != nil || since < answerPause && since > -answerPause {
				return err
			}
		}
		due = true
		if err := forgetAnswers(tx, id, now); err != nil {
			return err
		}
		return tx.Put(callAnswers, store.Key(id, caller), binary.BigEndian.AppendUint64(nil, uint64(now.UnixMilli()))) //nolint:gosec // after 1970
	})
	if err != nil {
		return false, fmt.Errorf("note the answer to a call: %w", err)
	}
	return due, nil
}

// releaseAnswer takes a claim back whose text certainly did not leave.
func (r *Registry) releaseAnswer(ctx context.Context, id int64, caller string) error {
	return r.cfg.Store.Update(ctx, func(tx *store.Tx) error { return tx.Delete(callAnswers, store.Key(id, caller)) })
}

func answeredAt(tx *store.Tx, key []byte) (time.Time, error) {
	raw, err := tx.Get(callAnswers, key)
	if err != nil || len(raw) != 8 {
		return time.Time{}, err
	}
	return time.UnixMilli(number(raw)), nil
}

// forgetAnswers removes the records of an instance that hold nobody back any
// more: what is left are the callers of an hour.
func forgetAnswers(tx *store.Tx, id int64, now time.Time) error {
	var stale [][]byte
	err := tx.Scan(callAnswers, store.Range{Prefix: store.Key(id), Limit: staleAnswers}, func(k, v []byte) (bool, error) {
		if since := now.Sub(time.UnixMilli(number(v))); since >= answerPause || since <= -answerPause {
			stale = append(stale, k)
		}
		return true, nil
	})
	for _, k := range stale {
		if err == nil {
			err = tx.Delete(callAnswers, k)
		}
	}
	return err
}
