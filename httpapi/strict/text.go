package strict

import (
	"errors"
	"io"
	"unicode/utf8"
)

var errNotUTF8 = errors.New("the text is not UTF-8")

// textPiece is the number of bytes of a text that are checked together.
const textPiece = 4 << 10

// textReader passes a text on up to the first byte that is not UTF-8. It must be reset before use.
type textReader struct {
	r   io.Reader
	err error // what comes after what was read

	// Of the bytes read, from is the next to pass on, those up to valid are whole runes, and those up to end are
	// the beginning of a rune.
	from, valid, end int
	buf              [textPiece]byte
}

func (t *textReader) reset(r io.Reader) {
	t.r, t.err = r, nil
	t.from, t.valid, t.end = 0, 0, 0
}

// Read implements io.Reader. It fails with errNotUTF8 at the first byte that is not UTF-8.
func (t *textReader) Read(p []byte) (int, error) {
	for t.from == t.valid {
		if t.err != nil {
			return 0, t.err
		}
		t.fill()
	}
	n := copy(p, t.buf[t.from:t.valid])
	t.from += n
	return n, nil
}

// fill reads more bytes once all whole runes were passed on.
func (t *textReader) fill() {
	rest := copy(t.buf[:], t.buf[t.valid:t.end])
	var n int
	n, t.err = t.r.Read(t.buf[rest:])
	t.from, t.end = 0, rest+n
	var wrong bool
	t.valid, wrong = wholeTo(t.buf[:t.end])
	cutOff := errors.Is(t.err, io.EOF) && t.valid < t.end
	if wrong && t.err == nil || cutOff {
		t.err = errNotUTF8
	}
}

// wholeTo returns where the whole runes of text end, and whether a byte that is part of no rune follows.
func wholeTo(text []byte) (end int, wrong bool) {
	for cut := range min(utf8.UTFMax, len(text)+1) {
		if whole := text[:len(text)-cut]; !utf8.FullRune(text[len(whole):]) && utf8.Valid(whole) {
			return len(whole), false
		}
	}
	for end < len(text) {
		r, size := utf8.DecodeRune(text[end:])
		if r == utf8.RuneError && size == 1 {
			break
		}
		end += size
	}
	return end, true
}
