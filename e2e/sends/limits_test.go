package sends

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"postern/cli/consumer"
	"postern/e2e/rig"
	"postern/event"
	"postern/sandbox"
)

// limited is a program with an instance whose limits can be set.
type limited struct {
	*rig.SendScene
	t *testing.T
}

func newLimited(t *testing.T, env ...string) limited {
	t.Helper()
	return limited{rig.NewSendScene(t, env...), t}
}

func (s limited) set(limits string) {
	s.t.Helper()
	if a := s.Request(s.t, http.MethodPut, "/instance/"+rig.SceneName+"/limits", "application/json", strings.NewReader(limits)); a.Status != http.StatusOK {
		s.t.Fatalf("limits: %d %s", a.Status, a.Body)
	}
}

type use struct{ Limit, Used int64 }

func (s limited) uses() (all struct {
	PerMinute, PerHour, PerDay, NewContactsPerDay *use
},
) {
	s.t.Helper()
	var status struct{ Limits json.RawMessage }
	s.Call(consumer.Bearer(s.Token), http.MethodGet, "/instance/"+rig.SceneName+"/connection/status", nil, &status)
	if err := json.Unmarshal(status.Limits, &all); err != nil {
		s.t.Fatal(err)
	}
	return all
}

// text sends one and returns the status of the answer and its code.
func (s limited) text(number, text string) string {
	s.t.Helper()
	a := s.PostJSON(s.t, s.Fill("/instance/$name/send/text"), fmt.Sprintf(`{"number":%q,"textMessage":{"text":%q}}`, number, text))
	var refused struct{ Code string }
	_ = json.Unmarshal(a.Body, &refused)
	return strings.TrimSpace(fmt.Sprint(a.Status, " ", refused.Code))
}

// arrived counts the messages that phones got from the instance.
func (s limited) arrived(numbers ...string) (n int) {
	for _, number := range numbers {
		if phone, ok := s.Sandbox.Phone(number); ok {
			for _, m := range phone.Received() {
				n += m.Count
			}
		}
	}
	return n
}

// TestConcurrentSendsRespectTheLimit, at each kind of limit.
func TestConcurrentSendsRespectTheLimit(t *testing.T) {
	for _, limits := range []string{`{"perMinute":10}`, `{"perHour":10}`, `{"perDay":10}`, `{"warmUp":{"from":10,"to":10,"days":1}}`} {
		t.Run(limits, func(t *testing.T) {
			s := newLimited(t)
			s.set(limits)
			answers, texts := burst(t, s.SendScene, 64)
			if answers["200"] != 10 || answers["429 INSTANCE_LIMIT"] != 54 || len(texts) != 10 {
				t.Errorf("answers %v", answers)
			}
			if n := s.arrived(rig.AnneNumber); n != 10 {
				t.Errorf("%d arrived", n)
			}
		})
	}
}

// TestConcurrentNewContactsRespectTheLimit, and each as often as wanted.
func TestConcurrentNewContactsRespectTheLimit(t *testing.T) {
	s := newLimited(t)
	s.set(`{"newContactsPerDay":10}`)
	var mu sync.Mutex
	var wg sync.WaitGroup
	answers, written := map[string]int{}, ""
	for i := range 64 {
		wg.Go(func() {
			number := fmt.Sprintf("4917655%05d", i+1)
			got := s.text(number, "hello")
			mu.Lock()
			defer mu.Unlock()
			if answers[got]++; got == "200" {
				written = number
			}
		})
	}
	wg.Wait()
	if answers["200"] != 10 || answers["429 INSTANCE_LIMIT"] != 54 {
		t.Errorf("answers %v", answers)
	}
	if got := s.text(written, "again"); got != "200" {
		t.Errorf("a new contact of today, once more: %s", got)
	}
	lid, _ := s.Sandbox.Phone(written)
	if got := s.text(lid.LID().String(), "by LID"); got != "200" {
		t.Errorf("the same person by LID: %s", got)
	}
	if got := s.text("4917655999999", "hello"); got != "429 INSTANCE_LIMIT" {
		t.Errorf("an eleventh: %s", got)
	}
	// Who writes is no new contact.
	stranger, err := s.Sandbox.AddPhone(sandbox.PhoneOptions{Number: "4917655888888"})
	if err != nil {
		t.Fatal(err)
	}
	from := len(s.Webhooks())
	own, _ := s.Sandbox.Phone(s.Fill("$own"))
	if _, err := stranger.SendText(t.Context(), own.JID(), "I have a question"); err != nil {
		t.Fatal(err)
	}
	s.AwaitEvent(t, from, event.MessagesUpsert, `{"keyFromMe":false}`)
	if got := s.text("4917655888888", "an answer"); got != "200" {
		t.Errorf("an answer to somebody who wrote: %s", got)
	}
	if u := s.uses().NewContactsPerDay; u == nil || *u != (use{10, 10}) {
		t.Errorf("used %+v", u)
	}
}

// TestBatchResumesWhenALimitIsRaised, and by itself after the
// minute; what the API sends counts too.
func TestBatchResumesWhenALimitIsRaised(t *testing.T) {
	s := newLimited(t)
	s.set(`{"perMinute":3,"perDay":4}`)
	if got := s.text(rig.AnneNumber, "one by the API"); got != "200" {
		t.Fatal(got)
	}
	numbers := []string{"4917656000001", "4917656000002", "4917656000003", "4917656000004", "4917656000005"}
	b := s.CreateBatch("limited", []string{rig.SceneName}, numbers)
	s.Await("the batch waits", func() bool { return s.Batch(b.ID).Status == event.BatchWaitingForInstance })
	s.Await("two at their phones, which read after the network has acknowledged", func() bool { return s.arrived(numbers...) >= 2 })
	if n := s.arrived(numbers...); n != 2 {
		t.Errorf("%d left beside one by the API, at a limit of 3", n)
	}
	if got := s.text(rig.AnneNumber, "one more"); got != "429 INSTANCE_LIMIT" {
		t.Errorf("by the API: %s", got)
	}
	s.set(`{"perMinute":4}`)
	s.Await("one more", func() bool { return s.arrived(numbers...) == 3 })
	s.Await("the batch waits", func() bool { return s.Batch(b.ID).Status == event.BatchWaitingForInstance })
	s.set(`{"perMinute":100}`)
	s.Await("the end", func() bool { return s.Batch(b.ID).Status == event.BatchIsCompleted })
	if c := s.Batch(b.ID).Counts; c.Success != 5 || s.arrived(numbers...) != 5 {
		t.Errorf("%+v", c)
	}
	if u := s.uses().PerMinute; *u != (use{100, 6}) {
		t.Errorf("used %+v", u)
	}
	s.AwaitOutbox()
	if resumed := s.Seen(string(event.BatchResumed)); resumed != 2 {
		t.Errorf("resumed %d times: somebody polled", resumed)
	}
	s.Stop()
}

// TestARestartForgetsNoDeparture: after an orderly end, and after a kill in a
// pause.
func TestARestartForgetsNoDeparture(t *testing.T) {
	s := newLimited(t)
	s.set(`{"perHour":5,"newContactsPerDay":2}`)
	for n := range 3 {
		if got := s.text(rig.AnneNumber, fmt.Sprint("text ", n)); got != "200" {
			t.Fatal(got)
		}
	}
	s.Stop()
	s.Start()
	s.Online(t)
	if u := s.uses(); *u.PerHour != (use{5, 3}) || *u.NewContactsPerDay != (use{2, 1}) {
		t.Errorf("after a stop: %+v %+v", u.PerHour, u.NewContactsPerDay)
	}
	if got := s.text(rig.AnneNumber, "the fourth"); got != "200" {
		t.Fatal(got)
	}
	time.Sleep(1500 * time.Millisecond) // nothing is about to leave any more
	s.Kill()
	s.Start()
	s.Online(t)
	if u := s.uses(); *u.PerHour != (use{5, 4}) || *u.NewContactsPerDay != (use{2, 1}) {
		t.Errorf("after a kill: %+v %+v", u.PerHour, u.NewContactsPerDay)
	}
	if got := s.text(rig.AnneNumber, "the fifth"); got != "200" {
		t.Fatal(got)
	}
	if got := s.text(rig.AnneNumber, "the sixth"); got != "429 INSTANCE_LIMIT" {
		t.Error(got)
	}
}

// TestNoKillFreesAnybodyOfALimit: the program is killed while it sends, between
// any two instructions, and what arrived is never more than the limit.
func TestNoKillFreesAnybodyOfALimit(t *testing.T) {
	s := newLimited(t)
	const limit = 60
	s.set(fmt.Sprintf(`{"perHour":%d}`, limit))
	var lost int
	for life := 0; s.uses().PerHour.Used < limit; life++ {
		var wg sync.WaitGroup
		for i := range 4 + life%5 {
			wg.Go(func() {
				for n := range 20 {
					body := fmt.Sprintf(`{"number":"%s","textMessage":{"text":"life %d %d %d"}}`, rig.AnneNumber, life, i, n)
					err := s.API.Call(t.Context(), consumer.Bearer(s.Token), http.MethodPost, s.Fill("/instance/$name/send/text"), json.RawMessage(body), nil)
					if err != nil {
						return
					}
				}
			})
		}
		time.Sleep(time.Duration(2+7*life%60) * time.Millisecond)
		s.Kill()
		wg.Wait()
		s.Start()
		s.Online(t)
		arrived, used := s.arrived(rig.AnneNumber), int(s.uses().PerHour.Used)
		if arrived > used {
			t.Fatalf("life %d: %d arrived, %d are counted", life, arrived, used)
		}
		lost = used - arrived
		if life > 60 {
			t.Fatal("too few messages leave")
		}
	}
	for range 3 {
		if got := s.text(rig.AnneNumber, "one more"); got != "429 INSTANCE_LIMIT" {
			t.Error(got)
		}
	}
	t.Logf("%d of %d may have left before a kill and did not", lost, limit)
}

// TestJitterSpacesWhatAnInstanceSends, for every caller.
func TestJitterSpacesWhatAnInstanceSends(t *testing.T) {
	t.Parallel() // it waits more than it works
	s := newLimited(t)
	s.set(`{"jitterMs":{"min":300,"max":500}}`)
	begin := time.Now()
	b := s.CreateBatch("spaced", []string{rig.SceneName}, []string{"4917657000001", "4917657000002", "4917657000003"})
	answers, _ := burst(t, s.SendScene, 3)
	if answers["200"] != 3 {
		t.Errorf("answers %v", answers)
	}
	s.Await("the end of the batch", func() bool { return s.Batch(b.ID).Status == event.BatchIsCompleted })
	if took := time.Since(begin); took < 5*300*time.Millisecond {
		t.Errorf("six messages left within %s", took)
	}
	s.AwaitOutbox()
	if n := s.Seen(string(event.BatchWaitingInstance)); n != 0 {
		t.Errorf("the batch said %d times that it waits for an instance", n)
	}
}

// TestBatchSendsToAStrangerWhoWrote, although the day's new contacts are used
// up, and writes to those it knows meanwhile.
func TestBatchSendsToAStrangerWhoWrote(t *testing.T) {
	s := newLimited(t)
	s.set(`{"newContactsPerDay":1}`)
	numbers := []string{"4917658000001", "4917658000002", "4917658000003"}
	b := s.CreateBatch("strangers", []string{rig.SceneName}, numbers)
	s.Await("the batch waits", func() bool { return s.Batch(b.ID).Status == event.BatchWaitingForInstance })
	if n := s.arrived(numbers...); n != 1 {
		t.Errorf("%d new contacts were written to", n)
	}
	own, _ := s.Sandbox.Phone(s.Fill("$own"))
	for n := 1; n < 3; n++ {
		stranger, ok := s.Sandbox.Phone(numbers[3-n])
		if !ok {
			var err error
			if stranger, err = s.Sandbox.AddPhone(sandbox.PhoneOptions{Number: numbers[3-n]}); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := stranger.SendText(t.Context(), own.JID(), "hello"); err != nil {
			t.Fatal(err)
		}
		s.Await("one more", func() bool { return s.arrived(numbers...) == 1+n })
	}
	s.Await("the end", func() bool { return s.Batch(b.ID).Status == event.BatchIsCompleted })
}

// TestQuietHoursApplyToAPIAndBatches, and their end wakes a batch.
func TestQuietHoursApplyToAPIAndBatches(t *testing.T) {
	s := newLimited(t)
	now := time.Now().UTC()
	clock := func(d time.Duration) string { return now.Add(d).Format("15:04") }
	s.set(fmt.Sprintf(`{"quietHours":{"from":%q,"to":%q},"timezone":"UTC"}`, clock(-2*time.Hour), clock(2*time.Hour)))
	if got := s.text(rig.AnneNumber, "hello"); got != "429 INSTANCE_LIMIT" {
		t.Errorf("by the API: %s", got)
	}
	b := s.CreateBatch("quiet", []string{rig.SceneName}, []string{rig.AnneNumber})
	s.Await("the batch waits", func() bool { return s.Batch(b.ID).Status == event.BatchWaitingForInstance })
	s.set(fmt.Sprintf(`{"quietHours":{"from":%q,"to":%q},"timezone":"UTC"}`, clock(2*time.Hour), clock(-2*time.Hour)))
	s.Await("the end", func() bool { return s.Batch(b.ID).Status == event.BatchIsCompleted })
}

// TestEveryMessageThatLeavesCountsInLimits: votes, pins, reactions and edits too. Over the limit each of them is refused
// and does not leave; a deletion is never refused.
func TestEveryMessageThatLeavesCountsInLimits(t *testing.T) {
	t.Parallel()
	s := newLimited(t)
	s.set(`{"perDay":1000}`)
	poll := s.Sent(t, 0, s.PostJSON(t, s.Fill("/instance/$name/send/poll"), `{"number":"$anne","pollMessage":{"name":"When?","selectableCount":1,"options":["now","later"]}}`), `{}`)
	text := s.Sent(t, 0, s.PostJSON(t, s.Fill("/instance/$name/send/text"), `{"number":"$anne","textMessage":{"text":"fersh"}}`), `{}`)
	messages := []struct{ path, body string }{
		{"send/poll-vote", fmt.Sprintf(`{"messageId":%d,"options":["now"]}`, poll.ID)},
		{"chat/pin-message", fmt.Sprintf(`{"messageId":%d,"pinned":true}`, text.ID)},
		{"send/reaction", fmt.Sprintf(`{"reactionMessage":{"key":{"remoteJid":"$anne","id":%q,"fromMe":true},"reaction":"+"}}`, text.KeyID)},
		{"chat/edit-message", fmt.Sprintf(`{"messageId":%d,"text":"fresh"}`, text.ID)},
	}
	for i, m := range messages {
		if a := s.PostJSON(t, s.Fill("/instance/$name/"+m.path), m.body); a.Status != http.StatusOK {
			t.Fatalf("%s: %d %s", m.path, a.Status, a.Body)
		}
		if u := s.uses().PerDay; u.Used != int64(3+i) {
			t.Errorf("after %s %d are used, want %d", m.path, u.Used, 3+i)
		}
	}
	s.set(`{"perDay":6}`)
	anne, _ := s.Sandbox.Phone(rig.AnneNumber)
	before := len(anne.Received())
	for _, m := range messages {
		if a := s.PostJSON(t, s.Fill("/instance/$name/"+m.path), m.body); a.Status != http.StatusTooManyRequests || !strings.Contains(string(a.Body), "INSTANCE_LIMIT") || !strings.Contains(string(a.Body), "perDay") {
			t.Errorf("%s over the limit: %d %s", m.path, a.Status, a.Body)
		}
	}
	if after := len(anne.Received()); after != before {
		t.Errorf("%d refused messages arrived", after-before)
	}
	if status, answer := s.Raw(consumer.Bearer(s.Token), http.MethodDelete, s.Fill("/instance/$name/chat/delete-message?id="+fmt.Sprint(text.ID)), ""); status != http.StatusNoContent {
		t.Errorf("a deletion over the limit: %d %s", status, answer)
	}
	if u := s.uses().PerDay; u.Used != 6 {
		t.Errorf("%d are used at the end", u.Used)
	}
}
