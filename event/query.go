package event

import (
	"fmt"
	"strings"
)

// EscapeQuery returns the query of a URL as a request can carry it: what would end
// the address, or is not ASCII, is percent-encoded, as browsers do. net/url keeps
// a query as it was written.
func EscapeQuery(query string) string {
	if !strings.ContainsFunc(query, unsent) {
		return query
	}
	var b strings.Builder
	for _, c := range []byte(query) {
		if unsent(rune(c)) {
			fmt.Fprintf(&b, "%%%02X", c)
		} else {
			b.WriteByte(c)
		}
	}
	return b.String()
}

func unsent(c rune) bool { return c <= ' ' || c >= 0x7f || c == '"' || c == '<' || c == '>' }
