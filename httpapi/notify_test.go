package httpapi

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"postern/event"
	"postern/httpapi/alerts"
	"postern/httpapi/sends"
)

const notifyPath = "/instance/a/notify?to=4915112345678"

// group is the body of a group of alerts, as Alertmanager posts it.
func group(alerts ...string) string {
	return `{"version":"4","receiver":"w","status":"firing","groupKey":"{}:{}","externalURL":"http://am:9093","alerts":[` + strings.Join(alerts, ",") + `]}`
}

func firing(name string) string {
	return `{"status":"firing","labels":{"alertname":"Down","instance":"` + name + `"},"annotations":{},"startsAt":"2026-11-20T10:00:00Z","endsAt":"0001-01-01T00:00:00Z","generatorURL":"","fingerprint":"f-` + name + `"}`
}

func over(name string) string {
	return strings.Replace(firing(name), `"firing"`, `"resolved"`, 1)
}

// notified posts a body and requires that answer.
func (r *rig) notified(token, path, body, want string) {
	r.t.Helper()
	res := r.as(token, "POST", path, body)
	raw, err := io.ReadAll(res.Body)
	if got := strings.TrimSpace(string(raw)); err != nil || res.StatusCode != http.StatusOK || got != want {
		r.t.Errorf("%.200s: %d %s, want %s (%v)", body, res.StatusCode, got, want, err)
	}
	if w := res.Header.Get("Warning"); w != "" {
		r.t.Errorf("%.200s: warned of %s", body, w)
	}
}

// TestGroupTextRepeatsOnlyAfter24Hours: alerts with the same status, fingerprint, start and recipient are sent once, and
// the text of a group has only new alerts.
func TestGroupTextRepeatsOnlyAfter24Hours(t *testing.T) {
	r, token, left := sender(t)
	r.notified(token, notifyPath, group(firing("x"), firing("y")), `{"sent":2,"suppressed":0}`)
	if text := r.line.sent.Content.Text.Text; r.line.sent.To != "4915112345678@s.whatsapp.net" || !strings.HasPrefix(text, "🔴 *Down*: 2 firing") {
		t.Errorf("to %s: %s", r.line.sent.To, text)
	}
	r.notified(token, notifyPath, group(firing("x"), firing("y")), `{"sent":0,"suppressed":2}`)
	r.notified(token, strings.Replace(notifyPath, "491", "%2B49%20(1)", 1), group(firing("x")), `{"sent":0,"suppressed":1}`)
	if left.Load() != 1 {
		t.Fatalf("%d texts", left.Load())
	}
	r.notified(token, notifyPath, group(over("x"), firing("y"), firing("z")), `{"sent":2,"suppressed":1}`)
	if text := r.line.sent.Content.Text.Text; !strings.Contains(text, "1 firing, 1 resolved") || strings.Contains(text, "instance: y") {
		t.Errorf("of what is new: %s", text)
	}
	r.notified(token, notifyPath, group(firing("w"), firing("w")), `{"sent":1,"suppressed":1}`)
	r.notified(token, "/instance/a/notify?to=1234567890-123@g.us", group(firing("x")), `{"sent":1,"suppressed":0}`)
	r.notified(token, notifyPath, strings.ReplaceAll(group(firing("x")), "10:00", "10:01"), `{"sent":1,"suppressed":0}`)
	if left.Load() != 5 {
		t.Errorf("%d texts", left.Load())
	}
	other := r.instance("b")
	r.notified(other, strings.Replace(notifyPath, "/a/", "/b/", 1), group(firing("x")), `{"sent":1,"suppressed":0}`)
}

// TestTitleAndMessageAreSentEachTime unless it has a fingerprint.
func TestTitleAndMessageAreSentEachTime(t *testing.T) {
	r, token, left := sender(t)
	for range 2 {
		r.notified(token, notifyPath, `{"title":"Backup","message":"failed","icon":7}`, `{"sent":1,"suppressed":0}`)
		r.notified(token, notifyPath, `{"heartbeat":null,"monitor":{"id":1},"msg":"[Shop] [🔴 Down] timeout"}`, `{"sent":1,"suppressed":0}`)
	}
	const known = `{"title":"Backup","message":"failed","fingerprint":"tonight"}`
	r.notified(token, notifyPath, known, `{"sent":1,"suppressed":0}`)
	r.notified(token, notifyPath, known, `{"sent":0,"suppressed":1}`)
	if left.Load() != 5 || r.line.sent.Content.Text.Text != "*Backup*\nfailed" {
		t.Errorf("%d texts, the last %q", left.Load(), r.line.sent.Content.Text.Text)
	}
}

// TestConcurrentPostsOfTheSameAlertsSendOnce, as two Alertmanagers post them.
func TestConcurrentPostsOfTheSameAlertsSendOnce(t *testing.T) {
	r, token, left := sender(t)
	sum := make([]int, 2)
	var mu sync.Mutex
	var wg sync.WaitGroup
	for range 20 {
		wg.Go(func() {
			got := decoded[sends.NotifyAnswer](t, r.as(token, "POST", notifyPath, group(firing("x"), firing("y"))))
			mu.Lock()
			defer mu.Unlock()
			sum[0] += got.Sent
			sum[1] += got.Suppressed
		})
	}
	wg.Wait()
	if left.Load() != 1 || sum[0] != 2 || sum[1] != 38 {
		t.Errorf("%d texts; sent and suppressed %v", left.Load(), sum)
	}
}

// TestAlertIsStoredOnlyAfterASend: the next post sends an alert that was definitely not sent; it does not send one
// that may have left, and reports it as unknown.
func TestAlertIsStoredOnlyAfterASend(t *testing.T) {
	r, token, left := sender(t)
	for _, refused := range []error{event.ErrNotConnected, event.ErrNotOnWhatsApp, event.ErrSendRefused, event.ErrTimelocked} {
		r.line.sendErr = refused
		if res := r.as(token, "POST", notifyPath, group(firing("x"))); res.StatusCode < 400 {
			t.Errorf("%v: %d", refused, res.StatusCode)
		}
	}
	r.line.online.Store(false)
	wantError(t, r.as(token, "POST", notifyPath, group(firing("x"))), 503, "INSTANCE_NOT_CONNECTED")
	r.line.online.Store(true)
	r.line.sendErr = nil
	before := left.Load()
	r.notified(token, notifyPath, group(firing("x")), `{"sent":1,"suppressed":0}`)
	r.line.sendErr = event.ErrOutcomeUnknown
	wantError(t, r.as(token, "POST", notifyPath, group(firing("x"), firing("y"))), 408, event.SendResultUnknown)
	r.line.sendErr = nil
	r.notified(token, notifyPath, group(firing("x"), firing("y")), `{"sent":0,"suppressed":2,"unknown":1}`)
	r.notified(token, notifyPath, group(firing("z"), firing("y")), `{"sent":1,"suppressed":1,"unknown":1}`)
	if got := left.Load() - before; got != 3 {
		t.Errorf("%d left", got)
	}
}

// TestKillBetweenSendAndCommitSendsOnce uses the file as a process finds it that starts while a text is being
// sent.
func TestKillBetweenSendAndCommitSendsOnce(t *testing.T) {
	r, token, left := sender(t)
	ask := func() string {
		next := r.restarted()
		next.sends.Alerts = alerts.NewBook(r.store, nil)
		req := httptest.NewRequest("POST", notifyPath, strings.NewReader(group(firing("x"))))
		req.Header.Set("Authorization", "Bearer "+token)
		return strings.TrimSpace(read(t, do(next, req)).body)
	}
	r.line.onSend = func(context.Context) error {
		if left.Add(1) > 1 {
			return nil
		}
		if got := ask(); got != `{"sent":0,"suppressed":1,"unknown":1}` { // as if this process ended here
			t.Errorf("after a kill: %s", got)
		}
		return nil
	}
	r.notified(token, notifyPath, group(firing("x")), `{"sent":1,"suppressed":0}`)
	if got := ask(); got != `{"sent":0,"suppressed":1}` || left.Load() != 1 {
		t.Errorf("after the commit: %s, %d texts", got, left.Load())
	}
}

// TestANotificationTakesAnIdempotencyKey, which also covers its recipient.
func TestANotificationTakesAnIdempotencyKey(t *testing.T) {
	r, token, left := sender(t)
	const body = `{"message":"tonight's backup failed"}`
	first := r.keyed(token, "backup-2026-11-20", notifyPath, body)
	again := r.keyed(token, "backup-2026-11-20", notifyPath, body)
	if first.status != 200 || !again.replayed || again.body != first.body || left.Load() != 1 {
		t.Errorf("%v, %v, %d texts", first, again, left.Load())
	}
	if other := r.keyed(token, "backup-2026-11-20", strings.Replace(notifyPath, "5678", "5679", 1), body); other.code() != "IDEMPOTENCY_KEY_REUSED" {
		t.Errorf("for another recipient: %v", other)
	}
	r.keyed(token, "k", notifyPath, group(firing("x")))
	suppressed := r.keyed(token, "k2", notifyPath, group(firing("x")))
	if again := r.keyed(token, "k2", notifyPath, group(firing("x"))); !again.replayed || again.body != suppressed.body {
		t.Errorf("a suppressed one: %v, %v", suppressed, again)
	}
}

// TestTheLimitsOfAnInstanceHoldForNotifications: one above a limit is refused, and can be sent later.
func TestTheLimitsOfAnInstanceHoldForNotifications(t *testing.T) {
	r, token, _ := sender(t)
	r.as(token, "PUT", "/instance/a/limits", `{"perHour":1}`)
	r.notified(token, notifyPath, group(firing("x")), `{"sent":1,"suppressed":0}`)
	res := r.as(token, "POST", notifyPath, group(firing("x"), firing("y")))
	if res.Header.Get("Retry-After") == "" {
		t.Error("no Retry-After")
	}
	wantError(t, res, 429, "INSTANCE_LIMIT")
	r.notified(token, notifyPath, group(firing("x")), `{"sent":0,"suppressed":1}`)
	r.as(token, "PUT", "/instance/a/limits", `{}`)
	r.notified(token, notifyPath, group(firing("x"), firing("y")), `{"sent":1,"suppressed":1}`)
}

// TestBadNotificationSendsNothing naming the field and the rule.
func TestBadNotificationSendsNothing(t *testing.T) {
	r, token, left := sender(t)
	many := strings.Repeat(`{"labels":{"a":"b"}},`, 5000)
	for _, c := range []struct {
		path, body  string
		status      int
		code, names string
	}{
		{"/instance/a/notify", group(firing("x")), 400, "INVALID_QUERY", "to is required"},
		{notifyPath + "&too=1", group(firing("x")), 400, "INVALID_QUERY", "too"},
		{notifyPath + "&to=1", group(firing("x")), 400, "INVALID_QUERY", "to is given twice"},
		{"/instance/a/notify?to=", group(firing("x")), 422, "INVALID_RECIPIENT", ""},
		{"/instance/a/notify?to=nobody", group(firing("x")), 422, "INVALID_RECIPIENT", ""},
		{notifyPath, `{}`, 422, "INVALID_MESSAGE", "alerts"},
		{notifyPath, `{"alerts":[]}`, 422, "INVALID_MESSAGE", "at least one entry"},
		{notifyPath, `{"alerts":{}}`, 400, "INVALID_TYPE", "alerts must be an array"},
		{notifyPath, `{"alerts":[7]}`, 400, "INVALID_TYPE", "alerts"},
		{notifyPath, `{"alerts":[{"labels":{"a":7}}]}`, 400, "INVALID_TYPE", "labels.a must be a string"},
		{notifyPath, `{"alerts":[{"startsAt":7}]}`, 400, "INVALID_TYPE", "startsAt"},
		{notifyPath, `{"alerts":[{}],"alerts":[{}]}`, 400, "DUPLICATE_FIELD", "alerts"},
		{notifyPath, `{"alerts":[` + many + `{}]}`, 422, "INVALID_MESSAGE", "at most 2000"},
		{notifyPath, `{"message":"` + strings.Repeat("x", sends.MaxNotification) + `"}`, 413, "BODY_TOO_LARGE", ""},
		{notifyPath, strings.Repeat(`{"x":[`, 5000), 400, "TOO_DEEP", ""},
		{notifyPath, `title=x`, 400, "MALFORMED_JSON", ""},
	} {
		got := wantError(t, r.as(token, "POST", c.path, c.body), c.status, c.code)
		if !strings.Contains(fmt.Sprint(got.Messages), c.names) {
			t.Errorf("%s %.60s: %q", c.path, c.body, got.Messages)
		}
	}
	if left.Load() != 0 {
		t.Errorf("%d texts", left.Load())
	}
}
