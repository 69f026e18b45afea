package table

import (
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
)

// Kind is the kind of an SQL word.
type Kind byte

// The kinds of words.
const (
	Name   Kind = iota // of a column, table or keyword
	Quoted             // a name in "", `` or []
	String             // in ''
	Blob               // X'': its digits
	Number
	Mark // one character of everything else
)

// Word is a word of SQL without its quotes.
type Word struct {
	Kind Kind
	Text string
}

// Keyword reports whether the word is that keyword, which is not quoted.
func (w Word) Keyword(keyword string) bool {
	return w.Kind == Name && strings.EqualFold(w.Text, keyword)
}

// Symbol reports whether the word is that character.
func (w Word) Symbol(s string) bool { return w.Kind == Mark && w.Text == s }

// Named reports whether the word can be a name. SQLite accepts texts, too.
func (w Word) Named() bool { return w.Kind == Name || w.Kind == Quoted || w.Kind == String }

// Words splits SQL into its words; comments are left out. The error says which
// quotation is unterminated, or the unexpected character.
func Words(sql string) (words []Word, err error) {
	for {
		var w Word
		if w, sql, err = NextWord(sql); err != nil || w == (Word{}) {
			return words, err
		}
		words = append(words, w)
	}
}

// NextWord returns the first word of sql, and what follows it; the zero Word at
// the end.
func NextWord(sql string) (w Word, rest string, err error) {
	if sql, err = skipBlank(sql); err != nil || sql == "" {
		return Word{}, "", err
	}
	switch c := sql[0]; {
	case c == '\'':
		return quoted(String, sql, '\'')
	case c == '"', c == '`':
		return quoted(Quoted, sql, c)
	case c == '[':
		return quoted(Quoted, sql, ']')
	case (c == 'x' || c == 'X') && len(sql) > 1 && sql[1] == '\'':
		w, rest, err = quoted(Blob, sql[1:], '\'')
		if err == nil && !isHex(w.Text) {
			err = errors.New("a blob is not made of pairs of hexadecimal digits")
		}
		return w, rest, err
	case isDigit(c), c == '.' && len(sql) > 1 && isDigit(sql[1]):
		n := numberLength(sql)
		return Word{Number, sql[:n]}, sql[n:], nil
	case isNameByte(c):
		n := 1
		for n < len(sql) && (isNameByte(sql[n]) || isDigit(sql[n]) || sql[n] == '$') {
			n++
		}
		return Word{Name, sql[:n]}, sql[n:], nil
	}
	return Word{Mark, sql[:1]}, sql[1:], nil
}

// skipBlank leaves out blanks and comments.
func skipBlank(sql string) (string, error) {
	for {
		sql = strings.TrimLeft(sql, " \t\r\n\f")
		switch {
		case strings.HasPrefix(sql, "--"):
			_, sql, _ = strings.Cut(sql, "\n")
		case strings.HasPrefix(sql, "/*"):
			_, after, ended := strings.Cut(sql[2:], "*/")
			if !ended {
				return "", errors.New("a comment does not end")
			}
			sql = after
		default:
			return sql, nil
		}
	}
}

// quoted reads up to the quote, which stands for itself where it is doubled.
func quoted(kind Kind, sql string, quote byte) (Word, string, error) {
	var text strings.Builder
	for rest := sql[1:]; ; {
		i := strings.IndexByte(rest, quote)
		if i < 0 {
			return Word{}, "", fmt.Errorf("unterminated %.20q", sql)
		}
		text.WriteString(rest[:i])
		if rest = rest[i+1:]; rest == "" || rest[0] != quote || quote == ']' {
			return Word{kind, text.String()}, rest, nil
		}
		text.WriteByte(quote)
		rest = rest[1:]
	}
}

func isHex(s string) bool {
	_, err := hex.DecodeString(s)
	return err == nil
}

func isDigit(c byte) bool { return c >= '0' && c <= '9' }

func isNameByte(c byte) bool {
	return c == '_' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= 0x80
}

// numberLength returns the length of the number that s begins with.
func numberLength(s string) int {
	n := 0
	for n < len(s) && (isDigit(s[n]) || s[n] == '.') {
		n++
	}
	if n < len(s) && (s[n] == 'e' || s[n] == 'E') {
		m := n + 1
		if m < len(s) && (s[m] == '+' || s[m] == '-') {
			m++
		}
		if m < len(s) && isDigit(s[m]) {
			for n = m; n < len(s) && isDigit(s[n]); n++ {
			}
		}
	}
	return n
}
