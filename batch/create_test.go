package batch

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"postern/batch/mailing"
	"postern/batch/record"
	"postern/batch/table"
	"postern/event"
	"postern/store"
)

func TestALargeCreationAppearsAtOnceAndWhole(t *testing.T) {
	const n = 2*chunk + chunk/2
	bubble(t, newFleet(), func(r *rig) {
		b, to, err := r.e.prepare(t.Context(), owner, request(n), nil)
		if err != nil {
			t.Fatal(err)
		}
		if err := r.e.stage(r.Context(), b.id, to); err != nil {
			t.Fatal(err)
		}
		r.batch = b.id
		if l, err := r.e.Batches(owner, Filter{}, Page{}); err != nil || l.TotalRecords != 0 {
			t.Errorf("half a batch is listed: %+v, %v", l, err)
		}
		_, err = r.e.Items(owner, b.id, ItemFilter{}, Page{})
		_, other := r.e.Batch(owner, b.id)
		if !errors.Is(err, ErrNotFound) || !errors.Is(other, ErrNotFound) || len(r.entries()) != 0 {
			t.Errorf("half a batch is visible: %v, %v, %d events", err, other, len(r.entries()))
		}
		if err := r.e.appear(r.Context(), b, mailing.Chosen{}, table.Input{On: table.OnCreate}, r.e.states(b.spec), &CreateRequest{}); err != nil {
			t.Fatal(err)
		}
		l, err := r.e.Items(owner, b.id, ItemFilter{Recipient: fmt.Sprint(n - 1)}, Page{})
		if err != nil || r.view().Counts.Total != n || len(l.Records) != 1 || l.Records[0].Position != n-1 {
			t.Errorf("the last item: %+v, %v", l, err)
		}
	})
}

// TestACreationThatIsGivenUpLeavesNothing ends the caller's patience after
// each of the commits of a creation. Either the batch is there with all its
// items, or no record of it is left.
func TestACreationThatIsGivenUpLeavesNothing(t *testing.T) {
	const n, commits = 2*chunk + chunk/2, 4
	for after := range commits {
		t.Run(fmt.Sprint("after commit ", after+1), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, giveUp := context.WithCancel(t.Context())
				defer giveUp()
				left := after + 1
				s, err := store.Open(store.Options{
					Path: filepath.Join(t.TempDir(), "b.db"), Buckets: withOutbox(), NoSync: true, MinFree: 1,
					OnCommit: func(int, time.Duration) {
						if left--; left == 0 {
							giveUp()
						}
					},
				})
				if err != nil {
					t.Fatal(err)
				}
				e := startEngine(t, s)
				defer stopEngine(t, s, e)
				_, err = e.Create(ctx, owner, request(n))
				synctest.Wait()
				want := 0
				if err == nil {
					want = n
				}
				// Whether the last commit is still withdrawn after the one
				// before it is a race that either may win.
				if after != commits-2 && (after == commits-1) != (err == nil) {
					t.Errorf("got %v", err)
				}
				if items, marks := records(t, s, record.BucketItem), records(t, s, record.BucketCreating); items != want || marks != 0 {
					t.Errorf("%v leaves %d items and %d marks, want %d and none", err, items, marks, want)
				}
			})
		})
	}
}

func TestStartSweepsAnInterruptedCreation(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, newFleet(1), nil)
		b, to, err := r.e.prepare(t.Context(), owner, request(2*chunk+chunk/2), nil)
		if err != nil {
			t.Fatal(err)
		}
		if err := r.e.stage(t.Context(), b.id, to); err != nil {
			t.Fatal(err)
		}
		r.crash()
		r.boot()
		synctest.Wait()
		if items, marks := records(t, r.s, record.BucketItem), records(t, r.s, record.BucketCreating); items+marks != 0 {
			t.Errorf("%d items and %d marks are left", items, marks)
		}
		r.stop()
	})
}

// records counts what a bucket holds.
func records(t *testing.T, s *store.Store, bucket string) (n int) {
	t.Helper()
	err := s.View(func(tx *store.Tx) error {
		return tx.Scan(bucket, store.Range{}, func(_, _ []byte) (bool, error) { n++; return true, nil })
	})
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// padded returns a JSON object of exactly size bytes.
func padded(object string, size int) json.RawMessage {
	return json.RawMessage(object[:len(object)-1] + strings.Repeat(" ", size-len(object)) + "}")
}

func windowJSON(start, end, recurrence, zone string) json.RawMessage {
	return fmt.Appendf(nil, `{"windowStartAt":%q,"windowEndAt":%q,"recurrence":%q,"timezone":%q}`, start, end, recurrence, zone)
}

func TestEveryLimitOfACreationIsAllowedItself(t *testing.T) {
	for rule, change := range map[string]func(*CreateRequest){
		"a name of 1 character":         func(r *CreateRequest) { r.Name = "x" },
		"a name of 255 characters":      func(r *CreateRequest) { r.Name = strings.Repeat("é", 255) },
		"a payload of 1 MiB":            func(r *CreateRequest) { r.Message.Payload = padded(`{"text":"x"}`, 1<<20) },
		"attributes of 64 KiB":          func(r *CreateRequest) { r.ExternalAttributes = padded(`{"k":1}`, 64<<10) },
		"as many recipients as allowed": func(r *CreateRequest) { *r = request(5) },
		"a delay of the longest":        func(r *CreateRequest) { r.Options.Delay = event.BatchDelay{MinMs: 0, MaxMs: 86_400_000} },
		"a daily window of 24 hours": func(r *CreateRequest) {
			r.Schedule = windowJSON("1999-01-01T00:00:00Z", "1999-01-02T00:00:00Z", "DAILY", "UTC")
		},
		"a daily window that began before": func(r *CreateRequest) {
			r.Schedule = windowJSON("1999-01-01T08:00:00Z", "1999-01-01T09:00:00Z", "DAILY", "Europe/Berlin")
		},
		"a window that has begun": func(r *CreateRequest) {
			r.Schedule = windowJSON("1999-01-01T00:00:00Z", "2999-01-01T00:00:00Z", "NONE", "UTC")
		},
		"recipients as people write them": func(r *CreateRequest) {
			r.Recipients = []string{"+49 (151) 123-45.678", "4915112345679@s.whatsapp.net", "4915112345670@c.us"}
		},
	} {
		t.Run(rule, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t, newFleet(), func(c *Config) { c.MaxRecipients = 5 })
				req := request(2)
				change(&req)
				r.create(req)
				r.stop()
			})
		})
	}
}

func TestDuplicateRecipientsAndInstancesCountOnce(t *testing.T) {
	bubble(t, newFleet(), func(r *rig) {
		req := request(0)
		req.Instances = []record.InstanceRef{{ID: 1, Name: "i1"}, {ID: 2, Name: "i2"}, {ID: 1, Name: "i1"}}
		req.Recipients = []string{"4915112345678", "+49 151 12345678", "4915112345679", "4915112345678@c.us"}
		v := r.create(req)
		if len(v.Instances) != 2 || v.Counts.Total != 2 || *v.Counts.Received != 4 || *v.Counts.DuplicatesIgnored != 2 {
			t.Errorf("%d instances, counts %+v", len(v.Instances), v.Counts)
		}
		items := r.items()
		if items[0].RecipientInput != "4915112345678" || items[1].NormalizedRecipient != "4915112345679" || items[1].Position != 1 {
			t.Errorf("the first of each is not the one kept: %+v", items)
		}
	})
}

func TestUpTo100InvalidRecipientsAreListed(t *testing.T) {
	bubble(t, newFleet(), func(r *rig) {
		req := request(150)
		for i := range req.Recipients[:149] {
			req.Recipients[i+1] = []string{"", "123@g.us", "12", "1@lid", "x"}[i%5]
		}
		_, err := r.e.Create(r.Context(), owner, req)
		var bad *InvalidError
		if !errors.As(err, &bad) || len(bad.Messages) != 100 {
			t.Fatalf("got %v", err)
		}
		for i, m := range bad.Messages {
			if !strings.HasPrefix(m, fmt.Sprintf("recipients[%d] ", i+1)) {
				t.Errorf("complaint %d is %q", i, m)
			}
		}
		if n := records(t, r.s, record.BucketItem) + records(t, r.s, record.BucketHeader); n != 0 {
			t.Errorf("%d records of a refused batch", n)
		}
	})
}

func TestAnInvalidBatchIsRefusedWhole(t *testing.T) {
	for rule, tc := range map[string]struct {
		change  func(*CreateRequest)
		code    string
		message string
	}{
		"empty name":             {func(r *CreateRequest) { r.Name = "" }, InvalidName, "name"},
		"name of 256":            {func(r *CreateRequest) { r.Name = strings.Repeat("é", 256) }, InvalidName, "name"},
		"payload over 1 MiB":     {func(r *CreateRequest) { r.Message.Payload = padded(`{"text":"x"}`, 1<<20+1) }, InvalidMessage, "message.payload"},
		"attributes over 64 KiB": {func(r *CreateRequest) { r.ExternalAttributes = padded(`{"k":1}`, 64<<10+1) }, InvalidAttributes, "externalAttributes"},
		"too many recipients":    {func(r *CreateRequest) { *r = request(100_001) }, TooManyRecipients, "recipients"},
		"empty recipient":        {func(r *CreateRequest) { r.Recipients[1] = "" }, InvalidRecipient, "recipients[1]"},
		"unknown type":           {func(r *CreateRequest) { r.Message.Type = "smoke" }, InvalidMessage, "message"},
		"delay too long":         {func(r *CreateRequest) { r.Options.Delay.MaxMs = 86_400_001 }, InvalidOptions, "options.delay"},
		"window reversed": {func(r *CreateRequest) {
			r.Schedule = windowJSON("2999-01-01T01:00:00Z", "2999-01-01T00:00:00Z", "NONE", "UTC")
		}, InvalidSchedule, "windowEndAt"},
		"daily over 24 hours": {func(r *CreateRequest) {
			r.Schedule = windowJSON("2999-01-01T00:00:00Z", "2999-01-02T00:00:01Z", "DAILY", "UTC")
		}, InvalidSchedule, "DAILY"},
		"no instance":       {func(r *CreateRequest) { r.Instances = nil }, InvalidInstances, "instances"},
		"group":             {func(r *CreateRequest) { r.Recipients[1] = "123-456@g.us" }, InvalidRecipient, "recipients[1]"},
		"malformed":         {func(r *CreateRequest) { r.Recipients[0] = "abc" }, InvalidRecipient, "recipients[0]"},
		"no recipients":     {func(r *CreateRequest) { r.Recipients = nil }, InvalidRecipient, "recipients"},
		"empty text":        {func(r *CreateRequest) { r.Message.Payload = json.RawMessage(`{"text":""}`) }, InvalidMessage, "text"},
		"delay upside down": {func(r *CreateRequest) { r.Options.Delay.MinMs = 5 }, InvalidOptions, "options.delay"},
		"unknown presence":  {func(r *CreateRequest) { r.Options.Presence = "x" }, InvalidOptions, "options.presence"},
		"attributes a list": {func(r *CreateRequest) { r.ExternalAttributes = json.RawMessage(`[]`) }, InvalidAttributes, "externalAttributes"},
		"unknown time zone": {func(r *CreateRequest) {
			r.Schedule = windowJSON("2999-01-01T00:00:00Z", "2999-01-01T01:00:00Z", "NONE", "Mars")
		}, InvalidSchedule, "timezone"},
		"window in the past": {func(r *CreateRequest) {
			r.Schedule = json.RawMessage(`{"windowStartAt":"1999-01-01T00:00:00Z","windowEndAt":"1999-01-01T01:00:00Z","recurrence":"NONE"}`)
		}, InvalidSchedule, "past"},
	} {
		t.Run(rule, func(t *testing.T) {
			bubble(t, newFleet(1), func(r *rig) {
				req := request(2)
				tc.change(&req)
				_, err := r.e.Create(r.Context(), owner, req)
				var bad *InvalidError
				if !errors.As(err, &bad) || bad.Code != tc.code || !strings.Contains(bad.Messages[0], tc.message) {
					t.Errorf("got %v", err)
				}
			})
		})
	}
}
