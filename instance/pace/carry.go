package pace

import (
	"encoding/json"
	"errors"

	"postern/store"
)

// Stored returns the limits of an instance from the store, nil if none are set or they
// are unreadable.
func Stored(tx *store.Tx, instance int64) (*Limits, error) {
	raw, err := tx.Get(bucket, limitsKey(instance))
	if errors.Is(err, store.ErrDamaged) || err == nil && raw == nil {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var l Limits
	if json.Unmarshal(raw, &l) != nil || l.Check() != nil {
		return nil, nil
	}
	return &l, nil
}

// Keep stores the limits of a new instance in its commit. In a running program they apply
// after Set. The error is a RuleError, or that of the store.
func Keep(tx *store.Tx, instance int64, limits Limits) error {
	if err := limits.Check(); err != nil {
		return err
	}
	return errors.Join(
		tx.Put(heads, headKey(instance), head{}.encode(moment{}, nil)),
		store.PutJSON(tx, bucket, limitsKey(instance), limits),
	)
}
