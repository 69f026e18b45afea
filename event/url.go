package event

import (
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"strings"
)

// CheckPort refuses a URL whose port is empty or not a number from 1 to 65535.
// A URL without a port has that of its scheme.
func CheckPort(u *url.URL) error {
	port := u.Port()
	if port == "" && !strings.HasSuffix(u.Host, ":") {
		return nil
	}
	if n, err := strconv.ParseUint(port, 10, 16); err != nil || n == 0 {
		return errors.New("the port must be a number from 1 to 65535")
	}
	return nil
}

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
