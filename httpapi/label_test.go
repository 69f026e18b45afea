package httpapi

import (
	"strings"
	"testing"

	"postern/event"
	"postern/httpapi/rest"
)

func TestLabelCallsReachTheAccount(t *testing.T) {
	r, token, d := doing(t)
	const p = "4915112345678@s.whatsapp.net"
	r.asks(t, token, d, []request{
		{"GET", "/instance/a/labels", "", "list labels", `[{"id":"1","name":"","color":0}]`},
		{"POST", "/instance/a/label", `{"name":"é","color":19}`, `create label "é" 19`, `{"id":"4","name":"é","color":19}`},
		{"POST", "/instance/a/label", `{"name":"x"}`, `create label "x" 0`, `{"id":"4","name":"x","color":0}`},
		{"PUT", "/instance/a/label", `{"labelId":"2","name":"new"}`, `label 2 is "new" 9`, `{"id":"2","name":"new","color":9}`},
		{"PUT", "/instance/a/label", `{"labelId":"2","color":0}`, `label 2 is "old" 0`, `{"id":"2","name":"old","color":0}`},
		{"DELETE", "/instance/a/label?labelId=2", "", "delete label 2", `{"id":"2","name":"old","color":0,"deleted":true}`},
		{
			"POST", "/instance/a/label/assign", `{"labelId":"2","chat":"+49 151 12345678"}`, "label 2 on " + p + " true",
			`{"labelId":"2","chatJid":"` + p + `","labeled":true}`,
		},
		{
			"POST", "/instance/a/label/unassign", `{"labelId":"2","chat":"1-2@g.us"}`, "label 2 on 1-2@g.us false",
			`{"labelId":"2","chatJid":"1-2@g.us","labeled":false}`,
		},
	})
}

func TestABadLabelCallAsksForNothing(t *testing.T) {
	r, token, d := doing(t)
	const path, assign = "/instance/a/label", "/instance/a/label/assign"
	r.refuses(t, token, d, []refusedCall{
		{"POST", path, `{}`, 400, rest.CodeMissingField, "name"},
		{"POST", path, `{"name":""}`, 422, "INVALID_ARGUMENT", "name"},
		{"POST", path, `{"name":"` + strings.Repeat("é", 101) + `"}`, 422, "INVALID_ARGUMENT", "name"},
		{"POST", path, `{"name":"x","color":20}`, 422, "INVALID_ARGUMENT", "color"},
		{"POST", path, `{"name":"x","color":-1}`, 422, "INVALID_ARGUMENT", "color"},
		{"POST", path, `{"name":"x","color":1.5}`, 400, rest.CodeInvalidType, "color"},
		{"PUT", path, `{"name":"x"}`, 400, rest.CodeMissingField, "labelId"},
		{"PUT", path, `{"labelId":"2"}`, 422, "INVALID_ARGUMENT", "name"},
		{"PUT", path, `{"labelId":"two","name":"x"}`, 422, "INVALID_ARGUMENT", "labelId"},
		{"PUT", path, `{"labelId":"1234567890","name":"x"}`, 422, "INVALID_ARGUMENT", "labelId"},
		{"PUT", path, `{"labelId":2,"name":"x"}`, 400, rest.CodeInvalidType, "labelId"},
		{"DELETE", path, "", 400, rest.CodeInvalidQuery, "labelId"},
		{"DELETE", path + "?labelId=x", "", 422, "INVALID_ARGUMENT", "labelId"},
		{"POST", assign, `{"labelId":"2"}`, 400, rest.CodeMissingField, "chat"},
		{"POST", assign, `{"labelId":"2","chat":"12"}`, 422, "INVALID_RECIPIENT", "chat"},
		{"POST", assign, `{"labelId":"","chat":"4915112345678"}`, 422, "INVALID_ARGUMENT", "labelId"},
		{"GET", "/instance/a/labels?x=1", "", 400, rest.CodeInvalidQuery, "x"},
	})
}

func TestAnUnknownLabelIs404(t *testing.T) {
	r, token, d := doing(t)
	d.err = event.ErrNoLabel
	wantError(t, r.as(token, "DELETE", "/instance/a/label?labelId=2", ""), 404, "LABEL_NOT_FOUND")
}

func TestLabelIsMadeOncePerIdempotencyKey(t *testing.T) {
	r, token, d := doing(t)
	first := r.keyed(token, "k", "/instance/a/label", `{"name":"x"}`)
	again := r.keyed(token, "k", "/instance/a/label", `{"name":"x"}`)
	if first.status != 201 || !again.replayed || again.body != first.body || len(d.asked) != 1 {
		t.Errorf("%s, then %s; asked %q", first, again, d.asked)
	}
}
