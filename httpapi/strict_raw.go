package httpapi

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"strconv"
	"unicode/utf8"
)

// checkDuplicates refuses an object with the same key twice, at any depth, in
// raw, which is one valid JSON value.
func checkDuplicates(raw []byte) error {
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	return duplicatesIn(dec)
}

func duplicatesIn(dec *json.Decoder) error {
	tok, err := dec.Token()
	if err != nil {
		return malformed(err)
	}
	switch tok {
	case json.Delim('{'):
		err = duplicatesInObject(dec)
	case json.Delim('['):
		err = duplicatesInArray(dec)
	default:
		return nil
	}
	if err != nil {
		return err
	}
	_, err = dec.Token()
	return err
}

func duplicatesInObject(dec *json.Decoder) error {
	seen := map[string]struct{}{}
	for dec.More() {
		tok, err := dec.Token()
		if err != nil {
			return malformed(err)
		}
		name := tok.(string)
		if _, twice := seen[name]; twice {
			return duplicate(name)
		}
		seen[name] = struct{}{}
		if err := duplicatesIn(dec); err != nil {
			return under(err, name)
		}
	}
	return nil
}

func duplicatesInArray(dec *json.Decoder) error {
	for i := 0; dec.More(); i++ {
		if err := duplicatesIn(dec); err != nil {
			return under(err, "["+strconv.Itoa(i)+"]")
		}
	}
	return nil
}

// errUTF8: the bytes of a body are not UTF-8.
var errUTF8 = errors.New("the text is not UTF-8")

// utf8Reader passes r on and fails with errUTF8 at the first byte that is not
// part of valid UTF-8, also across the borders of two reads.
type utf8Reader struct {
	r       io.Reader
	pending []byte // the beginning of a rune whose rest was not read yet
	buf     [utf8.UTFMax]byte
}

// Read implements io.Reader.
func (u *utf8Reader) Read(p []byte) (int, error) {
	n, err := u.r.Read(p)
	if !u.valid(p[:n]) || (errors.Is(err, io.EOF) && len(u.pending) > 0) {
		return 0, errUTF8
	}
	return n, err
}

func (u *utf8Reader) valid(p []byte) bool {
	for len(u.pending) > 0 && len(p) > 0 {
		u.pending = append(u.pending, p[0])
		p = p[1:]
		if !utf8.FullRune(u.pending) {
			continue
		}
		if !utf8.Valid(u.pending) {
			return false
		}
		u.pending = u.buf[:0]
	}
	if len(u.pending) > 0 {
		return true
	}
	cut := len(p) - partialRune(p)
	u.pending = append(u.buf[:0], p[cut:]...)
	return utf8.Valid(p[:cut])
}

// partialRune returns how many bytes at the end of p begin a rune that p does
// not finish.
func partialRune(p []byte) int {
	for n := 1; n < utf8.UTFMax && n <= len(p); n++ {
		tail := p[len(p)-n:]
		if utf8.RuneStart(tail[0]) {
			if utf8.FullRune(tail) {
				return 0
			}
			return n
		}
	}
	return 0
}
