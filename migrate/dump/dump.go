package dump

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"postern/internal/plural"
	"postern/migrate/table"
)

// Text is a dump. It implements [table.Source].
type Text struct {
	r      io.ReaderAt
	size   int64
	close  func() error
	tables map[string]*rows
	order  []string
}

// rows are where a text has the rows of a table.
type rows struct {
	columns []string // of CREATE TABLE; nil: there was none
	runs    []run
}

// run is INSERT statements of one table one after the other, or one COPY block.
type run struct {
	from, end int64
	line      int
	copied    []string // the columns of a COPY block; nil: it is INSERTs
}

// maxRuns is how often the tables of a text may take turns.
const maxRuns = 1 << 20

// Open opens the text at path. Errors wrap table.ErrMalformed or are those of the
// file system.
func Open(ctx context.Context, path string) (*Text, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	t, err := Read(ctx, f, info.Size())
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	t.close = f.Close
	return t, nil
}

// foreign are the beginnings of what is often given in place of a text, and
// what to do about it.
var foreign = []struct{ begins, advice string }{
	{"PGDMP", "it is in pg_dump's own format; make a text with pg_dump --data-only, without -F"},
	{"\x1f\x8b", "it is compressed; unpack it with gunzip first"},
	{"\x28\xb5\x2f\xfd", "it is compressed; unpack it with zstd -d first"},
	{"\xff\xfe", "it is in UTF-16, as PowerShell writes what is redirected; write it with sqlite3 FILE \".output dump.sql\" .dump"},
	{"\xfe\xff", "it is in UTF-16; it must be in UTF-8"},
}

// byteOrderMark may begin a text in UTF-8.
const byteOrderMark = "\xef\xbb\xbf"

// Read reads a text of size bytes from r. Close does nothing to r.
func Read(ctx context.Context, r io.ReaderAt, size int64) (*Text, error) {
	t := &Text{r: r, size: size, close: func() error { return nil }, tables: map[string]*rows{}}
	start := make([]byte, min(size, 8))
	if _, err := r.ReadAt(start, 0); err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	for _, f := range foreign {
		if strings.HasPrefix(string(start), f.begins) {
			return nil, fmt.Errorf("%w: %s", table.ErrMalformed, f.advice)
		}
	}
	from := int64(0)
	if strings.HasPrefix(string(start), byteOrderMark) {
		from = int64(len(byteOrderMark))
	}
	if err := t.survey(ctx, from); err != nil {
		return nil, err
	}
	if len(t.order) == 0 {
		return nil, fmt.Errorf("%w: it has no row in an INSERT statement or a COPY block; give an SQLite file, the text of sqlite3 FILE .dump, or of pg_dump --data-only", table.ErrMalformed)
	}
	return t, nil
}

// Tables implements [table.Source].
func (t *Text) Tables() []string { return t.order }

// Has implements [table.Source].
func (t *Text) Has(name string) bool { return t.tables[name] != nil }

// Close implements [table.Source].
func (t *Text) Close() error { return t.close() }

// Rows implements [table.Source].
func (t *Text) Rows(ctx context.Context, name string, fn func(*table.Row) error) error {
	found := t.tables[name]
	if found == nil {
		return fmt.Errorf("table %.100q: %w", name, table.ErrNoTable)
	}
	for _, r := range found.runs {
		s := newScanner(io.NewSectionReader(t.r, r.from, r.end-r.from), r.from, r.line)
		read := t.inserts
		if r.copied != nil {
			read = t.copied
		}
		if err := read(ctx, s, r, table.Row{Table: name, Columns: found.columns}, fn); err != nil {
			return err
		}
	}
	return nil
}

func (t *Text) copied(ctx context.Context, s *scanner, r run, row table.Row, fn func(*table.Row) error) error {
	row.Columns = r.copied
	for {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		at := s.line
		line, err := s.readLine()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if row.Values, err = copyFields(string(line)); err != nil {
			return malformed(at, "%v", err)
		}
		if len(row.Values) != len(row.Columns) {
			return malformed(at, "the row has %s for %s of table %.100q", plural.Of(len(row.Values), "value"), plural.Of(len(row.Columns), "column"), row.Table)
		}
		one := row
		one.At = fmt.Sprintf("line %d", at)
		if err := fn(&one); err != nil {
			return err
		}
	}
}

func (t *Text) inserts(ctx context.Context, s *scanner, _ run, row table.Row, fn func(*table.Row) error) error {
	for {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		st, err := s.statement(func(string, int) {})
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		in, err := readInsert(st.text)
		if err != nil {
			return malformed(st.line, "%v", err)
		}
		one := row
		one.At = fmt.Sprintf("line %d", st.line)
		if in.columns != nil {
			one.Columns = in.columns
		}
		if err := in.each(func(values []any) error {
			switch {
			case one.Columns == nil:
				return malformed(st.line, "the columns of table %.100q are not known: the text has no CREATE TABLE; make it without --data-only, or with --column-inserts", row.Table)
			case len(values) != len(one.Columns):
				return malformed(st.line, "the row has %s for %s of table %.100q", plural.Of(len(values), "value"), plural.Of(len(one.Columns), "column"), row.Table)
			}
			next := one
			next.Values = values
			return fn(&next)
		}, st.line); err != nil {
			return err
		}
	}
}

// insert is an INSERT statement up to its values.
type insert struct {
	table   string
	columns []string // nil: all
	values  *values
}

// readInsert reads INSERT INTO name (columns) VALUES.
func readInsert(sql string) (*insert, error) {
	v, err := readValues(sql)
	if err != nil {
		return nil, err
	}
	for _, keyword := range []string{"INSERT", "INTO"} {
		if !v.word.Keyword(keyword) {
			return nil, fmt.Errorf("%s is expected, not %.20q", keyword, v.word.Text)
		}
		if err := v.step(); err != nil {
			return nil, err
		}
	}
	in := &insert{values: v}
	if in.table, err = v.name(); err != nil {
		return nil, err
	}
	if v.word.Symbol("(") {
		if in.columns, err = v.names(); err != nil {
			return nil, err
		}
	}
	if !v.word.Keyword("VALUES") {
		return nil, fmt.Errorf("VALUES is expected, not %.20q", v.word.Text)
	}
	return in, v.step()
}

// each calls fn with each row of the statement.
func (in *insert) each(fn func([]any) error, line int) error {
	for {
		row, err := in.values.list()
		if err != nil {
			return malformed(line, "%v", err)
		}
		if err := fn(row); err != nil {
			return err
		}
		more, err := in.values.mark(",")
		if err != nil {
			return malformed(line, "%v", err)
		}
		if !more {
			break
		}
	}
	if w := in.values.word; w != (table.Word{}) && !w.Keyword("ON") { // ON CONFLICT DO NOTHING
		return malformed(line, "%.20q stands behind the row", w.Text)
	}
	return nil
}

// name reads a name, of which the part before a dot is a schema.
func (v *values) name() (string, error) {
	for {
		if !v.word.Named() {
			return "", fmt.Errorf("a name is expected, not %.20q", v.word.Text)
		}
		name := v.word.Text
		if err := v.step(); err != nil {
			return "", err
		}
		dot, err := v.mark(".")
		if err != nil || !dot {
			return name, err
		}
	}
}

// names reads names between parentheses.
func (v *values) names() (all []string, err error) {
	if err := v.expect("("); err != nil {
		return nil, err
	}
	for {
		name, err := v.name()
		if err != nil {
			return nil, err
		}
		all = append(all, name)
		more, err := v.mark(",")
		if err != nil {
			return nil, err
		}
		if !more {
			return all, v.expect(")")
		}
	}
}
