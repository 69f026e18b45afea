package sheet

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"unicode/utf8"

	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/unicode"
	"golang.org/x/text/transform"
)

// decoded returns the text of a file in UTF-8, without a byte order mark. Its error is an *Error for a file of
// another kind, or one of the file.
func decoded(file io.Reader) (io.Reader, error) {
	r := bufio.NewReader(file)
	begin, err := r.Peek(4)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	is := func(mark string) bool { return bytes.HasPrefix(begin, []byte(mark)) }
	switch {
	case is("PK\x03\x04"), is("\xd0\xcf\x11\xe0"):
		return nil, &Error{Text: "is a spreadsheet as .xlsx, .ods or .xls; save it as CSV"}
	case is("\xff\xfe"), is("\xfe\xff"):
		return transform.NewReader(r, unicode.UTF16(unicode.LittleEndian, unicode.UseBOM).NewDecoder()), nil
	case is("\xef\xbb\xbf"):
		_, err := r.Discard(3)
		return r, err
	}
	return transform.NewReader(r, &guess{}), nil
}

// guess decodes UTF-8 or Windows-1252: the first character beyond ASCII decides.
type guess struct {
	transform.NopResetter
	as transform.Transformer // nil: not decided
}

// Transform implements transform.Transformer.
func (g *guess) Transform(dst, src []byte, atEOF bool) (nDst, nSrc int, err error) {
	if g.as != nil {
		return g.as.Transform(dst, src, atEOF)
	}
	n := ascii(src)
	if n > len(dst) {
		return copy(dst, src), len(dst), transform.ErrShortDst
	}
	copy(dst, src[:n])
	rest := src[n:]
	switch c, size := utf8.DecodeRune(rest); {
	case len(rest) == 0:
		return n, n, nil
	case !atEOF && !utf8.FullRune(rest):
		return n, n, transform.ErrShortSrc
	case c == utf8.RuneError && size == 1:
		g.as = charmap.Windows1252.NewDecoder()
	default:
		g.as = transform.Nop
	}
	nDst, nSrc, err = g.as.Transform(dst[n:], rest, atEOF)
	return n + nDst, n + nSrc, err
}

// ascii returns the length of the beginning of a text that is ASCII.
func ascii(text []byte) int {
	for i, b := range text {
		if b >= utf8.RuneSelf {
			return i
		}
	}
	return len(text)
}
