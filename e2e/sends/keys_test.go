package sends

import (
	"encoding/json"
	"fmt"
	"net/http"
	"testing"
	"time"

	"postern/e2e/rig"
	"postern/event"
	"postern/sandbox"
)

// TestMentionAllUnderAKeyIsSentOnce repeats such requests while
// they are on their way, while they wait, after a kill and after their end.
func TestMentionAllUnderAKeyIsSentOnce(t *testing.T) {
	const waiting = 5
	s := rig.NewSendScene(t, "MESSAGE_PROCESSING_WORKERS=1", fmt.Sprintf("MESSAGE_PROCESSING_QUEUE_SIZE=%d", waiting))
	s.Do(t, rig.Act("$own", `{"do":"group-create","subject":"All","participants":["$anne","$bob"]}`).As("all"))
	path := s.Fill("/instance/$name/send/text")
	ask := func(key, text string) rig.KeyedAnswer {
		return s.MustWithKey(s.Token, key, path, map[string]any{
			"chat": s.Vars["all.group"], "textMessage": map[string]any{"text": text}, "options": map[string]any{"mentionAll": true},
		})
	}
	first := map[string]rig.KeyedAnswer{}
	accept := func(key string) {
		t.Helper()
		a := ask(key, key)
		if a.Status != http.StatusAccepted || a.Replayed {
			t.Fatalf("%s: %v", key, a)
		}
		first[key] = a
	}
	repeat := func(when string) {
		t.Helper()
		for key, want := range first {
			want.Replayed = true
			if got := ask(key, key); got != want {
				t.Errorf("%s, %s:\n got %v\nwant %v", when, key, got, want)
			}
		}
	}
	s.Sandbox.SetFaults(sandbox.Faults{AckDelay: time.Hour})
	accept("on its way")
	s.Await("the first to be on its way", func() bool { return s.Decrypted(rig.AnneNumber, "on its way") == 1 })
	for i := range waiting {
		accept(fmt.Sprint("waits ", i))
	}
	repeat("before the kill")
	for _, again := range []string{"on its way", "waits 0"} {
		if a := ask(again, "another text"); a.Status != http.StatusConflict || a.Field("code") != "IDEMPOTENCY_KEY_REUSED" {
			t.Errorf("another text under %q: %v", again, a)
		}
	}
	if a := ask("later", "later"); a.Field("code") != "MESSAGE_PROCESSING_QUEUE_FULL" {
		t.Errorf("beyond the queue: %v", a)
	}
	s.Kill()
	s.Sandbox.SetFaults(sandbox.Faults{})
	s.Start()
	repeat("after the kill")
	s.Await("the end of all", func() bool { return len(ends(t, s)) == len(first) })
	repeat("after the end")
	accept("later") // the refusal has freed the key
	s.Await("the end of the last", func() bool { return len(ends(t, s)) == len(first) })
	eachOnce(t, s, first)
	s.Stop()
}

// ends returns the results of asynchronous sends by process. Each is reported once, or
// in the same words again.
func ends(t *testing.T, s *rig.SendScene) map[string]event.SendResult {
	t.Helper()
	all := map[string]event.SendResult{}
	for _, r := range s.Webhooks() {
		var e struct{ Data event.SendResult }
		if r.Event != string(event.SendMessage) || json.Unmarshal(r.Body, &e) != nil {
			continue
		}
		if before, reported := all[e.Data.ProcessID]; reported && before.Status != e.Data.Status {
			t.Errorf("%s ended as %s and as %s", e.Data.ProcessID, before.Status, e.Data.Status)
		}
		all[e.Data.ProcessID] = e.Data
	}
	return all
}

// eachOnce compares what was accepted with its end and what the phones read.
func eachOnce(t *testing.T, s *rig.SendScene, accepted map[string]rig.KeyedAnswer) {
	t.Helper()
	endOf := ends(t, s)
	for text, a := range accepted {
		end, reported := endOf[a.Field("processId")]
		want := event.AsyncSent
		if text == "on its way" {
			want = event.AsyncFailed
		}
		if !reported || end.Status != want || want == event.AsyncFailed && end.Error.Code != event.SendResultUnknown {
			t.Errorf("%s ended as %+v", text, end)
		}
		for _, number := range []string{rig.AnneNumber, rig.BobNumber} {
			s.Await(text+" at "+number, func() bool { return s.Decrypted(number, text) > 0 })
			if n := s.Decrypted(number, text); n != 1 {
				t.Errorf("%s read %q %d times", number, text, n)
			}
		}
	}
}
