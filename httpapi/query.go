package httpapi

import (
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"postern/event"
)

// query returns the query parameters of c. Malformed ones, ones that the route
// does not know, and repeated ones not in repeatable are refused.
func (c *call) query(known []string, repeatable ...string) (url.Values, error) {
	q, err := url.ParseQuery(c.r.URL.RawQuery)
	if err != nil {
		return nil, invalidQuery("the query is malformed")
	}
	for name, values := range q {
		switch {
		case slices.Contains(repeatable, name):
		case !slices.Contains(known, name):
			return nil, invalidQuery(event.Cut(name) + " is not a known query parameter" + meant(name, known))
		case len(values) > 1:
			return nil, invalidQuery(event.Cut(name) + " is given twice")
		}
	}
	return q, nil
}

// meant names the one of the known names that an unknown one was probably meant as.
func meant(name string, known []string) string {
	if near, ok := event.Near(name, known); ok {
		return "; use " + near
	}
	return ""
}

// flag reads a query parameter that is true or false, false when it is absent,
// and refuses any other parameter but those in others.
func (c *call) flag(name string, others ...string) (bool, error) {
	q, err := c.query(append(others, name))
	if err != nil || !q.Has(name) {
		return false, err
	}
	return queryFlag(q, name)
}

// queryFlag reads a parameter that is true or false.
func queryFlag(q url.Values, name string) (bool, error) {
	switch q.Get(name) {
	case "true":
		return true, nil
	case "false":
		return false, nil
	}
	return false, invalidQuery(name + " must be true or false")
}

func invalidQuery(text string) error { return refuse(http.StatusBadRequest, codeInvalidQuery, text) }

// manyOf reads a query parameter that may be repeated or hold a list with
// commas.
func manyOf(q url.Values, name string) []string {
	var all []string
	for _, v := range q[name] {
		all = append(all, strings.Split(v, ",")...)
	}
	return all
}

// distinct drops what is there again: every record is held against each of the
// values, and a body has room for a hundred thousand.
func distinct(values []string) []string {
	values = slices.Clone(values)
	slices.Sort(values)
	return slices.Compact(values)
}

func instant(name, text string) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	t, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return time.Time{}, invalidQuery(name + " must be an RFC 3339 time")
	}
	return t, nil
}
