package instance

import (
	"encoding/binary"
	"errors"

	"postern/store"
)

// tellLost logs the instances with damaged records. They are skipped; all their data,
// including their names, remains in the file.
func (r *Registry) tellLost(tx *store.Tx) error {
	return tx.Scan(instanceName, store.Range{}, func(k, v []byte) (bool, error) {
		if len(v) != 8 {
			return true, tx.Unreadable(instanceName, k, errors.New("no id"))
		}
		id := int64(binary.BigEndian.Uint64(v))
		if r.byID[id] == nil {
			r.log.Error("instance skipped: its record is damaged; restore a backup of the data file; its name stays reserved until then", "instance", string(k), "instance_id", id)
		}
		return true, nil
	})
}
