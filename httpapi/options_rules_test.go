package httpapi

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"postern/httpapi/rest"
	"postern/instance"
	"postern/instance/webhooks"
	"postern/store"
)

// The options of a scope that has set none.
const (
	plainGlobal  = `{"durable":false,"order":"none","maxAge":"72h","headers":{},"signing":{"enabled":false}}`
	plainOptions = `{"durable":false,"order":"none","maxAge":"72h","headers":{},"signing":{"enabled":false},` +
		`"filter":{"groups":true,"status":true,"newsletters":true,"broadcasts":true,"fromMe":true},"endpoints":[]}`
)

const ofA = "/instance/a/webhook/options"

// scopes are the two places that have options, each with its request.
func (r *rig) scopes() map[string]func(method, under, body string) *http.Response {
	token := r.instance("a")
	return map[string]func(method, under, body string) *http.Response{
		plainOptions: func(method, under, body string) *http.Response { return r.as(token, method, ofA+under, body) },
		plainGlobal: func(method, under, body string) *http.Response {
			return r.admin(method, "/webhook/options"+under, body)
		},
	}
}

// textOf returns the text of an answer with status 200.
func textOf(t testing.TB, res *http.Response) string {
	t.Helper()
	raw, err := io.ReadAll(res.Body)
	if err != nil || res.StatusCode != http.StatusOK {
		t.Fatalf("%d %s %v", res.StatusCode, raw, err)
	}
	return strings.TrimSpace(string(raw))
}

// someEndpoints returns n endpoints.
func someEndpoints(n int) string {
	all := make([]string, n)
	for i := range all {
		all[i] = fmt.Sprintf(`{"id":"e%d","url":"http://x%d"}`, i, i)
	}
	return `{"endpoints":[` + strings.Join(all, ",") + `]}`
}

// someHeaders returns n headers.
func someHeaders(n int) string {
	all := make([]string, n)
	for i := range all {
		all[i] = fmt.Sprintf(`"H%d":"v"`, i)
	}
	return `{"headers":{` + strings.Join(all, ",") + `}}`
}

func TestGETBeforePUTAnswersDefaults(t *testing.T) {
	r := newRig(t)
	for plain, ask := range r.scopes() {
		if got := textOf(t, ask("GET", "", "")); got != plain {
			t.Errorf("before any PUT: %s", got)
		}
		textOf(t, ask("PUT", "", `{"durable":true,"order":"chat","headers":{"A":"b"},"signing":{"enabled":true}}`))
		for range 2 { // it may be repeated
			if got := textOf(t, ask("DELETE", "", "")); got != plain {
				t.Errorf("answer of DELETE: %s", got)
			}
		}
		if got := textOf(t, ask("GET", "", "")); got != plain {
			t.Errorf("after DELETE: %s", got)
		}
	}
}

func TestPUTReplacesAllOptions(t *testing.T) {
	r := newRig(t)
	token := r.instance("a")
	put := func(body string) string { t.Helper(); return textOf(t, r.as(token, "PUT", ofA, body)) }
	const all = `{"durable":true,"order":"instance","maxAge":"90s","headers":{"X-Api-Key":"k"},"signing":{"enabled":false},` +
		`"filter":{"groups":false,"status":false,"newsletters":false,"broadcasts":false,"fromMe":false},` +
		`"endpoints":[{"id":"crm","url":"https://crm.example/x?y=z","enabled":false,"events":{"messagesUpsert":true,"callUpsert":false},"headers":{"Authorization":"Bearer x"},"signing":{"enabled":false}}]}`
	shown := strings.NewReplacer(`"k"`, `"***"`, `"Bearer x"`, `"***"`, `"messagesUpsert":true,"callUpsert":false`, `"callUpsert":false,"messagesUpsert":true`).Replace(all)
	if got := put(all); got != shown {
		t.Errorf("answered %s\nwant %s", got, shown)
	}
	if got := textOf(t, r.as(token, "GET", ofA, "")); got != shown {
		t.Errorf("shown %s", got)
	}
	if got := put(shown); got != shown {
		t.Errorf("what GET shows cannot be put: %s", got)
	}
	for _, nothing := range []string{``, `{}`, `{"durable":null,"order":null,"maxAge":null,"headers":null,"signing":null,"filter":null,"endpoints":null}`, `{"signing":{},"filter":{},"headers":{"A":null},"endpoints":[]}`} {
		put(all)
		if got := put(nothing); got != plainOptions {
			t.Errorf("%s: %s", nothing, got)
		}
	}
	const least = `{"endpoints":[{"id":"a","url":"http://a"}],"filter":{"status":false}}`
	if got := put(least); !strings.Contains(got, `"endpoints":[{"id":"a","url":"http://a","enabled":true,"events":{},"headers":{},"signing":{"enabled":false}}]`) ||
		!strings.Contains(got, `"filter":{"groups":true,"status":false,"newsletters":true,"broadcasts":true,"fromMe":true}`) {
		t.Errorf("defaults of an endpoint and of the filter: %s", got)
	}
}

// refusedOptions are bodies of both scopes, with what their refusal names.
func refusedOptions() map[string]string {
	refused := map[string]string{
		`{"durability":true}`: "durability", `{"Durable":true}`: "Durable", `{"signing":{"secret":"whsec_x"}}`: "signing.secret", `{"durable":1}`: "durable",
		`{"durable":"true"}`: "durable", `{"durable":true,"durable":true}`: "durable", `[]`: "object", `{"headers":[]}`: "headers", `{"headers":{"A":1}}`: "headers.A",
		`{"headers":{"A":"b","A":"b"}}`: "headers.A", `{} {}`: "body", `{"signing":true}`: "signing", `{"signing":{"enabled":"true"}}`: "signing.enabled",
		// order: none, chat, instance; only with durable.
		`{"order":"chat"}`: "order", `{"order":"instance","durable":false}`: "order", `{"durable":true,"order":"Chat"}`: "order", `{"durable":true,"order":""}`: "order",
		`{"durable":true,"order":"chats"}`: "order", `{"durable":true,"order":true}`: "order",
		// maxAge: 1 s to 720 h.
		`{"maxAge":"999ms"}`: "maxAge", `{"maxAge":"720h1ns"}`: "maxAge", `{"maxAge":"0s"}`: "maxAge", `{"maxAge":"-1h"}`: "maxAge", `{"maxAge":""}`: "maxAge",
		`{"maxAge":"1"}`: "maxAge", `{"maxAge":"1d"}`: "maxAge", `{"maxAge":72}`: "maxAge", `{"maxAge":"9999999999h"}`: "maxAge", `{"maxAge":"` + strings.Repeat("0", 100) + `1h"}`: "maxAge",
		// headers: up to 16, values visible ASCII to 4096 bytes, inner spaces.
		someHeaders(17): "headers",
		`{"headers":{"A":"` + strings.Repeat("v", 4097) + `"}}`:  "headers.A",
		`{"headers":{"A":"` + strings.Repeat("v", 2048) + `é"}}`: "headers.A",
		`{"headers":{"A":"x\r\nB: y"}}`:                          "headers.A", `{"headers":{"A":"x\ny"}}`: "headers.A", `{"headers":{"A":"x\ry"}}`: "headers.A", `{"headers":{"A":"x\u0000"}}`: "headers.A",
		`{"headers":{"A":"x\ty"}}`: "headers.A", `{"headers":{"A":" x"}}`: "headers.A", `{"headers":{"A":"x "}}`: "headers.A", `{"headers":{"A":" "}}`: "headers.A",
		`{"headers":{"A":"ä"}}`: "headers.A", `{"headers":{"A":"x\u007f"}}`: "headers.A", `{"headers":{"A":"x\u00a0y"}}`: "headers.A", `{"headers":{"A":"\ud83d"}}`: "headers.A",
		// names by RFC 9110.
		`{"headers":{"":"v"}}`: "headers.", `{"headers":{"A B":"v"}}`: "headers.A B", `{"headers":{"A:":"v"}}`: "headers.A:", `{"headers":{"A\r\nB":"v"}}`: "headers.A", `{"headers":{"Ä":"v"}}`: "headers.Ä",
		`{"headers":{"A(":"v"}}`: "headers.A(", `{"headers":{"A/b":"v"}}`: "headers.A/b", `{"headers":{"A\"":"v"}}`: "headers.A", `{"headers":{"A\u0000":"v"}}`: "headers.A", `{"headers":{" A":"v"}}`: "headers. A",
		`{"headers":{"` + strings.Repeat("n", 257) + `":"v"}}`: "headers.nnn", `{"headers":{"\u212aey":"v"}}`: "headers.", // the Kelvin sign is a k in lower case
		// names equal but for case, or *** without an old value.
		`{"headers":{"X-Key":"a","x-key":"b"}}`: "duplicate", `{"headers":{"A":"***"}}`: "headers.A",
	}
	for _, name := range []string{
		"content-type", "user-agent", "x-request-id", "x-owner-jid", "x-instance-name", "x-instance-id", "x-webhook-event", "host", "content-length", "content-encoding",
		"content-", "content-anything", "connection", "transfer-encoding", "webhook-id", "webhook-timestamp", "webhook-signature", "webhook-", "webhook-x",
		"te", "trailer", "upgrade", "expect", "keep-alive", "proxy-connection",
	} {
		for _, spelt := range []string{name, strings.ToUpper(name), http.CanonicalHeaderKey(name)} {
			refused[fmt.Sprintf(`{"headers":{%q:"v"}}`, spelt)] = "headers." + spelt
		}
	}
	return refused
}

func TestOptionsThatBreakARuleChangeNothing(t *testing.T) {
	r := newRig(t)
	deep := strings.Repeat(`{"headers":`, 65) + "1" + strings.Repeat("}", 65)
	for plain, ask := range r.scopes() {
		textOf(t, ask("PUT", "", `{"durable":true,"headers":{"Kept":"as it was"},"signing":{"enabled":true}}`))
		before := textOf(t, ask("GET", "", ""))
		refuse := func(body, names string) {
			t.Helper()
			e := decodedAs[rest.ErrorBody](t, ask("PUT", "", body), http.StatusBadRequest)
			if !strings.Contains(strings.Join(e.Messages, " "), names) || e.Code == "" {
				t.Errorf("%.80s: %s %q does not name %s", body, e.Code, e.Messages, names)
			}
		}
		for body, names := range refusedOptions() {
			refuse(body, names)
		}
		if plain == plainGlobal {
			for _, field := range []string{`"endpoints":[]`, `"filter":{}`, `"endpoints":null`, `"filter":{"groups":true}`, `"endpoints":[{"id":"a","url":"http://a"}]`} {
				refuse("{"+field+"}", strings.Split(field, `"`)[1])
			}
		} else {
			for body, names := range refusedEndpoints() {
				refuse(body, names)
			}
		}
		wantError(t, ask("PUT", "", deep), http.StatusBadRequest, rest.CodeTooDeep)
		wantError(t, ask("PUT", "", `{"headers":{"A":"`+strings.Repeat("v", 1<<20)+`"}}`), http.StatusRequestEntityTooLarge, rest.CodeBodyTooLarge)
		if got := textOf(t, ask("GET", "", "")); got != before {
			t.Errorf("they became %s", got)
		}
	}
}

// refusedEndpoints are bodies of an instance's options, with what their refusal names.
func refusedEndpoints() map[string]string {
	with := func(fields string) string { return `{"endpoints":[{"id":"ok","url":"http://ok"},{` + fields + `}]}` }
	refused := map[string]string{
		someEndpoints(9): "endpoints", someEndpoints(5000): "endpoints",
		`{"endpoints":{}}`: "endpoints", `{"endpoints":[null]}`: "endpoints[0]", `{"endpoints":[{}]}`: "endpoints[0]", `{"filter":{"group":true}}`: "filter.group",
		`{"filter":{"groups":"false"}}`: "filter.groups", `{"filter":[]}`: "filter",
		with(`"url":"http://x"`): "endpoints[1].id is required", with(`"id":"x"`): "endpoints[1].url is required", with(`"id":null,"url":"http://x"`): "endpoints[1].id",
		with(`"id":"ok","url":"http://x"`): "endpoints[1].id", with(`"id":"x","url":"http://x","kind":1`): "endpoints[1].kind",
		with(`"id":"x","url":"http://x","enabled":1`): "endpoints[1].enabled", with(`"id":"x","url":"http://x","signing":{"secret":"s"}`): "endpoints[1].signing.secret",
		with(`"id":"x","url":"http://x","events":{"messageUpsert":true}`): "endpoints[1].events.messageUpsert", with(`"id":"x","url":"http://x","events":{"messages.upsert":true}`): "endpoints[1].events",
		with(`"id":"x","url":"http://x","events":{"messagesUpsert":1}`): "endpoints[1].events.messagesUpsert",
		with(`"id":"x","url":"http://x","headers":{"A":"***"}`):         "endpoints[1].headers.A", with(`"id":"x","url":"http://x","headers":{"Kept":"***"}`): "endpoints[1].headers.Kept",
		with(`"id":"x","url":"http://x","headers":{"Host":"h"}`): "endpoints[1].headers.Host",
	}
	for _, id := range []string{"", " ", "a b", "a/b", "ä", "a\u0000", "a\n", strings.Repeat("x", 65), "a:b", "%41", "ａ"} {
		quoted, _ := json.Marshal(id)
		refused[with(`"url":"http://x","id":`+string(quoted))] = "endpoints[1].id"
	}
	for _, url := range []string{
		"", "x", "ftp://x", "http://", "http:///x", "//x", "http://u:p@x/", "http://u@x/", "http://x:0/", "http://x:65536/", "http://x:/", "javascript:alert(1)", "file:///etc/passwd",
		"http://x\u0000", "http://x/" + strings.Repeat("é", 492), "http://x y/", "http://[::1",
	} {
		quoted, _ := json.Marshal(url)
		refused[with(`"id":"x","url":`+string(quoted))] = "endpoints[1].url"
	}
	return refused
}

func TestWhatTheRulesAllowIsTaken(t *testing.T) {
	r := newRig(t)
	for plain, ask := range r.scopes() {
		for _, body := range []string{
			`{"maxAge":"1s"}`, `{"maxAge":"720h"}`, `{"maxAge":"1000ms"}`, `{"maxAge":"1h30m"}`, `{"order":"none"}`, `{"durable":true,"order":"chat"}`, `{"durable":true,"order":"instance","maxAge":"1.5h"}`,
			someHeaders(16), `{"headers":{"A":"` + strings.Repeat("v", 4096) + `"}}`, `{"headers":{"Authorization":"Bearer x","X-Api-Key":"~!@#$%^&*()_+{}|:<>?[];',./ \"\\"}}`, `{"headers":{"A":""}}`,
			`{"headers":{"!#$%&'*+-.^_` + "`" + `|~aZ09":"v"}}`, `{"headers":{"` + strings.Repeat("n", 256) + `":"v"}}`, `{"headers":{"Contents":"v","Webhook":"v","Hosts":"v","X-Content-Type":"v","X-Webhook-Id":"v"}}`,
			`{"headers":{"A":"****"}}`, `{"headers":{"A":"** *"}}`,
		} {
			textOf(t, ask("PUT", "", body))
		}
		if plain == plainGlobal {
			continue
		}
		for _, body := range []string{
			someEndpoints(8), `{"endpoints":[{"id":"` + strings.Repeat("x", 64) + `","url":"http://x/` + strings.Repeat("é", 491) + `"}]}`,
			`{"endpoints":[{"id":"aZ09._-","url":"HTTPS://x:65535/a?b=c#d"},{"id":"AZ09._-","url":"http://x"},{"id":".","url":"http://x"}]}`,
			`{"endpoints":[{"id":"a","url":"http://x","enabled":null,"events":null,"headers":null,"signing":null}]}`,
			`{"endpoints":[{"id":"a","url":"http://x","events":{"messagesUpsert":null}}]}`,
		} {
			textOf(t, ask("PUT", "", body))
		}
	}
}

func TestGlobalOptionsNeedTheKey(t *testing.T) {
	r := newRig(t)
	token, other := r.instance("a"), r.instance("b")
	for _, path := range []string{ofA, "/webhook/options"} {
		for _, c := range []struct{ method, under string }{{"PUT", ""}, {"GET", ""}, {"DELETE", ""}, {"POST", "/rotate-secret"}} {
			own := path == ofA
			status := func(as string) int { return r.as(as, c.method, path+c.under, `{}`).StatusCode }
			if got := status(token); own && got == 401 || !own && got != 401 {
				t.Errorf("%s %s with the instance's token: %d", c.method, path+c.under, got)
			}
			if got := status(other); own && got != 403 || !own && got != 401 {
				t.Errorf("%s %s with another instance's token: %d", c.method, path+c.under, got)
			}
			if got := status(r.token); got != 401 {
				t.Errorf("%s %s with a user's token: %d", c.method, path+c.under, got)
			}
			if got := r.admin(c.method, path+c.under, `{}`).StatusCode; own && got != 401 || !own && got == 401 {
				t.Errorf("%s %s with the key: %d", c.method, path+c.under, got)
			}
		}
	}
	wantError(t, do(r.h, httptest.NewRequest("PATCH", "/webhook/options", nil)), http.StatusMethodNotAllowed, rest.CodeMethodNotAllowed)
}

func TestOptionsOutliveTheWebhookNotTheInstance(t *testing.T) {
	r := newRig(t)
	token := r.instance("a")
	textOf(t, r.as(token, "PUT", ofA, `{"durable":true,"headers":{"A":"b"},"signing":{"enabled":true}}`))
	wantError(t, r.as(token, "GET", "/instance/a/webhook", ""), 404, "WEBHOOK_NOT_FOUND")
	if strings.Contains(textOf(t, r.as(token, "PUT", "/instance/a/webhook", `{"url":"http://own"}`)), "headers") {
		t.Error("the webhook's own answer shows options")
	}
	if res := r.as(token, "DELETE", "/instance/a", ""); res.StatusCode != 200 {
		t.Fatal(res.Status)
	}
	if got := textOf(t, r.as(r.instance("a"), "GET", ofA, "")); got != plainOptions {
		t.Errorf("a new instance of the name has %s", got)
	}
	wantError(t, r.as(token, "GET", ofA, ""), 401, rest.CodeUnauthorized)
}

func TestDurableDefaultIsOfLaterInstancesAndDELETE(t *testing.T) {
	const durable = `{"durable":true,`
	r := newRigWith(t, store.Options{NoSync: true, MinFree: 1}, func(c *instance.Config) {
		c.Webhooks = webhooks.New(webhooks.Config{Store: c.Store, DurableDefault: true})
	})
	for plain, ask := range r.scopes() {
		want := strings.Replace(plain, `{"durable":false,`, durable, 1)
		if got := textOf(t, ask("GET", "", "")); plain == plainOptions && got != want || plain == plainGlobal && got != plain {
			t.Errorf("at first: %s", got)
		}
		if got := textOf(t, ask("PUT", "", `{}`)); got != plain {
			t.Errorf("a PUT that leaves it out: %s", got)
		}
		if got := textOf(t, ask("DELETE", "", "")); got != want {
			t.Errorf("a DELETE answers %s", got)
		}
		if got := textOf(t, ask("GET", "", "")); got != want {
			t.Errorf("after a DELETE: %s", got)
		}
	}
}

// TestConcurrentPUTsLeaveOneOfThem, completely: no header of one beside the endpoints of another, and one secret
// that both kept.
func TestConcurrentPUTsLeaveOneOfThem(t *testing.T) {
	r := newRig(t)
	token := r.instance("a")
	const form = `{"maxAge":"%[1]ds","headers":{"H%[1]d":"v"},"signing":{"enabled":true},"endpoints":[{"id":"e%[1]d","url":"http://x%[1]d"}]}`
	var all sync.WaitGroup
	var mu sync.Mutex
	shown := 0
	for i := 1; i <= 20; i++ {
		all.Go(func() {
			secrets := secretsIn(t, textOf(t, r.as(token, "PUT", ofA, fmt.Sprintf(form, i))))
			mu.Lock()
			defer mu.Unlock()
			shown += len(secrets)
		})
	}
	all.Wait()
	if shown != 1 {
		t.Errorf("%d answers show a secret, want one", shown)
	}
	got := textOf(t, r.as(token, "GET", ofA, ""))
	var last int
	if _, err := fmt.Sscanf(got, `{"durable":false,"order":"none","maxAge":"%ds"`, &last); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(got, fmt.Sprintf(`"headers":{"H%d":"***"}`, last)) || !strings.Contains(got, fmt.Sprintf(`"endpoints":[{"id":"e%d",`, last)) {
		t.Errorf("a mixture: %s", got)
	}
}
