package delivery

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"postern/cli/consumer"
	"postern/e2e/rig"
)

// shop is a running program with an instance that is online.
type shop struct {
	*rig.Scene
	t *testing.T
}

// newShop starts one whose receivers have a second to answer.
func newShop(t *testing.T, env ...string) *shop {
	t.Helper()
	s := &shop{rig.NewScene(t, append([]string{"WEBHOOK_TIMEOUT=1s"}, env...)...), t}
	s.Online(t)
	return s
}

// record is a delivery as the log lists it, and attempts and body as it shows one.
type record struct {
	ID            uint64
	EventID       string
	Event         string
	Flow          string
	InstanceID    *int64
	InstanceName  *string
	BatchID       *string
	Target        string
	EndpointID    *string
	URL           string
	State         string
	AttemptCount  int
	LastStatus    *int
	LastError     *string
	DurationMs    *int64
	Bytes         int
	RequestID     *string
	NextAttemptAt *time.Time
	ReplayOf      *uint64
	Replayable    bool

	Body     *string
	Attempts []attemptLine
}

type attemptLine struct {
	Number     int
	StartedAt  time.Time
	DurationMs int64
	Status     *int
	Error      *string
	RequestID  *string
	Answer     *string
}

// call calls a route below /instance/shop/webhook.
func (s *shop) call(method, path string, in, out any) {
	s.t.Helper()
	s.Call(consumer.Bearer(s.Token), method, "/instance/"+rig.SceneName+"/webhook"+path, in, out)
}

// refused returns the code with which such a call is answered.
func (s *shop) refused(method, path, body string) string {
	s.t.Helper()
	status, answer := s.Raw(consumer.Bearer(s.Token), method, "/instance/"+rig.SceneName+"/webhook"+path, body)
	var e struct{ Code string }
	if err := json.Unmarshal([]byte(answer), &e); err != nil || status < 400 {
		s.t.Fatalf("%s %s %s: %d %s", method, path, body, status, answer)
	}
	return e.Code
}

// operator calls a route as the operator.
func (s *shop) operator(method, path string, in, out any) {
	s.t.Helper()
	s.Call(consumer.Key(s.Sec.GlobalAuthToken), method, path, in, out)
}

// webhook points the instance's webhook somewhere, for messages that come in.
func (s *shop) webhook(to string) {
	s.t.Helper()
	s.call(http.MethodPut, "", map[string]any{"url": to, "events": map[string]bool{"messagesUpsert": true}}, nil)
}

// chosen are options as they are answered.
type chosen struct {
	Signing   signing
	Headers   map[string]string
	Endpoints []struct {
		ID      string
		Signing signing
	}
}

type signing struct {
	Enabled bool
	Secret  string
}

// options sets the options of the webhook.
func (s *shop) options(body string) (is chosen) {
	s.t.Helper()
	s.call(http.MethodPut, "/options", json.RawMessage(body), &is)
	return is
}

// endpoint is one in the options: for messages that come in, signed.
func endpoint(id, to string) string {
	return fmt.Sprintf(`{"id":%q,"url":%q,"events":{"messagesUpsert":true},"signing":{"enabled":true}}`, id, to)
}

// anneWrites lets Anne write to the instance.
func (s *shop) anneWrites(text string) {
	s.t.Helper()
	s.Do(s.t, rig.Act(rig.AnneNumber, fmt.Sprintf(`{"do":"text","to":"$own","text":%q}`, text)))
}

// deliveries lists the instance's log.
func (s *shop) deliveries(query string) []record {
	s.t.Helper()
	var page struct {
		Records      []record
		TotalRecords int
	}
	s.call(http.MethodGet, "/deliveries"+query, nil, &page)
	return page.Records
}

// delivery shows one of it.
func (s *shop) delivery(id uint64) (r record) {
	s.t.Helper()
	s.call(http.MethodGet, fmt.Sprintf("/deliveries/%d", id), nil, &r)
	return r
}

// logged waits until the log has n deliveries that the query selects, and returns
// them, the newest first.
func (s *shop) logged(query string, n int) (found []record) {
	s.t.Helper()
	s.Await(fmt.Sprintf("%d deliveries %s", n, query), func() bool {
		found = s.deliveries(query)
		return len(found) == n
	})
	return found
}

// of returns the query for an endpoint in a state.
func of(endpoint, state string) string {
	q := url.Values{"endpointId": {endpoint}, "event": {"messages.upsert"}}
	if state != "" {
		q.Set("state", state)
	}
	return "?" + q.Encode()
}

// value returns what p points to, the zero value for null.
func value[T any](p *T) (v T) {
	if p != nil {
		v = *p
	}
	return v
}

// has reports whether the webhook's data contains the text.
func has(body []byte, text string) bool { return strings.Contains(string(body), `"`+text+`"`) }
