package idempotency

import (
	"bytes"

	"postern/store/schema"
)

// toTime is the reference of a key to its time, through which it is removed.
func toTime(_ *schema.Lookup, key []byte, r record) schema.Need {
	return schema.Need{Bucket: bucketTimes, Key: timeKey(r.At, key), Value: []byte{}, Why: "an Idempotency-Key is never removed"}
}

// toKey is the reference of a time to its key. Keys of an instance may be removed with it.
func toKey(_ *schema.Lookup, key, _ []byte) schema.Need {
	const why = "a time is that of no Idempotency-Key"
	switch {
	case len(key) < 9:
		return schema.Need{Why: why}
	case timedID(key)[0] == ownedByInstance:
		return schema.Need{}
	}
	return schema.Need{
		Bucket: bucketKeys, Key: timedID(key), Why: why,
		Is: func(raw []byte) bool {
			r, err := decode(raw)
			return err != nil || bytes.Equal(timeKey(r.At, timedID(key)), key)
		},
	}
}
