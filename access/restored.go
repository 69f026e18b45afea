package access

import (
	"context"
	"fmt"

	"postern/store"
)

// restoreStep is how many records one commit removes.
const restoreStep = 500

// Restored ends every session and portal link of a file that came from a backup: which
// of them were ended since, the file does not know. Keys that were deleted since are
// back for the same reason; keys is how many there are, for somebody to look at. It may
// be called again, before anything else of this package has the file.
func Restored(ctx context.Context, s *store.Store) (keys int, err error) {
	for _, bucket := range []string{bucketSessions, bucketLinks} {
		for n := restoreStep; n == restoreStep; {
			err := s.Update(ctx, func(tx *store.Tx) (err error) {
				n, err = tx.DeleteSome(bucket, nil, restoreStep)
				return err
			})
			if err != nil {
				return 0, fmt.Errorf("access: end what the backup has of %s: %w", bucket, err)
			}
		}
	}
	if keys, err = s.Rows(bucketKeys); err != nil {
		return 0, fmt.Errorf("access: count the keys: %w", err)
	}
	return keys, nil
}
