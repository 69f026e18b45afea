package config

import (
	"cmp"
	"fmt"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"
	"unicode"
)

// Show returns the configuration as TOML, each value with its source and without
// credentials, and warnings.
func Show(c *Config) (text string, warnings []string) {
	return TOML(Settings(c)), slices.Concat(Warnings(c), Exposures(c))
}

// Shown is a setting without credentials.
type Shown struct {
	Name    string // such as server.listen
	Value   string // as TOML, and as JSON: both write it alike; without what may be a credential
	Default string // likewise, empty of a secret that the program makes
	Source  string // where the value came from: a file, a variable, or default
	About   string // what the setting is for
}

// SourceOf returns the source of a setting: a file, a variable, or the defaults.
func SourceOf(c *Config, key string) string { return cmp.Or(c.loaded.sources[key], "default") }

// Settings returns all settings of a configuration, in the order of the table.
func Settings(c *Config) []Shown {
	defaults := settings(&Config{})
	all := make([]Shown, len(defaults))
	for i, s := range tableOf(c) {
		s.source = c.loaded.sources[s.path]
		if s.source == "" && s.value.toml() != defaults[i].value.toml() {
			s.source = "the program" // as a demonstration has its own
		}
		all[i] = Shown{Name: s.path, Value: s.shown(), Source: s.origin(c), About: s.doc}
		if s.kind != hidden {
			all[i].Default = defaults[i].value.toml()
		}
	}
	return all
}

// Warnings returns the warnings of [Load]; see [Exposures] for those about the values.
func Warnings(c *Config) []string { return c.loaded.warnings }

// TOML returns the shown settings as a file, each value with its source.
func TOML(all []Shown) string {
	return strings.TrimPrefix(sections(all, func(s Shown) string { return s.Name }, func(s Shown, key string) string {
		return fmt.Sprintf("%s = %s # %s\n", key, s.Value, OneLine(s.Source))
	}), "\n")
}

// sections has the lines of every setting below the name of its section, with an
// empty line above each.
func sections[S any](table []S, path func(S) string, lines func(s S, key string) string) string {
	var b strings.Builder
	section := ""
	for _, s := range table {
		name := path(s)
		dot := strings.LastIndexByte(name, '.')
		if name[:dot] != section {
			section = name[:dot]
			fmt.Fprintf(&b, "\n[%s]\n", section)
		}
		b.WriteString(lines(s, name[dot+1:]))
	}
	return b.String()
}

const mask = "********"

// text returns the value of a setting that is a text, else empty.
func (s setting) text() string {
	if v, ok := s.value.(*place[string]); ok {
		return *v.to
	}
	return ""
}

// shown returns the value without credentials.
func (s setting) shown() string {
	switch {
	case s.kind == hidden, s.kind == masked && s.text() != "":
		return quote(mask)
	case s.kind == credential:
		return quote(maskDatabase(s.text()))
	case s.kind == private || strings.Contains(s.text(), "://"):
		return quote(MaskURL(s.text()))
	default:
		return s.value.toml()
	}
}

// MaskURL removes possible credentials from a URL, which is everything except its
// scheme, host and port.
func MaskURL(text string) string {
	if text == "" {
		return ""
	}
	u, err := url.Parse(text)
	if err != nil || u.Host == "" {
		return mask
	}
	bare := url.URL{Scheme: u.Scheme, Host: u.Host}
	if text == bare.String() || text == bare.String()+"/" {
		return text
	}
	return bare.String() + "/" + mask
}

// origin returns the source of the value. A hidden setting without a value has
// one that the program generates.
func (s setting) origin(c *Config) string {
	switch {
	case s.kind == hidden && s.text() == "":
		if _, err := os.Stat(SecretsPath(c)); err == nil {
			return "generated, kept in " + SecretsPath(c)
		}
		return "generated at the first start, to be kept in " + SecretsPath(c)
	case s.source == "":
		return "default"
	case s.kind == hidden:
		return "set by " + s.source
	default:
		return s.source
	}
}

// OneLine keeps a comment on one line, whatever the path contains.
func OneLine(s string) string {
	if strings.ContainsFunc(s, unicode.IsControl) {
		return strconv.Quote(s)
	}
	return s
}
