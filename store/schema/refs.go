package schema

import (
	"bytes"
	"encoding/json"
	"errors"
)

// A Ref is a reference of a record: it returns the other record that the record with this
// key and decoded value needs. The zero Need stands for none. Key and value are valid
// during the call, and the needs may share their bytes.
type Ref[T any] func(l *Lookup, key []byte, value T) Need

// References declares the records of a bucket for [Bucket.Needs]. decode decodes a
// record. A record that cannot be decoded is an orphan, and unreadable says what is lost
// with it. refs are the references of the other records.
func References[T any](decode func(key, value []byte) (T, error), unreadable string, refs ...Ref[T]) func(*Lookup) Needs {
	return func(l *Lookup) Needs {
		return func(key, raw []byte) (needs []Need) {
			if key == nil {
				return nil
			}
			value, err := decode(key, raw)
			if err != nil {
				return []Need{{Why: unreadable}}
			}
			for _, ref := range refs {
				if n := ref(l, key, value); n.Why != "" {
					n.Key, n.Value = bytes.Clone(n.Key), bytes.Clone(n.Value)
					needs = append(needs, n)
				}
			}
			return needs
		}
	}
}

// errShape is the error for a record whose key differs in length from those of its
// bucket.
var errShape = errors.New("the key has another length")

// Sized returns a decoder of records whose keys have size bytes; any length if size is 0.
// It leaves the value encoded.
func Sized(size int) func(key, value []byte) ([]byte, error) {
	return Decoded(size, func(value []byte) ([]byte, error) { return value, nil })
}

// Decoded returns a decoder of records whose keys have size bytes, any length if size is
// 0, and whose values decode decodes.
func Decoded[T any](size int, decode func(value []byte) (T, error)) func(key, value []byte) (T, error) {
	return func(key, value []byte) (v T, err error) {
		if size > 0 && len(key) != size {
			return v, errShape
		}
		return decode(value)
	}
}

// JSONOf is [Decoded] for JSON records.
func JSONOf[T any](size int) func(key, value []byte) (T, error) {
	return Decoded(size, func(value []byte) (v T, err error) { return v, json.Unmarshal(value, &v) })
}

// ToSameKey returns a reference to the record with the same key in another bucket. why
// says what is wrong without it.
func ToSameKey[T any](bucket, why string) Ref[T] {
	return func(_ *Lookup, key []byte, _ T) Need { return Need{Bucket: bucket, Key: key, Why: why} }
}
