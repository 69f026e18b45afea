package httpapi

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

// allOff is the default of an instance's automatic actions.
const allOff = `{"ignore":{"groups":false,"status":false,"newsletters":false,"broadcasts":false,"jids":[]},"rejectCalls":{"enabled":false,"message":""},"readMessages":false,"alwaysOnline":false,"presencePulse":false,"history":{"days":0,"groups":false}}`

func TestSettingsAreOffAtFirstAndShownWhole(t *testing.T) {
	r := newRig(t)
	token := r.instance("a")
	settings := func() string {
		t.Helper()
		return string(decoded[json.RawMessage](t, r.as(token, "GET", "/instance/a/settings", "")))
	}
	if got := settings(); got != allOff {
		t.Errorf("at first: %s", got)
	}
	const some = `{"ignore":{"groups":true,"jids":["133742133742133@lid","+49 151 12345678","4915112345678@c.us","120363012345678901@newsletter","status@broadcast"]},` +
		`"rejectCalls":{"enabled":true,"message":"Please write."},"history":{"days":365,"groups":true},"alwaysOnline":true,"readMessages":null}`
	const want = `{"ignore":{"groups":true,"status":false,"newsletters":false,"broadcasts":false,` +
		`"jids":["120363012345678901@newsletter","133742133742133@lid","4915112345678@s.whatsapp.net","status@broadcast"]},` +
		`"rejectCalls":{"enabled":true,"message":"Please write."},"readMessages":false,"alwaysOnline":true,"presencePulse":false,"history":{"days":365,"groups":true}}`
	put := string(decoded[json.RawMessage](t, r.as(token, "PUT", "/instance/a/settings", some)))
	if got := settings(); put != want || got != want {
		t.Errorf("after a change: answered %s\nshown %s", put, got)
	}
	// Fields that the body does not name are off.
	if got := string(decoded[json.RawMessage](t, r.as(token, "PUT", "/instance/a/settings", `{}`))); got != allOff {
		t.Errorf("after {}: %s", got)
	}
}

func TestASettingThatBreaksItsRuleChangesNothing(t *testing.T) {
	r := newRig(t)
	token := r.instance("a")
	decoded[json.RawMessage](t, r.as(token, "PUT", "/instance/a/settings", `{"readMessages":true}`))
	before := string(decoded[json.RawMessage](t, r.as(token, "GET", "/instance/a/settings", "")))
	many := make([]string, 1001)
	for i := range many {
		many[i] = fmt.Sprintf("%d@lid", 1000+i)
	}
	tooMany, err := json.Marshal(many)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		body   string
		status int
		code   string
		names  string
	}{
		{`{"history":{"days":-1}}`, 422, "INVALID_ARGUMENT", "history.days"},
		{`{"history":{"days":366}}`, 422, "INVALID_ARGUMENT", "history.days"},
		{`{"history":{"days":"7"}}`, 400, "INVALID_TYPE", "history.days"},
		{`{"history":{"days":7.5}}`, 400, "INVALID_TYPE", "history.days"},
		{`{"history":7}`, 400, "INVALID_TYPE", "history"},
		{`{"history":{"years":1}}`, 400, "UNKNOWN_FIELD", "history.years"},
		{`{"ignore":{"jids":["49151"]}}`, 422, "INVALID_RECIPIENT", "ignore.jids[0]"},
		{`{"ignore":{"jids":["4915112345678",""]}}`, 422, "INVALID_RECIPIENT", "ignore.jids[1]"},
		{`{"ignore":{"jids":"4915112345678"}}`, 400, "INVALID_TYPE", "ignore.jids"},
		{`{"ignore":{"jids":[null]}}`, 400, "INVALID_TYPE", "ignore.jids[0]"},
		{`{"ignore":{"jids":` + string(tooMany) + `}}`, 422, "INVALID_ARGUMENT", "ignore.jids"},
		{`{"ignore":{"groups":1}}`, 400, "INVALID_TYPE", "ignore.groups"},
		{`{"ignore":{"people":true}}`, 400, "UNKNOWN_FIELD", "ignore.people"},
		{`{"rejectCalls":{"enabled":true,"message":"` + strings.Repeat("ä", 65537) + `"}}`, 422, "INVALID_ARGUMENT", "rejectCalls.message"},
		{`{"rejectCalls":true}`, 400, "INVALID_TYPE", "rejectCalls"},
		{`{"readMessages":"true"}`, 400, "INVALID_TYPE", "readMessages"},
		{`{"alwaysOnline":0}`, 400, "INVALID_TYPE", "alwaysOnline"},
		{`{"alwaysOnline":true,"alwaysOnline":true}`, 400, "DUPLICATE_FIELD", "alwaysOnline"},
		{`{"neverOnline":true}`, 400, "UNKNOWN_FIELD", "neverOnline"},
		{`[]`, 400, "INVALID_TYPE", "object"},
	} {
		e := wantError(t, r.as(token, "PUT", "/instance/a/settings", c.body), c.status, c.code)
		if !strings.Contains(strings.Join(e.Messages, " "), c.names) {
			t.Errorf("%.80s: the answer %q does not name %s", c.body, e.Messages, c.names)
		}
	}
	if got := string(decoded[json.RawMessage](t, r.as(token, "GET", "/instance/a/settings", ""))); got != before {
		t.Errorf("the settings became %s", got)
	}
}

func TestSettingsGoWithTheInstance(t *testing.T) {
	r := newRig(t)
	token := r.instance("a")
	decoded[json.RawMessage](t, r.as(token, "PUT", "/instance/a/settings", `{"alwaysOnline":true}`))
	if resp := r.as(token, "DELETE", "/instance/a", ""); resp.StatusCode != 200 {
		t.Fatal(resp.Status)
	}
	token = r.instance("a")
	if got := string(decoded[json.RawMessage](t, r.as(token, "GET", "/instance/a/settings", ""))); got != allOff {
		t.Errorf("a new instance of the name has %s", got)
	}
}
