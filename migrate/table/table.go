package table

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// MaxRow is the maximum size of a row, in bytes. Readers refuse a larger one:
// no program stores messages near that size.
const MaxRow = 64 << 20

// ErrNoTable is the error of a table that a source does not have.
var ErrNoTable = errors.New("there is no such table")

// ErrMalformed is wrapped by errors of a source that violates its
// format. The text names the place.
var ErrMalformed = errors.New("malformed")

// Source is the tables of a program. It is used by one goroutine.
type Source interface {
	// Tables returns the names of the tables in the order of the source.
	Tables() []string
	// Has reports whether there is a table with exactly that name.
	Has(name string) bool
	// Rows calls fn with each row of a table until fn returns an error, which Rows
	// returns as it is, or ctx ends. The row and its bytes are fn's only until it
	// returns. Rows may be called again. Errors: ErrNoTable, ErrMalformed, or those
	// of reading.
	Rows(ctx context.Context, name string, fn func(*Row) error) error
	// Close closes the source.
	Close() error
}

// Row is one row of a table.
type Row struct {
	Table   string
	Columns []string
	// Values are as many as Columns at most: nil for NULL, int64, float64, string
	// or []byte.
	Values []any
	// At is where the row is, such as "page 7" or "line 12".
	At string

	err error
}

// Err returns the first conversion error of a value, with table, column
// and place; nil when there is none.
func (r *Row) Err() error { return r.err }

// Fail returns an error about the row, with table and place.
func (r *Row) Fail(format string, args ...any) error {
	return fmt.Errorf("table %s, %s: %w", r.Table, r.At, fmt.Errorf(format, args...))
}

func (r *Row) not(column, want string) {
	if r.err == nil {
		r.err = r.Fail("%s is not %s", column, want)
	}
}

// Value returns the value of a column; nil for NULL and for a missing column.
func (r *Row) Value(column string) any {
	for i, name := range r.Columns {
		if name == column && i < len(r.Values) {
			return r.Values[i]
		}
	}
	return nil
}

// Null reports whether a column is NULL.
func (r *Row) Null(column string) bool { return r.Value(column) == nil }

// Text returns a column as text; "" for NULL.
func (r *Row) Text(column string) string {
	switch v := r.Value(column).(type) {
	case string:
		return v
	case []byte:
		return string(v)
	case int64:
		return strconv.FormatInt(v, 10)
	case float64:
		return strconv.FormatFloat(v, 'g', -1, 64)
	}
	return ""
}

// Bytes returns a column as bytes, which are the caller's; nil for NULL. PostgreSQL
// writes them as \x and hexadecimal digits.
func (r *Row) Bytes(column string) []byte {
	switch v := r.Value(column).(type) {
	case []byte:
		return append(make([]byte, 0, len(v)), v...)
	case string:
		digits, isHex := strings.CutPrefix(v, `\x`)
		if !isHex {
			return []byte(v)
		}
		raw, err := hex.DecodeString(digits)
		if err != nil {
			r.not(column, "bytes in hexadecimal")
		}
		return raw
	case nil:
		return nil
	}
	r.not(column, "bytes")
	return nil
}

// Int returns a column as an integer; 0 for NULL.
func (r *Row) Int(column string) int64 {
	switch v := r.Value(column).(type) {
	case int64:
		return v
	case string:
		if n, err := strconv.ParseInt(v, 10, 64); err == nil {
			return n
		}
		r.not(column, "an integer")
	case []byte, float64:
		r.not(column, "an integer")
	}
	return 0
}

// Bool returns a column as a bool; false for NULL.
func (r *Row) Bool(column string) bool {
	switch v := r.Value(column).(type) {
	case int64:
		return v != 0
	case string:
		switch strings.ToLower(v) {
		case "t", "true", "1", "yes", "on":
			return true
		case "f", "false", "0", "no", "off", "":
			return false
		}
		r.not(column, "a boolean")
	case []byte, float64:
		r.not(column, "a boolean")
	}
	return false
}

// layouts are the time formats of databases and drivers.
var layouts = []string{
	time.RFC3339Nano, "2006-01-02 15:04:05.999999999Z07:00", "2006-01-02 15:04:05.999999999-07", "2006-01-02 15:04:05.999999999 -0700",
	"2006-01-02 15:04:05.999999999", "2006-01-02T15:04:05.999999999", "2006-01-02",
}

// Time returns a column as a time; the zero time for NULL. A number counts seconds or,
// when it is too large for that, milliseconds since 1970; what names no zone is UTC.
func (r *Row) Time(column string) time.Time {
	const manySeconds = 1e11 // of the year 5138; as milliseconds it is 1973
	switch v := r.Value(column).(type) {
	case int64:
		if v > manySeconds {
			return time.UnixMilli(v).UTC()
		}
		return time.Unix(v, 0).UTC()
	case string:
		text, _, _ := strings.Cut(v, " m=") // a Go time with its monotonic clock
		if cut := strings.Split(text, " "); len(cut) == 4 {
			text = strings.Join(cut[:3], " ") // the name of the zone after its offset
		}
		for _, layout := range layouts {
			if at, err := time.Parse(layout, text); err == nil {
				return at.UTC()
			}
		}
		r.not(column, "a time")
	case []byte, float64:
		r.not(column, "a time")
	}
	return time.Time{}
}

// Size returns how many bytes the values of the row have, roughly.
func (r *Row) Size() (n int) {
	for _, v := range r.Values {
		switch v := v.(type) {
		case string:
			n += len(v)
		case []byte:
			n += len(v)
		default:
			n += 8
		}
	}
	return n
}
