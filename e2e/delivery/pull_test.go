package delivery

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"postern/cli/consumer"
	"postern/e2e/rig"
)

// pulled is an answer with events.
type pulled struct {
	Events []struct {
		Sequence  uint64
		Event     string
		WebhookID string
		CreatedAt time.Time
		Body      json.RawMessage
	}
	Next uint64
	More bool
}

const eventsPath = "/instance/" + rig.SceneName + "/events"

// pull asks for the events of a consumer.
func (s *shop) pull(name, query string) (is pulled) {
	s.t.Helper()
	s.Call(consumer.Bearer(s.Token), http.MethodGet, eventsPath+"?consumer="+name+query, nil, &is)
	return is
}

// ask calls a route below the events of the instance.
func (s *shop) ask(method, path, body string) (status int, answer string) {
	s.t.Helper()
	return s.Raw(consumer.Bearer(s.Token), method, eventsPath+path, body)
}

func (s *shop) moves(path, body string) (position uint64) {
	s.t.Helper()
	status, answer := s.ask(http.MethodPost, path, body)
	var is struct{ Position uint64 }
	if err := json.Unmarshal([]byte(answer), &is); err != nil || status != http.StatusOK {
		s.t.Fatalf("%s %s: %d %s", path, body, status, answer)
	}
	return is.Position
}

// texts returns the texts of pulled messages.
func (p pulled) texts() string {
	var all []string
	for _, e := range p.Events {
		var m struct {
			Data struct {
				Content struct{ Text string }
			}
		}
		_ = json.Unmarshal(e.Body, &m)
		all = append(all, m.Data.Content.Text)
	}
	return strings.Join(all, " ")
}

const messagesOnly = "&event=messages.upsert"

// pulling is a shop whose events are stored, with a consumer that begins now.
func pulling(t *testing.T, options string) *shop {
	t.Helper()
	s := newShop(t)
	s.options(options)
	s.pull("crm", "&from=now")
	return s
}

// TestPulledEventsComeAgainUntilAcknowledged, with the bodies that webhooks get, over kills.
func TestPulledEventsComeAgainUntilAcknowledged(t *testing.T) {
	s := pulling(t, `{"durable":true}`)
	hook := newReceiver(t, nil)
	s.webhook(hook.URL)
	for _, text := range []string{"one", "two", "three"} {
		s.anneWrites(text)
		a := hook.next(s, text)
		first := s.pull("crm", messagesOnly)
		last := first.Events[len(first.Events)-1]
		if string(last.Body) != string(a.body) || last.WebhookID != a.header.Get("webhook-id") {
			t.Errorf("pulled %s %s, the webhook got %s %s", last.WebhookID, last.Body, a.header.Get("webhook-id"), a.body)
		}
	}
	first := s.pull("crm", messagesOnly+"&limit=2")
	if first.texts() != "one two" || !first.More || first.Next != first.Events[1].Sequence {
		t.Fatalf("%+v", first)
	}
	s.Kill()
	s.Start()
	if again := s.pull("crm", messagesOnly+"&limit=2"); again.texts() != "one two" {
		t.Errorf("unacknowledged, after a kill: %s", again.texts())
	}
	if at := s.moves("/ack", fmt.Sprintf(`{"consumer":"crm","sequence":%d}`, first.Next)); at != first.Next {
		t.Errorf("position %d after an acknowledgement of %d", at, first.Next)
	}
	s.Kill()
	s.Start()
	rest := s.pull("crm", messagesOnly)
	if rest.texts() != "three" {
		t.Errorf("after the acknowledgement and a kill: %s", rest.texts())
	}
	if at := s.moves("/ack", `{"consumer":"crm","sequence":0}`); at != first.Next {
		t.Errorf("an acknowledgement moved the position back to %d", at)
	}
	status, answer := s.ask(http.MethodPost, "/ack", fmt.Sprintf(`{"consumer":"crm","sequence":%d}`, rest.Next+1000))
	if status != http.StatusBadRequest || !strings.Contains(answer, "INVALID_SEQUENCE") {
		t.Errorf("ahead of the newest: %d %s", status, answer)
	}
	other := s.pull("second", messagesOnly)
	if other.texts() != "one two three" {
		t.Errorf("a consumer that begins at the oldest event: %s", other.texts())
	}
	var list struct {
		Consumers []struct {
			Consumer                               string
			Position, Lag                          uint64
			OldestWaitingAt, LastPullAt, LastAckAt *time.Time
		}
	}
	s.Call(consumer.Bearer(s.Token), http.MethodGet, eventsPath+"/consumers", nil, &list)
	if len(list.Consumers) != 2 || list.Consumers[0].Consumer != "crm" || list.Consumers[0].Position != first.Next || list.Consumers[0].Lag == 0 ||
		list.Consumers[0].OldestWaitingAt == nil || list.Consumers[0].LastAckAt == nil || list.Consumers[1].LastPullAt == nil || list.Consumers[1].LastAckAt != nil {
		t.Errorf("%+v", list)
	}
}

// TestSeekMovesAConsumerAnywhere: by number, to the oldest event, and by time.
func TestSeekMovesAConsumerAnywhere(t *testing.T) {
	s := pulling(t, `{"durable":true}`)
	var made []pulled
	for _, text := range []string{"one", "two", "three"} {
		s.anneWrites(text)
		s.Await("the event", func() bool { return strings.Contains(s.pull("crm", messagesOnly).texts(), text) })
		made = append(made, s.pull("crm", messagesOnly))
		time.Sleep(5 * time.Millisecond)
	}
	all := made[2].Events
	for body, want := range map[string]string{
		fmt.Sprintf(`{"consumer":"crm","sequence":%d}`, all[1].Sequence):                                             "three",
		`{"consumer":"crm","sequence":0}`:                                                                            "one two three",
		fmt.Sprintf(`{"consumer":"crm","time":%q}`, all[1].CreatedAt.Format(time.RFC3339Nano)):                       "two three",
		fmt.Sprintf(`{"consumer":"crm","time":%q}`, all[1].CreatedAt.Add(time.Millisecond).Format(time.RFC3339Nano)): "three",
		`{"consumer":"crm","time":"2001-01-01T00:00:00Z"}`:                                                           "one two three",
		`{"consumer":"crm","time":"2099-01-01T00:00:00Z"}`:                                                           "",
	} {
		s.moves("/seek", body)
		if got := s.pull("crm", messagesOnly).texts(); got != want {
			t.Errorf("%s: %q, not %q", body, got, want)
		}
	}
	for body, code := range map[string]string{
		`{"consumer":"crm","sequence":100000}`:                          "400 INVALID_SEQUENCE",
		`{"consumer":"crm"}`:                                            "400 INVALID_SEQUENCE",
		`{"consumer":"crm","sequence":0,"time":"2001-01-01T00:00:00Z"}`: "400 INVALID_SEQUENCE",
		`{"consumer":"unknown","sequence":0}`:                           "404 CONSUMER_NOT_FOUND",
	} {
		status, answer := s.ask(http.MethodPost, "/seek", body)
		if got := fmt.Sprint(status, " ", answer); !strings.HasPrefix(got, code[:3]) || !strings.Contains(got, code[4:]) {
			t.Errorf("%s: %s, not %s", body, got, code)
		}
	}
}

// TestPullWaitsForAnEvent as long as asked, and looks at the credential again.
func TestPullWaitsForAnEvent(t *testing.T) {
	s := pulling(t, `{"durable":true}`)
	began := time.Now()
	if is := s.pull("crm", "&wait=1&event=messages.delete"); len(is.Events) > 0 || time.Since(began) < time.Second {
		t.Errorf("%+v after %v", is, time.Since(began))
	}
	answers := make(chan pulled, 1)
	go func() { answers <- s.pull("crm", "&wait=30&event=messages.upsert") }()
	time.Sleep(50 * time.Millisecond)
	s.anneWrites("here")
	select {
	case is := <-answers:
		if is.texts() != "here" {
			t.Errorf("%+v", is)
		}
	case <-time.After(10 * time.Second):
		t.Fatal("no answer came with the event")
	}
	denied := make(chan int, 1)
	go func() {
		status, _ := s.ask(http.MethodGet, "?consumer=late&from=now&event=messages.delete&wait=2", "")
		denied <- status
	}()
	time.Sleep(100 * time.Millisecond)
	s.operator(http.MethodPut, "/instance/"+rig.SceneName+"/token", nil, nil)
	if status := <-denied; status != http.StatusUnauthorized {
		t.Errorf("the token was replaced during the wait: %d", status)
	}
}

// TestLossOfPulledEventsIsNeverSilent: a position whose next event is not kept is 410 until a seek.
func TestLossOfPulledEventsIsNeverSilent(t *testing.T) {
	s := pulling(t, `{"durable":true,"maxAge":"1s"}`)
	s.anneWrites("gone")
	s.Await("the event", func() bool { return strings.Contains(s.pull("crm", messagesOnly).texts(), "gone") })
	time.Sleep(1500 * time.Millisecond)
	for range 2 {
		status, answer := s.ask(http.MethodGet, "?consumer=crm", "")
		if status != http.StatusGone || !strings.Contains(answer, "EVENTS_GONE") {
			t.Fatalf("%d %s", status, answer)
		}
	}
	s.options(`{"durable":true,"maxAge":"1h"}`)
	s.anneWrites("kept")
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.API.Base+eventsPath+"?consumer=crm", nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+s.Token)
	resp, err := s.API.HTTP.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	_ = resp.Body.Close()
	oldest := resp.Header.Get("x-event-oldest")
	if resp.StatusCode != http.StatusGone || oldest == "" {
		t.Fatalf("%d, oldest %q", resp.StatusCode, oldest)
	}
	s.moves("/seek", `{"consumer":"crm","sequence":0}`)
	s.Await("the event", func() bool { return strings.Contains(s.pull("crm", messagesOnly).texts(), "kept") })
	if first := s.pull("crm", ""); fmt.Sprint(first.Events[0].Sequence) < oldest {
		t.Errorf("the first event is %d, and the oldest was said to be %s", first.Events[0].Sequence, oldest)
	}
}

// TestPullRefusesWhatBreaksARule and changes nothing.
func TestPullRefusesWhatBreaksARule(t *testing.T) {
	s := newShop(t)
	for _, call := range []struct{ method, path, body string }{
		{http.MethodGet, "?consumer=crm", ""}, {http.MethodPost, "/ack", `{"consumer":"crm","sequence":0}`}, {http.MethodPost, "/seek", `{"consumer":"crm","sequence":0}`},
	} {
		if status, answer := s.ask(call.method, call.path, call.body); status != http.StatusConflict || !strings.Contains(answer, "NOT_DURABLE") {
			t.Errorf("not durable, %s: %d %s", call.path, status, answer)
		}
	}
	if status, answer := s.ask(http.MethodGet, "/consumers", ""); status != http.StatusOK || answer != `{"consumers":[]}` {
		t.Errorf("list: %d %q", status, answer)
	}
	s.options(`{"durable":true}`)
	for query, want := range map[string]string{
		"":                                     "422 INVALID_CONSUMER",
		"?consumer=a%20b":                      "422 INVALID_CONSUMER",
		"?consumer=" + strings.Repeat("a", 65): "422 INVALID_CONSUMER",
		"?consumer=a&limit=0":                  "400 limit",
		"?consumer=a&limit=1001":               "400 limit",
		"?consumer=a&wait=31":                  "400 wait",
		"?consumer=a&wait=-1":                  "400 wait",
		"?consumer=a&from=yesterday":           "400 from",
		"?consumer=a&event=batch.error":        "400 batch.error",
		"?consumer=a&colour=red":               "400 colour",
	} {
		status, answer := s.ask(http.MethodGet, query, "")
		if got := fmt.Sprint(status, " ", answer); !strings.HasPrefix(got, want[:3]) || !strings.Contains(got, want[4:]) {
			t.Errorf("%s: %s, not %s", query, got, want)
		}
	}
	for _, body := range []string{`{"consumer":"a b","sequence":0}`, `{"consumer":"","sequence":0}`} {
		for _, path := range []string{"/ack", "/seek"} {
			if status, answer := s.ask(http.MethodPost, path, body); status != http.StatusUnprocessableEntity || !strings.Contains(answer, "INVALID_CONSUMER") {
				t.Errorf("%s %s: %d %s", path, body, status, answer)
			}
		}
	}
	for i := range 16 {
		s.pull(fmt.Sprint("c", i), "&limit=1")
	}
	if status, answer := s.ask(http.MethodGet, "?consumer=c16", ""); status != http.StatusConflict || !strings.Contains(answer, "TOO_MANY_CONSUMERS") {
		t.Errorf("the seventeenth: %d %s", status, answer)
	}
	if status, answer := s.ask(http.MethodDelete, "/consumers/c3", ""); status != http.StatusNoContent {
		t.Errorf("delete: %d %s", status, answer)
	}
	if status, answer := s.ask(http.MethodDelete, "/consumers/c3", ""); status != http.StatusNotFound {
		t.Errorf("delete again: %d %s", status, answer)
	}
	s.pull("c16", "&limit=1")
}

// TestPullWithoutPairPassesOverCodes that link the account.
func TestPullWithoutPairPassesOverCodes(t *testing.T) {
	s := newShop(t)
	s.options(`{"durable":true}`)
	s.pull("crm", "&from=now")
	s.Call(consumer.Bearer(s.Token), http.MethodDelete, "/instance/shop/logout", nil, nil)
	s.Call(consumer.Bearer(s.Token), http.MethodGet, "/instance/shop/connect", nil, nil)
	s.Await("a code", func() bool { return len(s.pull("crm", "&event=qrcode.updated").Events) > 0 })
	var key struct{ Key string }
	s.operator(http.MethodPost, "/keys", json.RawMessage(`{"name":"reader","instances":["shop"],"scopes":["read"]}`), &key)
	var is pulled
	s.Call(consumer.Key(key.Key), http.MethodGet, eventsPath+"?consumer=crm", nil, &is)
	for _, e := range is.Events {
		if e.Event == "qrcode.updated" {
			t.Errorf("a key without pair got %s", e.Body)
		}
	}
	if len(is.Events) == 0 {
		t.Error("nothing else was pulled")
	}
	var e struct{ Code string }
	s.Raw(consumer.Key(key.Key), http.MethodGet, eventsPath+"?consumer=crm&event=qrcode.updated", "")
	if status, answer := s.Raw(consumer.Key(key.Key), http.MethodGet, eventsPath+"?consumer=crm&event=qrcode.updated", ""); status != http.StatusForbidden {
		t.Errorf("%d %s %s", status, answer, e.Code)
	}
}

// pullAll asks for the events of all instances and batches, as the operator.
func (s *shop) pullAll(name, query string) (is pulled) {
	s.t.Helper()
	s.Call(consumer.Key(s.Sec.GlobalAuthToken), http.MethodGet, "/events?consumer="+name+query, nil, &is)
	return is
}

// TestAllEventsHaveOneSequence: batch events always, and instance events while the global options are durable, with
// and without a global webhook, over kills.
func TestAllEventsHaveOneSequence(t *testing.T) {
	s := newShop(t)
	if is := s.pullAll("crm", ""); len(is.Events) > 0 {
		t.Errorf("before durable: %+v", is)
	}
	s.anneWrites("not stored")
	s.CreateBatch("first", []string{rig.SceneName}, []string{rig.AnneNumber})
	s.Await("the batch events", func() bool { return len(s.pullAll("crm", "&event=message.batch.completed").Events) == 1 })
	s.operator(http.MethodPut, "/webhook/options", json.RawMessage(`{"durable":true}`), nil)
	s.anneWrites("stored")
	s.Await("the instance event", func() bool { return s.pullAll("crm", messagesOnly).texts() == "stored" })
	answers := make(chan pulled, 1)
	go func() { answers <- s.pullAll("late", "&from=now&wait=20&event=message.batch.completed") }()
	time.Sleep(50 * time.Millisecond)
	s.CreateBatch("second", []string{rig.SceneName}, []string{rig.AnneNumber})
	select {
	case is := <-answers:
		if len(is.Events) != 1 {
			t.Errorf("woken with %+v", is)
		}
	case <-time.After(15 * time.Second):
		t.Fatal("a batch event did not end the wait")
	}
	s.Kill()
	s.Start()
	s.AwaitOnline(rig.SceneName, s.Token)
	s.anneWrites("after the kill")
	s.Await("the event after it", func() bool { return s.pullAll("crm", messagesOnly).texts() == "stored after the kill" })
	all := s.pullAll("crm", "&limit=1000")
	kinds := map[string]bool{}
	for i, e := range all.Events {
		kinds[e.Event] = true
		if e.Sequence != all.Events[0].Sequence+uint64(i) || !json.Valid(e.Body) || e.WebhookID == "" {
			t.Errorf("event %d: %d %s %s", i, e.Sequence, e.Event, e.WebhookID)
		}
	}
	for _, kind := range []string{"message.batch.created", "message.batch.progress", "messages.upsert", "send.message"} {
		if !kinds[kind] {
			t.Errorf("no %s among %v", kind, kinds)
		}
	}
	status, answer := s.Raw(consumer.Key(s.Sec.GlobalAuthToken), http.MethodPost, "/events/ack", fmt.Sprintf(`{"consumer":"crm","sequence":%d}`, all.Next))
	if status != http.StatusOK {
		t.Errorf("%d %s", status, answer)
	}
	if rest := s.pullAll("crm", ""); len(rest.Events) > 0 && rest.Events[0].Sequence != all.Next+1 {
		t.Errorf("after the acknowledgement: %+v", rest)
	}
	s.Call(consumer.Key(s.Sec.GlobalAuthToken), http.MethodPost, "/events/seek", json.RawMessage(`{"consumer":"crm","sequence":0}`), nil)
	s.Call(consumer.Bearer(s.Token), http.MethodDelete, "/instance/"+rig.SceneName+"?force=true", nil, nil)
	if texts := s.pullAll("crm", messagesOnly).texts(); texts != "" {
		t.Errorf("of a deleted instance: %s", texts)
	}
	if is := s.pullAll("crm", "&event=message.batch.completed"); len(is.Events) != 2 {
		t.Errorf("batch events after the deletion: %+v", is)
	}
	if status, answer := s.Raw(consumer.Bearer(s.User), http.MethodGet, "/events?consumer=crm", ""); status != http.StatusUnauthorized {
		t.Errorf("a user's token: %d %s", status, answer)
	}
}

// TestPulledBodiesAreTheWebhooksByteForByte, whatever characters the text has.
func TestPulledBodiesAreTheWebhooksByteForByte(t *testing.T) {
	s := pulling(t, `{"durable":true}`)
	hook := newReceiver(t, nil)
	s.webhook(hook.URL)
	const text = "<b>&amp; \u2028\u2029 \"quoted\" \\ é 😀 \u007f"
	act, err := json.Marshal(map[string]string{"do": "text", "to": "$own", "text": text})
	if err != nil {
		t.Fatal(err)
	}
	s.Do(t, rig.Act("$anne", string(act)))
	var a arrival
	s.Await("the webhook", func() bool {
		for _, a = range hook.arrivals() {
			if strings.Contains(string(a.body), "amp;") {
				return true
			}
		}
		return false
	})
	status, answer := s.ask(http.MethodGet, "?consumer=crm"+messagesOnly, "")
	if status != http.StatusOK || !strings.Contains(answer, `"body":`+string(a.body)+`}`) {
		t.Errorf("%d %s\nhas not the bytes of\n%s", status, answer, a.body)
	}
	if got := s.pull("crm", messagesOnly).texts(); got != text {
		t.Errorf("%q", got)
	}
}

// TestPulledBodiesHaveMediaLinksAsOptionsSay: those of an instance by its own options, those of all by the global ones,
// as over a WebSocket, whether or not a webhook exists.
func TestPulledBodiesHaveMediaLinksAsOptionsSay(t *testing.T) {
	s := pulling(t, `{"durable":true}`)
	for i, c := range []struct {
		own, global         string
		wantOwn, wantGlobal bool
	}{
		{`{"durable":true,"media":"link"}`, `{"durable":true}`, true, false},
		{`{"durable":true}`, `{"durable":true,"media":"link"}`, false, true},
	} {
		s.options(c.own)
		s.operator(http.MethodPut, "/webhook/options", json.RawMessage(c.global), nil)
		caption := fmt.Sprint("picture ", i)
		s.Do(t, rig.Act("$anne", `{"do":"image","to":"$own","caption":"`+caption+`"}`))
		linked := func(pull func(name, query string) pulled) (linked, found bool) {
			for _, e := range pull("crm", messagesOnly).Events {
				if strings.Contains(string(e.Body), caption) {
					return strings.Contains(string(e.Body), "/media/"), true
				}
			}
			return false, false
		}
		var own, global, inOwn, inGlobal bool
		s.Await(caption, func() bool {
			own, inOwn = linked(s.pull)
			global, inGlobal = linked(s.pullAll)
			return inOwn && inGlobal
		})
		if own != c.wantOwn || global != c.wantGlobal {
			t.Errorf("%s %s: a link for the instance %v, for all %v", c.own, c.global, own, global)
		}
	}
}

// TestSixtyFourPullsMayWait, and the next one is 429 with the time after which to try again.
func TestSixtyFourPullsMayWait(t *testing.T) {
	s := pulling(t, `{"durable":true}`)
	type outcome struct {
		status int
		after  string
	}
	ended := make(chan outcome, 65)
	for range 65 {
		go func() {
			req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.API.Base+eventsPath+"?consumer=crm&event=messages.delete&wait=30", nil)
			if err != nil {
				t.Error(err)
				return
			}
			req.Header.Set("Authorization", "Bearer "+s.Token)
			resp, err := s.API.HTTP.Do(req)
			if err != nil {
				t.Error(err)
				return
			}
			_ = resp.Body.Close()
			ended <- outcome{resp.StatusCode, resp.Header.Get("Retry-After")}
		}()
	}
	select {
	case first := <-ended:
		if first.status != http.StatusTooManyRequests || first.after == "" {
			t.Errorf("the one that was not held: %+v", first)
		}
	case <-time.After(20 * time.Second):
		t.Fatal("all 65 wait")
	}
	if is := s.pullAll("crm", "&wait=1"); len(is.Events) > 0 {
		t.Errorf("a pull of all events, which counts for itself: %+v", is)
	}
	s.Call(consumer.Bearer(s.Token), http.MethodDelete, "/instance/"+rig.SceneName+"?force=true", nil, nil)
	for range 64 {
		select {
		case last := <-ended: // its instance is gone
			if last.status != http.StatusNotFound && last.status != http.StatusUnauthorized {
				t.Errorf("after the instance was deleted: %+v", last)
			}
		case <-time.After(15 * time.Second):
			t.Fatal("a pull still waits")
		}
	}
}
