package outbox

import (
	"encoding/binary"
	"encoding/json"
	"errors"

	"github.com/google/uuid"

	"postern/store"
)

// Get returns one entry; found is false if it does not exist.
func Get(tx *store.Tx, seq uint64) (e Entry, found bool, err error) {
	raw, err := tx.Get(entryRows, store.Key(seq))
	if err != nil || raw == nil {
		return e, false, err
	}
	e, err = whole(tx, seq, raw)
	return e, err == nil, err
}

// Load is Get for a delivery. It does not verify a body that this process wrote.
func (o *Outbox) Load(tx *store.Tx, seq uint64) (e Entry, found bool, err error) {
	if seq <= o.foundNewest {
		return Get(tx, seq)
	}
	raw, err := tx.Get(entryRows, store.Key(seq))
	if err != nil || raw == nil {
		return e, false, err
	}
	e, err = entry(tx, seq, raw)
	return e, err == nil, err
}

// After returns up to limit entries with a sequence greater than seq, in order. It does not verify
// bodies, because those who follow the outbox read what this process wrote.
func After(tx *store.Tx, seq uint64, limit int) ([]Entry, error) {
	var entries []Entry
	err := tx.Scan(entryRows, store.Range{From: store.Key(seq + 1), Limit: limit}, func(k, v []byte) (bool, error) {
		e, err := entry(tx, binary.BigEndian.Uint64(k), v)
		if err != nil {
			return true, err
		}
		entries = append(entries, e)
		return true, nil
	})
	return entries, err
}

// Replay returns up to limit entries of one owner with an owner sequence
// greater than after, in order.
func Replay(tx *store.Tx, owner uuid.UUID, after uint64, limit int) ([]Entry, error) {
	return entriesBy(tx, replayRows, store.Range{Prefix: owner[:], From: store.Key(owner, after+1), Limit: limit},
		func(_, v []byte) []byte { return v })
}

// OfBatch returns up to limit entries of one batch with a sequence
// greater than after, in order.
func OfBatch(tx *store.Tx, batch uuid.UUID, after uint64, limit int) ([]Entry, error) {
	return entriesBy(tx, batchRows, store.Range{Prefix: batch[:], From: store.Key(batch, after+1), Limit: limit},
		func(k, _ []byte) []byte { return k[16:] })
}

// entriesBy reads the entries that an index points to.
func entriesBy(tx *store.Tx, index string, r store.Range, seq func(k, v []byte) []byte) ([]Entry, error) {
	var entries []Entry
	err := tx.Scan(index, r, func(k, v []byte) (bool, error) {
		points := seq(k, v)
		if len(points) != 8 {
			return true, tx.Unreadable(index, k, errors.New("no sequence"))
		}
		e, found, err := Get(tx, binary.BigEndian.Uint64(points))
		if found {
			entries = append(entries, e)
		}
		return true, err
	})
	return entries, err
}

// Bodies calls fn with the body of each entry from a sequence on, up to another, until it returns false. A body lies
// in the file: fn may not keep it.
func Bodies(tx *store.Tx, from, upTo uint64, fn func(seq uint64, body []byte) bool) error {
	return tx.Look(entryRows, store.Range{From: store.Key(from), Before: store.Key(upTo + 1)}, func(k, raw []byte) (bool, error) {
		seq := binary.BigEndian.Uint64(k)
		e, err := decodeEntry(seq, raw)
		if err != nil {
			return true, nil //nolint:nilerr // its delivery reports the damage
		}
		return fn(seq, e.Body), nil
	})
}

// whole is entry for callers that pass the body on: a truncated body counts as damaged even if its
// checksum matches.
func whole(tx *store.Tx, seq uint64, raw []byte) (Entry, error) {
	e, err := entry(tx, seq, raw)
	if err == nil && !json.Valid(e.Body) {
		err = tx.Unreadable(entryRows, store.Key(seq), errors.New("its body is not JSON"))
	}
	return e, err
}

// entry joins an encoded entry with its status.
func entry(tx *store.Tx, seq uint64, raw []byte) (Entry, error) {
	e, err := decodeEntry(seq, raw)
	if err != nil {
		return e, tx.Unreadable(entryRows, store.Key(seq), err)
	}
	return withStatus(tx, e)
}
