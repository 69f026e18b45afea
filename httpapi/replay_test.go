package httpapi

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"postern/delivery"
)

func TestInvalidReplayIsRefusedByItsField(t *testing.T) {
	r := newRig(t)
	token := r.instance("a")
	for body, want := range map[string]string{
		`{"from":"yesterday"}`: "from must be an RFC 3339 time",
		`{"to":"2026-01-01"}`:  "to must be an RFC 3339 time",
		`{"from":"2026-01-02T00:00:00Z","to":"2026-01-01T00:00:00Z"}`: "from must not be after to",
		`{"events":["messages.upsert","messagesUpsert"]}`:             `events[1] "messagesUpsert" is not an event; the nearest is "messages.upsert"`,
		`{"events":[""]}`:       "events[0] is empty",
		`{"events":[]}`:         "events must name one event or more",
		`{"state":[]}`:          "state must name one state or more; leave it out for FAILED, DROPPED, EXPIRED",
		`{"state":["PENDING"]}`: `state "PENDING" is not one of DELIVERED, FAILED, DROPPED, EXPIRED, CANCELLED`,
		`{"state":["failed"]}`:  `state "failed" is not one of`,
		`{"target":"all"}`:      `target "all" is not one of webhook, global, endpoint`,
		`{"endpointId":""}`:     "endpointId must have 1 to 64 characters",
		`{"endpointId":"a b"}`:  "endpointId must have 1 to 64 characters",
		`{"limit":0}`:           "limit must be from 1 to 100000",
		`{"limit":100001}`:      "limit must be from 1 to 100000",
	} {
		for _, token := range []string{token, ""} {
			res := r.logCall(token, "POST", "/deliveries/replay", body)
			if e := wantError(t, res, 422, "INVALID_REPLAY"); !strings.Contains(strings.Join(e.Messages, " "), want) {
				t.Errorf("%s: %q, want %q", body, e.Messages, want)
			}
		}
	}
	for body, code := range map[string]string{
		`{"states":["FAILED"]}`: "UNKNOWN_FIELD", `{"state":"FAILED"}`: "INVALID_TYPE", `{"limit":"5"}`: "INVALID_TYPE", `{"limit":1.5}`: "INVALID_TYPE",
		`{"events":{"messagesUpsert":true}}`: "INVALID_TYPE", `{`: "MALFORMED_JSON",
	} {
		wantError(t, r.logCall(token, "POST", "/deliveries/replay", body), 400, code)
	}
}

// replay starts a replay and returns its id and the number of matches.
func (r *rig) replay(token, body string) (id uint64, matched int) {
	r.t.Helper()
	res := r.logCall(token, "POST", "/deliveries/replay", body)
	if res.StatusCode != http.StatusAccepted {
		wantError(r.t, res, 202, "")
	}
	var got map[string]any
	if err := json.NewDecoder(res.Body).Decode(&got); err != nil {
		r.t.Fatal(err)
	}
	if keys := slices.Sorted(maps.Keys(got)); !slices.Equal(keys, []string{"matched", "replayId"}) {
		r.t.Errorf("fields %v", keys)
	}
	return uint64(got["replayId"].(float64)), int(got["matched"].(float64))
}

func (r *rig) replayIs(token, method string, id uint64) map[string]any {
	r.t.Helper()
	return decoded[map[string]any](r.t, r.logCall(token, method, fmt.Sprintf("/replays/%d", id), ""))
}

func TestReplayWithoutMatchesEndsAtOnce(t *testing.T) {
	r := newRig(t)
	for _, token := range []string{r.instance("a"), ""} {
		id, matched := r.replay(token, "")
		if matched != 0 {
			t.Fatalf("matched %d", matched)
		}
		for _, method := range []string{"GET", "DELETE", "GET"} { // deleting one that has ended changes nothing
			want := map[string]any{"matched": 0.0, "sent": 0.0, "delivered": 0.0, "failed": 0.0, "state": "DONE"}
			if got := r.replayIs(token, method, id); !maps.Equal(got, want) {
				t.Errorf("%s: %v", method, got)
			}
		}
	}
}

// TestAReplayRunsUntilItIsDeleted replays more deliveries than fit in the first seconds.
func TestAReplayRunsUntilItIsDeleted(t *testing.T) {
	r := newRig(t)
	token, other := r.instance("a"), r.instance("b")
	for range 300 {
		r.log.Queued(aboutEvent{}.notice(1), toWebhook).Done(delivery.Failed, delivery.Attempt{StartedAt: time.Now(), Error: "x"})
		r.log.Queued(aboutEvent{}.notice(1), toWebhook).Done(delivery.Delivered, delivery.Attempt{StartedAt: time.Now(), Status: 200})
	}
	id, matched := r.replay(token, `{"limit":250}`)
	if matched != 250 {
		t.Fatalf("matched %d", matched)
	}
	if got := r.replayIs(token, "GET", id); got["state"] != "RUNNING" || got["matched"] != 250.0 {
		t.Errorf("%v", got)
	}
	wantError(t, r.logCall(token, "POST", "/deliveries/replay", ""), 409, "REPLAY_RUNNING")
	wantError(t, r.as(other, "GET", fmt.Sprintf("/instance/b/webhook/replays/%d", id), ""), 404, "REPLAY_NOT_FOUND")
	wantError(t, r.as(other, "DELETE", fmt.Sprintf("/instance/b/webhook/replays/%d", id), ""), 404, "REPLAY_NOT_FOUND")
	if res := r.as(other, "POST", "/instance/b/webhook/deliveries/replay", ""); res.StatusCode != 202 {
		t.Errorf("another instance's replay: %d", res.StatusCode)
	}
	if got := r.replayIs("", "GET", id); got["state"] != "RUNNING" { // the operator sees it
		t.Errorf("%v", got)
	}
	if got := r.replayIs(token, "DELETE", id); got["state"] != "CANCELLED" || got["sent"].(float64) >= 250 {
		t.Errorf("%v", got)
	}
	if got := r.replayIs(token, "GET", id); got["state"] != "CANCELLED" {
		t.Errorf("%v", got)
	}
	if _, matched := r.replay(token, ""); matched != 300 { // none was delivered, so all are matched again
		t.Errorf("matched %d", matched)
	}
}

func TestReplayBeginsOncePerIdempotencyKey(t *testing.T) {
	r := newRig(t)
	for _, who := range []string{r.instance("a"), testKey} {
		path := "/webhook/deliveries/replay"
		if who != testKey {
			path = "/instance/a" + path
		}
		first, second := r.keyed(who, "k", path, `{"limit":5}`), r.keyed(who, "k", path, `{"limit":5}`)
		if first.status != 202 || second.status != 202 || first.body != second.body || !second.replayed {
			t.Errorf("%+v, then %+v", first, second)
		}
		if again := r.keyed(who, "k", path, `{"limit":6}`); again.code() != "IDEMPOTENCY_KEY_REUSED" {
			t.Errorf("another body: %+v", again)
		}
		if other := r.keyed(who, "l", path, `{"limit":5}`); other.body == first.body {
			t.Errorf("another key got the same replay: %+v", other)
		}
	}
}
