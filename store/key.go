package store

import (
	"encoding/binary"
	"fmt"
	"reflect"
	"time"

	"github.com/google/uuid"
)

// Key joins parts into a key whose byte order is the order of the parts. Unsigned
// integers and times (nanoseconds since 1970) become big-endian; byte arrays, byte slices
// and strings stay as they are. Negative integers and any other type panic: they are
// mistakes of the caller.
func Key(parts ...any) []byte {
	k := make([]byte, 0, 32)
	for _, p := range parts {
		k = appendPart(k, p)
	}
	return k
}

// appendPart neither keeps part nor passes it to code that might. The parts of a key
// therefore need no heap memory of their own.
func appendPart(k []byte, part any) []byte {
	switch v := part.(type) {
	case uint64:
		return binary.BigEndian.AppendUint64(k, v)
	case int64:
		return appendWhole(k, v)
	case int:
		return appendWhole(k, int64(v))
	case uint32:
		return binary.BigEndian.AppendUint32(k, v)
	case uint16:
		return binary.BigEndian.AppendUint16(k, v)
	case byte:
		return append(k, v)
	case time.Time:
		return binary.BigEndian.AppendUint64(k, uint64(max(0, v.UnixNano())))
	case uuid.UUID:
		return append(k, v[:]...)
	case [16]byte:
		return append(k, v[:]...)
	case [32]byte:
		return append(k, v[:]...)
	case []byte:
		return append(k, v...)
	case string:
		return append(k, v...)
	}
	panic("store: a value of type " + reflect.TypeOf(part).String() + " cannot be part of a key")
}

func appendWhole(k []byte, n int64) []byte {
	if n < 0 {
		panic(fmt.Sprintf("store: %d cannot be part of a key", n))
	}
	return binary.BigEndian.AppendUint64(k, uint64(n))
}

// Number returns the number that Key made of an integer, 0 if b has another length.
func Number(b []byte) int64 {
	if len(b) != 8 {
		return 0
	}
	return int64(binary.BigEndian.Uint64(b))
}

// after returns the smallest key that is greater than every key with the
// prefix, or nil when there is none.
func after(prefix []byte) []byte {
	end := append([]byte(nil), prefix...)
	for i := len(end) - 1; i >= 0; i-- {
		if end[i] != 0xff {
			end[i]++
			return end[:i+1]
		}
	}
	return nil
}
