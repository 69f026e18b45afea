package config

import (
	"fmt"
	"net/url"
	"os"
	"strconv"
	"strings"
	"unicode"
)

// Show returns the configuration of loadConfig as TOML, each value with where it
// came from and none with a credential in it, and what is worth a warning.
func Show(path string, environ []string) (text string, warnings []string, err error) {
	c, table, warnings, err := loadSettings(path, environ)
	if err != nil {
		return "", nil, err
	}
	return effectiveConfig(c, table), append(warnings, Exposures(c)...), nil
}

// effectiveConfig is the table as TOML, with no credential in it.
func effectiveConfig(c *Config, table []setting) string {
	return strings.TrimPrefix(sections(table, func(s setting, key string) string {
		return fmt.Sprintf("%s = %s # %s\n", key, s.shown(), OneLine(s.origin(c)))
	}), "\n")
}

// sections has the lines of every setting below the name of its section, with an
// empty line above each.
func sections(table []setting, lines func(s setting, key string) string) string {
	var b strings.Builder
	section := ""
	for _, s := range table {
		dot := strings.LastIndexByte(s.path, '.')
		if s.path[:dot] != section {
			section = s.path[:dot]
			fmt.Fprintf(&b, "\n[%s]\n", section)
		}
		b.WriteString(lines(s, s.path[dot+1:]))
	}
	return b.String()
}

const mask = "********"

// text is the value of a setting that is a text, else empty.
func (s setting) text() string {
	if v, ok := s.value.(*place[string]); ok {
		return *v.to
	}
	return ""
}

// shown is the value as it may be seen by others.
func (s setting) shown() string {
	switch {
	case s.kind == hidden:
		return quote(mask)
	case s.kind == private || strings.Contains(s.text(), "://"):
		return quote(MaskURL(s.text()))
	default:
		return s.value.toml()
	}
}

// MaskURL hides what may be a credential in a URL, which is everything but its
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

// origin is where the value came from. A hidden setting without a value has
// one that the program makes.
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

// OneLine keeps a comment a comment, whatever a path is made of.
func OneLine(s string) string {
	if strings.ContainsFunc(s, unicode.IsControl) {
		return strconv.Quote(s)
	}
	return s
}
