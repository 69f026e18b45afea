package idempotency

import (
	"bytes"

	"postern/store"
)

// keyNeeds: a key is found by its time, with which it goes.
func keyNeeds(*store.Lookup) store.Needs {
	return func(key, value []byte) []store.Need {
		if key == nil {
			return nil
		}
		r, err := decode(value)
		if err != nil {
			return []store.Need{{Why: "an Idempotency-Key is not known any more: what it was used for may be done again"}}
		}
		return []store.Need{{Bucket: bucketTimes, Key: timeKey(r.At, key), Value: []byte{}, Why: "an Idempotency-Key is never removed"}}
	}
}

// timeNeeds: a time is that of a key. Those of an instance may be gone with it.
func timeNeeds(*store.Lookup) store.Needs {
	return func(key, _ []byte) []store.Need {
		const why = "a time is that of no Idempotency-Key"
		switch {
		case key == nil:
			return nil
		case len(key) < 9:
			return []store.Need{{Why: why}}
		case timedID(key)[0] == ownedByInstance:
			return nil
		}
		return []store.Need{{
			Bucket: bucketKeys, Key: bytes.Clone(timedID(key)), Why: why,
			Is: func(raw []byte) bool {
				r, err := decode(raw)
				return err != nil || bytes.Equal(timeKey(r.At, timedID(key)), key)
			},
		}}
	}
}
