package config

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// value is a typed place in a Config.
type value interface {
	// parse sets the value from the text of an environment variable.
	parse(text string) error
	// accept sets the value from the output of the TOML decoder.
	accept(v any) error
	// toml is the current value as TOML.
	toml() string
	// values describes the accepted values, for the documentation.
	values() string
}

// place is the location of a T in a Config, with the functions of its kind of values.
type place[T any] struct {
	to      *T
	read    func(text string) (T, error) // from the environment
	convert func(v any) (T, error)       // from the TOML decoder
	check   func(T) error                // the rule; nil: anything goes
	write   func(T) string
	accepts string
}

func (p *place[T]) parse(text string) error { return p.set(p.read(text)) }

func (p *place[T]) accept(v any) error { return p.set(p.convert(v)) }

func (p *place[T]) set(v T, err error) error {
	if err == nil && p.check != nil {
		err = p.check(v)
	}
	if err == nil {
		*p.to = v
	}
	return err
}

func (p *place[T]) toml() string { return p.write(*p.to) }

func (p *place[T]) values() string { return p.accepts }

// row returns a setting at the place, set to its default.
func row[T any](path string, def T, doc string, p place[T]) setting {
	*p.to = def
	return setting{path: path, doc: doc, value: &p}
}

func secret(kind secrecy, s setting) setting {
	s.kind = kind
	return s
}

func text(path string, to *string, def string, check func(string) error, doc string) setting {
	return row(path, def, doc, place[string]{
		to: to, check: check, write: quote, accepts: "text",
		read:    func(s string) (string, error) { return s, nil },
		convert: is[string]("must be a string"),
	})
}

func number(path string, to *int64, def, low, high int64, doc string) setting {
	const rule = "must be a whole number"
	limits := fmt.Sprintf("%d to %d", low, high)
	return row(path, def, doc, place[int64]{
		to: to, check: within(low, high, "must be from "+limits), accepts: limits,
		read: func(s string) (int64, error) {
			n, err := strconv.ParseInt(s, 10, 64)
			return n, says(rule, err == nil)
		},
		convert: is[int64](rule),
		write:   func(n int64) string { return strconv.FormatInt(n, 10) },
	})
}

func boolean(path string, to *bool, def bool, doc string) setting {
	const rule = "must be true or false"
	return row(path, def, doc, place[bool]{
		to: to, write: strconv.FormatBool, accepts: "true or false",
		read:    func(s string) (bool, error) { return s == "true", says(rule, s == "true" || s == "false") },
		convert: is[bool](rule),
	})
}

func duration(path string, to *time.Duration, def, low, high time.Duration, doc string) setting {
	limits := "a duration, " + shortDuration(low) + " to " + shortDuration(high)
	if high == math.MaxInt64 {
		limits = "a duration, " + shortDuration(low) + " or more"
	}
	return row(path, def, doc, place[time.Duration]{
		to: to, check: within(low, high, "must be "+limits), accepts: limits,
		read: parseDuration,
		convert: func(v any) (time.Duration, error) {
			if s, ok := v.(string); ok {
				return parseDuration(s)
			}
			// The only number that needs no unit.
			return 0, says(`must be a duration in quotes, such as "15s"`, v == int64(0))
		},
		write: func(d time.Duration) string { return quote(shortDuration(d)) },
	})
}

func list(path string, to *[]string, check func(string) error, doc string) setting {
	return row(path, nil, doc, place[[]string]{
		to: to, accepts: "a list; in the environment with commas between",
		read:    func(s string) ([]string, error) { return splitList(s), nil },
		convert: stringsOf,
		check: func(items []string) error {
			for _, item := range items {
				if err := check(item); err != nil {
					return err
				}
			}
			return nil
		},
		write: func(items []string) string {
			quoted := make([]string, len(items))
			for i, s := range items {
				quoted[i] = quote(s)
			}
			return "[" + strings.Join(quoted, ", ") + "]"
		},
	})
}

// is converts values of type T, and refuses others with the rule.
func is[T any](rule string) func(any) (T, error) {
	return func(v any) (T, error) {
		t, ok := v.(T)
		return t, says(rule, ok)
	}
}

// within checks a value against its limits.
func within[T cmp.Ordered](low, high T, rule string) func(T) error {
	return func(v T) error { return says(rule, low <= v && v <= high) }
}

// says returns an error with the rule if it is violated.
func says(rule string, kept bool) error {
	if kept {
		return nil
	}
	return errors.New(rule)
}

func parseDuration(s string) (time.Duration, error) {
	d, err := time.ParseDuration(s)
	return d, says(`must be a duration with its unit, such as "15s" or "72h"`, err == nil)
}

// shortDuration is d without the zero units that String appends.
func shortDuration(d time.Duration) string {
	s := d.String()
	if strings.HasSuffix(s, "m0s") {
		s = strings.TrimSuffix(s, "0s")
	}
	if strings.HasSuffix(s, "h0m") {
		s = strings.TrimSuffix(s, "0m")
	}
	return s
}

// splitList returns the items between the commas, without those that are empty.
func splitList(s string) (items []string) {
	for item := range strings.SplitSeq(s, ",") {
		if item = strings.TrimSpace(item); item != "" {
			items = append(items, item)
		}
	}
	return items
}

// stringsOf returns the items of an array of strings.
func stringsOf(v any) ([]string, error) {
	elements, ok := v.([]any)
	items := make([]string, 0, len(elements))
	for _, e := range elements {
		s, isString := e.(string)
		items, ok = append(items, s), ok && isString
	}
	return items, says("must be an array of strings", ok)
}

// quote returns s as a basic string of TOML, which has fewer escapes than Go.
func quote(s string) string {
	var b strings.Builder
	b.WriteByte('"')
	for _, r := range strings.ToValidUTF8(s, "\uFFFD") {
		switch {
		case r == '"' || r == '\\':
			b.WriteByte('\\')
			b.WriteRune(r)
		case r < ' ' || r == 0x7f:
			fmt.Fprintf(&b, `\u%04X`, r)
		default:
			b.WriteRune(r)
		}
	}
	b.WriteByte('"')
	return b.String()
}
