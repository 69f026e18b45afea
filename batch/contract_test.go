package batch

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"

	"postern/batch/table"
	"postern/event"
)

func TestAScheduleThatIsRefusedNamesItsField(t *testing.T) {
	r := newRig(t, newFleet(1, 2), nil)
	defer r.stop()
	const start, end = `"windowStartAt":"2090-03-01T09:00:00Z"`, `"windowEndAt":"2090-03-01T10:00:00Z"`
	for field, raw := range map[string]string{
		"schedule.windowStartAt": `{"windowStartAt":"2090-03-01 09:00:00Z",` + end + `,"recurrence":"NONE"}`,
		"schedule.windowEndAt":   `{` + start + `,"windowEndAt":"2090-03-01T10:00:00","recurrence":"NONE"}`,
		"schedule.recurrence":    `{` + start + `,` + end + `,"recurrence":"none"}`,
		"schedule.timezone":      `{` + start + `,` + end + `,"recurrence":"NONE","timezone":"Mars/Olympus"}`,
	} {
		req := request(1)
		req.Schedule = json.RawMessage(raw)
		_, err := r.e.Create(t.Context(), owner, req)
		invalid, ok := errors.AsType[*InvalidError](err)
		if !ok || invalid.Code != InvalidSchedule || len(invalid.Messages) != 1 ||
			!strings.HasPrefix(invalid.Messages[0], field+": ") || strings.Contains(invalid.Messages[0], "2006") {
			t.Errorf("%s: %v", field, err)
		}
	}
}

func TestPayloadAbove4KiBIsReduced(t *testing.T) {
	const frame = len(`{"text":""}`)
	for size, full := range map[int]bool{4096: true, 4097: false} {
		f := newFleet(1, 2)
		f.send = func(context.Context, int64, event.Outgoing) error { return event.ErrSendRefused }
		bubble(t, f, func(r *rig) {
			req := request(1)
			req.Message.Payload = fmt.Appendf(nil, `{"text":%q}`, strings.Repeat("x", size-frame))
			r.create(req)
			r.status(witherr)
			all := payloads(r)
			for _, kind := range []event.Kind{event.BatchProgress, event.BatchCompletedWithErrors} {
				if _, whole := all[kind]["batch"].(map[string]any)["message"]; whole != full {
					t.Errorf("%s with %d bytes: reported in full is %v", kind, size, whole)
				}
			}
		})
	}
}

func TestCompletedEventContainsALargeMessage(t *testing.T) {
	bubble(t, newFleet(1, 2), func(r *rig) {
		req := request(1)
		req.Message.Payload = fmt.Appendf(nil, `{"text":%q}`, strings.Repeat("x", reduceOver))
		r.create(req)
		r.status(complete)
		b, _ := payloads(r)[event.BatchCompleted]["batch"].(map[string]any)
		if got, want := keys(b), wantKeys("completedAt"); got != want {
			t.Errorf("\n got %s\nwant %s", got, want)
		}
	})
}

// TestTheInterruptionReasonIsNullAgainAfterRecovery has one event more that tells
// it: the one of the recovery itself.
func TestTheInterruptionReasonIsNullAgainAfterRecovery(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, newFleet(1, 2), nil)
		r.create(delayed(3, time.Hour))
		r.status(process)
		r.stop()
		r.boot()
		synctest.Wait()
		if v := r.view(); v.InterruptionReason != nil || v.LastInterruptedAt == nil || v.LastRecoveredAt == nil {
			t.Errorf("over REST the reason is %v, interrupted at %v, recovered at %v", v.InterruptionReason, v.LastInterruptedAt, v.LastRecoveredAt)
		}
		all := payloads(r)
		for kind, want := range map[event.Kind]any{
			event.BatchInterrupted: "GRACEFUL_SHUTDOWN", event.BatchRecovered: "GRACEFUL_SHUTDOWN", event.BatchResumed: nil,
		} {
			b, _ := all[kind]["batch"].(map[string]any)
			if got, there := b["interruptionReason"]; !there || got != want {
				t.Errorf("%s: interruptionReason is %v", kind, got)
			}
		}
		r.stop()
	})
}

func TestEventsAndViewsKeepTheSchedule(t *testing.T) {
	bubble(t, newFleet(1, 2), func(r *rig) {
		begin := time.Now().Add(time.Hour).In(time.FixedZone("", 2*60*60))
		req := request(1)
		req.Schedule = fmt.Appendf(nil, `{"windowStartAt":%q,"windowEndAt":%q,"recurrence":"NONE","timezone":"Asia/Kolkata"}`,
			begin.Format(time.RFC3339), begin.Add(time.Hour).Format(time.RFC3339))
		if v := r.create(req); string(v.Schedule) != string(req.Schedule) {
			t.Errorf("created with %s", v.Schedule)
		}
		time.Sleep(2 * time.Hour)
		if v := r.status(complete); string(v.Schedule) != string(req.Schedule) {
			t.Errorf("read with %s", v.Schedule)
		}
		want := `"schedule":` + string(req.Schedule)
		for _, e := range r.entries() {
			if !strings.Contains(string(e.Body), want) {
				t.Errorf("%s does not have %s: %s", e.Kind, want, e.Body)
			}
		}
	})
}

// fieldsOf returns the keys of v in JSON, and those of them that are null.
func fieldsOf(t *testing.T, v any) (all, nulls string) {
	t.Helper()
	raw, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	var m map[string]any
	if err := json.Unmarshal(raw, &m); err != nil {
		t.Fatal(err)
	}
	all = keys(m)
	for k, value := range m {
		if value != nil {
			delete(m, k)
		}
	}
	return all, keys(m)
}

func TestItemsAndAttemptsHaveExactlyTheirFields(t *testing.T) {
	const always = "attemptCount batchId clientMessageId createdAt finishedAt id messageId " +
		"normalizedRecipient position processingStartedAt recipientInput recipientJid selectedInstanceId " +
		"selectedInstanceName status updatedAt whatsappMessageId"
	const attempt = "attemptNumber batchId batchItemId clientMessageId createdAt finishedAt id instanceId instanceName startedAt status"
	and := func(fields string, more ...string) string {
		all := append(strings.Fields(fields), more...)
		slices.Sort(all)
		return strings.Join(all, " ")
	}
	f := newFleet(1, 2)
	bubble(t, f, func(r *rig) {
		f.send = func(_ context.Context, _ int64, out event.Outgoing) error {
			if strings.HasPrefix(out.To, "4915100000001") {
				return event.ErrSendRefused
			}
			return nil
		}
		r.create(delayed(3, time.Hour))
		time.Sleep(time.Hour + time.Minute)
		for i, want := range []struct{ all, nulls string }{
			{and(always, "selectedDelayMs"), "messageId"}, // this fleet stores no messages
			{and(always, "lastErrorCode", "lastErrorMessage", "selectedDelayMs"), "messageId recipientJid whatsappMessageId"},
			{always, "clientMessageId finishedAt messageId processingStartedAt recipientJid selectedInstanceId selectedInstanceName whatsappMessageId"},
		} {
			if all, nulls := fieldsOf(t, r.items()[i]); all != want.all || nulls != want.nulls {
				t.Errorf("item %d:\n has %s\nnull %s", i, all, nulls)
			}
		}
		list, err := r.e.Attempts(owner, r.batch, ItemFilter{}, Page{})
		if err != nil || len(list.Records) != 2 {
			t.Fatalf("attempts %+v, %v", list, err)
		}
		for i, want := range []string{attempt, and(attempt, "errorCode", "errorMessage")} {
			if all, nulls := fieldsOf(t, list.Records[i]); all != want || nulls != "" {
				t.Errorf("attempt %d:\n has %s\nnull %s", i, all, nulls)
			}
		}
		one, err := r.e.Item(owner, r.batch, list.Records[1].BatchItemID)
		if err != nil || len(one.Attempts) != 1 {
			t.Fatalf("item %+v, %v", one, err)
		}
		if all, _ := fieldsOf(t, one); all != and(always, "attempts", "lastErrorCode", "lastErrorMessage", "selectedDelayMs") {
			t.Errorf("one item has %s", all)
		}
	})
}

func TestProgressIsTheRoundedDownPercentage(t *testing.T) {
	for _, tc := range []struct {
		c    table.Counts
		want int
	}{
		{table.Counts{Total: 3, Pending: 3}, 0},
		{table.Counts{Total: 3, Pending: 2, Skipped: 1}, 33},
		{table.Counts{Total: 3, Sending: 1, Success: 1, Unknown: 1}, 66},
		{table.Counts{Total: 200, Sending: 1, Success: 100, Failed: 50, Skipped: 40, Unknown: 9}, 99},
		{table.Counts{Total: 4, Success: 1, Failed: 1, Skipped: 1, Unknown: 1}, 100},
	} {
		if got := tc.c.Percent(); got != tc.want || counts(tc.c).Processed != tc.c.Total-tc.c.Pending-tc.c.Sending {
			t.Errorf("%+v: %d %%, %d processed", tc.c, got, counts(tc.c).Processed)
		}
	}
}

func TestABatchIDIsVersion7(t *testing.T) {
	bubble(t, newFleet(1, 2), func(r *rig) {
		if id := r.create(request(1)).ID; id.Version() != 7 || id.Variant() != uuid.RFC4122 {
			t.Errorf("%s is version %d", id, id.Version())
		}
	})
}
