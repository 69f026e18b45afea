package httpapi

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"
	"github.com/google/go-cmp/cmp"

	"postern/event"
	"postern/httpapi/instances"
	"postern/httpapi/tokens"
	"postern/httpapi/tokens/tokenstest"
	"postern/instance/webhooks"
)

// keys returns the sorted keys of a JSON object.
func keys(m map[string]json.RawMessage) []string {
	var all []string
	for k := range m {
		all = append(all, k)
	}
	slices.Sort(all)
	return all
}

func TestCreatedInstanceHasExactlyItsFields(t *testing.T) {
	r := newRig(t)
	body := `{"instanceName":"shop","description":null,"externalAttributes":{"a":1}}`
	got := decoded[map[string]json.RawMessage](t, r.admin("POST", "/instance/create", body))
	want := []string{"Auth", "createdAt", "description", "id", "name", "updatedAt"}
	if diff := cmp.Diff(want, keys(got)); diff != "" {
		t.Error(diff)
	}
	var auth instances.IssuedToken
	if err := json.Unmarshal(got["Auth"], &auth); err != nil {
		t.Fatal(err)
	}
	shown := decoded[map[string]json.RawMessage](t, r.as(auth.Token, "GET", "/instance/shop", ""))
	if _, there := shown["Auth"]; there {
		t.Error("an instance shows its token")
	}
	for field, want := range map[string]string{
		"status": `"OFFLINE"`, "connectionStatus": `"offline"`, "ownerJid": "null", "Webhook": "null",
		"description": "null", "externalAttributes": `{"a":1}`, "profilePicUrl": "null", "id": "1", "name": `"shop"`,
	} {
		if string(shown[field]) != want {
			t.Errorf("%s is %s, want %s", field, shown[field], want)
		}
	}
}

func TestInstanceNamesAreHeldToTheirRule(t *testing.T) {
	r := newRig(t)
	r.instance("taken")
	wantError(t, r.admin("POST", "/instance", `{"instanceName":"taken"}`), 409, "INSTANCE_EXISTS")
	for _, name := range []string{"", ".a", "a b", "a/b", "ü", "create", "events", strings.Repeat("x", 256)} {
		wantError(t, r.admin("POST", "/instance", `{"instanceName":"`+name+`"}`), 422, "INVALID_INSTANCE")
	}
	wantError(t, r.admin("POST", "/instance", `{"description":"`+strings.Repeat("x", 256)+`"}`), 422, "INVALID_INSTANCE")
	wantError(t, r.admin("POST", "/instance", `{"externalAttributes":[]}`), 400, "INVALID_TYPE")
	wantError(t, r.admin("POST", "/instance", `{"instancename":"x"}`), 400, "UNKNOWN_FIELD")
	made := decoded[instances.CreatedInstance](t, r.admin("POST", "/instance", ""))
	if !strings.HasPrefix(made.Name, "instance-") || made.ID != 2 {
		t.Errorf("got %+v", made)
	}
}

func TestInstancesAreListedWithTheirTokens(t *testing.T) {
	r := newRig(t)
	token := r.instance("a")
	r.instance("b")
	all := decoded[[]instances.ListedInstance](t, r.admin("GET", "/instance", ""))
	if len(all) != 2 || all[0].Auth.Token != token {
		t.Fatalf("got %+v", all)
	}
	one := decoded[[]instances.ListedInstance](t, r.admin("GET", "/instance/fetchInstances?instanceName=b", ""))
	if len(one) != 1 || one[0].Name != "b" {
		t.Errorf("got %+v", one)
	}
	if none := decoded[json.RawMessage](t, r.admin("GET", "/instance?instanceName=c", "")); string(none) != "[]" {
		t.Errorf("an unknown name lists %s", none)
	}
	wantError(t, r.admin("GET", "/instance?name=c", ""), 400, "INVALID_QUERY")
}

func TestInstanceTokenChecksHaveTheContractsOrder(t *testing.T) {
	r := newRig(t)
	a := r.instance("a")
	r.instance("b")
	good := jwt.MapClaims{"instanceName": "a"}
	for name, token := range tokenstest.Forged(t, good) {
		if status := r.as(token, "GET", "/instance/a", "").StatusCode; status != 401 {
			t.Errorf("%s: status %d", name, status)
		}
	}
	wantError(t, r.as(a, "GET", "/instance/b", ""), 403, "FORBIDDEN")
	wantError(t, r.as(a, "GET", "/instance/unknown", ""), 403, "FORBIDDEN")
	wantError(t, r.as(a, "GET", "/instance/A", ""), 403, "FORBIDDEN")
	ghost, err := tokens.ForInstance(testSecret, "ghost", 0, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	wantError(t, r.as(ghost, "GET", "/instance/ghost", ""), 404, "INSTANCE_NOT_FOUND")
	other, err := tokens.ForInstance(testSecret, "a", 0, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	wantError(t, r.as(other, "GET", "/instance/a", ""), 401, "UNAUTHORIZED")
	wantError(t, r.as(r.token, "GET", "/instance/a", ""), 401, "UNAUTHORIZED")
	wantError(t, r.as(a, "GET", "/message/batches", ""), 401, "UNAUTHORIZED")
}

func TestANewTokenRevokesTheOld(t *testing.T) {
	r := newRig(t)
	first := r.instance("a")
	second := decoded[instances.RotatedToken](t, r.admin("PUT", "/instance/a/token", ""))
	if second.Token == first || second.InstanceID != 1 {
		t.Fatalf("got %+v", second)
	}
	wantError(t, r.as(first, "GET", "/instance/a", ""), 401, "UNAUTHORIZED")
	wantError(t, r.as(second.Token, "PUT", "/instance/refreshToken/a", `{"oldToken":"`+first+`"}`), 401, "UNAUTHORIZED")
	wantError(t, r.as(second.Token, "PUT", "/instance/refreshToken/a", `{"oldToken":""}`), 401, "UNAUTHORIZED")
	wantError(t, r.as(second.Token, "PUT", "/instance/refreshToken/a", `{}`), 400, "MISSING_FIELD")
	third := decoded[instances.RotatedToken](t, r.as(second.Token, "PUT", "/instance/refreshToken/a", `{"oldToken":"`+second.Token+`"}`))
	wantError(t, r.as(second.Token, "GET", "/instance/a", ""), 401, "UNAUTHORIZED")
	if status := r.as(third.Token, "GET", "/instance/a", "").StatusCode; status != 200 {
		t.Errorf("the newest token answers %d", status)
	}
	wantError(t, r.admin("PUT", "/instance/unknown/token", ""), 404, "INSTANCE_NOT_FOUND")
}

func TestWebhookIsAnUpsertOnBothPaths(t *testing.T) {
	r := newRig(t)
	token := r.instance("a")
	wantError(t, r.as(token, "GET", "/instance/a/webhook", ""), 404, "WEBHOOK_NOT_FOUND")
	wantError(t, r.as(token, "PUT", "/instance/a/webhook", `{"enabled":true}`), 400, "INVALID_WEBHOOK")
	put := func(path, body string) webhooks.Webhook {
		return decoded[webhooks.Webhook](t, r.as(token, "PUT", path, body))
	}
	w := put("/webhook/set/a", `{"url":"https://example.org/x","events":{"qrcodeUpdated":true,"messagesUpsert":false}}`)
	flags := map[event.Flag]bool{"qrcodeUpdated": true, "messagesUpsert": false}
	if !w.Enabled || w.URL != "https://example.org/x" || !cmp.Equal(w.Events, flags) {
		t.Errorf("got %+v", w)
	}
	if w = put("/instance/a/webhook", `{"enabled":false}`); w.Enabled || !cmp.Equal(w.Events, flags) || w.URL == "" {
		t.Errorf("absent url and events: got %+v", w)
	}
	if w = put("/instance/a/webhook", `{"events":{}}`); !w.Enabled || len(w.Events) != 0 {
		t.Errorf("absent enabled and empty events: got %+v", w)
	}
	shown := decoded[map[string]json.RawMessage](t, r.as(token, "GET", "/webhook/find/a", ""))
	want := []string{"createdAt", "enabled", "events", "id", "instanceId", "updatedAt", "url"}
	if diff := cmp.Diff(want, keys(shown)); diff != "" || string(shown["events"]) != "{}" {
		t.Errorf("%s events %s", diff, shown["events"])
	}
}

func TestEveryWebhookConfigurationErrorIs400(t *testing.T) {
	r := newRig(t)
	token := r.instance("a")
	for body, want := range map[string]string{
		`{"url":"ftp://example.org"}`:                                    "INVALID_WEBHOOK",
		`{"url":"https://u:p@example.org"}`:                              "INVALID_WEBHOOK",
		`{"url":"https://example.org/` + strings.Repeat("x", 500) + `"}`: "INVALID_WEBHOOK",
		`{"url":"https://example.org","events":{"qrcodeUpdated":1}}`:     "INVALID_TYPE",
		`{"url":"https://example.org","events":{"qrcodeUpdate":true}}`:   "UNKNOWN_FIELD",
		`{"url":"https://example.org","events":{"a":true,"a":true}}`:     "DUPLICATE_FIELD",
		`{"URL":"https://example.org"}`:                                  "UNKNOWN_FIELD",
		`{"url":null}`:                                                   "INVALID_WEBHOOK",
	} {
		b := wantError(t, r.as(token, "PUT", "/instance/a/webhook", body), 400, want)
		if strings.Contains(body, "qrcodeUpdate\"") && !strings.Contains(b.Messages[0], `"qrcodeUpdated"`) {
			t.Errorf("the nearest flag is not named: %q", b.Messages)
		}
	}
}

func TestManyUnknownFlagsAreCounted(t *testing.T) {
	r := newRig(t)
	token := r.instance("a")
	var flags []string
	for i := range 10_000 {
		flags = append(flags, fmt.Sprintf("%q:true", fmt.Sprint("flag", 10_000+i)))
	}
	body := `{"url":"https://example.org","events":{` + strings.Join(flags, ",") + `}}`
	b := wantError(t, r.as(token, "PUT", "/instance/a/webhook", body), 400, "UNKNOWN_FIELD")
	// An error repeats at most eleven names of nine letters.
	if len(b.Messages) != 12 || !strings.HasPrefix(b.Messages[0], "events.flag10000 ") || !strings.Contains(b.Messages[10], "the nearest is") || !strings.Contains(b.Messages[11], "9989 more") {
		t.Errorf("%d messages, the first %q", len(b.Messages), b.Messages[0])
	}
}
