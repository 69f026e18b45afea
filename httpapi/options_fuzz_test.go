package httpapi

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"postern/delivery"
	"postern/event"
)

// FuzzAcceptedOptionsRoundTrip sends any body to the route. The options that it accepts are
// shown in a form that it accepts again, with the same result, and the headers that receivers get cannot be
// terminated or replaced by them.
func FuzzAcceptedOptionsRoundTrip(f *testing.F) {
	for _, body := range []string{
		`{}`, `{"durable":true,"order":"chat","maxAge":"90s","headers":{"X-Api-Key":"k","Authorization":"Bearer x"},"signing":{"enabled":true}}`,
		`{"filter":{"groups":false},"endpoints":[{"id":"crm","url":"https://x/y?z","events":{"messagesUpsert":true},"headers":{"A":"b"},"signing":{"enabled":true}}]}`,
		`{"headers":{"Host":"x"}}`, `{"headers":{"A":"b\r\nC: d"}}`, `{"endpoints":[{"id":"a","url":"http://a"},{"id":"a","url":"http://b"}]}`,
	} {
		f.Add(body)
	}
	r := newRig(f)
	token := r.instance("a")
	rec, err := r.registry.ByName("a")
	if err != nil {
		f.Fatal(err)
	}
	ask := func(t *testing.T, method, body string) (int, string) {
		res := r.as(token, method, ofA, body)
		raw, err := io.ReadAll(res.Body)
		if err != nil {
			t.Fatal(err)
		}
		return res.StatusCode, strings.TrimSpace(string(raw))
	}
	f.Fuzz(func(t *testing.T, body string) {
		ask(t, http.MethodDelete, "")
		status, answer := ask(t, http.MethodPut, body)
		_, shown := ask(t, http.MethodGet, "")
		if status != http.StatusOK {
			if status != http.StatusBadRequest && status != http.StatusRequestEntityTooLarge || shown != plainOptions {
				t.Fatalf("%d %s, and then %s", status, answer, shown)
			}
			return
		}
		if strings.Contains(shown, "whsec_") && !strings.Contains(body, "whsec_") {
			t.Errorf("GET shows a secret: %s", shown)
		}
		if status, again := ask(t, http.MethodPut, shown); status != http.StatusOK || again != shown {
			t.Errorf("%s put again is %d %s", shown, status, again)
		}
		lane := delivery.Lane{Flow: delivery.FlowInstance, Instance: rec.ID, Target: event.TargetEndpoint}
		all, err := r.registry.Webhooks().Options(rec.ID)
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range all.Endpoints {
			lane.Endpoint = p.ID
			d, _ := r.registry.Webhooks().Resolve(lane)
			holdsHeaders(t, d.Headers)
		}
		if strings.Contains(body, `"url"`) {
			return
		}
		textOf(t, r.as(token, http.MethodPut, "/instance/a/webhook", `{"url":"http://own"}`))
		lane.Target, lane.Endpoint = event.TargetWebhook, ""
		d, _ := r.registry.Webhooks().Resolve(lane)
		holdsHeaders(t, d.Headers)
	})
}

func holdsHeaders(t *testing.T, headers map[string]string) {
	t.Helper()
	seen := map[string]bool{}
	for name, value := range headers {
		lower := strings.ToLower(name)
		if seen[lower] || value == "***" || strings.ContainsAny(name+value, "\r\n\x00") || strings.ContainsAny(name, ": \t") || name == "" {
			t.Errorf("the header %q: %q", name, value)
		}
		switch {
		case lower == "host", strings.HasPrefix(lower, "content-"), strings.HasPrefix(lower, "webhook-"), lower == "transfer-encoding", lower == "connection":
			t.Errorf("the header %q", name)
		}
		seen[lower] = true
	}
}
