package kept

import (
	"encoding/binary"
	"encoding/json"

	"postern/store"
	"postern/store/schema"
)

// Usage is what an instance keeps.
type Usage struct {
	Files int
	Bytes int64
}

// Usages are those of instances with a kept file, by id.
type Usages map[int64]Usage

// add adds a record, if it is that of a kept file.
func (u Usages) add(key, value []byte) {
	var r struct {
		State State `json:"state"`
		Size  int64 `json:"size"`
	}
	if len(key) != 16 || json.Unmarshal(value, &r) != nil || r.State != Stored {
		return
	}
	id := int64(binary.BigEndian.Uint64(key)) //nolint:gosec // as put wrote it
	u[id] = Usage{u[id].Files + 1, u[id].Bytes + r.Size}
}

// Usages returns what each instance keeps.
func (k *Keeper) Usages() (u Usages, err error) {
	err = k.cfg.Store.View(func(tx *store.Tx) error {
		u = Usages{}
		return tx.Scan(filesBucket, store.Range{}, func(key, value []byte) (bool, error) {
			u.add(key, value)
			return true, nil
		})
	})
	return u, err
}

// UsagesIn returns what each instance keeps by a data file that no program has open. buckets
// and errors are those of store.ScanFile.
func UsagesIn(path string, buckets []schema.Bucket) (Usages, error) {
	u := Usages{}
	err := store.ScanFile(path, buckets, filesBucket, func(key, value []byte) error {
		u.add(key, value)
		return nil
	})
	return u, err
}
