package delivery

import (
	"encoding/binary"
	"encoding/json"
	"errors"

	"postern/store"
)

// putOwn stores a body beside its record.
func putOwn(tx *store.Tx, record uint64, ownerJID string, body []byte) error {
	owner := ownerJID[:min(len(ownerJID), 1<<16-1)]
	return tx.Put(bodies, store.Key(record), store.Key(uint16(len(owner)), owner, body))
}

// ownBody returns the body stored beside a record; found is false if there is none.
func ownBody(tx *store.Tx, record uint64) (ownerJID string, body []byte, found bool, err error) {
	key := store.Key(record)
	raw, err := tx.Get(bodies, key)
	if err != nil || raw == nil {
		return "", nil, false, err
	}
	ownerJID, body, ok := decodeOwn(raw)
	switch {
	case !ok:
		return "", nil, false, tx.Unreadable(bodies, key, errors.New("too short"))
	case !json.Valid(body):
		return "", nil, false, tx.Unreadable(bodies, key, errNotJSON)
	}
	return ownerJID, body, true, nil
}

func decodeOwn(raw []byte) (ownerJID string, body []byte, ok bool) {
	if len(raw) < 2 {
		return "", nil, false
	}
	n := 2 + int(binary.BigEndian.Uint16(raw))
	if len(raw) < n {
		return "", nil, false
	}
	return string(raw[2:n]), raw[n:], true
}

// dropOwn removes what is stored beside a record: its own body and its attempts before the
// last.
func (l *Ledger) dropOwn(tx *store.Tx, old Record) error {
	err := tx.Delete(bodies, store.Key(old.ID))
	if old.Attempts < 2 {
		return errors.Join(err, tx.Delete(attempts, attemptKey(old.ID, 1)))
	}
	var ids []string
	scan := tx.Scan(attempts, store.Range{Prefix: store.Key(old.ID)}, func(key, raw []byte) (bool, error) {
		a, _, err := decodeKept(tx, key, raw)
		ids = append(ids, a.RequestID)
		return true, err
	})
	err = errors.Join(err, scan)
	for _, id := range append(ids, old.RequestID) {
		err = errors.Join(err, l.digest.DropName(tx, old.ID, id))
	}
	_, gone := tx.DeletePrefix(attempts, store.Key(old.ID))
	return errors.Join(err, gone)
}

// errNotJSON is the error of an incomplete body.
var errNotJSON = errors.New("its body is not JSON")

// KeepsBodyOf reports whether the body of a record of the in-memory flow in that state is kept.
func (l *Ledger) KeepsBodyOf(s State) bool {
	return l.cfg.Bodies == BodiesAll || l.cfg.Bodies == BodiesFailed && s != Delivered
}
