package delivery

import (
	"encoding/binary"

	"postern/store"
)

// NextInLine returns the delivery behind another in its line: the one that may be sent once
// that was accepted, whether or not the file has the outcome yet. found is false if there is
// none, and for a delivery without a line.
func NextInLine(tx *store.Tx, r Record) (next Due, found bool, err error) {
	if r.Line == 0 {
		return next, false, nil
	}
	p := placeOf(r)
	prefix := store.Key(p.share().key(), uint64(r.Line))
	err = tx.Walk(lines, store.Range{Prefix: prefix, From: store.Key(prefix, r.ID+1)}, func(k []byte) (bool, error) {
		if found = len(k) == len(prefix)+8; found {
			p.record = binary.BigEndian.Uint64(k[len(prefix):])
		}
		return !found, nil
	})
	if err != nil || !found {
		return next, false, err
	}
	at, err := lineDue(tx, &p)
	return Due{At: at, Record: p.record, Line: p.line}, err == nil, err
}
