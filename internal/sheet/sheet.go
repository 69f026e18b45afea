// Package sheet reads spreadsheets that were saved as text: CSV, or with another separator, in UTF-8, UTF-16
// or Windows-1252. It finds out which by itself and keeps one row in memory.
//
// Row 1 is the header. A field of several lines is a part of one row. Blank lines, rows without any text, and
// a first line such as "sep=;", by which Excel tells itself the separator, are no rows. What cannot be read is refused with an [Error], which names the row and its column.
package sheet

import (
	"bufio"
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"postern/internal/plural"
)

// Limits of a file.
const (
	MaxRow     = 1 << 20 // bytes of a row, in UTF-8
	MaxColumns = 1024

	sampleSize = 64 << 10 // bytes by which the separator is found
	sampleRows = 10
)

// ErrInvalid is wrapped by every *Error.
var ErrInvalid = errors.New("the file cannot be read as CSV")

// Error is the reason why a file cannot be read.
type Error struct {
	Row    int    // 0: the file itself
	Column string // its name in the header, or its number; empty: the whole row
	Text   string // the rule that is broken, to be read after the place
}

// Error implements error.
func (e *Error) Error() string {
	switch {
	case e.Row == 0:
		return "the file " + e.Text
	case e.Column == "":
		return fmt.Sprintf("row %d %s", e.Row, e.Text)
	}
	return fmt.Sprintf("row %d, column %.100q, %s", e.Row, e.Column, e.Text)
}

// Unwrap returns ErrInvalid.
func (*Error) Unwrap() error { return ErrInvalid }

// Reader reads the rows of a file.
type Reader struct {
	header []string
	row    int // the last one read
	limit  *limited
	csv    *csv.Reader
}

// New reads the header of a file. The separator is the one that makes the wanted columns appear in the
// header, or else the one that fits most rows. Its error is an *Error, or one of the file.
func New(file io.Reader, wanted ...string) (*Reader, error) {
	text, err := decoded(file)
	if err != nil {
		return nil, err
	}
	buffered := bufio.NewReaderSize(text, sampleSize)
	sample, err := buffered.Peek(sampleSize)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	r := &Reader{limit: &limited{r: buffered}}
	comma, line, named := namedSeparator(sample)
	switch {
	case !named:
		comma = separator(sample, err != nil, wanted)
	case !strings.ContainsRune(separators, comma):
		return nil, &Error{Text: fmt.Sprintf("begins with %q; the separator must be a comma, a semicolon, a tab or a vertical bar", bytes.TrimSpace(sample[:line]))}
	default:
		_, _ = buffered.Discard(line) // of the sample, so it is there
	}
	r.csv = newCSV(r.limit, comma)
	header, err := r.Read()
	if errors.Is(err, io.EOF) {
		return nil, &Error{Text: "is empty; its first row must name the columns"}
	}
	if err != nil {
		return nil, err
	}
	if len(header) > MaxColumns {
		return nil, &Error{Row: 1, Text: fmt.Sprintf("has more than %d columns", MaxColumns)}
	}
	r.header = trimmed(header)
	return r, checkHeader(r.header)
}

func checkHeader(header []string) error {
	seen := map[string]bool{}
	for i, name := range header {
		switch {
		case strings.ContainsRune(name, '\r'):
			return &Error{Row: 1, Text: "ends with CR alone; save the file with lines that end with LF or CRLF"}
		case name != "" && seen[name]:
			return &Error{Row: 1, Column: name, Text: "is there twice; rename one of them"}
		}
		seen[header[i]] = true
	}
	return nil
}

// Header returns the names of the columns without the white space around them, empty for a column without a name.
func (r *Reader) Header() []string { return r.header }

// Row returns the number of the last row that was read.
func (r *Reader) Row() int { return r.row }

// Column returns the index of a column.
func (r *Reader) Column(name string) (int, error) {
	if i := slices.Index(r.header, name); i >= 0 && name != "" {
		return i, nil
	}
	var names []string
	for _, name := range r.header[:min(len(r.header), 10)] {
		names = append(names, fmt.Sprintf("%.50q", name))
	}
	more := ""
	if len(r.header) > len(names) {
		more = ", …"
	}
	return 0, &Error{Row: 1, Text: fmt.Sprintf("has no column %.100q; it has %s%s", name, strings.Join(names, ", "), more)}
}

// Read returns the cells of the next row, as many as the header has; the slice is valid until the next
// call. Its error is io.EOF, an *Error, or one of the file.
func (r *Reader) Read() ([]string, error) {
	for {
		r.limit.left = MaxRow
		cells, err := r.csv.Read()
		if err != nil {
			return nil, r.failed(cells, err)
		}
		if blank(cells) {
			continue
		}
		r.row++
		return cells, r.check(cells)
	}
}

func blank(cells []string) bool {
	return !slices.ContainsFunc(cells, func(c string) bool { return strings.TrimSpace(c) != "" })
}

// check returns an error if the last row has too many or too few cells, or one that is no text.
func (r *Reader) check(cells []string) error {
	if r.header != nil && len(cells) != len(r.header) {
		return &Error{Row: r.row, Text: fmt.Sprintf("has %s, and the header %d; put a cell that contains the separator in quotes", plural.Of(len(cells), "cell"), len(r.header))}
	}
	for i, cell := range cells {
		if text := notText(cell); text != "" {
			return &Error{Row: r.row, Column: r.name(i), Text: text}
		}
	}
	return nil
}

// name returns how a column is named in errors.
func (r *Reader) name(i int) string {
	if i < len(r.header) && r.header[i] != "" {
		return r.header[i]
	}
	return fmt.Sprint(i + 1)
}

// notText returns what is wrong with the characters of a cell, or "".
func notText(cell string) string {
	for _, c := range cell {
		switch {
		case c == utf8.RuneError: // what it cannot be decoded from is replaced by it
			return `has bytes that are not text in the encoding of what is before them; save the file as "CSV UTF-8"`
		case c < ' ' && c != '\t' && c != '\n' && c != '\r', c >= 0x7f && c < 0xa0:
			return fmt.Sprintf(`has the character %U, which no text has; save the file as "CSV UTF-8"`, c)
		}
	}
	return ""
}

// failed returns the error of a row, of which some cells could be read.
func (r *Reader) failed(cells []string, err error) error {
	if r.limit.err != nil {
		err = r.limit.err // what csv says of a row that was cut off is not true
	}
	row := r.row + 1
	var syntax *csv.ParseError
	switch {
	case errors.Is(err, errTooLong):
		return &Error{Row: row, Text: fmt.Sprintf("is longer than %d KiB; a quote that is never closed makes one cell of all that follows", MaxRow>>10)}
	case !errors.As(err, &syntax):
		return err
	case errors.Is(err, csv.ErrBareQuote):
		return &Error{Row: row, Column: r.name(len(cells)), Text: "has a quote, but does not begin with one; put the cell in quotes and double the quotes in it"}
	}
	return &Error{Row: row, Column: r.name(len(cells)), Text: "has text after its closing quote, or no closing quote; double the quotes in a cell"}
}

var errTooLong = errors.New("the row is too long")

// limited bounds what is read for one row.
type limited struct {
	r    io.Reader
	left int
	err  error // other than io.EOF
}

// Read implements io.Reader.
func (l *limited) Read(p []byte) (n int, err error) {
	if l.left <= 0 {
		err = errTooLong
	} else if n, err = l.r.Read(p[:min(len(p), l.left)]); n > 0 {
		l.left -= n
	}
	if err != nil && !errors.Is(err, io.EOF) {
		l.err = err
	}
	return n, err
}

func newCSV(text io.Reader, comma rune) *csv.Reader {
	c := csv.NewReader(text)
	c.Comma, c.ReuseRecord, c.FieldsPerRecord = comma, true, -1
	return c
}

const separators = ",;\t|"

// namedSeparator returns the separator that a first line such as "sep=;" names, and the length of that line.
func namedSeparator(sample []byte) (sep rune, length int, named bool) {
	end := bytes.IndexByte(sample, '\n')
	line, _ := bytes.CutSuffix(sample[:end+1], []byte("\n"))
	line, _ = bytes.CutSuffix(line, []byte("\r"))
	if inner, ok := bytes.CutPrefix(line, []byte(`"`)); ok {
		line, _ = bytes.CutSuffix(inner, []byte(`"`))
	}
	if len(line) < len("sep=;") || !strings.EqualFold(string(line[:len("sep=")]), "sep=") {
		return 0, 0, false
	}
	sep, size := utf8.DecodeRune(line[len("sep="):])
	return sep, end + 1, len("sep=")+size == len(line)
}

// separator returns what separates the cells of a file that begins with a sample, or is the sample.
func separator(sample []byte, whole bool, wanted []string) rune {
	if end := bytes.LastIndexByte(sample, '\n'); !whole && end > 0 {
		sample = sample[:end+1]
	}
	best, most := ',', -1
	for _, sep := range separators {
		if fits := fit(sample, sep, wanted); fits > most {
			best, most = sep, fits
		}
	}
	return best
}

// fit returns how well a separator fits: first of all the wanted columns count, then whether all rows have as many
// cells, then the number of columns.
func fit(sample []byte, sep rune, wanted []string) int {
	r := newCSV(bytes.NewReader(sample), sep)
	first, err := r.Read()
	if err != nil {
		return -1
	}
	header := trimmed(first)
	found := 0
	for _, name := range wanted {
		if slices.Contains(header, name) {
			found++
		}
	}
	even := len(header) > 1
	for range sampleRows {
		cells, err := r.Read()
		if err != nil {
			break
		}
		even = even && len(cells) == len(header)
	}
	points := min(found, MaxColumns)*4*MaxColumns + min(len(header), MaxColumns)
	if even {
		points += 2 * MaxColumns
	}
	return points
}

func trimmed(cells []string) []string {
	all := make([]string, len(cells))
	for i, c := range cells {
		all[i] = strings.TrimSpace(c)
	}
	return all
}
