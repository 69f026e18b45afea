package postgres

import (
	"cmp"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

const hidden = "xxxxx"

// Redact returns text with the passwords of a database's URL replaced by xxxxx, as they are
// written there, decoded, and encoded in other ways. A URL that breaks the rules, such as one
// with a @ in its password, is read in each way that it may be meant.
func Redact(rawURL, text string) string { return redact(passwords(rawURL), text) }

func redact(secrets []string, text string) string {
	for _, secret := range secrets {
		text = strings.ReplaceAll(text, secret, hidden)
	}
	return text
}

// passwords returns what must not be shown of a URL, the longest first.
func passwords(rawURL string) []string {
	var raw []string
	_, rest, _ := strings.Cut(rawURL, "://")
	if _, after, has := strings.Cut(rest, ":"); has {
		for i := range len(after) {
			if after[i] == '@' {
				raw = append(raw, after[:i])
			}
		}
	}
	if _, query, has := strings.Cut(rest, "?"); has {
		for pair := range strings.SplitSeq(query, "&") {
			name, value, _ := strings.Cut(pair, "=")
			if decoded, err := url.QueryUnescape(name); err == nil {
				name = decoded
			}
			if strings.EqualFold(name, "password") || strings.EqualFold(name, "sslpassword") {
				raw = append(raw, value)
			}
		}
	}
	var all []string
	for _, written := range raw {
		all = append(all, forms(written)...)
	}
	return longestFirst(all)
}

// forms returns a password as written, decoded, and encoded in other ways.
func forms(written string) []string {
	all := []string{written}
	for _, decode := range []func(string) (string, error){url.PathUnescape, url.QueryUnescape} {
		if plain, err := decode(written); err == nil {
			all = append(all, plain)
		}
	}
	for _, plain := range slices.Clone(all) {
		quoted := strconv.Quote(plain)
		_, user, _ := strings.Cut(url.UserPassword("", plain).String(), ":")
		all = append(all, quoted[1:len(quoted)-1], user, url.QueryEscape(plain), url.PathEscape(plain))
	}
	return all
}

func longestFirst(all []string) []string {
	slices.SortFunc(all, func(a, b string) int { return cmp.Or(len(b)-len(a), strings.Compare(a, b)) })
	all = slices.Compact(all)
	return slices.DeleteFunc(all, func(s string) bool { return s == "" })
}
