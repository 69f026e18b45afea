package erasure

import (
	"bytes"
	"strings"
)

// minDigits is the least length of a number that is searched for without its server.
const minDigits = 7

// names reports whether a text has the number of one of some addresses, as a whole: not as part of a longer number,
// and not as a JSON number, which is a time or a size.
func names(text []byte, addresses []string) bool {
	for _, address := range addresses {
		user, _, _ := strings.Cut(address, "@")
		what := []byte(user)
		if len(user) < minDigits {
			what = []byte(address)
		}
		if has(text, what) {
			return true
		}
	}
	return false
}

func has(text, what []byte) bool {
	for from := 0; len(what) > 0; {
		i := bytes.Index(text[from:], what)
		if i < 0 {
			return false
		}
		i += from
		before, after := byte(0), byte(0)
		if i > 0 {
			before = text[i-1]
		}
		if end := i + len(what); end < len(text) {
			after = text[end]
		}
		number := strings.IndexByte(":,[", before) >= 0 && strings.IndexByte(",}]", after) >= 0
		if !digit(before) && !digit(after) && !number {
			return true
		}
		from = i + 1
	}
	return false
}

func digit(b byte) bool { return '0' <= b && b <= '9' }
