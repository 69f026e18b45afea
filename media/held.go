package media

import (
	"encoding/json"

	"postern/store"
)

// Held returns how many uploads are kept, expired ones included until they are
// pruned, and the size of their files in bytes, which lie at WhatsApp. It reads
// them all.
func (l *Library) Held() (n int, size int64, err error) {
	err = l.cfg.Store.View(func(tx *store.Tx) error {
		return tx.Scan(uploads, store.Range{}, func(k, v []byte) (bool, error) {
			var u struct {
				Size int64 `json:"size"`
			}
			if err := json.Unmarshal(v, &u); err != nil {
				return true, tx.Unreadable(uploads, k, err)
			}
			n, size = n+1, size+u.Size
			return true, nil
		})
	})
	return n, size, err
}
