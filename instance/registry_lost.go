package instance

import (
	"encoding/binary"
	"errors"

	"postern/store"
)

// tellLost names the instances whose records are damaged: they are left out,
// and everything that the file has of them stays where it is, their names too.
func (r *Registry) tellLost(tx *store.Tx) error {
	return tx.Scan(instanceName, store.Range{}, func(k, v []byte) (bool, error) {
		if len(v) != 8 {
			return true, tx.Unreadable(instanceName, k, errors.New("no id"))
		}
		id := int64(binary.BigEndian.Uint64(v))
		if r.byID[id] == nil {
			r.log.Error("an instance is left out, its record is damaged; put back a copy of the data file; its name stays taken until then", "instance", string(k), "instance_id", id)
		}
		return true, nil
	})
}
