package dispatch

import (
	"context"
	"fmt"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"postern/delivery"
	"postern/delivery/logbook"
	"postern/event"
	"postern/store"
)

// logged runs a queue of the in-memory flow with a log, and returns the records of the
// log by host.
func logged(t *testing.T, cfg QueueConfig, fn func(t *testing.T, c *crowd, q *Queue)) (records map[string][]delivery.Listed) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "log.db")
	records = map[string][]delivery.Listed{}
	synctest.Test(t, func(t *testing.T) {
		s, err := store.Open(store.Options{Path: path, Buckets: delivery.Buckets(), NoSync: true, MinFree: 1})
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		ledger, err := delivery.Open(s, delivery.Config{Log: true})
		if err != nil {
			t.Fatal(err)
		}
		l := logbook.New(ledger, logbook.Config{})
		if err := l.Start(t.Context()); err != nil {
			t.Fatal(err)
		}
		cfg.Log = l
		c := newCrowd()
		q := c.queue(t, cfg)
		fn(t, c, q)
		if err := q.Close(t.Context()); err != nil {
			t.Error(err)
		}
		if err := l.Stop(t.Context()); err != nil {
			t.Error(err)
		}
		page, err := l.List(t.Context(), delivery.Filter{}, "", 1000)
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range page.Records {
			records[r.URL] = append(records[r.URL], r)
		}
	})
	return records
}

// to returns a notice for an instance's webhook at some hosts.
func to(n int, hosts ...string) event.Notice {
	e := event.Notice{Kind: event.MessagesUpsert, Body: fmt.Appendf(nil, "%d", n), InstanceID: 7, InstanceName: "shop"}
	for _, host := range hosts {
		e.To = append(e.To, event.Destination{Target: event.TargetWebhook, URL: "http://" + host + "/hook?secret=1"})
	}
	return e
}

func TestQueueDeliveryLeavesOneRecordWithAttempt(t *testing.T) {
	records := logged(t, QueueConfig{}, func(t *testing.T, c *crowd, q *Queue) {
		c.set("good", in(20*time.Millisecond, 200))
		c.set("refuses", in(time.Millisecond, 500))
		c.set("away", in(0, 0))
		n := to(1, "good", "refuses", "away")
		n.RequestID = "call-1"
		if err := q.Enqueue(n); err != nil {
			t.Error(err)
		}
		time.Sleep(time.Minute)
	})
	for host, want := range map[string]struct {
		state  delivery.State
		status int
	}{"good": {delivery.Delivered, 200}, "refuses": {delivery.Failed, 500}, "away": {delivery.Failed, 0}} {
		got := records["http://"+host+"/hook"]
		if len(got) != 1 {
			t.Errorf("%s: %d records of %v", host, len(got), records)
			continue
		}
		r := got[0]
		if r.State != want.state || r.LastStatus != want.status || r.Attempts != 1 || r.RequestID != "call-1" || r.Instance != 7 || r.Name != "shop" ||
			(r.LastError == "") != (want.state == delivery.Delivered) || r.Lane.Target != event.TargetWebhook || r.Replayable != (want.state != delivery.Delivered) {
			t.Errorf("%s: %+v", host, r)
		}
		if host == "good" && r.Duration != 20*time.Millisecond {
			t.Errorf("it took %v", r.Duration)
		}
	}
}

func TestQueueDropIsLoggedWithItsReason(t *testing.T) {
	records := logged(t, QueueConfig{Size: 20, Workers: 2}, func(t *testing.T, c *crowd, q *Queue) {
		c.set("hangs", never)
		for n := range 40 {
			_ = q.Enqueue(to(n, "hangs"))
		}
		for n := range 5 { // each takes a place
			c.set("other", never)
			_ = q.Enqueue(to(n, "other"))
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		_ = q.Close(ctx)
		_ = q.Enqueue(to(99, "hangs"))
	})
	count := map[string]int{}
	for _, all := range records {
		for _, r := range all {
			count[string(r.State)+" "+r.LastError]++
		}
	}
	dropped, closed := count["DROPPED "+ErrQueueFull.Error()], count["DROPPED "+ErrQueueClosed.Error()]
	failed := 0
	for what, n := range count {
		if what[:6] == "FAILED" {
			failed += n
		}
	}
	if cut := count["FAILED "+errCutOff.Error()]; cut != failed {
		t.Errorf("%d were cut off in plain words: %v", cut, count)
	}
	if dropped+closed+failed != 46 || failed < 2 || closed < 18 || dropped < 20 {
		t.Errorf("%v", count)
	}
}

func TestSignedDeliveryHasTheEventsID(t *testing.T) {
	url, requests := rawReceiver(t, okAnswer)
	q := NewQueue(QueueConfig{Sender: NewSender(SenderConfig{})})
	n := event.Notice{Kind: event.MessagesUpsert, Body: []byte("{}"), To: []event.Destination{{URL: url, WithID: true, Secrets: []string{specSecret}}}}
	if err := q.Enqueue(n); err != nil {
		t.Fatal(err)
	}
	if o := q.PostNow(t.Context(), n); !o.Delivered() { // a test of the webhook is signed, too
		t.Error(o.Reason())
	}
	if err := q.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		got := http.Header{}
		for _, line := range <-requests {
			if name, value, ok := strings.Cut(line, ": "); ok {
				got.Set(name, value)
			}
		}
		if len(got.Get("webhook-id")) != 36 || got.Get("webhook-signature") == "" || got.Get("webhook-timestamp") == "" {
			t.Errorf("%v", got)
		}
	}
}
