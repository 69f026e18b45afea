package httpapi

import (
	"net/http"
	"testing"

	"postern/batch"
	"postern/httpapi/batches"
	"postern/httpapi/rest"
)

func (r *rig) draftOf(instances, recipients string) string {
	r.t.Helper()
	res := r.do("POST", "/message/batches", `{"name":"n","instances":`+instances+`,"recipients":`+recipients+`,"autoStart":false,"message":{"type":"text","payload":{"text":"hi"}}}`)
	if res.StatusCode != 201 {
		r.t.Fatalf("status %d", res.StatusCode)
	}
	return "/message/batches/" + decoded[batch.View](r.t, res).ID.String()
}

func TestABatchThatWaitsIsChanged(t *testing.T) {
	r := newRig(t)
	r.instance("a")
	r.instance("b")
	at := r.draftOf(`["a"]`, `["4915112345678"]`)
	got := decoded[batch.View](t, r.do("PATCH", at, `{"name":"m","instances":["b"],"options":{"delay":{"minMs":1,"maxMs":2}},
		"schedule":{"windowStartAt":"2999-01-01T00:00:00Z","windowEndAt":"2999-01-02T00:00:00Z","recurrence":"NONE"}}`))
	if got.Name != "m" || got.Instances[0].Name != "b" || len(got.Instances) != 1 || got.Options.Delay.MaxMs != 2 || len(got.Schedule) < 10 {
		t.Errorf("%+v", got)
	}
	if got = decoded[batch.View](t, r.do("PATCH", at, `{"schedule":{},"name":null}`)); got.Name != "m" || string(got.Schedule) != "null" {
		t.Errorf("%+v", got)
	}
	for body, want := range map[string]struct {
		status int
		code   string
	}{
		`{"recipients":["4915112345678"]}`:            {400, "UNKNOWN_FIELD"},
		`{"options":{"presence":"composing"}}`:        {400, "UNKNOWN_FIELD"},
		`{"schedule":{"recurrence":"NONE"}}`:          {400, "MISSING_FIELD"},
		`{"name":"x","instances":["nobody"]}`:         {422, "INVALID_INSTANCES"},
		`{"name":"x","instances":[]}`:                 {422, "INVALID_INSTANCES"},
		`{"name":""}`:                                 {422, "INVALID_NAME"},
		`{"options":{"delay":{"minMs":2,"maxMs":1}}}`: {422, "INVALID_OPTIONS"},
	} {
		wantError(t, r.do("PATCH", at, body), want.status, want.code)
	}
	r.do("POST", at+"/stop", "")
	wantError(t, r.do("PATCH", at, `{"name":"x"}`), 409, "INVALID_BATCH_TRANSITION")
}

func TestAKeyChangesABatchWithinItsRights(t *testing.T) {
	r := newRig(t)
	r.instance("a")
	r.instance("b")
	at := r.draftOf(`["a"]`, `["4915112345678"]`)
	key := func(more string) string {
		return r.newKey(`{"name":"k","instances":["a"],"scopes":["batch"],"userId":"` + r.user.String() + `"` + more + `}`).Key
	}
	narrow, few := key(""), key(`,"recipients":["4915199999999"]`)
	if res := r.with(narrow, "PATCH", at, `{"name":"x","instances":["a"]}`); res.StatusCode != 200 {
		t.Errorf("its own instance: %s", res.Status)
	}
	wantError(t, r.with(narrow, "PATCH", at, `{"instances":["a","b"]}`), 403, "SCOPE")
	wantError(t, r.with(few, "PATCH", at, `{"name":"y"}`), 403, "RECIPIENT_NOT_ALLOWED")
	wantError(t, r.with(few, "POST", at+"/recipients", `{"recipients":["4915112345679"]}`), 403, "RECIPIENT_NOT_ALLOWED")
	r.do("POST", at+"/stop", "")
	wantError(t, r.with(few, "POST", at+"/retry", `{"status":["PENDING"]}`), 403, "RECIPIENT_NOT_ALLOWED")
	if res := r.with(narrow, "POST", at+"/retry", `{"status":["PENDING"]}`); res.StatusCode != 201 {
		t.Errorf("a retry of its own: %s", res.Status)
	}
}

func TestRecipientsAndRetriesHappenOncePerKey(t *testing.T) {
	r := newRig(t)
	r.instance("a")
	at := r.draftOf(`["a"]`, `["4915112345678"]`)
	ask := func(path, key, body string) *http.Response {
		return do(r.h, keyedRequest(t.Context(), r.token, key, path, body))
	}
	for range 2 {
		got := decoded[batch.View](t, ask(at+"/recipients", "k1", `{"recipients":["4915112345678","4915112345679"]}`))
		if got.Counts.Total != 2 || *got.Counts.Received != 3 || *got.Counts.DuplicatesIgnored != 1 {
			t.Errorf("%+v", got.Counts)
		}
	}
	r.do("POST", at+"/stop", "")
	var ids []string
	for range 2 {
		res := ask(at+"/retry", "k2", `{"status":["PENDING","UNKNOWN"],"includeUnknown":true}`)
		if res.StatusCode != 201 {
			t.Fatal(res.Status)
		}
		got := decoded[batches.RetriedBatch](t, res)
		if got.RetryOf == nil || at != "/message/batches/"+got.RetryOf.String() || len(got.Warnings) != 1 {
			t.Errorf("%+v", got)
		}
		ids = append(ids, got.ID.String())
	}
	if ids[0] != ids[1] {
		t.Errorf("two batches: %v", ids)
	}
	wantError(t, r.do("POST", at+"/retry", `{"status":["UNKNOWN"]}`), 422, "INVALID_RETRY")
	wantError(t, r.do("POST", at+"/retry", `{}`), 422, "NOTHING_TO_RETRY")
	wantError(t, r.do("POST", "/message/batches/"+rest.ExampleUUID+"/retry", `{}`), 404, "BATCH_NOT_FOUND")
}
