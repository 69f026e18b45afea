package delivery

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"postern/cli/consumer"
)

// replayed is how far a replay is.
type replayed struct {
	Matched, Sent, Delivered, Failed int
	State                            string
}

// replay begins one and waits for its end.
func (s *shop) replay(body string) (is replayed) {
	s.t.Helper()
	return s.awaitReplay(s.beginReplay(body))
}

func (s *shop) beginReplay(body string) (id uint64) {
	s.t.Helper()
	status, answer := s.Raw(consumer.Bearer(s.Token), http.MethodPost, "/instance/shop/webhook/deliveries/replay", body)
	var matched int
	if _, err := fmt.Sscanf(answer, `{"replayId":%d,"matched":%d}`, &id, &matched); err != nil || status != http.StatusAccepted {
		s.t.Fatalf("replay %s: %d %s", body, status, answer)
	}
	return id
}

func (s *shop) awaitReplay(id uint64) (is replayed) {
	s.t.Helper()
	s.Await("the end of the replay", func() bool {
		s.call(http.MethodGet, fmt.Sprintf("/replays/%d", id), nil, &is)
		return is.State != "RUNNING" && is.Delivered+is.Failed == is.Sent
	})
	return is
}

// TestReplayKeepsIDAndOriginal: the same body and
// webhook-id, another x-request-id, a record of its own; what was delivered by it is not
// selected again.
func TestReplayKeepsIDAndOriginal(t *testing.T) {
	s := newShop(t)
	hook := newReceiver(t, status(http.StatusInternalServerError, "broken"))
	s.webhook(hook.URL)
	s.options(`{"signing":{"enabled":true}}`)
	s.anneWrites("one")
	hook.next(s, "one")
	s.anneWrites("two")
	hook.next(s, "two")
	originals := s.logged("?event=messages.upsert&state=FAILED", 2)

	if is := s.replay(`{"events":["messages.upsert"]}`); is != (replayed{2, 2, 0, 2, "DONE"}) {
		t.Errorf("while the receiver is broken: %+v", is)
	}
	hook.behave(nil)
	if is := s.replay(`{"events":["messages.upsert"],"limit":1}`); is != (replayed{1, 1, 1, 0, "DONE"}) {
		t.Errorf("the oldest: %+v", is)
	}
	if is := s.replay(`{"events":["messages.upsert"]}`); is != (replayed{1, 1, 1, 0, "DONE"}) {
		t.Errorf("the other: %+v", is)
	}
	if is := s.replay(`{"events":["messages.upsert"]}`); is != (replayed{State: "DONE"}) {
		t.Errorf("what was replayed is selected again: %+v", is)
	}

	all := hook.arrivals()
	if len(all) != 6 {
		t.Fatalf("%d attempts arrived", len(all))
	}
	if order := []bool{has(all[0].body, "one"), has(all[1].body, "two"), has(all[4].body, "one"), has(all[5].body, "two")}; fmt.Sprint(order) != "[true true true true]" {
		t.Errorf("the oldest did not come first: %v", order)
	}
	requests := map[string]bool{}
	for _, a := range all {
		first := all[0]
		if has(a.body, "two") {
			first = all[1]
		}
		if a.header.Get("webhook-id") != first.header.Get("webhook-id") || string(a.body) != string(first.body) {
			t.Errorf("webhook-id %s, first %s", a.header.Get("webhook-id"), first.header.Get("webhook-id"))
		}
		requests[a.header.Get("x-request-id")] = true
	}
	if len(requests) != len(all) {
		t.Errorf("%d x-request-ids for %d attempts", len(requests), len(all))
	}

	for _, o := range originals {
		now := s.delivery(o.ID)
		if now.State != "FAILED" || now.AttemptCount != 1 || now.ReplayOf != nil {
			t.Errorf("the original is %+v", now)
		}
	}
	for _, r := range s.deliveries("?event=messages.upsert&state=DELIVERED") {
		if r.ReplayOf == nil || *r.ReplayOf != originals[0].ID && *r.ReplayOf != originals[1].ID || r.AttemptCount != 1 {
			t.Errorf("%+v", r)
		}
	}
}

// TestAReplaySurvivesAKill: it continues after the restart, brings each event, and ends.
func TestAReplaySurvivesAKill(t *testing.T) {
	t.Parallel() // it waits more than it works
	s := newShop(t, "WEBHOOK_REPLAY_RATE=10")
	hook := newReceiver(t, status(http.StatusInternalServerError, "broken"))
	s.webhook(hook.URL)
	s.options(`{"signing":{"enabled":true}}`)
	const n = 25
	for i := range n {
		s.anneWrites(fmt.Sprintf("message %d", i))
	}
	failed := s.logged("?event=messages.upsert&state=FAILED&limit=200", n)
	hook.behave(nil)
	id := s.beginReplay(`{"events":["messages.upsert"]}`)
	hook.await(s, n+3)
	s.Kill()
	s.Start()
	s.Online(t)
	if is := s.awaitReplay(id); is.Matched != n || is.Sent != n || is.Delivered != n || is.State != "DONE" {
		t.Errorf("%+v", is)
	}
	came := map[string]bool{}
	for _, a := range hook.arrivals()[n:] {
		came[a.header.Get("webhook-id")] = true
	}
	for _, r := range failed {
		if !came[r.EventID] {
			t.Errorf("event %s was not replayed", r.EventID)
		}
	}
	if len(came) != n {
		t.Errorf("%d events came, not %d", len(came), n)
	}
}

// TestRetryAddsAnAttemptToTheRecord, whatever its state: when it fails the record is what
// it was before.
func TestRetryAddsAnAttemptToTheRecord(t *testing.T) {
	s := newShop(t, "WEBHOOK_LOG_BODIES=all")
	hook := newReceiver(t, status(http.StatusBadGateway, "first"))
	s.webhook(hook.URL)
	s.anneWrites("one")
	r := s.logged("?event=messages.upsert&state=FAILED", 1)[0]
	retry := func() { s.call(http.MethodPost, fmt.Sprintf("/deliveries/%d/retry", r.ID), nil, nil) }
	hook.behave(status(http.StatusBadGateway, "second"))
	retry()
	hook.await(s, 2)
	s.Await("two attempts", func() bool { now := s.delivery(r.ID); return now.State == "FAILED" && now.AttemptCount == 2 })
	hook.behave(nil)
	retry()
	hook.await(s, 3)
	s.logged("?event=messages.upsert&state=DELIVERED", 1)
	retry() // of one that was delivered: its body is kept
	hook.await(s, 4)
	s.Await("four attempts", func() bool { now := s.delivery(r.ID); return now.State == "DELIVERED" && now.AttemptCount == 4 })
	now := s.delivery(r.ID)
	var attempts []string
	for _, a := range now.Attempts {
		attempts = append(attempts, fmt.Sprintf("%d %d %s", a.Number, value(a.Status), value(a.Answer)))
	}
	if got, want := strings.Join(attempts, "; "), "1 502 first; 2 502 second; 3 200 ; 4 200 "; got != want {
		t.Errorf("attempts %q, want %q", got, want)
	}
	if n := len(s.deliveries("?event=messages.upsert")); n != 1 {
		t.Errorf("%d records", n)
	}
	if now.Body == nil || *now.Body != string(hook.arrivals()[0].body) {
		t.Errorf("the body is %q", value(now.Body))
	}
}
