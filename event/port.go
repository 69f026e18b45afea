package event

import (
	"errors"
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
