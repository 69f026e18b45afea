package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/url"
	"os"
	"strconv"
	"strings"
	"unicode"
)

// showConfig is `postern config`: it prints the configuration as the program
// would use it, each value with where it came from, and `postern config check
// FILE`, which only says whether a file is right. Neither changes anything on
// the disk.
func showConfig(_ context.Context, args []string, out io.Writer) error {
	if len(args) > 0 && args[0] == "check" {
		return checkConfig(args[1:], out)
	}
	var path string
	if err := parseFlags("config", args, out, func(fs *flag.FlagSet) { configFlag(fs, &path) }); err != nil {
		return err
	}
	c, table, warnings, err := loadSettings(path, os.Environ())
	if err != nil {
		return err
	}
	for _, w := range append(warnings, exposures(c)...) {
		fmt.Fprintln(out, "# warning:", oneLine(w))
	}
	_, err = io.WriteString(out, effectiveConfig(c, table))
	return err
}

// checkConfig reads one file alone, without the environment.
func checkConfig(args []string, out io.Writer) error {
	var path string
	err := parseFlags("config check", args, out, func(*flag.FlagSet) {}, &path)
	if err != nil {
		return err
	}
	if path == "" {
		return usageError{errors.New("check needs one file")}
	}
	if _, _, err := loadConfig(path, nil); err != nil {
		return faultyInput{err}
	}
	fmt.Fprintln(out, path+": ok")
	return nil
}

// effectiveConfig is the table as TOML, with no credential in it.
func effectiveConfig(c *Config, table []setting) string {
	var b strings.Builder
	section := ""
	for _, s := range table {
		dot := strings.LastIndexByte(s.path, '.')
		if s.path[:dot] != section {
			if section != "" {
				b.WriteString("\n")
			}
			section = s.path[:dot]
			fmt.Fprintf(&b, "[%s]\n", section)
		}
		fmt.Fprintf(&b, "%s = %s # %s\n", s.path[dot+1:], s.shown(), oneLine(s.origin(c)))
	}
	return b.String()
}

const mask = "********"

// text is the value of a setting that is a text, else empty.
func (s setting) text() string {
	if v, ok := s.value.(*textValue); ok {
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
		return quote(maskURL(s.text()))
	default:
		return s.value.toml()
	}
}

// maskURL hides what may be a credential in a URL, which is everything but its
// scheme, host and port.
func maskURL(text string) string {
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
		if _, err := os.Stat(secretsPath(c)); err == nil {
			return "generated, kept in " + secretsPath(c)
		}
		return "generated at the first start, to be kept in " + secretsPath(c)
	case s.source == "":
		return "default"
	case s.kind == hidden:
		return "set by " + s.source
	default:
		return s.source
	}
}

// oneLine keeps a comment a comment, whatever a path is made of.
func oneLine(s string) string {
	if strings.ContainsFunc(s, unicode.IsControl) {
		return strconv.Quote(s)
	}
	return s
}
