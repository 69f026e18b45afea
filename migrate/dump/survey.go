package dump

import (
	"context"
	"errors"
	"io"
	"strings"

	"postern/migrate/table"
)

// ends reports what a text said of its end.
type ends struct {
	began, ended int  // lines of BEGIN TRANSACTION and COMMIT of sqlite3
	dumped, done bool // the comments at both ends of pg_dump
}

// Comments by which pg_dump says where it begins and that it came to the end.
const (
	dumpBegins = "-- PostgreSQL database dump"
	dumpEnds   = "-- PostgreSQL database dump complete"
)

// survey notes where the rows of each table are.
func (t *Text) survey(ctx context.Context, from int64) error {
	s := newScanner(io.NewSectionReader(t.r, from, t.size-from), from, 1)
	var e ends
	comment := func(text string, _ int) {
		switch strings.TrimSpace(text) {
		case dumpBegins:
			e.dumped = true
		case dumpEnds:
			e.done = true
		}
	}
	runs := 0
	for {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		st, err := s.statement(comment)
		if errors.Is(err, io.EOF) {
			return e.check(s.line)
		}
		if err != nil {
			return err
		}
		if err := t.note(s, st, &e); err != nil {
			return err
		}
		if runs++; runs > maxRuns {
			runs = 0
			if t.turns() > maxRuns {
				return malformed(st.line, "the tables take turns more than %d times", maxRuns)
			}
		}
	}
}

func (t *Text) turns() (n int) {
	for _, r := range t.tables {
		n += len(r.runs)
	}
	return n
}

func (e *ends) check(line int) error {
	switch {
	case e.began > 0 && e.ended == 0:
		return malformed(line, "the text ends without the COMMIT of the transaction in line %d; it is truncated", e.began)
	case e.dumped && !e.done:
		return malformed(line, "the text ends without the line %q; it is truncated", dumpEnds)
	}
	return nil
}

// note looks at a statement, and reads over the rows of a COPY block.
func (t *Text) note(s *scanner, st statement, e *ends) error {
	switch keyword := firstWord(st.text); keyword {
	case "BEGIN":
		e.began = st.line
	case "COMMIT":
		e.ended = st.line
	case "ROLLBACK":
		if e.began > 0 {
			return malformed(st.line, "sqlite3 met errors and took all of it back; repair the database with sqlite3 FILE .recover first")
		}
	case "CREATE":
		if def, err := table.ParseCreate(st.text); err == nil { // what else is created has no rows
			t.table(def.Name).columns = def.Names()
		}
	case "INSERT":
		in, err := readInsert(st.text)
		if err != nil {
			return malformed(st.line, "%v", err)
		}
		t.table(in.table).insert(st, s.offset)
	case "COPY":
		return t.block(s, st)
	}
	return nil
}

func firstWord(sql string) string {
	w, _, err := table.NextWord(sql)
	if err != nil || w.Kind != table.Name {
		return ""
	}
	return strings.ToUpper(w.Text)
}

func (t *Text) table(name string) *rows {
	found := t.tables[name]
	if found == nil {
		found = &rows{}
		t.tables[name] = found
		t.order = append(t.order, name)
	}
	return found
}

// insert notes an INSERT statement that ends before end.
func (r *rows) insert(st statement, end int64) {
	if n := len(r.runs); n > 0 && r.runs[n-1].copied == nil && r.runs[n-1].end+2 >= st.offset { // a line break between
		r.runs[n-1].end = end
		return
	}
	r.runs = append(r.runs, run{from: st.offset, end: end, line: st.line})
}

// block notes the rows behind COPY name (columns) FROM stdin, and reads over them.
func (t *Text) block(s *scanner, st statement) error {
	v, err := readValues(st.text)
	if err == nil {
		err = v.step() // COPY
	}
	var name string
	var columns []string
	if err == nil {
		name, err = v.name()
	}
	if err == nil {
		columns, err = v.names()
	}
	if err != nil {
		return malformed(st.line, "%v", err)
	}
	if !v.word.Keyword("FROM") || firstWord(v.rest) != "STDIN" {
		return malformed(st.line, "COPY is expected to be FROM stdin")
	}
	if _, err := s.readLine(); err != nil { // what is left of the statement's own line
		return malformed(st.line, "the block does not begin; the text is truncated")
	}
	r := run{from: s.offset, end: s.offset, line: s.line, copied: columns}
	for {
		line, err := s.readLine()
		if errors.Is(err, io.EOF) {
			return malformed(st.line, "the rows of table %.100q do not end with \\.; the text is truncated", name)
		}
		if err != nil {
			return err
		}
		if string(line) == `\.` {
			found := t.table(name)
			found.runs = append(found.runs, r)
			return nil
		}
		r.end = s.offset
	}
}
