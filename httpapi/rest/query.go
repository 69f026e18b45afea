package rest

import (
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"postern/event"
	"postern/internal/nearest"
)

// Query returns the query parameters of c. Malformed ones, ones that the route
// does not know, and repeated ones not in repeatable are refused.
func (c *Call) Query(known []string, repeatable ...string) (url.Values, error) {
	q, err := url.ParseQuery(c.Request.URL.RawQuery)
	if err != nil {
		return nil, InvalidQuery("the query is malformed")
	}
	for name, values := range q {
		switch {
		case slices.Contains(repeatable, name):
		case !slices.Contains(known, name):
			return nil, InvalidQuery(event.Cut(name) + " is not a known query parameter" + meant(name, known))
		case len(values) > 1:
			return nil, InvalidQuery(event.Cut(name) + " is given twice")
		}
	}
	return q, nil
}

// meant returns the known name that an unknown one was probably meant to be.
func meant(name string, known []string) string {
	if near, ok := nearest.Meant(name, known); ok {
		return "; use " + near
	}
	return ""
}

// Flag reads a query parameter that is true or false, false if absent, and refuses other
// parameters except those in others.
func (c *Call) Flag(name string, others ...string) (bool, error) {
	q, err := c.Query(append(others, name))
	if err != nil || !q.Has(name) {
		return false, err
	}
	return QueryFlag(q, name)
}

// QueryFlag reads a parameter that is true or false.
func QueryFlag(q url.Values, name string) (bool, error) {
	switch q.Get(name) {
	case "true":
		return true, nil
	case "false":
		return false, nil
	}
	return false, InvalidQuery(name + " must be true or false")
}

// InvalidQuery is the error of a query parameter that does not meet its rule, which text says.
func InvalidQuery(text string) error { return Refuse(http.StatusBadRequest, CodeInvalidQuery, text) }

// QueryList reads a query parameter that may be repeated or hold a comma-separated list.
func QueryList(q url.Values, name string) []string {
	var all []string
	for _, v := range q[name] {
		all = append(all, strings.Split(v, ",")...)
	}
	return all
}

// Distinct removes duplicates: every record is compared with each of the values, and a body has
// room for a hundred thousand.
func Distinct(values []string) []string {
	values = slices.Clone(values)
	slices.Sort(values)
	return slices.Compact(values)
}

// ParseTime reads a time of a query parameter; zero for an empty text.
func ParseTime(name, text string) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	t, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return time.Time{}, InvalidQuery(name + " must be an RFC 3339 time")
	}
	return t, nil
}
