package httpapi

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"postern/httpapi/rest"
)

// levels returns a body with a field that no route knows, nested that deep.
func levels(n int) string {
	return `{"anything":` + strings.Repeat(`[`, n-1) + strings.Repeat(`]`, n-1) + `}`
}

// TestTooDeepJSONIsRefusedFirst iterates over the table, so that it covers new
// routes.
func TestTooDeepJSONIsRefusedFirst(t *testing.T) {
	r := newRig(t)
	token := r.instance("some-instance")
	walked := 0
	for _, row := range routes() {
		if row.Method == http.MethodGet || row.Method == http.MethodDelete && row.In == nil || row.Form != nil && row.In == nil {
			continue
		}
		walked++
		send := func(body string) *http.Response {
			req := httptest.NewRequest(row.Method, r.at(row), strings.NewReader(body))
			switch row.Auth {
			case rest.GlobalKey, rest.SignIn, rest.AnyKey:
				req.Header.Set("apikey", testKey)
			case rest.InstanceBearer, rest.PathBearer:
				req.Header.Set("Authorization", "Bearer "+token)
			case rest.UserBearer:
				req.Header.Set("Authorization", "Bearer "+r.token)
			case rest.Public, rest.Handshake, rest.PortalLink:
			}
			return do(r.h, req)
		}
		t.Run(row.Method+" "+row.Path, func(t *testing.T) {
			wantError(t, send(levels(65)), 400, "TOO_DEEP")
			wantError(t, send(`{"other":1,`+levels(65)[1:]), 400, "TOO_DEEP")
			code := "UNKNOWN_FIELD"
			if takesAnyField(row) {
				code = rest.CodeInvalidQuery
			}
			wantError(t, send(levels(64)), 400, code)
			wantError(t, send(strings.Repeat("[", 20_000)), 400, "TOO_DEEP") // never closed
		})
	}
	if walked < 50 {
		t.Errorf("only %d routes were walked", walked)
	}
}

// TestFormFieldIsADocumentOfItsOwn: its depth counts from its own first bracket, and a text may contain any number
// of brackets.
func TestFormFieldIsADocumentOfItsOwn(t *testing.T) {
	r := newRig(t)
	token := r.instance("some-instance")
	for _, row := range routes() {
		if row.Form == nil || !slices.Contains(row.Form, "options") {
			continue
		}
		t.Run(row.Path, func(t *testing.T) {
			send := func(options string) *http.Response {
				body, kind := formBody(t, part{name: "options", text: options}) // no file, and no recipient
				return r.form(concrete(row.Path), token, body, kind)
			}
			wantError(t, send(`{"externalAttributes":`+levels(64)+`}`), 400, "TOO_DEEP")
			wantError(t, send(`{"externalAttributes":`+levels(63)+`}`), 400, "MISSING_FIELD")
		})
	}
	body, kind := formBody(t, part{name: "mediaType", text: "image"}, part{name: "caption", text: strings.Repeat("[", 100)})
	wantError(t, r.form("/instance/some-instance/send/media-file", token, body, kind), 400, "MISSING_FIELD")
}

// TestTooDeepBatchStreamIsRefusedAtOnce: recipients are kept as they are read, so the depth is checked
// during the reading.
func TestTooDeepBatchStreamIsRefusedAtOnce(t *testing.T) {
	r := newRig(t)
	r.instance("a")
	many := strings.Repeat(`"4917400000001",`, 50_000)
	body := `{"name":"x","instances":["a"],"recipients":[` + many + `"4917400000002"],"message":{"type":"text","payload":{"text":"hi"}},"externalAttributes":$}`
	send := func(attributes string) *http.Response {
		req := httptest.NewRequest("POST", "/message/batches", strings.NewReader(strings.Replace(body, "$", attributes, 1)))
		req.Header.Set("Authorization", "Bearer "+r.token)
		return do(r.h, req)
	}
	wantError(t, send(levels(64)), 400, "TOO_DEEP")
	if res := send(levels(63)); res.StatusCode != 201 {
		t.Errorf("63 levels below the body: %d", res.StatusCode)
	}
}

// TestManyFieldsAreDecodedInLinearTime: unknown fields of a legacy path are ignored, and each has
// to be distinguished from those before it.
func TestManyFieldsAreDecodedInLinearTime(t *testing.T) {
	r := newRig(t)
	token := r.instance("a")
	var body strings.Builder
	body.WriteString(`{"number":"x"`)
	for i := range 80_000 {
		fmt.Fprintf(&body, `,"f%07d":0`, i)
	}
	body.WriteString("}")
	begin := time.Now()
	res := r.as(token, "POST", "/message/sendText/a", body.String())
	wantError(t, res, 400, "MISSING_FIELD")
	if took := time.Since(begin); took > 3*time.Second {
		t.Errorf("%d bytes took %v", body.Len(), took)
	}
}
