package idempotency

import (
	"bytes"

	"postern/store"
)

// toTime is the reference of a key to its time, through which it is removed.
func toTime(_ *store.Lookup, key []byte, r record) store.Need {
	return store.Need{Bucket: bucketTimes, Key: timeKey(r.At, key), Value: []byte{}, Why: "an Idempotency-Key is never removed"}
}

// toKey is the reference of a time to its key. Keys of an instance may be removed with it.
func toKey(_ *store.Lookup, key, _ []byte) store.Need {
	const why = "a time is that of no Idempotency-Key"
	switch {
	case len(key) < 9:
		return store.Need{Why: why}
	case timedID(key)[0] == ownedByInstance:
		return store.Need{}
	}
	return store.Need{
		Bucket: bucketKeys, Key: timedID(key), Why: why,
		Is: func(raw []byte) bool {
			r, err := decode(raw)
			return err != nil || bytes.Equal(timeKey(r.At, timedID(key)), key)
		},
	}
}
