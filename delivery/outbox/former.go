package outbox

import (
	"bytes"
	"encoding/binary"
	"errors"

	"postern/store"
)

// Up to schema version 3 the outbox was a queue of its own: outbox_due had the pending entries
// by due time, and outbox_state their attempts. Package delivery takes over this part of such
// a file.

// Former is a row of the queue of schema version 3.
type Former struct {
	key []byte
	Seq uint64
}

// FormerQueue returns up to limit rows of the queue of schema version 3, in its order.
func FormerQueue(tx *store.Tx, limit int) (rows []Former, err error) {
	err = tx.Walk(dueRows, store.Range{}, func(k []byte) (bool, error) {
		f := Former{key: bytes.Clone(k)}
		if len(k) == 16 {
			f.Seq = binary.BigEndian.Uint64(k[8:])
		}
		rows = append(rows, f)
		return len(rows) < limit, nil
	})
	return rows, err
}

// TakeFormer removes a row of the queue of schema version 3 and returns its entry, with its
// attempts so far. found is false if the entry is damaged, gone or not pending.
func TakeFormer(tx *store.Tx, f Former) (e Entry, found bool, err error) {
	e, found, err = Get(tx, f.Seq)
	if err != nil && !errors.Is(err, store.ErrDamaged) {
		return e, false, err
	}
	found = found && err == nil && e.State == Pending
	err = tx.Delete(dueRows, f.key)
	if found {
		err = errors.Join(err, tx.Put(stateRows, stateKey(Pending, f.Seq), nil))
	}
	return e, found, err
}
