package dump

import (
	"encoding/hex"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"postern/migrate/table"
)

// values reads the literals of an INSERT statement from words on. What sqlite3
// writes of texts with line breaks are calls of replace and unistr.
type values struct {
	rest string
	word table.Word // the one that is next; zero at the end
}

func readValues(sql string) (*values, error) {
	v := &values{rest: sql}
	return v, v.step()
}

func (v *values) step() (err error) {
	v.word, v.rest, err = table.NextWord(v.rest)
	return err
}

func (v *values) mark(s string) (bool, error) {
	if !v.word.Symbol(s) {
		return false, nil
	}
	return true, v.step()
}

func (v *values) expect(s string) error {
	found, err := v.mark(s)
	if err == nil && !found {
		err = fmt.Errorf("%q is expected, not %.20q", s, v.word.Text)
	}
	return err
}

// list reads literals between parentheses.
func (v *values) list() (all []any, err error) {
	if err := v.expect("("); err != nil {
		return nil, err
	}
	for {
		one, err := v.literal(0)
		if err != nil {
			return nil, err
		}
		all = append(all, one)
		more, err := v.mark(",")
		if err != nil {
			return nil, err
		}
		if !more {
			return all, v.expect(")")
		}
	}
}

// maxCalls is how deep calls of functions may nest; sqlite3 nests two.
const maxCalls = 8

func (v *values) literal(depth int) (value any, err error) {
	if depth > maxCalls {
		return nil, errors.New("function calls nest too deep")
	}
	w := v.word
	if err := v.step(); err != nil {
		return nil, err
	}
	switch {
	case w.Kind == table.String:
		return w.Text, nil
	case w.Kind == table.Blob:
		return hex.DecodeString(w.Text)
	case w.Kind == table.Number:
		return number(w.Text)
	case w.Symbol("-"), w.Symbol("+"):
		n := v.word
		if n.Kind != table.Number {
			return nil, errors.New("a sign without a number")
		}
		if w.Symbol("-") {
			n.Text = "-" + n.Text
		}
		if err := v.step(); err != nil {
			return nil, err
		}
		return number(n.Text)
	case w.Keyword("NULL"):
		return nil, nil
	case w.Keyword("TRUE"):
		return int64(1), nil
	case w.Keyword("FALSE"):
		return int64(0), nil
	case w.Keyword("REPLACE"), w.Keyword("CHAR"), w.Keyword("UNISTR"):
		return v.call(strings.ToUpper(w.Text), depth)
	}
	return nil, fmt.Errorf("a value is expected, not %.20q", w.Text)
}

func number(text string) (any, error) {
	if n, err := strconv.ParseInt(text, 10, 64); err == nil {
		return n, nil
	}
	f, err := strconv.ParseFloat(text, 64)
	if err != nil && !errors.Is(err, strconv.ErrRange) { // sqlite3 writes infinity as 9.0e+999
		return nil, fmt.Errorf("%.20q is not a number", text)
	}
	return f, nil
}

// call reads the arguments of a function and does what it does.
func (v *values) call(name string, depth int) (any, error) {
	if err := v.expect("("); err != nil {
		return nil, err
	}
	var args []any
	for {
		arg, err := v.literal(depth + 1)
		if err != nil {
			return nil, err
		}
		args = append(args, arg)
		more, err := v.mark(",")
		if err != nil {
			return nil, err
		}
		if !more {
			break
		}
	}
	if err := v.expect(")"); err != nil {
		return nil, err
	}
	return apply(name, args)
}

func apply(name string, args []any) (any, error) {
	texts := make([]string, len(args))
	for i, arg := range args {
		texts[i], _ = arg.(string)
	}
	switch {
	case name == "CHAR" && len(args) == 1:
		if n, isNumber := args[0].(int64); isNumber && n >= 0 && n <= 0x10ffff {
			return string(rune(n)), nil
		}
	case name == "REPLACE" && len(args) == 3 && texts[1] != "":
		if n := strings.Count(texts[0], texts[1]); len(texts[0])+n*len(texts[2]) > table.MaxRow {
			return nil, fmt.Errorf("a text has more than %d bytes", table.MaxRow)
		}
		return strings.ReplaceAll(texts[0], texts[1], texts[2]), nil
	case name == "UNISTR" && len(args) == 1:
		return unistr(texts[0])
	}
	return nil, fmt.Errorf("unsupported call of %s", strings.ToLower(name))
}

// unistr puts the characters of \XXXX, \uXXXX, \+XXXXXX, \UXXXXXXXX and \\ in place.
func unistr(s string) (string, error) {
	var text strings.Builder
	for {
		before, after, found := strings.Cut(s, `\`)
		text.WriteString(before)
		if !found {
			return text.String(), nil
		}
		skip, digits := 0, 4
		switch {
		case strings.HasPrefix(after, `\`):
			text.WriteByte('\\')
			s = after[1:]
			continue
		case strings.HasPrefix(after, "u"):
			skip = 1
		case strings.HasPrefix(after, "+"):
			skip, digits = 1, 6
		case strings.HasPrefix(after, "U"):
			skip, digits = 1, 8
		}
		if len(after) < skip+digits {
			return "", errors.New("a unistr escape is truncated")
		}
		n, err := strconv.ParseUint(after[skip:skip+digits], 16, 32)
		if err != nil || n > 0x10ffff {
			return "", errors.New("a unistr escape is not a character")
		}
		text.WriteRune(rune(n)) //nolint:gosec // bounded above
		s = after[skip+digits:]
	}
}
