package dump

import (
	"bufio"
	"bytes"
	"fmt"
	"io"

	"postern/migrate/table"
)

// scanner splits a text into statements and lines, and counts.
type scanner struct {
	r      *bufio.Reader
	line   int   // of the next byte
	offset int64 // of the next byte
}

func newScanner(r io.Reader, offset int64, line int) *scanner {
	return &scanner{r: bufio.NewReaderSize(r, 64<<10), line: line, offset: offset}
}

func malformed(line int, format string, args ...any) error {
	return fmt.Errorf("%w: line %d: %s", table.ErrMalformed, line, fmt.Sprintf(format, args...))
}

func (s *scanner) readByte() (byte, error) {
	c, err := s.r.ReadByte()
	if err != nil {
		return 0, err
	}
	s.offset++
	if c == '\n' {
		s.line++
	}
	return c, nil
}

// next returns the next byte, which stays; 0 at the end.
func (s *scanner) next() byte {
	b, _ := s.r.Peek(1)
	if len(b) == 0 {
		return 0
	}
	return b[0]
}

// readLine returns the next line without its end. The bytes are good until the
// next call of any method. io.EOF: there is none.
func (s *scanner) readLine() ([]byte, error) {
	from := s.line
	line, err := s.r.ReadSlice('\n')
	if err == bufio.ErrBufferFull { //nolint:errorlint // as it is returned
		line = bytes.Clone(line)
		for err == bufio.ErrBufferFull { //nolint:errorlint // as above
			if len(line) > 2*table.MaxRow {
				return nil, malformed(from, "it is longer than %d bytes", 2*table.MaxRow)
			}
			var more []byte
			more, err = s.r.ReadSlice('\n')
			line = append(line, more...)
		}
	}
	s.offset += int64(len(line))
	if err != nil && (err != io.EOF || len(line) == 0) { //nolint:errorlint // readers return it bare
		return nil, err
	}
	if err == nil {
		s.line++
		line = line[:len(line)-1]
	}
	return bytes.TrimSuffix(line, []byte("\r")), nil
}

// statement is one statement, without the semicolon that ends it.
type statement struct {
	text   string
	line   int
	offset int64
}

// skip passes over blanks, comments and psql's commands in lines of their own. It
// calls comment with each line of a comment.
func (s *scanner) skip(comment func(text string, line int)) error {
	for {
		switch c := s.next(); c {
		case ' ', '\t', '\r', '\n', '\f', ';':
			if _, err := s.readByte(); err != nil {
				return err
			}
		case '\\':
			if _, err := s.readLine(); err != nil {
				return err
			}
		case '-':
			if two, _ := s.r.Peek(2); string(two) != "--" {
				return nil
			}
			at := s.line
			text, err := s.readLine()
			if err != nil {
				return err
			}
			comment(string(text), at)
		default:
			return nil
		}
	}
}

// statement reads the next one; io.EOF: there is none.
func (s *scanner) statement(comment func(text string, line int)) (statement, error) {
	if err := s.skip(comment); err != nil {
		return statement{}, err
	}
	st := statement{line: s.line, offset: s.offset}
	var text bytes.Buffer
	for {
		c, err := s.readByte()
		if err == io.EOF { //nolint:errorlint // readers return it bare
			if text.Len() == 0 {
				return st, io.EOF
			}
			return st, malformed(st.line, "unterminated statement; the text is truncated")
		}
		if err != nil {
			return st, err
		}
		if text.Len() > 2*table.MaxRow {
			return st, malformed(st.line, "the statement is longer than %d bytes", 2*table.MaxRow)
		}
		if c == ';' && !isTrigger(text.Bytes()) {
			st.text = text.String()
			return st, nil
		}
		text.WriteByte(c)
		if err := s.inside(c, &text, st.line); err != nil {
			return st, err
		}
	}
}

// inside reads on to the end of what c begins, where a semicolon ends no statement.
func (s *scanner) inside(c byte, text *bytes.Buffer, line int) error {
	var end string
	switch {
	case c == '\'', c == '"', c == '`':
		end = string(c)
	case c == '[':
		end = "]"
	case c == '-' && s.next() == '-':
		end = "\n"
	case c == '/' && s.next() == '*':
		end = "*/"
	case c == '$':
		tag := s.dollar()
		if tag == "" {
			return nil
		}
		end = tag
	default:
		return nil
	}
	from := text.Len()
	if c == '$' {
		for range len(end) - 1 { // the rest of the tag itself
			b, err := s.readByte()
			if err != nil {
				return err
			}
			text.WriteByte(b)
		}
		from = text.Len()
	}
	for {
		b, err := s.readByte()
		if err == io.EOF { //nolint:errorlint // readers return it bare
			return malformed(line, "unterminated %s; the text is truncated", end)
		}
		if err != nil {
			return err
		}
		text.WriteByte(b)
		if text.Len() > 2*table.MaxRow {
			return malformed(line, "the statement is longer than %d bytes", 2*table.MaxRow)
		}
		if text.Len()-from >= len(end) && b == end[len(end)-1] && bytes.HasSuffix(text.Bytes(), []byte(end)) {
			return nil
		}
	}
}

// dollar returns the tag of PostgreSQL's other quotes, such as $$ or $body$, whose first
// byte was read; "" when it is none.
func (s *scanner) dollar() string {
	ahead, _ := s.r.Peek(64)
	for i, c := range ahead {
		switch {
		case c == '$':
			return "$" + string(ahead[:i+1])
		case c == '_', c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', i > 0 && c >= '0' && c <= '9':
		default:
			return ""
		}
	}
	return ""
}

// isTrigger reports whether text is an unfinished CREATE TRIGGER, whose statements contain semicolons.
func isTrigger(text []byte) bool {
	words := bytes.Fields(text[:min(len(text), 64)])
	isCreate := len(words) > 1 && bytes.EqualFold(words[0], []byte("CREATE"))
	if !isCreate || !bytes.EqualFold(words[1], []byte("TRIGGER")) && (len(words) < 3 || !bytes.EqualFold(words[2], []byte("TRIGGER"))) {
		return false
	}
	if !bytes.Contains(bytes.ToUpper(text), []byte("BEGIN")) {
		return false // PostgreSQL's, which names a function
	}
	end := bytes.ToUpper(bytes.TrimSpace(text))
	return !bytes.HasSuffix(end, []byte("END"))
}
