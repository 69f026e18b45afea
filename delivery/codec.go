package delivery

import (
	"encoding/binary"
	"errors"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/google/uuid"
)

// Values begin with the version of their layout. Parts of a fixed size come first, so that an
// accepted attempt does not make the record grow and move its neighbours.
const layout = 1

var (
	errLayout = errors.New("unknown layout")
	errShort  = errors.New("too short")
	errValue  = errors.New("a value that is none")
)

// writer appends the parts of a value.
type writer struct{ raw []byte }

func (w *writer) byte(b byte) { w.raw = append(w.raw, b) }
func (w *writer) u16(n int) {
	w.raw = binary.BigEndian.AppendUint16(w.raw, uint16(min(max(n, 0), 1<<16-1)))
}

func (w *writer) u32(n int64) {
	w.raw = binary.BigEndian.AppendUint32(w.raw, uint32(min(max(n, 0), 1<<32-1)))
}
func (w *writer) u64(n uint64)    { w.raw = binary.BigEndian.AppendUint64(w.raw, n) }
func (w *writer) number(n uint64) { w.raw = binary.AppendUvarint(w.raw, n) }
func (w *writer) id(id uuid.UUID) { w.raw = append(w.raw, id[:]...) }

func (w *writer) time(t time.Time) { w.u64(uint64(millis(t))) }

func (w *writer) millis(d time.Duration) { w.u32(d.Milliseconds()) }

func (w *writer) text(s string) {
	w.number(uint64(len(s)))
	w.raw = append(w.raw, s...)
}

// name writes a text that is usually a UUID, which takes 17 bytes.
func (w *writer) name(s string) {
	if len(s) == 36 && strings.ToLower(s) == s {
		if id, err := uuid.Parse(s); err == nil {
			w.number(0)
			w.id(id)
			return
		}
	}
	w.number(uint64(len(s)) + 1)
	w.raw = append(w.raw, s...)
}

// reader reads the parts of a value. After an error it returns zero values.
type reader struct {
	raw []byte
	err error
}

func read(raw []byte) *reader {
	r := &reader{raw: raw}
	if version := r.byte(); r.err == nil && version != layout {
		r.err = errLayout
	}
	return r
}

func (r *reader) take(n uint64) []byte {
	if r.err == nil && n > uint64(len(r.raw)) {
		r.err = errShort
	}
	if r.err != nil {
		return nil
	}
	taken := r.raw[:n]
	r.raw = r.raw[n:]
	return taken
}

func (r *reader) byte() byte {
	if b := r.take(1); b != nil {
		return b[0]
	}
	return 0
}

func (r *reader) u16() int {
	if b := r.take(2); b != nil {
		return int(binary.BigEndian.Uint16(b))
	}
	return 0
}

func (r *reader) u32() int64 {
	if b := r.take(4); b != nil {
		return int64(binary.BigEndian.Uint32(b))
	}
	return 0
}

func (r *reader) u64() uint64 {
	if b := r.take(8); b != nil {
		return binary.BigEndian.Uint64(b)
	}
	return 0
}

// i64 is u64 for numbers that are not negative.
func (r *reader) i64() int64 {
	n := int64(r.u64())
	if n < 0 {
		r.fail(errValue)
	}
	return max(n, 0)
}

func (r *reader) number() uint64 {
	if r.err != nil {
		return 0
	}
	v, n := binary.Uvarint(r.raw)
	if n <= 0 {
		r.fail(errShort)
		return 0
	}
	r.raw = r.raw[n:]
	return v
}

func (r *reader) id() (id uuid.UUID) {
	copy(id[:], r.take(16))
	return id
}

func (r *reader) time() time.Time       { return fromMillis(r.i64()) }
func (r *reader) millis() time.Duration { return time.Duration(r.u32()) * time.Millisecond }
func (r *reader) text() string          { return string(r.take(r.number())) }

func (r *reader) name() string {
	n := r.number()
	if n == 0 && r.err == nil {
		id := r.id()
		if r.err != nil {
			return ""
		}
		return id.String()
	}
	return string(r.take(n - 1))
}

func (r *reader) fail(err error) {
	if r.err == nil {
		r.err = err
	}
}

// millis returns a time as the file stores it; zero and times before 1970 are 0.
func millis(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return max(0, t.UnixMilli())
}

func fromMillis(ms int64) time.Time {
	if ms == 0 {
		return time.Time{}
	}
	return time.UnixMilli(ms).UTC()
}

// cut shortens a text to at most n bytes of whole characters.
func cut(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n]
}
