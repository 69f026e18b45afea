package access

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/google/uuid"

	"postern/store"
)

// While returns a context whose commits fail with ErrUnknown once the key is deleted.
// Expiry of the key and loss of rights since the request do not count.
func While(ctx context.Context, id uuid.UUID) context.Context {
	return store.WithUpdate(ctx, func(tx *store.Tx) error {
		if !tx.Has(bucketKeys, id[:]) {
			return ErrUnknown
		}
		return nil
	})
}

// Ending returns the deleted keys whose work is still being stopped. It skips unreadable
// ones.
func (all *Keys) Ending() (keys []Key, err error) {
	err = all.store.View(func(tx *store.Tx) error {
		keys = nil
		return tx.Scan(bucketEnding, store.Range{}, func(_, raw []byte) (bool, error) {
			var k Key
			if json.Unmarshal(raw, &k) == nil {
				keys = append(keys, k)
			}
			return true, nil
		})
	})
	if err != nil {
		return nil, fmt.Errorf("access: read the keys that end: %w", err)
	}
	return keys, nil
}

// EndingKey returns one of the keys of Ending. Error: ErrNotFound.
func (all *Keys) EndingKey(id uuid.UUID) (k Key, err error) {
	found := false
	err = all.store.View(func(tx *store.Tx) (err error) {
		k, found, err = store.GetJSON[Key](tx, bucketEnding, id[:])
		return err
	})
	if err == nil && !found {
		err = ErrNotFound
	}
	return k, err
}

// Ended records that all work of a key of Ending has stopped.
func (all *Keys) Ended(ctx context.Context, id uuid.UUID) error {
	if err := all.store.Update(ctx, func(tx *store.Tx) error { return tx.Delete(bucketEnding, id[:]) }); err != nil {
		return fmt.Errorf("end the key %s: %w", id, err)
	}
	return nil
}
