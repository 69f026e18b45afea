package httpapi

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"postern/delivery"
	"postern/event"
	"postern/httpapi/rest"
	"postern/instance/webhooks"
)

func TestHeaderValuesAreHiddenAndStarsKeepThem(t *testing.T) {
	r := newRig(t)
	token := r.instance("a")
	put := func(body string) string { t.Helper(); return textOf(t, r.as(token, "PUT", ofA, body)) }
	sent := func(endpoint string) map[string]string {
		t.Helper()
		rec, err := r.registry.ByName("a")
		if err != nil {
			t.Fatal(err)
		}
		lane := delivery.Lane{Flow: delivery.FlowInstance, Instance: rec.ID, Target: event.TargetWebhook}
		if endpoint != "" {
			lane.Target, lane.Endpoint = event.TargetEndpoint, endpoint
		}
		d, state := r.registry.Webhooks().Resolve(lane)
		if state != delivery.Ready {
			t.Fatalf("nothing goes to %q", endpoint)
		}
		return d.Headers
	}
	textOf(t, r.as(token, "PUT", "/instance/a/webhook", `{"url":"http://own","events":{"messagesUpsert":true}}`))
	const crm = `"endpoints":[{"id":"crm","url":"http://crm","events":{"messagesUpsert":true},"headers":{"Api-Key":%q}}]`
	first := put(`{"headers":{"Authorization":"Bearer one"},` + fmt.Sprintf(crm, "two") + `}`)
	if strings.Contains(first, "Bearer one") || strings.Contains(first, "two") {
		t.Errorf("the answer to the PUT shows a value: %s", first)
	}
	put(`{"headers":{"authorization":"***","New":"x"},` + fmt.Sprintf(crm, "***") + `}`)
	if got := sent(""); got["authorization"] != "Bearer one" || got["New"] != "x" || len(got) != 2 {
		t.Errorf("the webhook gets %v", got)
	}
	if got := sent("crm"); got["Api-Key"] != "two" || len(got) != 1 {
		t.Errorf("the endpoint gets %v: the webhook's own headers never apply to it", got)
	}
	// The webhook's value is not a former value of an endpoint, nor is one endpoint's that of another.
	wantError(t, r.as(token, "PUT", ofA, `{"endpoints":[{"id":"crm","url":"http://crm","headers":{"Authorization":"***"}}]}`), 400, "INVALID_WEBHOOK")
	wantError(t, r.as(token, "PUT", ofA, `{"endpoints":[{"id":"CRM","url":"http://crm","headers":{"Api-Key":"***"}}]}`), 400, "INVALID_WEBHOOK")
	// A value that was omitted is not kept.
	put(`{"headers":{"New":"***"}}`)
	wantError(t, r.as(token, "PUT", ofA, `{"headers":{"Authorization":"***"}}`), 400, "INVALID_WEBHOOK")
	wantError(t, r.as(token, "PUT", ofA, fmt.Sprintf("{"+crm+"}", "***")), 400, "INVALID_WEBHOOK")
}

// secretsIn returns the signing secrets in an answer, by endpoint.
func secretsIn(t testing.TB, answer string) map[string]string {
	t.Helper()
	var o struct {
		Signing   webhooks.Signing
		Endpoints []struct {
			ID      string
			Signing webhooks.Signing
		}
	}
	if err := json.Unmarshal([]byte(answer), &o); err != nil {
		t.Fatal(err)
	}
	all := map[string]string{}
	if o.Signing.Secret != "" {
		all[""] = o.Signing.Secret
	}
	for _, p := range o.Endpoints {
		if p.Signing.Secret != "" {
			all[p.ID] = p.Signing.Secret
		}
	}
	return all
}

func TestSecretIsShownOnlyWhenSigningIsEnabled(t *testing.T) {
	r := newRig(t)
	for plain, ask := range r.scopes() {
		put := func(body string) map[string]string { t.Helper(); return secretsIn(t, textOf(t, ask("PUT", "", body))) }
		made := put(`{"signing":{"enabled":true}}`)[""]
		key, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(made, "whsec_"))
		if err != nil || len(key) != 32 || !strings.HasPrefix(made, "whsec_") {
			t.Errorf("the secret %q is not whsec_ and base64 of 32 bytes", made)
		}
		if again := put(`{"signing":{"enabled":true},"headers":{"A":"b"}}`); len(again) != 0 {
			t.Errorf("a second PUT shows %v", again)
		}
		for _, body := range []string{textOf(t, ask("GET", "", "")), textOf(t, ask("PUT", "", `{"signing":{"enabled":true}}`))} {
			if strings.Contains(body, "whsec_") || !strings.Contains(body, `"signing":{"enabled":true}`) {
				t.Errorf("shown again: %s", body)
			}
		}
		// Disabling deletes it; enabling again makes another.
		put(`{}`)
		if next := put(`{"signing":{"enabled":true}}`)[""]; next == "" || next == made {
			t.Errorf("after it was disabled the secret is %q, was %q", next, made)
		}
		textOf(t, ask("DELETE", "", ""))
		wantError(t, ask("POST", "/rotate-secret", ""), http.StatusConflict, "SIGNING_OFF")
		if plain == plainGlobal {
			continue
		}
		const two = `{"endpoints":[{"id":"one","url":"http://one","signing":{"enabled":%t}},{"id":"two","url":"http://two","signing":{"enabled":true}}]}`
		at := put(fmt.Sprintf(two, true))
		if len(at) != 2 || at["one"] == at["two"] || at[""] != "" {
			t.Errorf("each endpoint has a secret of its own: %v", at)
		}
		if at = put(fmt.Sprintf(two, false)); len(at) != 0 {
			t.Errorf("disabling one shows %v", at)
		}
		if at = put(fmt.Sprintf(two, true)); len(at) != 1 || at["one"] == "" {
			t.Errorf("enabling one shows %v", at)
		}
		put(`{}`)
		if at = put(fmt.Sprintf(two, true)); len(at) != 2 {
			t.Errorf("endpoints that were removed come back with %v", at)
		}
	}
}

func TestRotationAnswersTheOptionsWithTheNewSecret(t *testing.T) {
	r := newRig(t)
	for plain, ask := range r.scopes() {
		wantError(t, ask("POST", "/rotate-secret", ""), http.StatusConflict, "SIGNING_OFF")
		body := `{"durable":true,"headers":{"A":"b"},"signing":{"enabled":true}}`
		if plain == plainOptions {
			body = `{"durable":true,"headers":{"A":"b"},"signing":{"enabled":true},"endpoints":[{"id":"crm","url":"http://crm","signing":{"enabled":true}},{"id":"off","url":"http://off"}]}`
		}
		before := secretsIn(t, textOf(t, ask("PUT", "", body)))
		shown := textOf(t, ask("GET", "", ""))
		for _, given := range []string{"", "{}", ""} {
			answer := textOf(t, ask("POST", "/rotate-secret?endpointId=", given))
			made := secretsIn(t, answer)
			if len(made) != 1 || made[""] == "" || made[""] == before[""] {
				t.Errorf("rotated to %v, was %v", made, before)
			}
			if rest := strings.Replace(answer, `,"secret":"`+made[""]+`"`, "", 1); rest != shown {
				t.Errorf("answered %s, want %s", rest, shown)
			}
			before = made
		}
		wantError(t, ask("POST", "/rotate-secret?endpoint=crm", ""), 400, rest.CodeInvalidQuery)
		wantError(t, ask("POST", "/rotate-secret?endpointId=a&endpointId=b", ""), 400, rest.CodeInvalidQuery)
		wantError(t, ask("POST", "/rotate-secret", `{"endpointId":"crm"}`), 400, rest.CodeUnknownField)
		if plain == plainGlobal {
			wantError(t, ask("POST", "/rotate-secret?endpointId=crm", ""), 400, rest.CodeInvalidQuery)
			continue
		}
		if made := secretsIn(t, textOf(t, ask("POST", "/rotate-secret?endpointId=crm", ""))); len(made) != 1 || made["crm"] == "" {
			t.Errorf("an endpoint's: %v", made)
		}
		wantError(t, ask("POST", "/rotate-secret?endpointId=off", ""), http.StatusConflict, "SIGNING_OFF")
		wantError(t, ask("POST", "/rotate-secret?endpointId=CRM", ""), http.StatusNotFound, "ENDPOINT_NOT_FOUND")
	}
}

func TestNoSecretIsShownOrLoggedAnywhereElse(t *testing.T) {
	r := newRig(t)
	secrets := []string{"the webhooks own", "the endpoints key", "the global one", "key=inquery"}
	for plain, ask := range r.scopes() {
		body := `{"headers":{"A":"the global one"},"signing":{"enabled":true}}`
		if plain == plainOptions {
			body = `{"durable":true,"headers":{"A":"the webhooks own"},"signing":{"enabled":true},"endpoints":[{"id":"crm","url":"http://crm/?key=inquery","headers":{"B":"the endpoints key"},"signing":{"enabled":true}}]}`
		}
		for _, s := range secretsIn(t, textOf(t, ask("PUT", "", body))) {
			secrets = append(secrets, s)
		}
		for _, s := range secretsIn(t, textOf(t, ask("POST", "/rotate-secret", ""))) {
			secrets = append(secrets, s)
		}
		for _, c := range []struct{ method, under, body string }{
			{"PUT", "", strings.Replace(body, `"A"`, `"A ", "B C"`, 1)},
			{"PUT", "", strings.Replace(body, `"A":"`, `"A":"`+"\u00e4", 1)},
			{"PUT", "", strings.Replace(body, `"A"`, `"Host"`, 1)},
			{"PUT", "", body + "x"},
			{"PUT", "", strings.ReplaceAll(body, "http://", "http://u:p@")},
			{"POST", "/rotate-secret?endpointId=none", ""},
			{"GET", "?a=b", ""},
		} {
			raw, err := io.ReadAll(ask(c.method, c.under, c.body).Body)
			if err != nil {
				t.Fatal(err)
			}
			r.noneOf(t, c.method+c.under, string(raw), secrets[:3])
		}
	}
	rec, err := r.registry.ByName("a")
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{"/instance", "/outbox", "/ready"} {
		raw, _ := io.ReadAll(r.admin("GET", path, "").Body)
		r.noneOf(t, path, string(raw), secrets)
	}
	r.noneOf(t, "the record", fmt.Sprintf("%+v %#v", rec, rec), secrets)
	r.mu.Lock()
	logged := r.logged.String()
	r.mu.Unlock()
	if !strings.Contains(logged, "/webhook/options") {
		t.Fatal("nothing was logged")
	}
	r.noneOf(t, "the log", logged, secrets)
}

func (r *rig) noneOf(t *testing.T, where, text string, secrets []string) {
	t.Helper()
	for _, s := range secrets {
		if strings.Contains(text, s) {
			t.Errorf("%s has the secret %q: %s", where, s, text)
		}
	}
}
