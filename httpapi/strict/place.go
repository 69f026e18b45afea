package strict

import (
	"errors"
	"io"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// trailing distinguishes a body with trailing data from a read error.
func (d *decoder) trailing(err error) error {
	if _, syntax := errors.AsType[*jsontext.SyntacticError](err); err == nil || syntax {
		return &Error{Code: CodeMalformed, Text: "has data after the JSON object"}
	}
	return d.failed(err)
}

// failed maps an error of the token reader to an Error.
func (d *decoder) failed(err error) error {
	if syntax, ok := errors.AsType[*jsontext.SyntacticError](err); ok && errors.Is(err, jsontext.ErrDuplicateName) {
		return Duplicate(d.path(syntax.JSONPointer))
	}
	return malformed(err)
}

func malformed(err error) error {
	switch {
	case errors.Is(err, errNotUTF8):
		err = errNotUTF8
	case errors.Is(err, io.EOF):
		err = io.ErrUnexpectedEOF
	}
	return &Error{Code: CodeMalformed, Text: "is not valid JSON", Err: err}
}

// path returns a position in the body in its usual notation: recipients[3]. In parts that were read as a
// whole the kinds of the values are unknown; there a number counts as an index.
func (d *decoder) path(at jsontext.Pointer) string {
	var path strings.Builder
	depth := 0
	for name := range at.Tokens() {
		depth++
		in := jsontext.Kind('{')
		if depth <= d.dec.StackDepth() {
			in, _ = d.dec.StackIndex(depth)
		} else if _, err := strconv.ParseUint(name, 10, 64); err == nil {
			in = '['
		}
		switch {
		case in == '[':
			name = "[" + name + "]"
		case depth > 1:
			name = "." + name
		}
		path.WriteString(name)
	}
	return path.String()
}

// here returns e with the position of the last value read.
func (d *decoder) here(e *Error) error {
	e.Path = d.path(d.dec.StackPointer())
	return e
}

// names returns the names of the fields around the last value read, and its own.
func (d *decoder) names() (names []string) {
	depth := 0
	for name := range d.dec.StackPointer().Tokens() {
		depth++
		if in, _ := d.dec.StackIndex(depth); in == '{' {
			names = append(names, name)
		}
	}
	return names
}
