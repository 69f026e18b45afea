package batch

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"

	"postern/event"
)

// always are the keys of data.batch in every full event; null may be null.
const (
	always = "autoResume counts createdAt id instances interruptionReason lastInterruptedAt lastRecoveredAt message name nextRunAt options ownerUserId progress schedule status updatedAt"
	null   = " interruptionReason lastInterruptedAt lastRecoveredAt nextRunAt schedule "
)

// lifecycle drives one batch through every batch event but the item ones.
func lifecycle(r *rig) {
	req := delayed(3, 40*time.Minute)
	begin := time.Now().Add(time.Hour)
	req.Schedule = fmt.Appendf(nil, `{"windowStartAt":%q,"windowEndAt":%q,"recurrence":"DAILY"}`,
		begin.Format(time.RFC3339), begin.Add(time.Hour).Format(time.RFC3339))
	r.create(req)
	time.Sleep(2*time.Hour + time.Minute)
	r.status(waitWin)
	r.f.set(r.e, 1, event.Offline)
	r.f.set(r.e, 2, event.Offline)
	time.Sleep(23 * time.Hour)
	r.status(waitInst)
	r.f.set(r.e, 1, event.Online)
	r.status(complete)
}

func payloads(r *rig) map[event.Kind]map[string]any {
	r.Helper()
	all := map[event.Kind]map[string]any{}
	for _, e := range r.entries() {
		var body struct {
			Event     event.Kind
			Data      map[string]any
			Timestamp string
		}
		if err := json.Unmarshal(e.Body, &body); err != nil || body.Event != e.Kind || body.Timestamp == "" {
			r.Fatalf("%s: %v %s", e.Kind, err, e.Body)
		}
		all[e.Kind] = body.Data
	}
	return all
}

func keys(m map[string]any) string { return strings.Join(slices.Sorted(maps.Keys(m)), " ") }

func wantKeys(extra string) string {
	return strings.Join(slices.Sorted(slices.Values(strings.Fields(always+" "+extra))), " ")
}

func TestEveryEventCarriesExactlyItsFields(t *testing.T) {
	extra := map[event.Kind]string{
		event.BatchStarted: "startedAt", event.BatchResumed: "startedAt", event.BatchProgress: "currentItem startedAt",
		event.BatchPaused: "pausedAt", event.BatchStopped: "stoppedAt", event.BatchInterrupted: "interruptedAt",
		event.BatchCompleted: "completedAt", event.BatchCompletedWithErrors: "completedAt",
	}
	seen := map[event.Kind]bool{}
	verify := func(r *rig) {
		for kind, data := range payloads(r) {
			seen[kind] = true
			if strings.HasPrefix(string(kind), "message.batch.item.") {
				if got := keys(data); got != "batchId error instance itemId recipient" {
					r.Errorf("%s: data has %s", kind, got)
				}
				continue
			}
			b, _ := data["batch"].(map[string]any)
			if got, want := keys(b), wantKeys(extra[kind]); got != want {
				r.Errorf("%s:\n got %s\nwant %s", kind, got, want)
			}
			if b["status"] != string(statusIn[kind]) {
				r.Errorf("%s: status %v", kind, b["status"])
			}
			for k, v := range b {
				if v == nil && !strings.Contains(null, " "+k+" ") {
					r.Errorf("%s: %s is null", kind, k)
				}
			}
			if counts, _ := b["counts"].(map[string]any); keys(counts) != "failed pending processed sending skipped success total unknown" {
				r.Errorf("%s: counts %v", kind, counts)
			}
		}
	}
	bubble(t, newFleet(1, 2), func(r *rig) { lifecycle(r); verify(r) })
	bubble(t, newFleet(1, 2), func(r *rig) {
		r.create(delayed(3, time.Hour))
		r.status(process)
		r.do(r.e.Pause)
		r.status(paused)
		r.do(r.e.StopBatch)
		verify(r)
	})
	synctest.Test(t, func(t *testing.T) {
		f := slow(nil)
		r := newRig(t, f, nil)
		r.create(request(2))
		r.status(process)
		r.stop()
		f.send = func(context.Context, int64, event.Outgoing) error { return event.ErrSendRefused }
		r.boot()
		r.status(witherr)
		verify(r)
		r.stop()
	})
	for _, d := range event.Catalogue() {
		if d.Family == event.Batch && !seen[d.Kind] {
			t.Errorf("%s was never reported", d.Kind)
		}
	}
}

func TestLargeMessageReducesTheLargeEvents(t *testing.T) {
	f := newFleet(1, 2)
	f.send = func(context.Context, int64, event.Outgoing) error { return event.ErrSendRefused }
	bubble(t, f, func(r *rig) {
		req := request(1)
		req.Message.Payload = fmt.Appendf(nil, `{"text":%q}`, strings.Repeat("x", reduceOver))
		r.create(req)
		r.status(witherr)
		all := payloads(r)
		progress := all[event.BatchProgress]["batch"].(map[string]any)
		if got := keys(progress); got != "counts createdAt currentItem id instances name progress startedAt status updatedAt" {
			t.Errorf("progress has %s", got)
		}
		first := progress["instances"].([]any)[0].(map[string]any)
		if got := keys(first); got != "connectionStatus id name selectedCount" {
			t.Errorf("its instances have %s", got)
		}
		if got := keys(all[event.BatchCompletedWithErrors]["batch"].(map[string]any)); got != "completedAt counts id name progress status updatedAt" {
			t.Errorf("completed-with-errors has %s", got)
		}
		if got := keys(all[event.BatchCreated]["batch"].(map[string]any)); got != wantKeys("") {
			t.Errorf("created has %s", got)
		}
	})
}

// TestARestBatchHasEveryField but the times of what did not happen.
func TestARestBatchHasEveryField(t *testing.T) {
	bubble(t, newFleet(1, 2), func(r *rig) {
		req := request(2)
		req.Recipients = append(req.Recipients, "+49 151 00000000")
		raw, err := json.Marshal(r.create(req))
		if err != nil {
			t.Fatal(err)
		}
		var v map[string]any
		if err := json.Unmarshal(raw, &v); err != nil {
			t.Fatal(err)
		}
		if got, want := keys(v), wantKeys("externalAttributes"); got != want {
			t.Errorf("\n got %s\nwant %s", got, want)
		}
		if c := v["counts"].(map[string]any); c["received"] != 3.0 || c["duplicatesIgnored"] != 1.0 || c["total"] != 2.0 {
			t.Errorf("counts %v", c)
		}
	})
}

func TestListsPageForwardAndBack(t *testing.T) {
	bubble(t, newFleet(), func(r *rig) {
		r.create(request(5))
		var seen []int
		p := Page{Limit: 2}
		for {
			l, err := r.e.Items(owner, r.batch, ItemFilter{}, p)
			if err != nil || l.TotalRecords != 5 {
				t.Fatalf("total %d, %v", l.TotalRecords, err)
			}
			for _, i := range l.Records {
				seen = append(seen, i.Position)
			}
			if l.NextCursor == nil {
				back, err := r.e.Items(owner, r.batch, ItemFilter{}, Page{Limit: 2, Previous: *l.PreviousCursor})
				if err != nil || len(back.Records) != 2 || back.Records[0].Position != 2 || back.NextCursor == nil {
					t.Errorf("backwards: %+v, %v", back, err)
				}
				break
			}
			p.Next = *l.NextCursor
		}
		if !slices.Equal(seen, []int{0, 1, 2, 3, 4}) {
			t.Errorf("positions %v", seen)
		}
		newest := r.create(request(1)).ID
		l, err := r.e.Batches(owner, Filter{Query: "SPR"}, Page{Limit: 1})
		if err != nil || l.TotalRecords != 2 || l.Records[0].ID != newest || l.PreviousCursor != nil {
			t.Errorf("batches %+v, %v", l, err)
		}
		if _, err := r.e.Batches(owner, Filter{}, Page{Next: "!"}); !errors.Is(err, ErrInvalidCursor) {
			t.Errorf("bad cursor: %v", err)
		}
		stranger := uuid.New()
		if _, err := r.e.Batch(stranger, newest); !errors.Is(err, ErrNotFound) {
			t.Errorf("another user's batch: %v", err)
		}
	})
}

func TestAttemptsPageAcrossItems(t *testing.T) {
	f := newFleet(1, 2)
	f.send = func(_ context.Context, instance int64, _ event.Outgoing) error {
		if instance == 1 {
			return event.ErrNotConnected
		}
		return nil
	}
	bubble(t, f, func(r *rig) {
		r.create(request(30))
		r.status(complete)
		all, err := r.e.Attempts(owner, r.batch, ItemFilter{}, Page{Limit: 200})
		if err != nil || all.TotalRecords != len(all.Records) || len(all.Records) <= 30 {
			t.Fatalf("%d attempts of %d, %v", len(all.Records), all.TotalRecords, err)
		}
		var forward []Attempt
		var last string
		for p := (Page{Limit: 3}); ; {
			l, err := r.e.Attempts(owner, r.batch, ItemFilter{}, p)
			if err != nil {
				t.Fatal(err)
			}
			forward = append(forward, l.Records...)
			if l.NextCursor == nil {
				last = *l.PreviousCursor
				n := len(l.Records)
				back, err := r.e.Attempts(owner, r.batch, ItemFilter{}, Page{Limit: 3, Previous: last})
				if want := all.Records[len(all.Records)-n-3:][:3]; err != nil || back.Records[0].ID != want[0].ID || back.Records[2].ID != want[2].ID {
					t.Errorf("backwards: %+v, %v", back.Records, err)
				}
				break
			}
			p.Next = *l.NextCursor
		}
		if !slices.EqualFunc(forward, all.Records, func(a, b Attempt) bool { return a.ID == b.ID }) {
			t.Errorf("pages hold %d attempts, the list %d", len(forward), len(all.Records))
		}
	})
}
