package postgres

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"time"
)

// Parameters and results are in the binary format: whole numbers are bigint, and times are
// whole numbers.

const (
	oidBytea = 17
	oidText  = 25
)

var binaryFormat = []int16{1}

// encode returns a parameter; nil is null.
func encode(arg any) []byte {
	switch v := arg.(type) {
	case nil:
		return nil
	case string:
		return []byte(v)
	case []byte:
		return v
	case bool:
		if v {
			return []byte{1}
		}
		return []byte{0}
	case int:
		return binary.BigEndian.AppendUint64(nil, uint64(v))
	case int64:
		return binary.BigEndian.AppendUint64(nil, uint64(v))
	case uint64:
		return binary.BigEndian.AppendUint64(nil, v)
	case []string:
		return encodeArray(oidText, len(v), func(i int) ([]byte, bool) { return []byte(v[i]), true })
	case [][]byte:
		return encodeArray(oidBytea, len(v), func(i int) ([]byte, bool) { return v[i], v[i] != nil })
	}
	panic(fmt.Sprintf("parameter of type %T", arg))
}

func encodeAll(args []any) [][]byte {
	all := make([][]byte, len(args))
	for i, arg := range args {
		all[i] = encode(arg)
	}
	return all
}

// encodeArray returns an array of one dimension. at returns an element, and false for null.
func encodeArray(oid uint32, n int, at func(int) ([]byte, bool)) []byte {
	size := 20 + 4*n
	for i := range n {
		element, _ := at(i)
		size += len(element)
	}
	b := make([]byte, 0, size)
	if n == 0 {
		b = binary.BigEndian.AppendUint32(b, 0) // dimensions
		b = binary.BigEndian.AppendUint32(b, 0) // no nulls
		return binary.BigEndian.AppendUint32(b, oid)
	}
	b = binary.BigEndian.AppendUint32(b, 1)
	b = binary.BigEndian.AppendUint32(b, 1) // there may be nulls
	b = binary.BigEndian.AppendUint32(b, oid)
	b = binary.BigEndian.AppendUint32(b, uint32(n))
	b = binary.BigEndian.AppendUint32(b, 1) // the first index
	for i := range n {
		element, is := at(i)
		if !is {
			b = binary.BigEndian.AppendUint32(b, 1<<32-1)
			continue
		}
		b = binary.BigEndian.AppendUint32(b, uint32(len(element)))
		b = append(b, element...)
	}
	return b
}

// decodeArray returns the elements of an array of one dimension, which share b; nil is null.
func decodeArray(b []byte) ([][]byte, error) {
	if len(b) < 12 || binary.BigEndian.Uint32(b) > 1 {
		return nil, fmt.Errorf("an array of %d bytes is not one of one dimension", len(b))
	}
	if binary.BigEndian.Uint32(b) == 0 {
		return nil, nil
	}
	if len(b) < 20 {
		return nil, fmt.Errorf("an array is cut off")
	}
	n := int(binary.BigEndian.Uint32(b[12:]))
	b = b[20:]
	all := make([][]byte, 0, min(n, len(b)/4))
	for range n {
		if len(b) < 4 {
			return nil, fmt.Errorf("an array is cut off")
		}
		size := int(int32(binary.BigEndian.Uint32(b)))
		b = b[4:]
		if size < 0 {
			all = append(all, nil)
			continue
		}
		if len(b) < size {
			return nil, fmt.Errorf("an array is cut off")
		}
		all = append(all, b[:size:size])
		b = b[size:]
	}
	return all, nil
}

// row is one row of a result.
type row [][]byte

func (r row) null(i int) bool    { return r[i] == nil }
func (r row) text(i int) string  { return string(r[i]) }
func (r row) bytes(i int) []byte { return bytes.Clone(r[i]) }
func (r row) flag(i int) bool    { return len(r[i]) == 1 && r[i][0] == 1 }

// number returns a bigint, 0 for null.
func (r row) number(i int) int64 {
	if len(r[i]) != 8 {
		return 0
	}
	return int64(binary.BigEndian.Uint64(r[i]))
}

func (r row) count(i int) uint64 { return uint64(r.number(i)) }

// micros returns a time from Unix microseconds, the zero time for null.
func (r row) micros(i int) time.Time {
	if r.null(i) {
		return time.Time{}
	}
	return time.UnixMicro(r.number(i)).UTC()
}

// millis returns a time from Unix milliseconds, the zero time for null.
func (r row) millis(i int) time.Time {
	if r.null(i) {
		return time.Time{}
	}
	return time.UnixMilli(r.number(i)).UTC()
}

// stampOf is the parameter of a time that millis reads.
func stampOf(t time.Time) any {
	if t.IsZero() {
		return nil
	}
	return t.UnixMilli()
}
