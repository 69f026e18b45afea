package httpapi

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"postern/httpapi/rest"
)

// adviceOf returns the OpenAPI document's advice to callers about a code of a route.
func adviceOf(t *testing.T, method, path, status, code string) string {
	t.Helper()
	raw, err := OpenAPI("", "test")
	if err != nil {
		t.Fatal(err)
	}
	var doc struct {
		Paths      map[string]map[string]struct{ Responses map[string]json.RawMessage }
		Components struct {
			Responses map[string]struct{ Description string }
		}
	}
	if err := json.Unmarshal(raw, &doc); err != nil {
		t.Fatal(err)
	}
	var shared struct {
		Ref string `json:"$ref"`
	}
	if err := json.Unmarshal(doc.Paths[path][strings.ToLower(method)].Responses[status], &shared); err != nil {
		t.Fatal(err)
	}
	about := doc.Components.Responses[strings.TrimPrefix(shared.Ref, "#/components/responses/")].Description
	_, advice, _ := strings.Cut(about, code+": ")
	advice, _, _ = strings.Cut(advice, "\n\n")
	return advice
}

func TestExpiresInNamesTheRoutesLimit(t *testing.T) {
	r := newRig(t)
	token := r.instance("a")
	for _, route := range []struct {
		path, document string
		most           int
		ask            func(body string) *http.Response
	}{
		{"/auth/user-token", "/auth/user-token", 31_536_000, func(body string) *http.Response { return r.admin("POST", "/auth/user-token", body) }},
		{"/instance/a/portal-link", "/instance/{instanceName}/portal-link", 86_400, func(body string) *http.Response {
			return r.with(token, "POST", "/instance/a/portal-link", body)
		}},
	} {
		for _, seconds := range []int{0, route.most + 1} {
			res := route.ask(fmt.Sprintf(`{"expiresIn":%d}`, seconds))
			if text := fmt.Sprintf("between 1 and %d seconds", route.most); !strings.Contains(readAll(t, res), text) {
				t.Errorf("%s: the message lacks %q", route.path, text)
			}
		}
		if got, want := adviceOf(t, "POST", route.document, "422", "INVALID_EXPIRES_IN"), fmt.Sprintf("Send 1 to %d seconds.", route.most); got != want {
			t.Errorf("%s: advice %q, want %q", route.path, got, want)
		}
	}
}

func TestTooLargeBodyNamesTheRoutesLimit(t *testing.T) {
	r := newRig(t)
	token := r.instance("a")
	res := r.with(token, "POST", "/instance/a/portal-link", `{"expiresIn":1`+strings.Repeat(" ", rest.MaxBody)+`}`)
	if want := fmt.Sprintf("larger than %d bytes", rest.MaxBody); !strings.Contains(readAll(t, res), want) {
		t.Errorf("the message lacks %q", want)
	}
}

func readAll(t *testing.T, res *http.Response) string {
	t.Helper()
	raw, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}
