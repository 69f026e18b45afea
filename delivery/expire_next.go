package delivery

import (
	"encoding/binary"
	"time"

	"postern/store"
)

// ExpiryAfter returns when the first delivery or stored event expires that has not expired at
// now; zero if there is none.
func ExpiryAfter(tx *store.Tx, now time.Time) (at time.Time, err error) {
	from := store.Key(uint64(max(0, now.UnixMilli())) + 1)
	err = tx.Walk(expiries, store.Range{From: from}, func(k []byte) (bool, error) {
		if len(k) < 8 {
			return true, nil
		}
		at = time.UnixMilli(int64(binary.BigEndian.Uint64(k))).UTC()
		return false, nil
	})
	return at, err
}
