package access

import (
	"context"
	"fmt"

	"postern/store"
)

// restoreStep is the number of records that one commit removes.
const restoreStep = 500

// Restored ends every session and portal link of a restored file, since the backup does
// not know which of them ended later. Keys deleted since the backup are valid again for
// the same reason; keys is the number of keys, for the operator to review. Restored may
// be repeated, but only before other code of this package uses the file.
func Restored(ctx context.Context, s *store.Store) (keys int, err error) {
	for _, bucket := range []string{bucketSessions, bucketLinks} {
		for n := restoreStep; n == restoreStep; {
			err := s.Update(ctx, func(tx *store.Tx) (err error) {
				n, err = tx.DeleteSome(bucket, nil, restoreStep)
				return err
			})
			if err != nil {
				return 0, fmt.Errorf("access: end the restored %s: %w", bucket, err)
			}
		}
	}
	if keys, err = s.Rows(bucketKeys); err != nil {
		return 0, fmt.Errorf("access: count the keys: %w", err)
	}
	return keys, nil
}
