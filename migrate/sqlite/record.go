package sqlite

import (
	"encoding/binary"
	"fmt"
	"math"
)

// varint reads a number of one to nine bytes, the highest first. n is 0 when it is
// truncated.
func varint(b []byte) (v uint64, n int) {
	for n < len(b) && n < 8 {
		v = v<<7 | uint64(b[n]&0x7f)
		n++
		if b[n-1] < 0x80 {
			return v, n
		}
	}
	if n < 8 || len(b) < 9 {
		return 0, 0
	}
	return v<<8 | uint64(b[8]), 9
}

// maxValues is the most columns that SQLite lets a table have. A value takes 16 times the
// one byte that it may have in the file.
const maxValues = 32767

// record reads the values of a row: a head with its own length and the type of each
// value, then the values. fault describes an error. Bytes are those of raw.
func record(raw []byte) (values []any, fault string) {
	length, n := varint(raw)
	if n == 0 || length < uint64(n) || length > uint64(len(raw)) {
		return nil, "the head of the row does not fit into it"
	}
	head, body := raw[n:length], raw[length:]
	for len(head) > 0 {
		if len(values) == maxValues {
			return nil, fmt.Sprintf("it has more than %d values", maxValues)
		}
		kind, n := varint(head)
		if n == 0 {
			return nil, "the head of the row is truncated"
		}
		head = head[n:]
		size, known := sizeOf(kind)
		if !known {
			return nil, fmt.Sprintf("a value is of the kind %d, which SQLite does not write", kind)
		}
		if size > uint64(len(body)) {
			return nil, fmt.Sprintf("a value of %d bytes does not fit into the row", size)
		}
		values = append(values, value(kind, body[:size]))
		body = body[size:]
	}
	return values, ""
}

// sizeOf returns how many bytes a value of a kind has.
func sizeOf(kind uint64) (size uint64, known bool) {
	switch {
	case kind <= 4:
		return kind, true
	case kind == 5:
		return 6, true
	case kind == 6, kind == 7:
		return 8, true
	case kind == 8, kind == 9:
		return 0, true
	case kind < 12:
		return 0, false
	}
	return (kind - 12) / 2, true
}

func value(kind uint64, b []byte) any {
	switch {
	case kind == 0:
		return nil
	case kind <= 6:
		return signed(b)
	case kind == 7:
		return math.Float64frombits(binary.BigEndian.Uint64(b))
	case kind == 8, kind == 9:
		return int64(kind - 8) //nolint:gosec // 0 or 1
	case kind%2 == 0:
		return b
	}
	return string(b)
}

// signed returns a number of one to eight bytes in two's complement.
func signed(b []byte) (n int64) {
	if len(b) > 0 && b[0] >= 0x80 {
		n = -1
	}
	for _, c := range b {
		n = n<<8 | int64(c)
	}
	return n
}
