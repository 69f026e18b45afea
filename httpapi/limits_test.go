package httpapi

import (
	"encoding/json"
	"strconv"
	"strings"
	"testing"
	"time"

	"postern/httpapi/rest"
)

func TestLimitsAreReplacedAsAWhole(t *testing.T) {
	r := newRig(t)
	token := r.instance("a")
	limits := func() string {
		t.Helper()
		return string(decoded[json.RawMessage](t, r.as(token, "GET", "/instance/a/limits", "")))
	}
	status := func() string {
		t.Helper()
		got := decoded[struct{ Limits json.RawMessage }](t, r.as(token, "GET", "/instance/a/connection/status", ""))
		return string(got.Limits)
	}
	if limits() != `{}` || status() != `null` {
		t.Errorf("at first %s, %s", limits(), status())
	}
	const all = `{"perMinute":1,"perHour":1000000,"perDay":30,"newContactsPerDay":0,"warmUp":{"from":5,"to":5,"days":365,"startedAt":"2026-01-31T12:00:00.000Z"},` +
		`"quietHours":{"from":"23:59","to":"00:00"},"timezone":"America/New_York","jitterMs":{"min":0,"max":60000}}`
	if put := string(decoded[json.RawMessage](t, r.as(token, "PUT", "/instance/a/limits", all))); put != all || limits() != all {
		t.Errorf("answered %s\nshown %s", put, limits())
	}
	if got := string(decoded[json.RawMessage](t, r.as(token, "PUT", "/instance/a/limits", `{"perHour":7,"perDay":null}`))); got != `{"perHour":7}` || limits() != got {
		t.Errorf("after a part: %s", got)
	}
	if got := status(); got != `{"perHour":{"limit":7,"used":0,"resetsAt":null}}` {
		t.Errorf("status %s", got)
	}
	decoded[json.RawMessage](t, r.as(token, "PUT", "/instance/a/limits", ``))
	if limits() != `{}` || status() != `null` {
		t.Errorf("after {}: %s, %s", limits(), status())
	}
}

// TestAWarmUpBeginsOnce: repeating the limits does not restart it.
func TestAWarmUpBeginsOnce(t *testing.T) {
	r := newRig(t)
	token := r.instance("a")
	type answer struct{ WarmUp struct{ StartedAt time.Time } }
	const body = `{"warmUp":{"from":5,"to":50,"days":10}}`
	first := decoded[answer](t, r.as(token, "PUT", "/instance/a/limits", body)).WarmUp.StartedAt
	if age := time.Since(first); age < 0 || age > time.Minute {
		t.Errorf("it began at %s", first)
	}
	time.Sleep(3 * time.Millisecond)
	if again := decoded[answer](t, r.as(token, "PUT", "/instance/a/limits", body)).WarmUp.StartedAt; !again.Equal(first) {
		t.Errorf("it began again at %s", again)
	}
	other := decoded[answer](t, r.as(token, "PUT", "/instance/a/limits", `{"warmUp":{"from":5,"to":50,"days":10,"startedAt":"2026-02-01T00:00:00+01:00"}}`))
	if got := other.WarmUp.StartedAt.UTC().Format(time.RFC3339); got != "2026-01-31T23:00:00Z" {
		t.Errorf("it was to begin at another time, and began at %s", got)
	}
}

func TestALimitThatBreaksItsRuleChangesNothing(t *testing.T) {
	r := newRig(t)
	token := r.instance("a")
	const before = `{"perHour":7}`
	decoded[json.RawMessage](t, r.as(token, "PUT", "/instance/a/limits", before))
	for _, c := range []struct {
		body   string
		status int
		names  string
	}{
		{`{"perMinute":0}`, 422, "perMinute"},
		{`{"perMinute":-1}`, 422, "perMinute"},
		{`{"perMinute":1000001}`, 422, "perMinute"},
		{`{"perMinute":1.5}`, 400, "perMinute"},
		{`{"perMinute":"5"}`, 400, "perMinute"},
		{`{"perMinute":1,"perMinute":2}`, 400, "perMinute"},
		{`{"perHour":0}`, 422, "perHour"},
		{`{"perHour":1000001}`, 422, "perHour"},
		{`{"perHour":true}`, 400, "perHour"},
		{`{"perDay":0}`, 422, "perDay"},
		{`{"perDay":1000001}`, 422, "perDay"},
		{`{"perDay":[]}`, 400, "perDay"},
		{`{"newContactsPerDay":-1}`, 422, "newContactsPerDay"},
		{`{"newContactsPerDay":1000001}`, 422, "newContactsPerDay"},
		{`{"newContactsPerDay":99999999999999999999}`, 400, "newContactsPerDay"},
		{`{"warmUp":{"from":0,"to":5,"days":3}}`, 422, "warmUp.from"},
		{`{"warmUp":{"from":6,"to":5,"days":3}}`, 422, "warmUp.to"},
		{`{"warmUp":{"from":6,"to":1000001,"days":3}}`, 422, "warmUp.to"},
		{`{"warmUp":{"from":1,"to":5,"days":0}}`, 422, "warmUp.days"},
		{`{"warmUp":{"from":1,"to":5,"days":366}}`, 422, "warmUp.days"},
		{`{"warmUp":{"to":5,"days":3}}`, 400, "warmUp.from"},
		{`{"warmUp":{"from":1,"days":3}}`, 400, "warmUp.to"},
		{`{"warmUp":{"from":1,"to":5}}`, 400, "warmUp.days"},
		{`{"warmUp":{"from":1,"to":5,"days":3,"startedAt":"yesterday"}}`, 422, "warmUp.startedAt"},
		{`{"warmUp":{"from":1,"to":5,"days":3,"startedAt":7}}`, 400, "warmUp.startedAt"},
		{`{"warmUp":7}`, 400, "warmUp"},
		{`{"quietHours":{"from":"24:00","to":"07:00"}}`, 422, "quietHours.from"},
		{`{"quietHours":{"from":"7:00","to":"08:00"}}`, 422, "quietHours.from"},
		{`{"quietHours":{"from":"","to":"08:00"}}`, 422, "quietHours.from"},
		{`{"quietHours":{"from":"22:00","to":"07:60"}}`, 422, "quietHours.to"},
		{`{"quietHours":{"from":"22:00","to":"22:00"}}`, 422, "quietHours.to"},
		{`{"quietHours":{"from":"22:00","to":"07:00:00"}}`, 422, "quietHours.to"},
		{`{"quietHours":{"from":"22:00"}}`, 400, "quietHours.to"},
		{`{"quietHours":{"to":"22:00"}}`, 400, "quietHours.from"},
		{`{"quietHours":{"from":2200,"to":"07:00"}}`, 400, "quietHours.from"},
		{`{"timezone":"Europe/Atlantis"}`, 422, "timezone"},
		{`{"timezone":"Local"}`, 422, "timezone"},
		{`{"timezone":"../../etc/passwd"}`, 422, "timezone"},
		{`{"timezone":1}`, 400, "timezone"},
		{`{"jitterMs":{"min":-1,"max":5}}`, 422, "jitterMs.min"},
		{`{"jitterMs":{"min":60001,"max":60001}}`, 422, "jitterMs.min"},
		{`{"jitterMs":{"min":6,"max":5}}`, 422, "jitterMs.max"},
		{`{"jitterMs":{"min":6,"max":60001}}`, 422, "jitterMs.max"},
		{`{"jitterMs":{"min":6}}`, 400, "jitterMs.max"},
		{`{"jitterMs":{"max":6}}`, 400, "jitterMs.min"},
		{`{"perWeek":5}`, 400, "perWeek"},
		{`{"quietHours":{"from":"22:00","to":"07:00","on":"sunday"}}`, 400, "quietHours.on"},
		{`[]`, 400, "object"},
	} {
		resp := r.as(token, "PUT", "/instance/a/limits", c.body)
		var e rest.ErrorBody
		if err := json.NewDecoder(resp.Body).Decode(&e); err != nil || resp.StatusCode != c.status {
			t.Errorf("%s: %d, not %d (%v)", c.body, resp.StatusCode, c.status, err)
		}
		if c.status == 422 && e.Code != "INVALID_LIMITS" {
			t.Errorf("%s: %s", c.body, e.Code)
		}
		if !strings.Contains(strings.Join(e.Messages, " "), c.names) {
			t.Errorf("%s: the answer %q does not name %s", c.body, e.Messages, c.names)
		}
	}
	if got := string(decoded[json.RawMessage](t, r.as(token, "GET", "/instance/a/limits", ""))); got != before {
		t.Errorf("the limits became %s", got)
	}
}

func TestLimitsGoWithTheInstance(t *testing.T) {
	r := newRig(t)
	token := r.instance("a")
	decoded[json.RawMessage](t, r.as(token, "PUT", "/instance/a/limits", `{"perDay":1}`))
	if resp := r.as(token, "DELETE", "/instance/a", ""); resp.StatusCode != 200 {
		t.Fatal(resp.Status)
	}
	token = r.instance("a")
	if got := string(decoded[json.RawMessage](t, r.as(token, "GET", "/instance/a/limits", ""))); got != `{}` {
		t.Errorf("a new instance of the name has %s", got)
	}
}

// TestASendOverALimitIs429 with the limit's name and the time to wait; another instance does not share the limit, and a replay
// counts once.
func TestASendOverALimitIs429(t *testing.T) {
	r := newRig(t)
	r.line.paired.Store(true)
	r.line.online.Store(true)
	a, b := r.instance("a"), r.instance("b")
	decoded[json.RawMessage](t, r.as(a, "PUT", "/instance/a/limits", `{"perMinute":2}`))
	const body = `{"number":"4915112345678","textMessage":{"text":"hello"}}`
	used := func() int64 {
		t.Helper()
		s := decoded[struct {
			Limits struct{ PerMinute struct{ Limit, Used int64 } }
		}](t, r.as(a, "GET", "/instance/a/connection/status", ""))
		return s.Limits.PerMinute.Used
	}
	keyed := func() answer { return r.keyed(a, "k", "/instance/a/send/text", body) }
	for range 3 {
		if got := keyed(); got.status != 200 {
			t.Fatal(got)
		}
	}
	if n := used(); n != 1 {
		t.Errorf("a send and two replays count as %d", n)
	}
	if resp := r.as(a, "POST", "/instance/a/send/text", body); resp.StatusCode != 200 {
		t.Fatal(resp.Status)
	}
	resp := r.as(a, "POST", "/instance/a/send/text", body)
	seconds, err := strconv.Atoi(resp.Header.Get("Retry-After"))
	if err != nil || seconds < 50 || seconds > 60 {
		t.Errorf("Retry-After %q", resp.Header.Get("Retry-After"))
	}
	e := wantError(t, resp, 429, "INSTANCE_LIMIT")
	if !strings.Contains(e.Messages[0], "perMinute") {
		t.Errorf("the message %q does not name the limit", e.Messages)
	}
	if n := used(); n != 2 {
		t.Errorf("%d are counted", n)
	}
	if got := keyed(); got.status != 200 || !got.replayed {
		t.Errorf("a replay over the limit is %d", got.status)
	}
	if resp := r.as(b, "POST", "/instance/b/send/text", body); resp.StatusCode != 200 {
		t.Errorf("the instance beside it: %s", resp.Status)
	}
	decoded[json.RawMessage](t, r.as(a, "PUT", "/instance/a/limits", `{"perMinute":3}`))
	if resp := r.as(a, "POST", "/instance/a/send/text", body); resp.StatusCode != 200 {
		t.Errorf("after the limit was raised: %s", resp.Status)
	}
}
