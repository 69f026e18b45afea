package httpapi

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"postern/batch"
	"postern/delivery"
	"postern/delivery/outbox"
	"postern/event"
	"postern/httpapi/deliveries"
	"postern/store"
)

type outboxPage = batch.List[deliveries.OutboxRecord]

// emit adds events of a batch of the rig's user to the outbox.
func (r *rig) emit(batchID uuid.UUID, n int, data any) {
	r.t.Helper()
	r.update(func(tx *store.Tx) error {
		for range n {
			e := outbox.Emission{Kind: event.BatchProgress, Owner: r.user, Batch: batchID, Data: data}
			if err := r.box.Emit(tx, e); err != nil {
				return err
			}
		}
		return nil
	})
}

func (r *rig) update(fn func(*store.Tx) error) {
	r.t.Helper()
	if err := r.store.Update(r.t.Context(), fn); err != nil {
		r.t.Fatal(err)
	}
}

// attempt records an attempt of an entry; one without a reason was accepted.
func (r *rig) attempt(tx *store.Tx, seq uint64, status int, reason string, next time.Time) error {
	e, found, err := outbox.Head(tx, seq)
	if err == nil && found {
		_, _, err = r.ledger.Settle(tx, e.Record, delivery.Attempt{StartedAt: tx.Now(), Status: status, Error: reason}, reason == "", next)
	}
	return err
}

// outbox requests a page with the global key.
func (r *rig) outbox(query string) outboxPage {
	r.t.Helper()
	res := r.admin("GET", "/outbox"+query, "")
	if res.StatusCode != http.StatusOK {
		r.t.Fatalf("%s: status %d", query, res.StatusCode)
	}
	return decoded[outboxPage](r.t, res)
}

func ids(p outboxPage) (all []uint64) {
	for _, r := range p.Records {
		all = append(all, r.ID)
	}
	return all
}

func TestTheOutboxIsListedByStateNewestFirst(t *testing.T) {
	r := newRig(t)
	r.emit(uuid.New(), 5, 1)
	r.update(func(tx *store.Tx) error { return r.attempt(tx, 2, 204, "", time.Time{}) })
	r.update(func(tx *store.Tx) error { return r.attempt(tx, 4, 503, "busy", tx.Now().Add(time.Minute)) })
	for query, want := range map[string][]uint64{
		"": {5, 4, 3, 2, 1}, "?state=pending": {5, 4, 3, 1}, "?state=delivered": {2}, "?state=disabled": nil, "?limit=2": {5, 4},
	} {
		page := r.outbox(query)
		total := len(want)
		if strings.Contains(query, "limit") {
			total = 5
		}
		if !slices.Equal(ids(page), want) || page.TotalRecords != total || page.PreviousCursor != nil || (page.NextCursor != nil) != (total > len(want)) {
			t.Errorf("%q: %+v", query, page)
		}
	}
}

func TestDisabledEventsAreListedAsDisabled(t *testing.T) {
	r := newRigWith(t, store.Options{NoSync: true, MinFree: 1})
	r.box.SetDelivery(false)
	r.emit(uuid.New(), 1, 1)
	page := r.outbox("?state=disabled")
	if len(page.Records) != 1 || page.Records[0].State != "disabled" || page.Records[0].NextAttemptAt != nil || page.TotalRecords != 1 {
		t.Errorf("%+v", page)
	}
	wantError(t, r.admin("POST", "/outbox/1/retry", ""), 409, "OUTBOX_ENTRY_NOT_PENDING")
}

func TestAnEventRecordHasExactlyItsFields(t *testing.T) {
	r := newRig(t)
	b := uuid.New()
	r.emit(b, 3, 1)
	at := time.Now().Add(time.Hour).UTC().Truncate(time.Millisecond)
	var now time.Time
	r.update(func(tx *store.Tx) error { now = tx.Now(); return r.attempt(tx, 1, 200, "", time.Time{}) })
	r.update(func(tx *store.Tx) error { return r.attempt(tx, 2, 0, "no answer in time", at) })
	page := decoded[struct{ Records []map[string]any }](t, r.admin("GET", "/outbox", ""))
	fields := []string{
		"attempts", "batchId", "deliveredAt", "event", "id", "lastError", "lastStatus", "nextAttemptAt", "ownerUserId", "sequence", "state", "timestamp",
	}
	for _, rec := range page.Records {
		if got := slices.Sorted(maps.Keys(rec)); !slices.Equal(got, fields) {
			t.Errorf("fields %v", got)
		}
	}
	fresh, retried, done := page.Records[0], page.Records[1], page.Records[2]
	for _, c := range []struct {
		rec  map[string]any
		want map[string]any
	}{
		{done, map[string]any{
			"id": 1.0, "sequence": 1.0, "event": "message.batch.progress", "batchId": b.String(), "ownerUserId": r.user.String(), "state": "delivered",
			"attempts": 1.0, "lastStatus": 200.0, "lastError": nil, "nextAttemptAt": nil, "deliveredAt": event.At(now).String(),
		}},
		{retried, map[string]any{
			"state": "pending", "attempts": 1.0, "lastStatus": nil, "lastError": "no answer in time", "nextAttemptAt": event.At(at).String(), "deliveredAt": nil,
		}},
		{fresh, map[string]any{"state": "pending", "attempts": 0.0, "lastStatus": nil, "lastError": nil, "nextAttemptAt": fresh["timestamp"], "deliveredAt": nil}},
	} {
		for field, want := range c.want {
			if c.rec[field] != want {
				t.Errorf("record %v: %s is %v, want %v", c.rec["id"], field, c.rec[field], want)
			}
		}
	}
	body := struct{ Timestamp string }{}
	r.view(func(tx *store.Tx) error {
		e, _, err := outbox.Get(tx, 3)
		return errors.Join(err, json.Unmarshal(e.Body, &body))
	})
	if fresh["timestamp"] != body.Timestamp {
		t.Errorf("timestamp %v, that of the envelope is %s", fresh["timestamp"], body.Timestamp)
	}
}

// TestPagingMissesNothingDuringChanges delivers, emits and removes events between the
// pages; it sees each event that exists all the time exactly once.
func TestPagingMissesNothingDuringChanges(t *testing.T) {
	r := newRig(t)
	const n = 95
	r.emit(uuid.New(), n, 1)
	seen, cursor, last := map[uint64]int{}, "", outboxPage{}
	for next := uint64(1); ; next++ {
		last = r.outbox("?limit=10" + cursor)
		for _, id := range ids(last) {
			seen[id]++
		}
		if last.NextCursor == nil {
			break
		}
		cursor = "&nextCursor=" + *last.NextCursor
		r.emit(uuid.New(), 3, 1) // newer than the first page
		r.update(func(tx *store.Tx) error {
			for _, seq := range []uint64{uint64(n) - 9*next, 2 * next} {
				if err := r.attempt(tx, seq, 200, "", time.Time{}); err != nil {
					return err
				}
			}
			_, err := r.box.Remove(tx, []uint64{uint64(n) - 9*next}) // maybe the one that the cursor stands for
			return err
		})
	}
	for id := uint64(1); id <= n; id++ {
		if gone := id%9 == n%9 && id < 87; seen[id] > 1 || seen[id] == 0 && !gone {
			t.Errorf("event %d was seen %d times", id, seen[id])
		}
	}
	back := 0
	for last.PreviousCursor != nil {
		back += len(last.Records)
		last = r.outbox("?limit=10&previousCursor=" + *last.PreviousCursor)
	}
	if back += len(last.Records); back != last.TotalRecords {
		t.Errorf("%d events on the way back, %d in all", back, last.TotalRecords)
	}
}

func TestAnOutboxQueryIsReadStrictly(t *testing.T) {
	r := newRig(t)
	r.emit(uuid.New(), 3, 1)
	pending := *r.outbox("?state=pending&limit=1").NextCursor
	for query, code := range map[string]string{
		"?state=lost": "INVALID_QUERY", "?state=pending&state=delivered": "INVALID_QUERY", "?status=pending": "INVALID_QUERY",
		"?limit=0": "INVALID_QUERY", "?limit=201": "INVALID_QUERY", "?limit=x": "INVALID_QUERY",
		"?nextCursor=" + pending + "&previousCursor=" + pending: "INVALID_QUERY",
		"?nextCursor=" + pending:                                "INVALID_CURSOR", // of another list
		"?state=delivered&nextCursor=" + pending:                "INVALID_CURSOR",
		"?nextCursor=AAAA":                                      "INVALID_CURSOR",
		"?previousCursor=*":                                     "INVALID_CURSOR",
	} {
		t.Run(query, func(t *testing.T) { wantError(t, r.admin("GET", "/outbox"+query, ""), 400, code) })
	}
	if n := len(r.outbox("?limit=200").Records); n != 3 {
		t.Errorf("%d records", n)
	}
}

func TestBatchEventsAreTheirOwnersAlone(t *testing.T) {
	r := newRig(t)
	v := r.create("b")
	r.emit(v.ID, 4, 1)
	r.emit(uuid.New(), 2, 1)
	path := "/message/batches/" + v.ID.String() + "/events"
	page := decoded[outboxPage](t, r.as(r.token, "GET", path+"?limit=3", ""))
	if !slices.Equal(ids(page), []uint64{1, 2, 3}) || page.TotalRecords != 4 || page.NextCursor == nil || page.PreviousCursor != nil {
		t.Errorf("the first page: %+v", page)
	}
	page = decoded[outboxPage](t, r.as(r.token, "GET", path+"?limit=3&nextCursor="+*page.NextCursor, ""))
	if !slices.Equal(ids(page), []uint64{4}) || page.NextCursor != nil || page.PreviousCursor == nil {
		t.Errorf("the second page: %+v", page)
	}
	page = decoded[outboxPage](t, r.as(r.token, "GET", path+"?limit=2&previousCursor="+*page.PreviousCursor, ""))
	if !slices.Equal(ids(page), []uint64{2, 3}) || page.NextCursor == nil || page.PreviousCursor == nil {
		t.Errorf("backwards: %+v", page)
	}
	_, stranger := r.newUser()
	for name, res := range map[string]*http.Response{
		"another user's batch": r.as(stranger, "GET", path, ""),
		"an unknown batch":     r.as(r.token, "GET", "/message/batches/"+uuid.NewString()+"/events", ""),
		"no UUID":              r.as(r.token, "GET", "/message/batches/1/events", ""),
	} {
		t.Run(name, func(t *testing.T) { wantError(t, res, 404, "BATCH_NOT_FOUND") })
	}
	if res := r.admin("GET", path, ""); res.StatusCode != 401 {
		t.Errorf("with the global key: %d", res.StatusCode)
	}
}

func TestRetryMakesOneOrAllPendingEventsDue(t *testing.T) {
	r := newRig(t)
	r.emit(uuid.New(), 4, 1)
	r.update(func(tx *store.Tx) error {
		for seq := range uint64(3) {
			if err := r.attempt(tx, seq+2, 500, "down", tx.Now().Add(time.Hour)); err != nil {
				return err
			}
		}
		return r.attempt(tx, 1, 200, "", time.Time{})
	})
	for path, code := range map[string]string{
		"/outbox/1/retry": "OUTBOX_ENTRY_NOT_PENDING", "/outbox/5/retry": "OUTBOX_ENTRY_NOT_FOUND", "/outbox/0/retry": "OUTBOX_ENTRY_NOT_FOUND",
		"/outbox/x/retry": "OUTBOX_ENTRY_NOT_FOUND", "/outbox/-1/retry": "OUTBOX_ENTRY_NOT_FOUND", "/outbox/18446744073709551615/retry": "OUTBOX_ENTRY_NOT_FOUND",
	} {
		status := 404
		if code == "OUTBOX_ENTRY_NOT_PENDING" {
			status = 409
		}
		wantError(t, r.admin("POST", path, ""), status, code)
	}
	rec := decoded[deliveries.OutboxRecord](t, r.admin("POST", "/outbox/3/retry", ""))
	if rec.ID != 3 || rec.Attempts != 1 || time.Until(rec.NextAttemptAt.Time) > 0 {
		t.Errorf("%+v", rec)
	}
	waiting := func() (n int) {
		for _, e := range r.outbox("?state=pending").Records {
			if time.Until(e.NextAttemptAt.Time) > 0 {
				n++
			}
		}
		return n
	}
	if n := waiting(); n != 2 {
		t.Errorf("%d wait after one retry", n)
	}
	if got := decoded[deliveries.RetryAnswer](t, r.admin("POST", "/outbox/retry", "{}")); got.Retried != 3 || waiting() != 0 {
		t.Errorf("%+v, %d wait", got, waiting())
	}
}

// TestPageOfLargeEventsNeedsOnlyItsMemory uses bodies of 300 KB: a page that read them would take
// 60 MB.
func TestPageOfLargeEventsNeedsOnlyItsMemory(t *testing.T) {
	r := newRig(t)
	for range 4 {
		r.emit(uuid.New(), 50, strings.Repeat("x", 300_000))
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	res := r.admin("GET", "/outbox?limit=200", "")
	runtime.ReadMemStats(&after)
	raw, err := io.ReadAll(res.Body)
	if err != nil || strings.Count(string(raw), `"sequence"`) != 200 {
		t.Fatalf("%v, %d bytes", err, len(raw))
	}
	if grown := after.TotalAlloc - before.TotalAlloc; grown > 6<<20 {
		t.Error(fmt.Sprint("the page allocated ", grown, " bytes"))
	}
}

func (r *rig) view(fn func(*store.Tx) error) {
	r.t.Helper()
	if err := r.store.View(fn); err != nil {
		r.t.Fatal(err)
	}
}
