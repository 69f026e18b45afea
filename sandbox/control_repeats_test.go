package sandbox

import (
	"encoding/json"
	"net/http/httptest"
	"strings"
	"testing"

	"postern/internal/nightly"
)

// TestControlErrorsQuoteAtMost100Characters: every
// field of every act, and names that no route knows.
func TestControlErrorsQuoteAtMost100Characters(t *testing.T) {
	s := openServer(t, Config{})
	addPhone(t, s, "5511911111111")
	addPhone(t, s, otherNumber)
	long := strings.Repeat("ж", 2000)
	control := s.Control()
	refused := 0
	ask := func(method, path, body string) {
		t.Helper()
		w, r := httptest.NewRecorder(), httptest.NewRequest("POST", "/sandbox", strings.NewReader(body))
		r.Method, r.URL.Path = method, path
		if control.ServeHTTP(w, r); w.Code < 400 {
			return
		}
		refused++
		var e struct{ Messages []string }
		if err := json.Unmarshal(w.Body.Bytes(), &e); err != nil {
			t.Fatalf("%s: %v", w.Body, err)
		}
		text := strings.Join(e.Messages, "\n")
		if n := strings.Count(text, "ж") + max(0, strings.Count(text, "7")-20); n > 100 {
			t.Errorf("%s %.60s %.100s: %d characters of it in %.300s", method, path, body, n, text)
		}
	}
	values := []string{long, strings.Repeat("7", 2000), strings.Repeat("7", 2000) + "@g.us", strings.Repeat("7", 2000) + "@lid", "7@" + long, otherNumber + "@" + long}
	encode := func(v any) string {
		raw, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		return string(raw)
	}
	for _, path := range []string{"/sandbox/phones", "/sandbox/scan", "/sandbox/faults", "/sandbox/" + long, "/sandbox/phones/" + long + "/act", "/sandbox/phones/5511911111111/act"} {
		ask("ЖЖ"+long, path, "")
		for _, body := range []string{encode(fields{long: 1}), encode(fields{"do": long}), encode(fields{"do": fields{long: 1}}), `{"` + long, long} {
			ask("POST", path, body)
		}
		for _, v := range values {
			for _, name := range []string{"phone", "pushName", "lid", "code"} {
				ask("POST", path, encode(fields{name: v}))
				ask("POST", path, encode(fields{name: v, "code": long}))
				ask("POST", path, encode(fields{name: []string{v}}))
			}
		}
	}
	for _, a := range acts() {
		for name := range a.Fields {
			for _, v := range values {
				for _, value := range []any{v, []string{v, v}, fields{v: v}} {
					if nightly.Or(false, true) {
						ask("POST", "/sandbox/phones/5511911111111/act", encode(fields{"do": a.Do, name: value}))
					}
					full := fields{"do": a.Do, "to": otherNumber, "chat": otherNumber}
					full[name] = value
					ask("POST", "/sandbox/phones/5511911111111/act", encode(full))
				}
			}
		}
	}
	if refused < 500 {
		t.Errorf("%d requests were refused", refused)
	}
}
