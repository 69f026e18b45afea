package pace

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sort"
	"time"

	"postern/store"
)

// maxCarried bounds the departures that move with an instance, of which the newest do.
const maxCarried = 1 << 18

// Stored returns the limits of an instance from the store, nil if none are set or they
// are unreadable.
func Stored(tx *store.Tx, instance int64) (*Limits, error) {
	raw, err := tx.Get(bucket, limitsKey(instance))
	if errors.Is(err, store.ErrDamaged) || err == nil && raw == nil {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var l Limits
	if json.Unmarshal(raw, &l) != nil || l.Check() != nil {
		return nil, nil
	}
	return &l, nil
}

// Departures returns what an instance has sent that its limits may still need, in the form
// that Keep takes. What a grant lets leave counts as sent now.
func Departures(tx *store.Tx, instance int64) (chunks [][]byte, err error) {
	f, err := foundOf(tx, instance)
	if err != nil || f == nil {
		return nil, err
	}
	now := moment{wall: tx.Now()}
	l := newLedger(&Pacer{cfg: Config{Location: time.UTC, now: func() moment { return now }}}, instance)
	l.restore(now, f)
	recent := l.since(now.awake - kept + 1)
	recent = recent[max(0, len(recent)-maxCarried):]
	number := uint64(0)
	for some := range slices.Chunk(recent, chunk) {
		chunks = append(chunks, encodeChunk(now, number, some))
		number += uint64(len(some))
	}
	return chunks, nil
}

// foundOf returns the stored state of an instance, nil if it has no readable limits.
func foundOf(tx *store.Tx, instance int64) (*found, error) {
	all := map[int64]*found{}
	err := tx.Scan(bucket, store.Range{Prefix: store.Key(instance)}, func(k, v []byte) (bool, error) { return true, take(tx, all, k, v) })
	if err == nil {
		err = tx.Scan(heads, store.Range{Prefix: store.Key(instance)}, func(k, v []byte) (bool, error) { return true, takeHead(tx, all, k, v) })
	}
	f := all[instance]
	if err != nil || f == nil || f.limits == nil {
		return nil, err
	}
	f.mend(false)
	return f, nil
}

// Keep stores the limits of a new instance in its commit, with what Departures returned
// where it comes from. In a running program they apply after Set. The error is an
// event.RuleError, or that of the store.
func Keep(tx *store.Tx, instance int64, limits Limits, chunks [][]byte) error {
	if err := limits.Check(); err != nil {
		return err
	}
	now := moment{wall: tx.Now()}
	sent, err := carried(now, chunks)
	if err != nil {
		return err
	}
	end := uint64(len(sent))
	for n := uint64(0); n*chunk < end; n++ {
		some := sent[n*chunk : min((n+1)*chunk, end)]
		if err := tx.Put(bucket, chunkKey(instance, n), encodeChunk(now, n*chunk, some)); err != nil {
			return err
		}
	}
	return errors.Join(
		tx.Put(heads, headKey(instance), head{0, end, end}.encode(now, nil)),
		store.PutJSON(tx, bucket, limitsKey(instance), limits),
	)
}

// carried decodes departures of another file, which is not trusted. Those of the future
// left now.
func carried(now moment, chunks [][]byte) (all []departure, err error) {
	for _, raw := range chunks {
		_, some, err := decodeChunk(raw)
		if err != nil || len(all)+len(some) > maxCarried {
			return nil, invalid("departures", fmt.Sprintf("must be at most %d, as an export wrote them", maxCarried))
		}
		for _, n := range some {
			all = append(all, departure{min(now.back(time.UnixMilli(n.ms)), now.awake), n.person})
		}
	}
	slices.SortStableFunc(all, func(a, b departure) int { return cmp.Compare(a.at, b.at) })
	return all[sort.Search(len(all), func(i int) bool { return all[i].at > now.awake-kept }):], nil
}
