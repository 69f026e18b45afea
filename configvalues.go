package main

import (
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
	// accept sets the value from what the TOML decoder made of it.
	accept(v any) error
	// toml is the current value as TOML.
	toml() string
	// values says what is accepted, for the documentation.
	values() string
}

type textValue struct {
	to    *string
	check func(string) error
}

func text(path string, to *string, def string, check func(string) error, doc string) setting {
	*to = def
	return setting{path: path, doc: doc, value: &textValue{to, check}}
}

func (v *textValue) parse(s string) error {
	if v.check != nil {
		if err := v.check(s); err != nil {
			return err
		}
	}
	*v.to = s
	return nil
}

func (v *textValue) accept(raw any) error {
	s, ok := raw.(string)
	if !ok {
		return errors.New("must be a string")
	}
	return v.parse(s)
}

func (v *textValue) values() string { return "text" }

func (v *textValue) toml() string { return quote(*v.to) }

type numberValue struct {
	to       *int64
	min, max int64
}

func number(path string, to *int64, def, low, high int64, doc string) setting {
	*to = def
	return setting{path: path, doc: doc, value: &numberValue{to, low, high}}
}

func (v *numberValue) parse(s string) error {
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil {
		return errors.New("must be a whole number")
	}
	return v.accept(n)
}

func (v *numberValue) accept(raw any) error {
	n, ok := raw.(int64)
	if !ok {
		return errors.New("must be a whole number")
	}
	if n < v.min || n > v.max {
		return fmt.Errorf("must be from %d to %d", v.min, v.max)
	}
	*v.to = n
	return nil
}

func (v *numberValue) values() string { return fmt.Sprintf("%d to %d", v.min, v.max) }

func (v *numberValue) toml() string { return strconv.FormatInt(*v.to, 10) }

type boolValue struct{ to *bool }

func boolean(path string, to *bool, def bool, doc string) setting {
	*to = def
	return setting{path: path, doc: doc, value: boolValue{to}}
}

func (v boolValue) parse(s string) error {
	switch s {
	case "true":
		*v.to = true
	case "false":
		*v.to = false
	default:
		return errors.New("must be true or false")
	}
	return nil
}

func (v boolValue) accept(raw any) error {
	b, ok := raw.(bool)
	if !ok {
		return errors.New("must be true or false")
	}
	*v.to = b
	return nil
}

func (v boolValue) values() string { return "true or false" }

func (v boolValue) toml() string { return strconv.FormatBool(*v.to) }

type durationValue struct {
	to       *time.Duration
	min, max time.Duration
}

func duration(path string, to *time.Duration, def, low, high time.Duration, doc string) setting {
	*to = def
	return setting{path: path, doc: doc, value: &durationValue{to, low, high}}
}

func (v *durationValue) parse(s string) error {
	d, err := time.ParseDuration(s)
	if err != nil {
		return errors.New(`must be a duration with its unit, such as "15s" or "72h"`)
	}
	return v.set(d)
}

func (v *durationValue) set(d time.Duration) error {
	if d < v.min || d > v.max {
		return fmt.Errorf("must be %s", v.values())
	}
	*v.to = d
	return nil
}

func (v *durationValue) accept(raw any) error {
	switch raw := raw.(type) {
	case string:
		return v.parse(raw)
	case int64:
		if raw == 0 { // the one number that means the same in every unit
			return v.set(0)
		}
	}
	return errors.New(`must be a duration in quotes, such as "15s"`)
}

func (v *durationValue) values() string {
	if v.max == math.MaxInt64 {
		return "a duration, " + shortDuration(v.min) + " or more"
	}
	return "a duration, " + shortDuration(v.min) + " to " + shortDuration(v.max)
}

func (v *durationValue) toml() string { return quote(shortDuration(*v.to)) }

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

type listValue struct {
	to    *[]string
	check func(string) error
}

func list(path string, to *[]string, check func(string) error, doc string) setting {
	*to = nil
	return setting{path: path, doc: doc, value: listValue{to, check}}
}

func (v listValue) parse(s string) error {
	var items []string
	for item := range strings.SplitSeq(s, ",") {
		if item = strings.TrimSpace(item); item != "" {
			items = append(items, item)
		}
	}
	return v.set(items)
}

func (v listValue) set(items []string) error {
	for _, item := range items {
		if err := v.check(item); err != nil {
			return err
		}
	}
	*v.to = items
	return nil
}

func (v listValue) accept(raw any) error {
	elements, ok := raw.([]any)
	if !ok {
		return errors.New("must be an array of strings")
	}
	items := make([]string, 0, len(elements))
	for _, e := range elements {
		s, ok := e.(string)
		if !ok {
			return errors.New("must be an array of strings")
		}
		items = append(items, s)
	}
	return v.set(items)
}

func (v listValue) values() string { return "a list; in the environment with commas between" }

func (v listValue) toml() string {
	quoted := make([]string, len(*v.to))
	for i, s := range *v.to {
		quoted[i] = quote(s)
	}
	return "[" + strings.Join(quoted, ", ") + "]"
}

func secret(kind secrecy, s setting) setting {
	s.kind = kind
	return s
}

// quote is s as a basic string of TOML, whose escapes are fewer than Go's.
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
