package httpapi

import (
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"testing"
	"time"

	"postern/event"
	"postern/httpapi/rest"
	"postern/httpapi/sockets"
	"postern/httpapi/tokens"
)

// handshakeOf is a WebSocket handshake for target, changed by edit.
func handshakeOf(target string, edit func(h http.Header)) *http.Request {
	r := httptest.NewRequest("GET", target, nil)
	r.Header = http.Header{
		"Connection": {"keep-alive, Upgrade"}, "Upgrade": {"websocket"}, "Sec-Websocket-Version": {"13"},
		"Sec-Websocket-Key": {"dGhlIHNhbXBsZSBub25jZQ=="},
	}
	if edit != nil {
		edit(r.Header)
	}
	return r
}

func TestSocketHandshakeChecks426Then400Then401Then403(t *testing.T) {
	r := newRig(t)
	instanceToken := r.instance("a")
	ghost, err := tokens.ForInstance(testSecret, "ghost", 0, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	old, err := tokens.ForInstance(testSecret, "a", 0, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	without := func(name string) func(http.Header) { return func(h http.Header) { h.Del(name) } }
	foreign := func(h http.Header) { h.Set("Origin", "https://evil.example") }
	const g, i = "/ws/global/events", "/ws/instance/events"
	cases := []struct {
		name, target string
		edit         func(http.Header)
		status       int
		code         string
	}{
		{"no upgrade and nothing else right", g, without("Upgrade"), 426, "UPGRADE_REQUIRED"},
		{"no connection header", g, without("Connection"), 426, "UPGRADE_REQUIRED"},
		{"no version", g, without("Sec-Websocket-Version"), 426, "UPGRADE_REQUIRED"},
		{"HTTP/1.0 and nothing else right", g, func(h http.Header) { h.Set("X-Proto", "HTTP/1.0") }, 426, "UPGRADE_REQUIRED"},
		{"no key", g + "?event=*&token=x", without("Sec-Websocket-Key"), 400, "INVALID_SUBSCRIPTION"},
		{"a key that is no key", i + "?event=*&token=x", func(h http.Header) { h.Set("Sec-Websocket-Key", "AAAA") }, 400, "INVALID_SUBSCRIPTION"},
		{"two keys", i + "?event=*&token=x", func(h http.Header) { h.Add("Sec-Websocket-Key", h.Get("Sec-Websocket-Key")) }, 400, "INVALID_SUBSCRIPTION"},
		{"no event and a bad token", g + "?token=x", nil, 400, "INVALID_SUBSCRIPTION"},
		{"no token", g + "?event=*", nil, 400, "INVALID_SUBSCRIPTION"},
		{"an empty event", g + "?event=&token=x", nil, 400, "INVALID_SUBSCRIPTION"},
		{"an unknown event", g + "?event=message.batch.done&token=x", nil, 400, "INVALID_SUBSCRIPTION"},
		{"an event of the other family", g + "?event=messages.upsert&token=x", nil, 400, "INVALID_SUBSCRIPTION"},
		{"a known and an unknown event", g + "?event=message.batch.created,x&token=x", nil, 400, "INVALID_SUBSCRIPTION"},
		{"an unknown event beside *", g + "?event=*,x&token=x", nil, 400, "INVALID_SUBSCRIPTION"},
		{"since that is no number", g + "?event=*&since=-1&token=x", nil, 400, "INVALID_SUBSCRIPTION"},
		{"since of an instance that is no number", i + "?event=*&since=-1&token=x", nil, 400, "INVALID_SUBSCRIPTION"},
		{"an unknown parameter", g + "?events=*&token=x", nil, 400, "INVALID_QUERY"},
		{"a bad token", g + "?event=*&token=x", nil, 401, "UNAUTHORIZED"},
		{"a bad token of an instance", i + "?event=*&token=x", nil, 401, "UNAUTHORIZED"},
		{"an instance's token for the global path", g + "?event=*&token=" + instanceToken, nil, 403, "FORBIDDEN"},
		{"a user's token for the instance path", i + "?event=*&token=" + r.token, nil, 403, "FORBIDDEN"},
		{"a foreign origin and an unknown event", g + "?event=x&token=" + r.token, foreign, 400, "INVALID_SUBSCRIPTION"},
		{"a foreign origin and a bad token", g + "?event=*&token=x", foreign, 401, "UNAUTHORIZED"},
		{"a foreign origin and a bad token of an instance", i + "?event=*&token=x", foreign, 401, "UNAUTHORIZED"},
		{"a foreign origin and a token that was not issued", i + "?event=*&token=" + old, foreign, 401, "UNAUTHORIZED"},
		{"a foreign origin", g + "?event=*&token=" + r.token, foreign, 403, "ORIGIN_REFUSED"},
		{"a foreign origin at an instance", i + "?event=*&token=" + instanceToken, foreign, 403, "ORIGIN_REFUSED"},
		{"a foreign origin and an instance that is gone", i + "?event=*&token=" + ghost, foreign, 403, "ORIGIN_REFUSED"},
		{"an instance that is gone", i + "?event=*&token=" + ghost, nil, 404, "INSTANCE_NOT_FOUND"},
		{"a token that was not issued", i + "?event=*&token=" + old, nil, 401, "UNAUTHORIZED"},
		{"since of an instance that is gone", i + "?event=*&since=1&token=" + ghost, nil, 404, "INSTANCE_NOT_FOUND"},
		{"since and a foreign origin at an instance", i + "?event=*&since=1&token=" + instanceToken, foreign, 403, "ORIGIN_REFUSED"},
		{"since of an instance that is not durable", i + "?event=*&since=999&token=" + instanceToken, nil, 409, "NOT_DURABLE"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			req := handshakeOf(c.target, c.edit)
			if req.Header.Get("X-Proto") != "" {
				req.ProtoMajor, req.ProtoMinor = 1, 0
			}
			wantError(t, do(r.h, req), c.status, c.code)
		})
	}
}

func TestHandshakeServesWhomTheTokenNames(t *testing.T) {
	r := newRig(t)
	token := r.instance("a")
	asBearer := func(token string) func(http.Header) {
		return func(h http.Header) { h.Set("Authorization", "Bearer "+token) }
	}
	do(r.h, handshakeOf("/ws/global/events?event=message.batch.created,message.batch.stopped&event=message.batch.paused&since=5", asBearer(r.token)))
	want := []event.Kind{event.BatchCreated, event.BatchStopped, event.BatchPaused}
	if s := r.hub.stream; r.hub.user != r.user || !slices.Equal(s.Kinds, want) || s.Since == nil || *s.Since != 5 || s.ExpiresAt.IsZero() {
		t.Errorf("got %+v for %s", s, r.hub.user)
	}
	do(r.h, handshakeOf("/ws/instance/events?event=*&token="+token, nil))
	if s := r.hub.stream; r.hub.instance != 1 || s.Kinds != nil || s.Since != nil || !s.ExpiresAt.IsZero() {
		t.Errorf("got %+v for %d", s, r.hub.instance)
	}
}

// TestSinceIsForInstancesWhoseEventsAreStored: from the PUT that makes them durable until the one that reverts it.
func TestSinceIsForInstancesWhoseEventsAreStored(t *testing.T) {
	r := newRig(t)
	token := r.instance("a")
	r.hub.err = sockets.ErrAhead // a position that the instance does not have
	ask := func() *http.Response {
		return do(r.h, handshakeOf("/ws/instance/events?event=*&since=7&token="+token, nil))
	}
	wantError(t, ask(), http.StatusConflict, "NOT_DURABLE")
	for _, durable := range []bool{true, false} {
		options := `{"durable":` + strconv.FormatBool(durable) + `}`
		if resp := r.as(token, "PUT", "/instance/a/webhook/options", options); resp.StatusCode != http.StatusOK {
			t.Fatal(resp.Status)
		}
		do(r.h, handshakeOf("/ws/instance/events?event=*&token="+token, nil))
		if s := r.hub.stream; s.Durable != durable || s.Since != nil {
			t.Errorf("with %s the hub is asked for %+v", options, s)
		}
		if durable {
			wantError(t, ask(), http.StatusBadRequest, "INVALID_SUBSCRIPTION")
			if s := r.hub.stream; s.Since == nil || *s.Since != 7 {
				t.Errorf("the hub is asked for %+v", s)
			}
			r.hub.err = sockets.ErrGone
			wantError(t, ask(), http.StatusGone, "EVENTS_GONE")
		} else {
			wantError(t, ask(), http.StatusConflict, "NOT_DURABLE")
		}
	}
}

func TestHubRefusalsHaveTheErrorBody(t *testing.T) {
	r := newRig(t)
	for err, want := range map[error]struct {
		status int
		code   string
	}{
		sockets.ErrAhead: {400, "INVALID_SUBSCRIPTION"},
		sockets.ErrGone:  {410, "EVENTS_GONE"},

		rest.ErrStopping: {503, "SHUTTING_DOWN"},
	} {
		r.hub.err = err
		wantError(t, do(r.h, handshakeOf("/ws/global/events?event=*&token="+r.token, nil)), want.status, want.code)
	}
}

func TestReplacedTokenFailsTheHubsCheck(t *testing.T) {
	r := newRig(t)
	token := r.instance("a")
	do(r.h, handshakeOf("/ws/instance/events?event=*&token="+token, nil))
	check := r.hub.stream.Check
	if err := check(); err != nil {
		t.Errorf("the stored token: %v", err)
	}
	if resp := r.admin("PUT", "/instance/a/token", ""); resp.StatusCode != http.StatusOK {
		t.Fatal(resp.Status)
	}
	if answer, _ := r.api.AnswerTo(check()); answer.Status != http.StatusUnauthorized {
		t.Errorf("the replaced token: %d", answer.Status)
	}
}
