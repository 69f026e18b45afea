package sandbox

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"reflect"
	"slices"
	"strings"

	"postern/sandbox/network"
	"postern/sandbox/phone"
)

// actHelp describes one act.
type actHelp struct {
	Do     string            `json:"do"`
	Does   string            `json:"does"`
	Fields map[string]string `json:"fields"`
}

// act is one row of the table; a new act needs nothing else.
type act struct {
	actHelp
	run func(ctx context.Context, s *network.Server, p *phone.Phone, fields json.RawMessage) (any, error)
}

// row returns an act whose fields are those of T, with the tags json and help.
func row[T any](do, does string, run func(ctx context.Context, s *network.Server, p *phone.Phone, fields T) (any, error)) act {
	return act{
		actHelp: actHelp{do, does, fieldHelp(reflect.TypeFor[T]())},
		run: func(ctx context.Context, s *network.Server, p *phone.Phone, raw json.RawMessage) (any, error) {
			var fields T
			if err := decodeStrict(raw, &fields); err != nil {
				return nil, err
			}
			return run(ctx, s, p, fields)
		},
	}
}

func fieldHelp(t reflect.Type) map[string]string {
	fields := map[string]string{}
	for field := range t.Fields() {
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		fields[name] = field.Tag.Get("help")
	}
	return fields
}

// theme is a group of acts in the help.
type theme struct {
	title string
	acts  []act
}

func themes() []theme {
	return []theme{
		{"Messages", messageActs()},
		{"People", peopleActs()},
		{"Calls", callActs()},
		{"Groups", groupActs()},
		{"Channels", newsletterActs()},
		{"What linked devices synchronise", syncActs()},
		{"Connections and links", connectionActs()},
	}
}

// acts is the table of POST /sandbox/phones/{phone}/act.
func acts() []act {
	var all []act
	for _, t := range themes() {
		all = append(all, t.acts...)
	}
	return all
}

var errNoPhone = refused{http.StatusNotFound, "PHONE_NOT_FOUND", "the sandbox's network has no such number"}

func (c *control) act(r *http.Request) (int, any, error) {
	p, ok := c.net.Phone(number(r.PathValue("phone")))
	if !ok {
		return 0, nil, errNoPhone
	}
	var fields map[string]json.RawMessage
	if err := decode(r, &fields); err != nil {
		return 0, nil, err
	}
	var do string
	if raw, ok := fields["do"]; ok {
		if err := json.Unmarshal(raw, &do); err != nil {
			return 0, nil, refusef(http.StatusBadRequest, "INVALID_TYPE", "do has to be a string")
		}
	}
	delete(fields, "do")
	table := acts()
	i := slices.IndexFunc(table, func(a act) bool { return a.Do == do })
	if i < 0 {
		return 0, nil, refusef(http.StatusUnprocessableEntity, "UNKNOWN_ACT", "do is %.100q; known are %s", do, strings.Join(names(table), ", "))
	}
	rest, err := json.Marshal(fields)
	if err != nil {
		return 0, nil, fmt.Errorf("act %s: %w", do, err)
	}
	result, err := table[i].run(r.Context(), c.net, p, bytes.TrimSpace(rest))
	if err != nil {
		return 0, nil, err
	}
	if result == nil {
		result = struct{}{}
	}
	return http.StatusOK, result, nil
}

func names(table []act) []string {
	all := make([]string, 0, len(table))
	for _, a := range table {
		all = append(all, a.Do)
	}
	return all
}

// help describes every route and act.
func (c *control) help(*http.Request) (int, any, error) {
	var described []actHelp
	for _, a := range acts() {
		described = append(described, a.actHelp)
	}
	return http.StatusOK, map[string]any{
		"about": "A local network that speaks WhatsApp's multi-device protocol. Any number is an account of it, except those that end in " +
			network.NotOnWhatsApp + ". Contacts answer a text that begins with \"" + phone.EchoPrefix + "\" with its rest.",
		"routes": controlRoutes(),
		"acts":   described,
	}, nil
}
