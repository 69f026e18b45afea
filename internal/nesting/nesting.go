// Package nesting bounds how deep JSON from outside may nest.
//
// A reader of JSON recurses, and encoding/json gives up at 10 000 levels. A
// value just below that is accepted alone, and can never be read again once a
// record is around it. The bound here is far from there and far above what
// anyone means.
//
// Only brackets outside of texts are counted, so that the answer does not
// depend on what else is wrong with the document, nor on where a reader of it
// stops.
package nesting

import (
	"errors"
	"io"
)

// Max is how deep objects and arrays may nest. The outermost is 1.
const Max = 64

// ErrTooDeep is what a Reader fails with.
var ErrTooDeep = errors.New("objects and arrays nest deeper than 64 levels")

// Check returns ErrTooDeep when the document nests deeper than Max.
func Check(document []byte) error {
	var c counter
	if c.passes(document) {
		return ErrTooDeep
	}
	return nil
}

// Reader passes a JSON document on until it nests too deep. It is for one
// goroutine.
type Reader struct {
	r io.Reader
	counter
	tooDeep bool
}

// NewReader returns a Reader of the document that r reads.
func NewReader(r io.Reader) *Reader { return &Reader{r: r} }

// Read implements io.Reader. It fails with ErrTooDeep from the piece on in
// which Max is passed.
func (r *Reader) Read(p []byte) (int, error) {
	if r.tooDeep {
		return 0, ErrTooDeep
	}
	n, err := r.r.Read(p)
	if r.passes(p[:n]) {
		r.tooDeep = true
		return 0, ErrTooDeep
	}
	return n, err
}

// Rest reads what was not read yet, and returns ErrTooDeep when any part of the
// document nests too deep. What else ends the reading is no concern of it.
func (r *Reader) Rest() error {
	_, _ = io.Copy(io.Discard, r)
	if r.tooDeep {
		return ErrTooDeep
	}
	return nil
}

// counter follows the brackets of a document that comes in pieces.
type counter struct {
	depth   int
	quoted  bool // inside a text
	escaped bool // the next byte of the text ends nothing
}

// passes reports whether the document is deeper than Max somewhere in piece.
func (c *counter) passes(piece []byte) bool {
	for _, b := range piece {
		switch {
		case c.escaped:
			c.escaped = false
		case c.quoted:
			c.escaped, c.quoted = b == '\\', b != '"'
		case b == '"':
			c.quoted = true
		case b == '{', b == '[':
			if c.depth++; c.depth > Max {
				return true
			}
		case b == '}', b == ']':
			c.depth = max(0, c.depth-1)
		}
	}
	return false
}
