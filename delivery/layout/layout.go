// Package layout encodes and decodes the values of package delivery in the data file. A value
// begins with the version of its layout. Parts of a fixed size come first, so that an accepted
// attempt does not make a record grow and move its neighbours.
package layout

import (
	"encoding/binary"
	"errors"
	"strings"
	"time"

	"github.com/google/uuid"
)

// version is the first byte of each value.
const version = 1

var (
	errLayout = errors.New("unknown layout")
	errShort  = errors.New("too short")

	// ErrValue is the error of a part with a value that it cannot have.
	ErrValue = errors.New("a value that is none")
)

// Writer appends the parts of a value to Raw.
type Writer struct{ Raw []byte }

// New returns a Writer of a value of about size bytes, which has the version.
func New(size int) *Writer {
	w := &Writer{make([]byte, 0, size)}
	w.Reset()
	return w
}

// Reset begins another value in the same memory.
func (w *Writer) Reset() { w.Raw = append(w.Raw[:0], version) }

// Byte writes a byte.
func (w *Writer) Byte(b byte) { w.Raw = append(w.Raw, b) }

// U16 writes two bytes, big-endian; a number beyond them becomes the nearest.
func (w *Writer) U16(n int) {
	w.Raw = binary.BigEndian.AppendUint16(w.Raw, uint16(min(max(n, 0), 1<<16-1)))
}

// U32 writes four bytes like U16.
func (w *Writer) U32(n int64) {
	w.Raw = binary.BigEndian.AppendUint32(w.Raw, uint32(min(max(n, 0), 1<<32-1)))
}

// U64 writes eight bytes, big-endian.
func (w *Writer) U64(n uint64) { w.Raw = binary.BigEndian.AppendUint64(w.Raw, n) }

// Number writes a number in as few bytes as it needs.
func (w *Writer) Number(n uint64) { w.Raw = binary.AppendUvarint(w.Raw, n) }

// ID writes the 16 bytes of a UUID.
func (w *Writer) ID(id uuid.UUID) { w.Raw = append(w.Raw, id[:]...) }

// Time writes a time in milliseconds since 1970.
func (w *Writer) Time(t time.Time) { w.U64(uint64(Millis(t))) }

// Millis writes a duration in milliseconds.
func (w *Writer) Millis(d time.Duration) { w.U32(d.Milliseconds()) }

// Text writes a text behind its length.
func (w *Writer) Text(s string) {
	w.Number(uint64(len(s)))
	w.Raw = append(w.Raw, s...)
}

// Name writes a text that is usually a UUID, which takes 17 bytes.
func (w *Writer) Name(s string) {
	if len(s) == 36 && strings.ToLower(s) == s {
		if id, err := uuid.Parse(s); err == nil {
			w.Number(0)
			w.ID(id)
			return
		}
	}
	w.Number(uint64(len(s)) + 1)
	w.Raw = append(w.Raw, s...)
}

// Reader reads the parts of a value. After an error it returns zero values.
type Reader struct {
	Raw []byte // what is left
	Err error  // the first one
}

// Read returns a Reader of a value, past its version.
func Read(raw []byte) *Reader {
	r := &Reader{Raw: raw}
	if is := r.Byte(); r.Err == nil && is != version {
		r.Err = errLayout
	}
	return r
}

func (r *Reader) take(n uint64) []byte {
	if r.Err == nil && n > uint64(len(r.Raw)) {
		r.Err = errShort
	}
	if r.Err != nil {
		return nil
	}
	taken := r.Raw[:n]
	r.Raw = r.Raw[n:]
	return taken
}

// Byte reads a byte; the zero value after the end.
func (r *Reader) Byte() byte {
	if b := r.take(1); b != nil {
		return b[0]
	}
	return 0
}

// U16 reads two bytes; the zero value after the end.
func (r *Reader) U16() int {
	if b := r.take(2); b != nil {
		return int(binary.BigEndian.Uint16(b))
	}
	return 0
}

// U32 reads four bytes; the zero value after the end.
func (r *Reader) U32() int64 {
	if b := r.take(4); b != nil {
		return int64(binary.BigEndian.Uint32(b))
	}
	return 0
}

// U64 reads eight bytes; the zero value after the end.
func (r *Reader) U64() uint64 {
	if b := r.take(8); b != nil {
		return binary.BigEndian.Uint64(b)
	}
	return 0
}

// I64 is U64 for numbers that are not negative.
func (r *Reader) I64() int64 {
	n := int64(r.U64())
	if n < 0 {
		r.Fail(ErrValue)
	}
	return max(n, 0)
}

// Number reads what Writer.Number wrote; the zero value after the end.
func (r *Reader) Number() uint64 {
	if r.Err != nil {
		return 0
	}
	v, n := binary.Uvarint(r.Raw)
	if n <= 0 {
		r.Fail(errShort)
		return 0
	}
	r.Raw = r.Raw[n:]
	return v
}

// ID reads a UUID; the zero value after the end.
func (r *Reader) ID() (id uuid.UUID) {
	copy(id[:], r.take(16))
	return id
}

// Time reads a time.
func (r *Reader) Time() time.Time { return FromMillis(r.I64()) }

// Millis reads a duration.
func (r *Reader) Millis() time.Duration { return time.Duration(r.U32()) * time.Millisecond }

// Text reads a text.
func (r *Reader) Text() string { return string(r.take(r.Number())) }

// Name reads what Writer.Name wrote; the zero value after the end.
func (r *Reader) Name() string {
	n := r.Number()
	if n == 0 && r.Err == nil {
		id := r.ID()
		if r.Err != nil {
			return ""
		}
		return id.String()
	}
	return string(r.take(n - 1))
}

// Fail notes the first error, after which nothing is read.
func (r *Reader) Fail(err error) {
	if r.Err == nil {
		r.Err = err
	}
}

// Millis returns a time as the file stores it; zero and times before 1970 are 0.
func Millis(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return max(0, t.UnixMilli())
}

// FromMillis is the inverse of Millis.
func FromMillis(ms int64) time.Time {
	if ms == 0 {
		return time.Time{}
	}
	return time.UnixMilli(ms).UTC()
}
