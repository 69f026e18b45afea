package strict

import (
	"errors"
	"fmt"
	"strings"

	"postern/event"
	"postern/internal/nesting"
)

// The codes of an [Error].
const (
	CodeMalformed      = "MALFORMED_JSON" // not JSON, not UTF-8, cut off, or more than one value
	CodeTooDeep        = "TOO_DEEP"
	CodeUnknownField   = "UNKNOWN_FIELD"
	CodeDuplicateField = "DUPLICATE_FIELD"
	CodeMissingField   = "MISSING_FIELD"
	CodeInvalidType    = "INVALID_TYPE"
)

// Error reports an invalid body. Other readers of bodies, such as those of forms, use it with their own
// codes.
type Error struct {
	Code string
	Path string // of the field, for example "recipients[3]"; empty for the body itself
	Text string // which rule it breaks, to be read after the path
	Err  error  // the syntax or read error behind it, if any
}

// Error implements error.
func (e *Error) Error() string {
	what := "the body"
	if e.Path != "" {
		what = event.Cut(e.Path)
	}
	if e.Err != nil {
		return what + " " + e.Text + ": " + event.Cut(strings.TrimPrefix(e.Err.Error(), "jsontext: "))
	}
	return what + " " + e.Text
}

// Unwrap returns the error behind it.
func (e *Error) Unwrap() error { return e.Err }

// In moves the error one level down, under name, and returns it.
func (e *Error) In(name string) *Error {
	sep := ""
	if e.Path != "" && e.Path[0] != '[' {
		sep = "."
	}
	e.Path = name + sep + e.Path
	return e
}

// Under moves an error about a field one level down, under name. It returns any other error, and a syntax
// error, which concerns the whole body, unchanged.
func Under(err error, name string) error {
	if e, ok := errors.AsType[*Error](err); ok && e.Code != CodeMalformed {
		return e.In(name)
	}
	return err
}

// Unknown returns the refusal of an unknown field.
func Unknown(name string) *Error {
	return &Error{Code: CodeUnknownField, Path: name, Text: "is not a known field"}
}

// Duplicate returns the refusal of a field that occurs twice.
func Duplicate(name string) *Error {
	return &Error{Code: CodeDuplicateField, Path: name, Text: "is given twice"}
}

// Missing returns the refusal of a body without a field; text continues the message after the path.
func Missing(path, text string) *Error {
	return &Error{Code: CodeMissingField, Path: path, Text: text}
}

// WrongType returns the refusal of a value that does not have the type want.
func WrongType(want string) *Error {
	return &Error{Code: CodeInvalidType, Text: "must be " + want}
}

// TooDeep returns the refusal of a value that nests deeper than [nesting.Max].
func TooDeep() *Error {
	return &Error{Code: CodeTooDeep, Text: fmt.Sprintf("nests objects and arrays more than %d deep", nesting.Max)}
}
