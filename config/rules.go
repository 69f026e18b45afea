package config

import (
	"encoding/hex"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"postern/backup"
	"postern/event"
	"postern/internal/peers"
	"postern/internal/plural"
	"postern/whatsapp/proxy"
)

// The rules of single settings. None of them repeats the value, which may be a
// secret.

const (
	minSecret    = 32 // bytes of the JWT secret: HS256 is as strong as its key is long
	minDifferent = 16 // bytes of it that differ from each other: a long word may be no secret
	minKey       = 16 // bytes of the GlobalApiKey
)

// longEnough returns the rule about the length of a secret, wherever it comes from.
func longEnough(s string, least int) error {
	if n := len(s); n < least {
		return fmt.Errorf("has %s, needs %d or more, such as openssl rand -base64 32 prints", plural.Of(n, "byte"), least)
	}
	return nil
}

func checkSecret(s string) error {
	if err := longEnough(s, minSecret); err != nil {
		return err
	}
	n := different([]byte(s))
	if raw, err := hex.DecodeString(s); err == nil {
		n = max(n, different(raw)) // 64 random digits may well lack one
	}
	if n < minDifferent {
		return fmt.Errorf("has %s, needs %d or more, such as openssl rand -base64 32 prints", plural.Of(n, "different byte"), minDifferent)
	}
	return nil
}

// different counts the bytes that occur.
func different(b []byte) (n int) {
	var seen [256]bool
	for _, c := range b {
		if !seen[c] {
			seen[c], n = true, n+1
		}
	}
	return n
}

// checkKey refuses weak keys, and those that no HTTP header can
// carry, which would make the API inaccessible.
func checkKey(s string) error {
	if strings.ContainsFunc(s, unicode.IsControl) || strings.TrimSpace(s) != s {
		return errors.New("must not begin or end with a space or hold control characters: no HTTP header can carry it")
	}
	if s == "" {
		return nil // one is made
	}
	return longEnough(s, minKey)
}

func checkURL(s string) error {
	u, err := url.Parse(s)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" || u.User != nil {
		return errors.New("must be an http or https URL, without a user in it")
	}
	return event.CheckPort(u)
}

// checkOrigin refuses values that no browser sends as Origin, which would match no
// request.
func checkOrigin(s string) error {
	u, err := url.Parse(s)
	if err != nil || u.Scheme == "" || u.Host == "" || u.Scheme+"://"+strings.ToLower(u.Host) != s {
		return errors.New("each must be an origin as browsers send it, such as https://app.example.org, in lower case and without a path")
	}
	return event.CheckPort(u)
}

func checkRecipient(s string) error {
	_, err := backup.Recipients([]string{s})
	return err
}

func checkProxy(s string) error {
	_, err := peers.ParseProxies([]string{s})
	return err
}

func checkHostPort(s string) error {
	_, port, err := net.SplitHostPort(s)
	if err != nil {
		return errors.New("must be host:port")
	}
	if n, err := strconv.ParseUint(port, 10, 16); err != nil || n > 65535 {
		return errors.New("the port must be a number from 0 to 65535")
	}
	return nil
}

// checkDomain accepts names for which a certificate can be issued. A name without a dot
// is not in the public DNS.
func checkDomain(s string) error {
	labels := strings.Split(s, ".")
	wrong := len(s) > 253 || len(labels) < 2
	for _, l := range labels {
		wrong = wrong || l == "" || len(l) > 63 || l[0] == '-' || l[len(l)-1] == '-' || strings.ContainsFunc(l, func(r rune) bool {
			return (r < 'a' || r > 'z') && (r < '0' || r > '9') && r != '-'
		})
	}
	if _, err := netip.ParseAddr(s); wrong || err == nil {
		return errors.New("each must be a whole name in lower case, such as api.example.org, without a wildcard; other letters as xn--")
	}
	return nil
}

func checkDirectory(s string) error {
	u, err := url.Parse(s)
	if err != nil || u.Scheme != "https" || u.Hostname() == "" || u.User != nil || u.Fragment != "" {
		return errors.New("must be an https URL, such as https://ca.internal/acme/acme/directory")
	}
	return event.CheckPort(u)
}

// checkBasePath accepts segments that have only one spelling in a URL.
func checkBasePath(s string) error {
	wrong := errors.New("must begin with a slash, end without one and consist of letters, digits, hyphens, dots and underscores between its slashes, such as /postern")
	for i, word := range strings.Split(s, "/") {
		switch {
		case i == 0 && word != "", i > 0 && word == "", word == ".", word == "..":
			return wrong
		case strings.ContainsFunc(word, func(r rune) bool {
			return r > unicode.MaxASCII || !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune("-._", r)
		}):
			return wrong
		}
	}
	return nil
}

func checkTitle(s string) error {
	if n := utf8.RuneCountInString(s); n < 1 || n > 100 || strings.ContainsFunc(s, unicode.IsControl) {
		return errors.New("must have 1 to 100 visible characters")
	}
	return nil
}

func checkColour(s string) error {
	if len(s) != 7 || s[0] != '#' || strings.Trim(strings.ToLower(s[1:]), "0123456789abcdef") != "" {
		return errors.New("must be a colour such as #2f47b8")
	}
	return nil
}

// maxSocketPath is the length that every system accepts for the path of a Unix socket.
const maxSocketPath = 100

func checkSocket(s string) error {
	if len(s) > maxSocketPath || strings.HasPrefix(s, "@") || strings.ContainsFunc(s, unicode.IsControl) {
		return fmt.Errorf("must be the path of a file, of at most %d bytes and without control characters", maxSocketPath)
	}
	return nil
}

func checkMode(s string) error {
	mode, err := strconv.ParseUint(s, 8, 32)
	if err != nil || mode > 0o777 || len(s) < 3 || len(s) > 4 || mode&0o600 != 0o600 {
		return errors.New("must be the mode of a file in octal digits that lets its owner read and write, such as 0660")
	}
	return nil
}

func checkZone(s string) error {
	if _, err := time.LoadLocation(s); err != nil || s == "" || s == "Local" {
		return errors.New("must be a time zone of the IANA database, such as Europe/Berlin")
	}
	return nil
}

func checkColor(s string) error {
	if len(s) != 7 || s[0] != '#' {
		return errors.New("must be a colour such as #1a2b3c")
	}
	if _, err := strconv.ParseUint(s[1:], 16, 32); err != nil {
		return errors.New("must be a colour such as #1a2b3c")
	}
	return nil
}

func checkEndpoint(s string) error {
	u, err := url.Parse(s)
	if err != nil || u.Scheme != "wss" || u.Hostname() == "" || u.Port() == "" || u.User != nil || u.Fragment != "" {
		return errors.New("must be a wss://host:port/path URL")
	}
	return event.CheckPort(u)
}

// checkDefaultProxy tries the URL with a name in place of {instance}.
func checkDefaultProxy(s string) error {
	_, err := proxy.ParseFor(s, "name")
	return err
}

func checkHexKey(s string) error {
	_, err := ParseRootKey(s)
	return err
}

func notEmpty(s string) error {
	if s == "" {
		return errors.New("must not be empty")
	}
	return nil
}

func oneOf(words ...string) func(string) error {
	return func(s string) error {
		if slices.Contains(words, s) {
			return nil
		}
		return fmt.Errorf("must be one of %s", strings.Join(words, ", "))
	}
}

// ParseRootKey reads whatsapp.endpoint_root_key: 32 bytes in hex.
func ParseRootKey(s string) (key [32]byte, err error) {
	raw, err := hex.DecodeString(s)
	if err != nil || len(raw) != len(key) {
		return key, errors.New("must be 32 bytes in hex (64 digits)")
	}
	return [32]byte(raw), nil
}

// orEmpty accepts an empty text, and applies the rule to any other.
func orEmpty(check func(string) error) func(string) error {
	return func(s string) error {
		if s == "" {
			return nil
		}
		return check(s)
	}
}
