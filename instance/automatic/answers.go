package automatic

import (
	"context"
	"encoding/binary"
	"fmt"
	"time"

	"postern/store"
)

// answerPause is the time between two answers to a caller.
const answerPause = time.Hour

// staleAnswers bounds the number of records that one call cleans up.
const staleAnswers = 1000

// claimAnswer records that a caller is being answered. It returns false if the caller, by
// either address, was answered within answerPause.
func (a *Actions) claimAnswer(ctx context.Context, caller string) (due bool, err error) {
	names := []string{caller}
	if a.cfg.Twin != nil {
		if twin := a.cfg.Twin(caller); twin != "" {
			names = append(names, twin)
		}
	}
	err = a.cfg.Store.Update(ctx, func(tx *store.Tx) error {
		due = false
		if err := a.cfg.There(tx); err != nil {
			return err // deleted in the meantime
		}
		now := tx.Now()
		for _, name := range names {
			at, err := answeredAt(tx, store.Key(a.cfg.Instance, name))
			// Setting the clock back must not extend the pause.
			if since := now.Sub(at); err != nil || since < answerPause && since > -answerPause {
				return err
			}
		}
		due = true
		if err := forgetAnswers(tx, a.cfg.Instance, now); err != nil {
			return err
		}
		return tx.Put(callAnswers, store.Key(a.cfg.Instance, caller), binary.BigEndian.AppendUint64(nil, uint64(now.UnixMilli()))) //nolint:gosec // after 1970
	})
	if err != nil {
		return false, fmt.Errorf("note the answer to a call: %w", err)
	}
	return due, nil
}

// releaseAnswer reverts a claim whose text certainly did not leave.
func (a *Actions) releaseAnswer(ctx context.Context, caller string) error {
	return a.cfg.Store.Update(ctx, func(tx *store.Tx) error { return tx.Delete(callAnswers, store.Key(a.cfg.Instance, caller)) })
}

func answeredAt(tx *store.Tx, key []byte) (time.Time, error) {
	raw, err := tx.Get(callAnswers, key)
	if err != nil || len(raw) != 8 {
		return time.Time{}, err
	}
	return time.UnixMilli(store.Number(raw)), nil
}

// forgetAnswers removes the expired records of an instance, leaving the callers of one
// hour.
func forgetAnswers(tx *store.Tx, id int64, now time.Time) error {
	var stale [][]byte
	err := tx.Scan(callAnswers, store.Range{Prefix: store.Key(id), Limit: staleAnswers}, func(k, v []byte) (bool, error) {
		if since := now.Sub(time.UnixMilli(store.Number(v))); since >= answerPause || since <= -answerPause {
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
