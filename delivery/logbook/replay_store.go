package logbook

import (
	"encoding/binary"
	"errors"
	"time"

	"postern/delivery/digest"
	"postern/delivery/layout"
	"postern/store"
)

// replayRow is a replay in the file, with its id as the key. The numbered rows behind it list
// the records that it repeats, replayChunk to a row.
type replayRow struct {
	Replay
	NoGlobal bool
	Next     int       // of the matched records, the first that is not handled yet
	EndedAt  time.Time // zero while it runs
	Sweep    uint64    // of a cancelled one: its pending deliveries from this record on are still to be cancelled; 0: none is
}

const replayChunk = 500

var replayStates = [...]ReplayState{ReplayRunning, ReplayDone, ReplayCancelled}

func chunkKey(replay uint64, no int) []byte { return store.Key(replay, uint32(no)) }

func (r replayRow) encode() []byte {
	w := layout.New(64)
	for code, state := range replayStates {
		if r.State == state {
			w.Byte(byte(code))
		}
	}
	marks := byte(0)
	if r.NoGlobal {
		marks = 1
	}
	w.Byte(marks)
	w.Time(r.CreatedAt)
	w.Time(r.EndedAt)
	for _, n := range []uint64{uint64(r.Instance), uint64(r.Matched), uint64(r.Sent), uint64(r.Delivered), uint64(r.Failed), uint64(r.Next), r.Sweep} {
		w.Number(n)
	}
	return w.Raw
}

func decodeReplay(id uint64, raw []byte) (r replayRow, err error) {
	d := layout.Read(raw)
	r.ID = id
	state, marks := d.Byte(), d.Byte()
	if int(state) >= len(replayStates) {
		d.Fail(layout.ErrValue)
		state = 0
	}
	r.State, r.NoGlobal = replayStates[state], marks&1 != 0
	r.CreatedAt, r.EndedAt = d.Time(), d.Time()
	if r.Instance = int64(d.Number()); r.Instance < 0 {
		d.Fail(layout.ErrValue)
	}
	for _, n := range []*int{&r.Matched, &r.Sent, &r.Delivered, &r.Failed, &r.Next} {
		*n = readCount(d)
	}
	r.Sweep = d.Number()
	if r.Next > r.Matched {
		d.Fail(layout.ErrValue)
	}
	return r, d.Err
}

// readCount reads a number of records.
func readCount(r *layout.Reader) int {
	n := r.Number()
	if n > MaxReplay {
		r.Fail(layout.ErrValue)
		return 0
	}
	return int(n)
}

func putReplay(tx *store.Tx, r replayRow) error {
	return tx.Put(replays, store.Key(r.ID), r.encode())
}

func getReplay(tx *store.Tx, id uint64) (r replayRow, found bool, err error) {
	key := store.Key(id)
	raw, err := tx.Get(replays, key)
	if err != nil || raw == nil {
		return r, false, err
	}
	if r, err = decodeReplay(id, raw); err != nil {
		return replayRow{}, false, tx.Unreadable(replays, key, err)
	}
	return r, true, nil
}

// eachReplay calls fn for all replays, the oldest first.
func eachReplay(tx *store.Tx, fn func(replayRow) error) error {
	var ids []uint64
	err := tx.Walk(replays, store.Range{}, func(key []byte) (bool, error) {
		if id, ok := digest.IDOf(key); ok {
			ids = append(ids, id)
		}
		return true, nil
	})
	if err != nil {
		return err
	}
	for _, id := range ids {
		r, found, err := getReplay(tx, id)
		if errors.Is(err, store.ErrDamaged) || err == nil && !found {
			continue
		}
		if err == nil {
			err = fn(r)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// putMatched stores the records that a replay repeats.
func putMatched(tx *store.Tx, replay uint64, ids []uint64) error {
	for no := 0; no*replayChunk < len(ids); no++ {
		some := ids[no*replayChunk : min(len(ids), (no+1)*replayChunk)]
		if err := tx.Put(replays, chunkKey(replay, no), encodeIDs(some)); err != nil {
			return err
		}
	}
	return nil
}

// matched returns up to n of the records that a replay repeats, from a place on. Records that
// can no longer be read are 0.
func matched(tx *store.Tx, r replayRow, from, n int) ([]uint64, error) {
	no := from / replayChunk
	want := min(r.Matched-from, (no+1)*replayChunk-from, n)
	key := chunkKey(r.ID, no)
	raw, err := tx.Get(replays, key)
	if err != nil && !errors.Is(err, store.ErrDamaged) {
		return nil, err
	}
	ids, ok := decodeIDs(raw)
	if from -= no * replayChunk; !ok || len(ids) < from+want {
		return make([]uint64, want), nil
	}
	return ids[from : from+want], nil
}

// encodeIDs encodes ascending numbers as differences.
func encodeIDs(ids []uint64) []byte {
	raw, before := make([]byte, 0, 2*len(ids)), uint64(0)
	for _, id := range ids {
		raw = binary.AppendUvarint(raw, id-before)
		before = id
	}
	return raw
}

func decodeIDs(raw []byte) (ids []uint64, ok bool) {
	for at := uint64(0); len(raw) > 0; {
		step, n := binary.Uvarint(raw)
		if n <= 0 || step == 0 || step > digest.MaxID || at+step > digest.MaxID || len(ids) == replayChunk {
			return nil, false
		}
		at, raw = at+step, raw[n:]
		ids = append(ids, at)
	}
	return ids, true
}

// dropReplay removes a replay with its list.
func dropReplay(tx *store.Tx, id uint64) error {
	_, err := tx.DeletePrefix(replays, store.Key(id))
	return err
}
