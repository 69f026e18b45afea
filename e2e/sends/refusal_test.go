package sends

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"postern/cli/consumer"
	"postern/e2e/rig"
	"postern/event"
)

// shown is what connection/status reports about a restriction.
type shown struct {
	Kind, Source string
	Since, Until time.Time
	Code, Count  int
}

func restrictionOf(s *rig.Scene) *shown {
	var status struct{ Restriction *shown }
	s.Call(consumer.Bearer(s.Token), http.MethodGet, "/instance/"+rig.SceneName+"/connection/status", nil, &status)
	return status.Restriction
}

// send sends a text by the API and returns the answer.
func send(s *rig.Scene, number string) (status int, answer string) {
	return s.Raw(consumer.Bearer(s.Token), http.MethodPost, "/instance/"+rig.SceneName+"/send/text",
		fmt.Sprintf(`{"number":%q,"textMessage":{"text":"hello"}}`, number))
}

// whole is what /processing reports about a batch.
type whole struct {
	Status event.BatchStatus
	Counts event.BatchCounts
	Held   []struct {
		InstanceName, Reason, Message string
		StrangersOnly                 bool
	}
	Recipients []struct {
		Status   string
		Attempts []struct{ Status, ErrorCode string }
	}
}

func processingOf(s *rig.Scene, b rig.BatchAnswer) (w whole) {
	s.Call(consumer.Bearer(s.User), http.MethodGet, "/message/batches/"+b.ID.String()+"/processing", nil, &w)
	return w
}

func strangers(n int) []string {
	all := make([]string, n)
	for i := range all {
		all[i] = fmt.Sprintf("55119555%05d", i+1)
	}
	return all
}

// TestRefusal463LosesNoRecipient goes from the refusal on the
// wire, without notice, to the file.
func TestRefusal463LosesNoRecipient(t *testing.T) {
	if testing.Short() {
		t.Skip("starts real processes")
	}
	s := rig.NewScene(t)
	s.Online(t)
	s.Do(t, rig.Act("$own", `{"do":"reachout-timelock","seconds":3600,"silent":true}`))
	s.Do(t, rig.Act("$anne", `{"do":"text","to":"$own","text":"hi"}`))
	s.Await("the message of the one who is known", func() bool { return s.Seen(string(event.MessagesUpsert)) > 0 })
	begin := time.Now()
	b := s.CreateBatch("locked", []string{rig.SceneName}, append(strangers(4), rig.AnneNumber))
	s.Await("the batch waits", func() bool { return s.Batch(b.ID).Status == event.BatchWaitingForInstance })

	w := processingOf(s, b)
	if w.Counts.Failed != 0 || w.Counts.Unknown != 0 || w.Counts.Pending != 4 || w.Recipients[4].Status != "SUCCESS" {
		t.Errorf("%+v", w)
	}
	if a := w.Recipients[0].Attempts; len(a) != 1 || a[0].Status != "INSTANCE_UNAVAILABLE" || a[0].ErrorCode != "REACHOUT_TIMELOCKED" {
		t.Errorf("attempts %+v", a)
	}
	if len(w.Held) != 1 || w.Held[0].Reason != "REACHOUT_TIMELOCKED" || !w.Held[0].StrangersOnly {
		t.Errorf("held %+v", w.Held)
	}
	r := restrictionOf(s)
	if r == nil || r.Kind != "reachout_timelock" || r.Source != "inferred" || r.Since.Before(begin.Add(-time.Second)) || r.Until.Sub(r.Since) != 6*time.Hour {
		t.Fatalf("restriction %+v", r)
	}
	if status, answer := send(s, strangers(9)[8]); status != 422 || !strings.Contains(answer, `"REACHOUT_TIMELOCKED"`) || !strings.Contains(answer, "until ") {
		t.Errorf("a send to a stranger: %d %s", status, answer)
	}
	if status, answer := send(s, rig.AnneNumber); status != 200 {
		t.Errorf("a send to somebody known: %d %s", status, answer)
	}

	s.Kill()
	s.Start()
	s.Online(t)
	after := restrictionOf(s)
	if after == nil || after.Source != "inferred" || !after.Since.Equal(r.Since) {
		t.Errorf("after a kill %+v, before %+v", after, r)
	}
	s.Do(t, rig.Act("$own", `{"do":"reachout-timelock","seconds":1800}`))
	s.Await("the notice", func() bool {
		now := restrictionOf(s)
		return now != nil && now.Source == "notified" && time.Until(now.Until) < time.Hour
	})
	s.Do(t, rig.Act("$own", `{"do":"reachout-timelock"}`))
	s.Await("the end of the batch", func() bool { return s.Batch(b.ID).Status == event.BatchIsCompleted })
	if r := restrictionOf(s); r != nil {
		t.Errorf("lifted: %+v", r)
	}
	s.Stop()
}

func TestPrivacyTokenAllowsSendsDespiteRestriction(t *testing.T) {
	if testing.Short() {
		t.Skip("starts real processes")
	}
	s := rig.NewScene(t)
	s.Online(t)
	if status, answer := send(s, rig.AnneNumber); status != 200 {
		t.Fatalf("%d %s", status, answer)
	}
	s.Do(t, rig.Act("$own", `{"do":"reachout-timelock","seconds":3600}`))
	s.Await("the restriction", func() bool { return restrictionOf(s) != nil })
	b := s.CreateBatch("token", []string{rig.SceneName}, []string{strangers(1)[0], rig.AnneNumber})
	waits := s.CreateBatchOf(map[string]any{
		"name": "waits", "instances": []string{rig.SceneName}, "recipients": []string{rig.AnneNumber}, "options": map[string]any{"whenRestricted": "wait"},
		"message": map[string]any{"type": "text", "payload": map[string]any{"text": "hello"}},
	})
	for _, id := range []rig.BatchAnswer{b, waits} {
		s.Await("the batch waits", func() bool { return s.Batch(id.ID).Status == event.BatchWaitingForInstance })
	}
	s.Do(t, rig.Act("$anne", `{"do":"privacy-token","to":"$own"}`))
	s.Await("the send to who gave a token", func() bool { return s.Batch(b.ID).Counts.Success == 1 })
	if got := s.Batch(waits.ID); got.Counts.Success != 0 || got.Status != event.BatchWaitingForInstance {
		t.Errorf("a batch that waits with all: %+v", got)
	}
	s.Do(t, rig.Act("$own", `{"do":"reachout-timelock"}`))
	s.Await("the end of the batches", func() bool {
		return s.Batch(b.ID).Status == event.BatchIsCompleted && s.Batch(waits.ID).Status == event.BatchIsCompleted
	})
	s.Stop()
}

// TestFailureStreakBenchesAndReconnectsOnce makes WhatsApp refuse
// every message with one code.
func TestFailureStreakBenchesAndReconnectsOnce(t *testing.T) {
	if testing.Short() {
		t.Skip("starts real processes")
	}
	s := rig.NewScene(t, "MESSAGE_BATCH_FAILURE_STREAK=5")
	s.Online(t)
	s.Do(t, rig.Route(http.MethodPost, "/sandbox/faults", `{"sendError":479}`))
	connected := s.Seen(string(event.ConnectionUpdated))
	begin := time.Now()
	b := s.CreateBatch("streak", []string{rig.SceneName}, strangers(20))
	s.Await("the bench", func() bool { r := restrictionOf(s); return r != nil && r.Kind == "failure_streak" })
	s.Await("the batch waits", func() bool { return s.Batch(b.ID).Status == event.BatchWaitingForInstance })
	if got := s.Batch(b.ID); got.Counts.Failed != 5 || got.Counts.Pending != 15 {
		t.Errorf("%+v", got)
	}
	r := restrictionOf(s)
	if r.Code != 479 || r.Count != 5 || r.Source != "inferred" || r.Until.Before(begin.Add(time.Hour)) || r.Until.After(time.Now().Add(time.Hour)) {
		t.Errorf("%+v", r)
	}
	if w := processingOf(s, b); len(w.Held) != 1 || w.Held[0].Reason != "FAILURE_STREAK" || w.Held[0].StrangersOnly || !strings.Contains(w.Held[0].Message, "479") {
		t.Errorf("held %+v", w.Held)
	}
	s.AwaitEvent(t, 0, event.StatusInstance, `{"type":"account.restricted","reason":{"code":479,"count":5,"until":"*"}}`)
	if n := s.Seen(string(event.ConnectionUpdated)) - connected; n != 1 {
		t.Errorf("it reconnected %d times", n)
	}
	s.Kill()
	s.Start()
	s.Online(t)
	if again := restrictionOf(s); again == nil || !again.Until.Equal(r.Until) || s.Batch(b.ID).Counts.Failed != 5 {
		t.Errorf("after a kill %+v, before %+v", again, r)
	}
	s.Stop()
}
