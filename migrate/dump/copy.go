package dump

import (
	"errors"
	"strings"
)

// copyFields splits a line of a COPY block into its values: text, or nil for \N.
func copyFields(line string) ([]any, error) {
	all := make([]any, 0, strings.Count(line, "\t")+1)
	for field := range strings.SplitSeq(line, "\t") {
		if field == `\N` {
			all = append(all, nil)
			continue
		}
		text, err := unescape(field)
		if err != nil {
			return nil, err
		}
		all = append(all, text)
	}
	return all, nil
}

// escapes are what a backslash makes of the character behind it.
var escapes = map[byte]byte{'b': '\b', 'f': '\f', 'n': '\n', 'r': '\r', 't': '\t', 'v': '\v'}

func unescape(field string) (string, error) {
	if strings.IndexByte(field, '\\') < 0 {
		return field, nil
	}
	var text strings.Builder
	for i := 0; i < len(field); i++ {
		if field[i] != '\\' {
			text.WriteByte(field[i])
			continue
		}
		if i++; i == len(field) {
			return "", errors.New("a value ends with a backslash")
		}
		c := field[i]
		switch {
		case escapes[c] != 0:
			text.WriteByte(escapes[c])
		case c >= '0' && c <= '7':
			n, used := digits(field[i:], 8, 3)
			text.WriteByte(n)
			i += used - 1
		case c == 'x' && i+1 < len(field) && digit(field[i+1]) < 16:
			n, used := digits(field[i+1:], 16, 2)
			text.WriteByte(n)
			i += used
		default:
			text.WriteByte(c)
		}
	}
	return text.String(), nil
}

// digits reads up to most digits of a base.
func digits(s string, base, most int) (n byte, used int) {
	for used < most && used < len(s) && digit(s[used]) < base {
		n = n*byte(base) + byte(digit(s[used])) //nolint:gosec // both are small
		used++
	}
	return n, used
}

func digit(c byte) int {
	switch {
	case c >= '0' && c <= '9':
		return int(c - '0')
	case c >= 'a' && c <= 'f':
		return int(c-'a') + 10
	case c >= 'A' && c <= 'F':
		return int(c-'A') + 10
	}
	return 16
}
