package delivery

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"postern/cli/consumer"
	"postern/e2e/rig"
	"postern/event"
)

// standing is a receiver as it is answered.
type standing struct {
	ID, Target, State            string
	URL, EndpointID              *string
	InstanceName                 *string
	Durable                      bool
	Since, PausedUntil           *time.Time
	LastSuccessAt, NextAttemptAt *time.Time
	OldestWaitingAt              *time.Time
	Failures, Waiting            int
	LastStatus                   *int
	LastError                    *string
	Day                          struct {
		Since             time.Time
		Delivered, Failed int
		AverageMs         *int64
	}
	Hours []struct{ Delivered, Failed int }
}

// receivers lists those of the instance.
func (s *shop) receivers(query string) (all []standing) {
	s.t.Helper()
	var list struct{ Records []standing }
	s.call(http.MethodGet, "/receivers"+query, nil, &list)
	return list.Records
}

// own returns the instance's webhook as a receiver.
func (s *shop) own() (is standing) {
	s.t.Helper()
	all := s.receivers("")
	if len(all) == 0 {
		s.t.Fatal("the instance has no receiver")
	}
	return all[0]
}

// moody is a receiver that answers as it is told to.
type moody struct {
	*httptest.Server
	status   atomic.Int64
	after    atomic.Value // Retry-After
	accepted atomic.Int64
}

func newMoody(t *testing.T, status int) *moody {
	m := &moody{}
	m.status.Store(int64(status))
	m.after.Store("")
	m.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if after, _ := m.after.Load().(string); after != "" {
			w.Header().Set("Retry-After", after)
		}
		is := int(m.status.Load())
		if is == http.StatusOK {
			m.accepted.Add(1)
		}
		w.WriteHeader(is)
	}))
	t.Cleanup(m.Close)
	return m
}

// TestReceiverFailsAtItsThirdAttempt in a row, since the first of them, until one is accepted.
func TestReceiverFailsAtItsThirdAttempt(t *testing.T) {
	s := newShop(t)
	m := newMoody(t, http.StatusOK)
	s.webhook(m.URL + "/in?key=secret")
	is := s.own()
	if is.State != "IDLE" || is.Since != nil || is.Target != "webhook" || *is.URL != m.URL+"/in" || *is.InstanceName != rig.SceneName || is.Durable {
		t.Errorf("before any attempt: %+v", is)
	}
	s.anneWrites("one")
	s.Await("the first event", func() bool { return s.own().State == "OK" })
	m.status.Store(http.StatusServiceUnavailable)
	began := time.Now()
	for n := 1; n <= 3; n++ {
		s.anneWrites(fmt.Sprintf("refused %d", n))
		s.Await("a failed attempt", func() bool { return s.own().Failures == n })
		if is := s.own(); (is.State == "FAILING") != (n == 3) {
			t.Errorf("after %d failed attempts: %+v", n, is)
		}
	}
	is = s.own()
	if is.Since == nil || is.Since.Before(began.Add(-time.Second)) || is.Since.After(time.Now()) || *is.LastStatus != 503 || is.LastError == nil || is.Day.Delivered != 1 || is.Day.Failed != 3 || is.LastSuccessAt == nil {
		t.Errorf("failing: %+v", is)
	}
	var one standing
	s.call(http.MethodGet, "/receivers/"+is.ID, nil, &one)
	if len(one.Hours) != 24 || one.Hours[23].Failed+one.Hours[22].Failed != 3 {
		t.Errorf("by the hour: %+v", one.Hours)
	}
	if found := s.receivers("?state=failing&origin=" + url.QueryEscape(m.URL)); len(found) != 1 || found[0].ID != is.ID {
		t.Errorf("by state and origin: %+v", found)
	}
	m.status.Store(http.StatusOK)
	s.anneWrites("accepted")
	s.Await("an accepted attempt", func() bool { is := s.own(); return is.State == "OK" && is.Failures == 0 })
	m.status.Store(http.StatusGone)
	for n := 1; n <= 3; n++ {
		s.anneWrites("refused again")
		s.Await("a failed attempt", func() bool { return s.own().Failures == n })
	}
	s.webhook(m.URL + "/other")
	if is := s.own(); is.State != "IDLE" || is.Failures != 0 {
		t.Errorf("at another URL: %+v", is)
	}
}

// TestAcceptedTestMakesDueWhatWaits whatever the receiver asked for before.
func TestAcceptedTestMakesDueWhatWaits(t *testing.T) {
	s := newShop(t)
	s.options(`{"durable":true}`)
	m := newMoody(t, http.StatusServiceUnavailable)
	m.after.Store("3600")
	s.webhook(m.URL)
	for n := range 3 {
		s.anneWrites(fmt.Sprintf("waits %d", n))
	}
	s.Await("what waits", func() bool {
		is := s.own()
		return is.Waiting == 3 && is.OldestWaitingAt != nil && is.NextAttemptAt != nil && time.Until(*is.NextAttemptAt) > time.Minute
	})
	test := func() (a struct {
		Delivered  bool
		StatusCode *int
		Error      *string
	},
	) {
		s.call(http.MethodPost, "/receivers/"+s.own().ID+"/test", map[string]any{}, &a)
		return a
	}
	before := s.own()
	if a := test(); a.Delivered || *a.StatusCode != 503 || a.Error == nil {
		t.Errorf("a refused test: %+v", a)
	}
	if is := s.own(); is.Failures != before.Failures || is.Waiting != 3 {
		t.Errorf("a refused test changed %+v to %+v", before, is)
	}
	m.after.Store("")
	m.status.Store(http.StatusOK)
	if a := test(); !a.Delivered || *a.StatusCode != 200 || a.Error != nil {
		t.Errorf("an accepted test: %+v", a)
	}
	s.Await("the events that waited", func() bool { is := s.own(); return is.Waiting == 0 && is.State == "OK" })
	if n := m.accepted.Load(); n != 4 {
		t.Errorf("%d accepted", n)
	}
	limited := false
	for range 12 {
		status, _ := s.Raw(consumer.Bearer(s.Token), http.MethodPost, "/instance/"+rig.SceneName+"/webhook/receivers/"+s.own().ID+"/test", "{}")
		limited = limited || status == http.StatusTooManyRequests
	}
	if !limited {
		t.Error("14 tests in a minute were allowed")
	}
}

// TestPauseHoldsDurableEventsOverRestarts and lets them go at its end; a test lets nothing out.
func TestPauseHoldsDurableEventsOverRestarts(t *testing.T) {
	s := newShop(t)
	m := newMoody(t, http.StatusOK)
	s.webhook(m.URL)
	id := s.own().ID
	if code := s.refused(http.MethodPost, "/receivers/"+id+"/pause", `{"expiresIn":60}`); code != "NOT_DURABLE" {
		t.Errorf("a pause of what is not durable: %s", code)
	}
	s.options(`{"durable":true}`)
	for _, body := range []string{`{}`, `{"expiresIn":null}`, `{"expiresIn":"60"}`, `{"expiresIn":59}`, `{"expiresIn":604801}`} {
		if code := s.refused(http.MethodPost, "/receivers/"+id+"/pause", body); code != "INVALID_EXPIRES_IN" {
			t.Errorf("%s: %s", body, code)
		}
	}
	var is standing
	s.call(http.MethodPost, "/receivers/"+id+"/pause", map[string]any{"expiresIn": 3600}, &is)
	if is.State != "PAUSED" || is.PausedUntil == nil || time.Until(*is.PausedUntil) < 59*time.Minute {
		t.Errorf("paused: %+v", is)
	}
	s.anneWrites("held")
	s.Await("what is held", func() bool { return s.own().Waiting == 1 })
	s.Kill()
	s.Start()
	s.Online(t)
	if is := s.own(); is.State != "PAUSED" || is.ID != id || is.Waiting != 1 {
		t.Errorf("after a kill: %+v", is)
	}
	s.call(http.MethodPost, "/receivers/"+id+"/test", map[string]any{}, nil)
	if n := m.accepted.Load(); n != 1 || s.own().Waiting != 1 {
		t.Errorf("a test let something out: %d accepted", n)
	}
	s.call(http.MethodPost, "/receivers/"+id+"/resume", nil, &is)
	if is.State == "PAUSED" || is.PausedUntil != nil {
		t.Errorf("resumed: %+v", is)
	}
	s.Await("what was held", func() bool { return s.own().Waiting == 0 && m.accepted.Load() == 2 })
	s.call(http.MethodPost, "/receivers/"+id+"/resume", nil, &is) // of what is not paused
	var log struct {
		Records []struct{ Action, Subject string }
	}
	s.operator(http.MethodGet, "/audit?limit=50", nil, &log)
	said := ""
	for _, r := range log.Records {
		said += r.Action + " " + r.Subject + "; "
	}
	for _, want := range []string{"receiver.test shop", "receiver.pause shop", "receiver.resume shop"} {
		if !strings.Contains(said, want) {
			t.Errorf("the audit log lacks %q: %s", want, said)
		}
	}
}

// TestDeadReceiverFailsAtOnceAfterRestart, since its last attempt at the latest.
func TestDeadReceiverFailsAtOnceAfterRestart(t *testing.T) {
	if testing.Short() {
		t.Skip("waits for seconds")
	}
	s := newShop(t)
	s.options(`{"durable":true}`)
	m := newMoody(t, http.StatusServiceUnavailable)
	s.webhook(m.URL)
	s.anneWrites("waits")
	s.Await("three attempts in the file", func() bool {
		waiting := s.deliveries("?event=messages.upsert&state=PENDING")
		return len(waiting) == 1 && waiting[0].AttemptCount >= 3
	})
	s.Kill()
	killed := time.Now()
	s.Start()
	is := s.own()
	if is.State != "FAILING" || is.Since == nil || is.Since.After(killed) || is.Waiting != 1 {
		t.Errorf("after the restart: %+v", is)
	}
}

// TestReceiversAreShownToTheirOwners alone.
func TestReceiversAreShownToTheirOwners(t *testing.T) {
	s := newShop(t)
	m := newMoody(t, http.StatusOK)
	s.webhook(m.URL)
	s.options(`{"durable":true,"endpoints":[` + endpoint("crm", m.URL+"/crm") + `]}`)
	s.pull("loop", "")
	var other struct{ Auth struct{ Token string } }
	s.operator(http.MethodPost, "/instance", map[string]any{"instanceName": "other"}, &other)
	own := s.receivers("")
	targets := map[string]standing{}
	for _, r := range own {
		targets[r.Target] = r
	}
	if len(own) != 3 || *targets["endpoint"].EndpointID != "crm" || *targets["consumer"].EndpointID != "loop" || targets["consumer"].URL != nil {
		t.Fatalf("own: %+v", own)
	}
	for path, body := range map[string]string{"/test": "{}", "/pause": `{"expiresIn":60}`} {
		if code := s.refused(http.MethodPost, "/receivers/"+targets["consumer"].ID+path, body); code != "NO_ADDRESS" {
			t.Errorf("%s of a consumer: %s", path, code)
		}
	}
	for _, id := range []string{targets["webhook"].ID, "global", "99:webhook", "x", "1:webhook:y"} {
		status, answer := s.Raw(consumer.Bearer(other.Auth.Token), http.MethodGet, "/instance/other/webhook/receivers/"+id, "")
		if status != http.StatusNotFound || !strings.Contains(answer, "RECEIVER_NOT_FOUND") {
			t.Errorf("%s for another instance: %d %s", id, status, answer)
		}
	}
	var key struct{ Key string }
	s.operator(http.MethodPost, "/keys", map[string]any{"name": "night", "instances": []string{"other"}, "scopes": []string{"deliveries", "webhook"}}, &key)
	var all struct {
		Records []json.RawMessage
	}
	s.Call(consumer.Bearer(key.Key), http.MethodGet, "/receivers", nil, &all)
	if len(all.Records) != 0 {
		t.Errorf("a key for another instance sees %s", all.Records)
	}
	status, _ := s.Raw(consumer.Bearer(key.Key), http.MethodPost, "/receivers/global/pause", `{"expiresIn":60}`)
	if status != http.StatusNotFound {
		t.Errorf("such a key pauses the global webhook: %d", status)
	}
	s.operator(http.MethodGet, "/receivers?limit=1", nil, &all)
	var page struct {
		Records    []standing
		NextCursor *string
	}
	seen := map[string]bool{}
	for next := "/receivers?limit=1"; ; next = "/receivers?limit=1&nextCursor=" + *page.NextCursor {
		page.NextCursor = nil
		s.operator(http.MethodGet, next, nil, &page)
		for _, r := range page.Records {
			seen[r.ID] = true
		}
		if page.NextCursor == nil {
			break
		}
	}
	if len(seen) != 4 || !seen["global"] {
		t.Errorf("page by page: %v", seen)
	}
}

// TestPauseOfTheGlobalWebhookHoldsBothFlows: events of batches, and durable ones of instances.
func TestPauseOfTheGlobalWebhookHoldsBothFlows(t *testing.T) {
	s := newShop(t)
	s.operator(http.MethodPut, "/webhook/options", map[string]any{"durable": true}, nil)
	var is standing
	s.operator(http.MethodPost, "/receivers/global/pause", map[string]any{"expiresIn": 3600}, &is)
	if is.State != "PAUSED" || is.Target != "global" || is.InstanceName != nil {
		t.Fatalf("paused: %+v", is)
	}
	before := len(s.Webhooks())
	b := s.CreateBatch("held", []string{rig.SceneName}, []string{rig.BobNumber})
	s.anneWrites("held too")
	s.Await("the batch", func() bool { return s.Batch(b.ID).Status == event.BatchIsCompleted })
	s.Await("what is held", func() bool {
		s.operator(http.MethodGet, "/receivers/global", nil, &is)
		return is.Waiting >= 6 && is.OldestWaitingAt != nil
	})
	if n := len(s.Webhooks()); n != before {
		t.Errorf("%d events were delivered to a paused receiver", n-before)
	}
	s.operator(http.MethodPost, "/receivers/global/resume", nil, &is)
	s.Await("what was held", func() bool {
		s.operator(http.MethodGet, "/receivers/global", nil, &is)
		return is.Waiting == 0 && s.Seen(string(event.BatchCompleted)) == 1 && s.Seen(string(event.MessagesUpsert)) >= 1
	})
}
