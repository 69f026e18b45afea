package httpapi

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"postern/batch"
	"postern/delivery"
	"postern/delivery/logbook"
	"postern/dispatch"
	"postern/event"
	"postern/httpapi/deliveries"
	"postern/store"
)

type deliveryPage = batch.List[deliveries.DeliveryRecord]

// deliveryList requests a page of an instance's log or, without a token, of the operator's.
func (r *rig) deliveryList(token, query string) deliveryPage {
	r.t.Helper()
	res := r.logCall(token, "GET", "/deliveries"+query, "")
	if res.StatusCode != http.StatusOK {
		wantError(r.t, res, 200, "")
	}
	return decoded[deliveryPage](r.t, res)
}

// logCall calls a route of the log of instance a or, without a token, of the operator's.
func (r *rig) logCall(token, method, path, body string) *http.Response {
	if token == "" {
		return r.admin(method, "/webhook"+path, body)
	}
	return r.as(token, method, "/instance/a/webhook"+path, body)
}

// aboutEvent holds the attributes by which tests distinguish events.
type aboutEvent struct {
	kind event.Kind // default messages.upsert
	chat event.About
	id   uuid.UUID
	body string
}

// notice returns an event of the instance with that id.
func (e aboutEvent) notice(instance int64) event.Notice {
	if e.kind == "" {
		e.kind = event.MessagesUpsert
	}
	if e.id == (uuid.UUID{}) {
		e.id = uuid.New()
	}
	if e.body == "" {
		e.body = `{"event":"` + string(e.kind) + `","n":"<ä>"}`
	}
	return event.Notice{
		Kind: e.kind, Body: []byte(e.body), InstanceID: instance, InstanceName: "abc"[instance-1 : instance], ID: e.id, About: e.chat,
	}
}

var toWebhook = event.Destination{Target: event.TargetWebhook, URL: "https://example.org/hook?key=secret"}

// inLog adds a delivery of the in-memory flow to the log, with its end.
func (r *rig) inLog(n event.Notice, to event.Destination, state delivery.State, a delivery.Attempt) {
	r.t.Helper()
	if a.StartedAt.IsZero() {
		a.StartedAt = time.Now()
	}
	r.log.Queued(n, to).Done(state, a)
	if err := r.log.Flush(r.t.Context()); err != nil {
		r.t.Fatal(err)
	}
}

func deliveryIDs(p deliveryPage) (all []uint64) {
	for _, r := range p.Records {
		all = append(all, r.ID)
	}
	return all
}

func TestBadDeliveryFilterIsNamed(t *testing.T) {
	r := newRig(t)
	token := r.instance("a")
	for query, want := range map[string]string{
		"?state=LOST":                            `state "LOST" is not one of PENDING, DELIVERED, FAILED, DROPPED, EXPIRED, CANCELLED`,
		"?state=FAILED&state=failed":             `state "failed" is not one of`,
		"?state=SUPPRESSED":                      `state "SUPPRESSED" is not one of`,
		"?event=message.upsert":                  `event "message.upsert" is not an event; the nearest is "messages.upsert"`,
		"?target=hook":                           `target "hook" is not one of webhook, global, endpoint`,
		"?endpointId=":                           "endpointId must have 1 to 64 characters",
		"?endpointId=a%20b":                      "endpointId must have 1 to 64 characters of A–Z a–z 0–9 . _ -",
		"?endpointId=" + strings.Repeat("a", 65): "endpointId must have 1 to 64 characters",
		"?from=yesterday":                        "from must be an RFC 3339 time",
		"?to=2026-01-01":                         "to must be an RFC 3339 time",
		"?from=2026-01-02T00:00:01Z&to=2026-01-02T00:00:00Z": "from must not be after to",
		"?minDurationMs=-1":                      "minDurationMs must be a whole number from 0 to 86400000",
		"?minDurationMs=1.5":                     "minDurationMs must be a whole number",
		"?minDurationMs=86400001":                "minDurationMs must be a whole number",
		"?query=" + strings.Repeat("1", 256):     "query must have at most 255 characters",
		"?limit=0":                               "limit must be between 1 and 200",
		"?limit=201":                             "limit must be between 1 and 200",
		"?event=send.message&event=send.message": "event is given twice",
		"?nextCursor=a&previousCursor=b":         "exclude each other",
		"?status=FAILED":                         "status is not a known query parameter",
	} {
		for _, token := range []string{token, ""} {
			res := r.logCall(token, "GET", "/deliveries"+query, "")
			if e := wantError(t, res, 400, "INVALID_QUERY"); !strings.Contains(strings.Join(e.Messages, " "), want) {
				t.Errorf("%s: %q, want %q", query, e.Messages, want)
			}
		}
	}
	for _, cursor := range []string{"nextCursor", "previousCursor"} {
		wantError(t, r.logCall(token, "GET", "/deliveries?"+cursor+"=xyz", ""), 400, "INVALID_CURSOR")
	}
}

func TestDeliveryHasExactlyItsFields(t *testing.T) {
	r := newRig(t)
	token := r.instance("a")
	started := time.Now().UTC().Truncate(time.Millisecond)
	id := uuid.New()
	r.inLog(aboutEvent{id: id}.notice(1), toWebhook, delivery.Failed, delivery.Attempt{
		StartedAt: started, Duration: 31 * time.Millisecond, Status: 503, Error: "receiver answered 503", RequestID: "call-1", Answer: "down",
	})
	r.inLog(aboutEvent{kind: event.SendMessage}.notice(1), event.Destination{Target: event.TargetEndpoint, Endpoint: "crm", URL: "http://crm.example/"},
		delivery.Dropped, delivery.Attempt{Error: "queue full"})

	page := decoded[struct{ Records []map[string]any }](t, r.as(token, "GET", "/instance/a/webhook/deliveries", ""))
	fields := []string{
		"attemptCount", "batchId", "bytes", "createdAt", "durationMs", "endpointId", "event", "eventId", "flow", "id", "instanceId", "instanceName",
		"lastAttemptAt", "lastError", "lastStatus", "nextAttemptAt", "replayOf", "replayable", "requestId", "state", "target", "url",
	}
	if len(page.Records) != 2 {
		t.Fatalf("%d records", len(page.Records))
	}
	for _, rec := range page.Records {
		if got := slices.Sorted(maps.Keys(rec)); !slices.Equal(got, fields) {
			t.Errorf("fields %v", got)
		}
	}
	for i, want := range []map[string]any{
		{ // the newest first
			"event": "send.message", "target": "endpoint", "endpointId": "crm", "url": "http://crm.example/", "state": "DROPPED", "attemptCount": 0.0,
			"lastStatus": nil, "lastError": "queue full", "durationMs": nil, "lastAttemptAt": nil, "replayable": true,
		},
		{
			"eventId": id.String(), "event": "messages.upsert", "flow": "instance", "instanceId": 1.0, "instanceName": "a", "batchId": nil,
			"target": "webhook", "endpointId": nil, "url": "https://example.org/hook", "state": "FAILED", "attemptCount": 1.0, "lastStatus": 503.0,
			"lastError": "receiver answered 503", "durationMs": 31.0, "bytes": float64(len(`{"event":"messages.upsert","n":"<ä>"}`)), "requestId": "call-1",
			"lastAttemptAt": event.At(started).String(), "nextAttemptAt": nil, "replayOf": nil, "replayable": true,
		},
	} {
		for field, value := range want {
			if got := page.Records[i][field]; got != value {
				t.Errorf("record %d: %s is %v, want %v", i, field, got, value)
			}
		}
	}
}

func TestDeliveryShowsExactBodyAndAttempts(t *testing.T) {
	r := newRig(t)
	token := r.instance("a")
	const body = `{"event":"messages.upsert","data":{"text":"<a href=\"x\">& ü \u2028</a>"}}`
	n := aboutEvent{body: body}.notice(1)
	r.inLog(n, toWebhook, delivery.Failed, delivery.Attempt{Duration: 15 * time.Second, Error: "no answer in time", RequestID: "q"})
	r.inLog(n, toWebhook, delivery.Delivered, delivery.Attempt{Duration: time.Millisecond, Status: 204, RequestID: "p"})
	list := r.deliveryList(token, "").Records
	type details struct {
		Body     *string
		Attempts []map[string]any
	}
	get := func(id uint64) details {
		return decoded[details](t, r.as(token, "GET", fmt.Sprintf("/instance/a/webhook/deliveries/%d", id), ""))
	}
	failed := get(list[1].ID)
	if failed.Body == nil || *failed.Body != body || len(failed.Attempts) != 1 {
		t.Fatalf("%+v", failed)
	}
	at := failed.Attempts[0]
	if got := slices.Sorted(maps.Keys(at)); !slices.Equal(got, []string{"answer", "durationMs", "error", "number", "requestId", "startedAt", "status"}) {
		t.Errorf("fields %v", got)
	}
	if at["number"] != 1.0 || at["status"] != nil || at["error"] != "no answer in time" || at["answer"] != nil || at["durationMs"] != 15000.0 || at["requestId"] != "q" {
		t.Errorf("%v", at)
	}
	// By default, a delivered one keeps no body.
	if done := get(list[0].ID); done.Body != nil || len(done.Attempts) != 1 || done.Attempts[0]["status"] != 204.0 || done.Attempts[0]["error"] != nil {
		t.Errorf("%+v", done)
	}
	if list[0].Replayable || !list[1].Replayable {
		t.Errorf("replayable: delivered %t, failed %t", list[0].Replayable, list[1].Replayable)
	}
}

// TestInstanceLogExcludesTheOperatorsWebhook: deliveries of another instance and those to the global webhook do
// not exist for it, on any route.
func TestInstanceLogExcludesTheOperatorsWebhook(t *testing.T) {
	r := newRig(t)
	token := r.instance("a")
	r.instance("b")
	failed := delivery.Attempt{Error: "connection refused"}
	r.inLog(aboutEvent{}.notice(1), toWebhook, delivery.Failed, failed)
	r.inLog(aboutEvent{}.notice(1), event.Destination{Target: event.TargetGlobal, URL: "https://operator.example/"}, delivery.Failed, failed)
	r.inLog(aboutEvent{}.notice(2), toWebhook, delivery.Failed, failed)
	own, all := r.deliveryList(token, ""), r.deliveryList("", "")
	if len(own.Records) != 1 || own.TotalRecords != 1 || len(all.Records) != 3 || all.TotalRecords != 3 {
		t.Fatalf("own %+v, all %+v", own, all)
	}
	if found := r.deliveryList(token, "?target=global"); len(found.Records) != 0 || found.TotalRecords != 0 {
		t.Errorf("%+v", found)
	}
	for _, rec := range all.Records {
		one := fmt.Sprintf("/deliveries/%d", rec.ID)
		if rec.ID == own.Records[0].ID {
			continue
		}
		wantError(t, r.logCall(token, "GET", one, ""), 404, "DELIVERY_NOT_FOUND")
		wantError(t, r.logCall(token, "POST", one+"/retry", ""), 404, "DELIVERY_NOT_FOUND")
		if after := decoded[deliveries.DeliveryRecord](t, r.logCall("", "GET", one, "")); after.State != delivery.Failed {
			t.Errorf("a retry that was refused left %s", after.State)
		}
	}
	for _, id := range []string{"0", "-1", "x", "9999999", "99999999999999999999", "1.0"} {
		for _, token := range []string{token, ""} {
			wantError(t, r.logCall(token, "GET", "/deliveries/"+id, ""), 404, "DELIVERY_NOT_FOUND")
			wantError(t, r.logCall(token, "POST", "/deliveries/"+id+"/retry", ""), 404, "DELIVERY_NOT_FOUND")
			wantError(t, r.logCall(token, "GET", "/replays/"+id, ""), 404, "REPLAY_NOT_FOUND")
			wantError(t, r.logCall(token, "DELETE", "/replays/"+id, ""), 404, "REPLAY_NOT_FOUND")
		}
	}
}

func TestDeliveriesAreListedNewestFirstByEachFilter(t *testing.T) {
	r := newRig(t)
	token := r.instance("a")
	chat := event.About{Chat: "4915112345678@s.whatsapp.net", LID: "133742133742133@lid"}
	crm := event.Destination{Target: event.TargetEndpoint, Endpoint: "crm", URL: "https://crm.example/"}
	first := aboutEvent{chat: chat}.notice(1)
	r.inLog(first, toWebhook, delivery.Failed, delivery.Attempt{Duration: 1500 * time.Millisecond, Error: "receiver answered 500", Status: 500, RequestID: "call-7"})
	r.inLog(first, crm, delivery.Delivered, delivery.Attempt{Duration: time.Millisecond, Status: 200})
	between := time.Now().UTC().Truncate(time.Millisecond).Add(time.Millisecond)
	time.Sleep(time.Until(between))
	r.inLog(aboutEvent{kind: event.ConnectionUpdated}.notice(1), toWebhook, delivery.Dropped, delivery.Attempt{Error: "queue full"})
	all := deliveryIDs(r.deliveryList(token, ""))
	if len(all) != 3 || !slices.IsSortedFunc(all, func(a, b uint64) int { return int(b) - int(a) }) {
		t.Fatalf("%v", all)
	}
	instant, before := between.Format(time.RFC3339Nano), between.Add(-time.Millisecond).Format(time.RFC3339Nano)
	for query, want := range map[string][]uint64{
		"?state=FAILED": {all[2]}, "?state=FAILED&state=DROPPED": {all[0], all[2]}, "?state=FAILED,DELIVERED": {all[1], all[2]}, "?state=PENDING": nil,
		"?event=messages.upsert": {all[1], all[2]}, "?event=message.batch.created": nil,
		"?target=webhook": {all[0], all[2]}, "?target=endpoint": {all[1]}, "?endpointId=crm": {all[1]}, "?endpointId=other": nil,
		"?from=" + instant: {all[0]}, "?to=" + before: {all[1], all[2]}, "?from=" + instant + "&to=" + between.Add(time.Hour).Format(time.RFC3339): {all[0]}, "?minDurationMs=1500": {all[2]}, "?minDurationMs=1": {all[1], all[2]},
		"?query=" + chat.Chat: {all[1], all[2]}, "?query=" + chat.LID: {all[1], all[2]}, "?query=" + first.ID.String(): {all[1], all[2]}, "?query=call-7": {all[2]},
		"?query=4915112345678": nil, "?query=": all,
		"?state=DELIVERED&target=webhook": nil, "?state=FAILED&query=" + chat.LID + "&minDurationMs=1000&event=messages.upsert&target=webhook": {all[2]},
	} {
		for _, token := range []string{token, ""} {
			page := r.deliveryList(token, query)
			if got := deliveryIDs(page); !slices.Equal(got, want) || page.TotalRecords != len(want) || page.NextCursor != nil || page.PreviousCursor != nil {
				t.Errorf("%s: %v of %d, want %v", query, got, page.TotalRecords, want)
			}
		}
	}
}

func TestCursorsOfDeliveriesStayValidWhileRecordsCome(t *testing.T) {
	r := newRig(t)
	token := r.instance("a")
	fill := func(n int) {
		for range n {
			r.log.Queued(aboutEvent{}.notice(1), toWebhook).Done(delivery.Failed, delivery.Attempt{StartedAt: time.Now(), Error: "x"})
		}
	}
	fill(25)
	var seen []uint64
	page := r.deliveryList(token, "?limit=10")
	begin := page
	for {
		seen = append(seen, deliveryIDs(page)...)
		if page.NextCursor == nil {
			break
		}
		fill(7)
		page = r.deliveryList(token, "?limit=10&nextCursor="+*page.NextCursor)
	}
	if len(seen) != 25 || len(slices.Compact(slices.Clone(seen))) != 25 {
		t.Errorf("%d seen: %v", len(seen), seen)
	}
	back := r.deliveryList(token, "?limit=10&previousCursor="+*page.PreviousCursor)
	if !slices.Equal(deliveryIDs(back), seen[10:20]) {
		t.Errorf("back: %v, want %v", deliveryIDs(back), seen[10:20])
	}
	if newer := r.deliveryList(token, "?limit=5&previousCursor="+*back.PreviousCursor); len(newer.Records) != 5 || newer.Records[4].ID != seen[9] {
		t.Errorf("%v", deliveryIDs(newer))
	}
	if begin.PreviousCursor != nil {
		t.Error("the first page has one before it")
	}
}

func TestRetryAnswersThePendingRecord(t *testing.T) {
	r := newRig(t)
	token := r.instance("a")
	r.inLog(aboutEvent{}.notice(1), toWebhook, delivery.Failed, delivery.Attempt{Status: 500, Error: "receiver answered 500"})
	r.inLog(aboutEvent{}.notice(1), toWebhook, delivery.Delivered, delivery.Attempt{Status: 200})
	list := r.deliveryList(token, "").Records
	path := func(i int) string { return fmt.Sprintf("/deliveries/%d/retry", list[i].ID) }
	res := r.logCall(token, "POST", path(1), "")
	if res.StatusCode != http.StatusAccepted {
		wantError(t, res, 202, "")
	}
	var rec deliveries.DeliveryRecord
	if err := json.NewDecoder(res.Body).Decode(&rec); err != nil {
		t.Fatal(err)
	}
	if rec.ID != list[1].ID || rec.State != delivery.Pending || rec.AttemptCount != 1 || rec.EventID != list[1].EventID {
		t.Errorf("%+v", rec)
	}
	wantError(t, r.logCall(token, "POST", path(0), ""), 409, "BODY_GONE")
	wantError(t, r.logCall(token, "POST", path(1), `{"now":true}`), 400, "UNKNOWN_FIELD")
}

func TestRetryWithoutDestinationIsRefused(t *testing.T) {
	r := newRig(t)
	token := r.instance("a")
	crm := event.Destination{Target: event.TargetEndpoint, Endpoint: "crm", URL: "http://crm.example/"}
	global := event.Destination{Target: event.TargetGlobal, URL: "http://operator.example/"}
	r.resolve = r.registry.Webhooks().Resolve
	textOf(t, r.as(token, "PUT", "/instance/a/webhook", `{"url":"http://own.example/","events":{}}`))
	textOf(t, r.as(token, "PUT", "/instance/a/webhook/options", `{"endpoints":[{"id":"crm","url":"http://crm.example/"}]}`))
	failed := func(to event.Destination) uint64 {
		t.Helper()
		r.inLog(aboutEvent{}.notice(1), to, delivery.Failed, delivery.Attempt{Status: 500, Error: "receiver answered 500"})
		return r.deliveryList("", "?limit=1").Records[0].ID
	}
	own, further, operators := failed(toWebhook), failed(crm), failed(global)
	retry := func(token string, id uint64) *http.Response {
		return r.logCall(token, "POST", fmt.Sprintf("/deliveries/%d/retry", id), "")
	}
	replayable := func() map[uint64]bool {
		all := map[uint64]bool{}
		for _, rec := range r.deliveryList("", "").Records {
			all[rec.ID] = rec.Replayable
		}
		return all
	}
	if got := replayable(); !got[own] || !got[further] || got[operators] {
		t.Errorf("without a global webhook %v can be sent again", got)
	}
	wantError(t, retry("", operators), 409, "ENDPOINT_GONE")
	wantError(t, retry(token, operators), 404, "DELIVERY_NOT_FOUND")
	textOf(t, r.as(token, "DELETE", "/instance/a/webhook/options", ""))
	wantError(t, retry(token, further), 409, "ENDPOINT_GONE")
	wantError(t, retry("", further), 409, "ENDPOINT_GONE")
	if got := replayable(); !got[own] || got[further] || got[operators] {
		t.Errorf("without the endpoint %v can be sent again", got)
	}
	raw, err := io.ReadAll(r.logCall(token, "POST", "/deliveries/replay", `{"target":"endpoint"}`).Body)
	if got := string(raw); err != nil || !strings.Contains(got, `"matched":0`) {
		t.Errorf("a replay answers %s, %v", got, err)
	}
	textOf(t, r.as(token, "PUT", "/instance/a/webhook", `{"enabled":false}`))
	if res := retry(token, own); res.StatusCode != http.StatusAccepted {
		wantError(t, res, 202, "")
	}
}

// TestForeignDeliveriesCannotBeRetried: neither another instance's nor the operator's, in any state, with or without
// their bodies.
func TestForeignDeliveriesCannotBeRetried(t *testing.T) {
	r := newRig(t)
	token := r.instance("a")
	r.instance("b")
	for _, state := range []delivery.State{delivery.Delivered, delivery.Failed} {
		r.inLog(aboutEvent{}.notice(2), toWebhook, state, delivery.Attempt{Status: 200})
		r.inLog(aboutEvent{}.notice(1), event.Destination{Target: event.TargetGlobal, URL: "http://operator.example/"}, state, delivery.Attempt{Status: 200})
	}
	all := r.deliveryList("", "").Records
	if len(all) != 4 {
		t.Fatalf("%+v", all)
	}
	for _, rec := range all {
		wantError(t, r.logCall(token, "POST", fmt.Sprintf("/deliveries/%d/retry", rec.ID), ""), 404, "DELIVERY_NOT_FOUND")
	}
}

// TestDisabledLogShowsOnlyPendingDeliveries: lists are empty, and no delivery can be sent again.
func TestDisabledLogShowsOnlyPendingDeliveries(t *testing.T) {
	r := newRig(t)
	token := r.instance("a")
	off, err := delivery.Open(r.store, delivery.Config{Outbox: r.box})
	if err != nil {
		t.Fatal(err)
	}
	log := logbook.New(off, logbook.Config{})
	r.api.deliveries.Deliveries, r.api.deliveries.Relay = log, dispatch.NewRelay(dispatch.RelayConfig{Store: r.store, Ledger: off})
	r.ledger, r.log = off, log
	if err := errors.Join(off.Start(t.Context()), log.Start(t.Context())); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _, _ = log.Stop(t.Context()), off.Stop(t.Context()) })
	r.inLog(aboutEvent{}.notice(1), toWebhook, delivery.Failed, delivery.Attempt{Error: "x"})
	durable := toWebhook
	durable.Durable, durable.MaxAge = true, time.Hour
	r.update(func(tx *store.Tx) error {
		n := aboutEvent{}.notice(1)
		_, err := off.Emit(tx, delivery.Event{Kind: n.Kind, Instance: 1, Name: "a", Body: n.Body}, true, []event.Destination{durable})
		return err
	})
	page := r.deliveryList(token, "")
	if len(page.Records) != 1 || page.Records[0].State != delivery.Pending {
		t.Fatalf("%+v", page)
	}
	id := page.Records[0].ID
	if res := r.logCall(token, "POST", fmt.Sprintf("/deliveries/%d/retry", id), ""); res.StatusCode != 202 {
		t.Errorf("retry of a pending one: %d", res.StatusCode)
	}
	wantError(t, r.logCall(token, "POST", fmt.Sprintf("/deliveries/%d/retry", id+7), ""), 409, "LOG_OFF")
	wantError(t, r.logCall(token, "POST", "/deliveries/replay", ""), 409, "LOG_OFF")
}
