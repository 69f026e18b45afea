package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"testing"
	"time"

	"postern/event"
	"postern/sandbox"
)

// TestASendToEverybodyUnderAKeyIsCarriedOutOnce repeats such requests while
// they are on their way, while they wait, after a kill and after their end.
func TestASendToEverybodyUnderAKeyIsCarriedOutOnce(t *testing.T) {
	const waiting = 5
	s := newSendScene(t, "MESSAGE_PROCESSING_WORKERS=1", fmt.Sprintf("MESSAGE_PROCESSING_QUEUE_SIZE=%d", waiting))
	s.do(t, act("$own", `{"do":"group-create","subject":"All","participants":["$anne","$bob"]}`).as("all"))
	path := s.fill("/instance/$name/send/text")
	ask := func(key, text string) keyedAnswer {
		return s.mustWithKey(s.token, key, path, map[string]any{
			"chat": s.vars["all.group"], "textMessage": map[string]any{"text": text}, "options": map[string]any{"mentionAll": true},
		})
	}
	first := map[string]keyedAnswer{}
	accept := func(key string) {
		t.Helper()
		a := ask(key, key)
		if a.status != http.StatusAccepted || a.replayed {
			t.Fatalf("%s: %v", key, a)
		}
		first[key] = a
	}
	repeat := func(when string) {
		t.Helper()
		for key, want := range first {
			want.replayed = true
			if got := ask(key, key); got != want {
				t.Errorf("%s, %s:\n got %v\nwant %v", when, key, got, want)
			}
		}
	}
	s.sandbox.SetFaults(sandbox.Faults{AckDelay: time.Hour})
	accept("on its way")
	s.await("the first to be on its way", func() bool { return s.decrypted(anneNumber, "on its way") == 1 })
	for i := range waiting {
		accept(fmt.Sprint("waits ", i))
	}
	repeat("before the kill")
	for _, again := range []string{"on its way", "waits 0"} {
		if a := ask(again, "another text"); a.status != http.StatusConflict || a.field("code") != "IDEMPOTENCY_KEY_REUSED" {
			t.Errorf("another text under %q: %v", again, a)
		}
	}
	if a := ask("later", "later"); a.field("code") != "MESSAGE_PROCESSING_QUEUE_FULL" {
		t.Errorf("beyond the queue: %v", a)
	}
	s.kill()
	s.sandbox.SetFaults(sandbox.Faults{})
	s.start()
	repeat("after the kill")
	s.await("the end of all", func() bool { return len(s.ends(t)) == len(first) })
	repeat("after the end")
	accept("later") // the refusal has freed the key
	s.await("the end of the last", func() bool { return len(s.ends(t)) == len(first) })
	s.eachOnce(t, first)
	s.stop()
}

// ends are the results of asynchronous sends by process. Each is told once, or
// in the same words again.
func (s *sendScene) ends(t *testing.T) map[string]event.SendResult {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	all := map[string]event.SendResult{}
	for _, r := range s.log {
		var e struct{ Data event.SendResult }
		if r.event != string(event.SendMessage) || json.Unmarshal(r.body, &e) != nil {
			continue
		}
		if before, told := all[e.Data.ProcessID]; told && before.Status != e.Data.Status {
			t.Errorf("%s ended as %s and as %s", e.Data.ProcessID, before.Status, e.Data.Status)
		}
		all[e.Data.ProcessID] = e.Data
	}
	return all
}

// eachOnce compares what was accepted with its end and what the phones read.
func (s *sendScene) eachOnce(t *testing.T, accepted map[string]keyedAnswer) {
	t.Helper()
	ends := s.ends(t)
	for text, a := range accepted {
		end, told := ends[a.field("processId")]
		want := event.AsyncSent
		if text == "on its way" {
			want = event.AsyncFailed
		}
		if !told || end.Status != want || want == event.AsyncFailed && end.Error.Code != event.SendResultUnknown {
			t.Errorf("%s ended as %+v", text, end)
		}
		for _, number := range []string{anneNumber, bobNumber} {
			s.await(text+" at "+number, func() bool { return s.decrypted(number, text) > 0 })
			if n := s.decrypted(number, text); n != 1 {
				t.Errorf("%s read %q %d times", number, text, n)
			}
		}
	}
}
