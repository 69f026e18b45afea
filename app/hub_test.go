package app

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"nhooyr.io/websocket"

	"postern/app/hub"
	"postern/cli/consumer"
	"postern/delivery/outbox"
	"postern/event"
	"postern/httpapi/tokens"
	"postern/store"
)

func TestRefusedHandshakesFollowTheOrderOfChecks(t *testing.T) {
	s := newSockets(t)
	s.emit(event.BatchCreated, event.BatchStarted, event.BatchCompleted)
	shop := s.instance("shop")
	ghost, err := tokens.ForInstance([]byte(s.sec.JWTSecret), "ghost", 0, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	foreign := http.Header{"Origin": {"https://evil.example"}}
	twice := http.Header{"Origin": {s.url, s.url}}
	noUpgrade := http.Header{"Origin": {"https://evil.example"}, "Upgrade": {"h2c"}}
	noKey := http.Header{"Origin": {"https://evil.example"}, "Sec-Websocket-Key": {"short"}}
	const global, inst = "/ws/global/events?", "/ws/instance/events?"
	for _, c := range []struct {
		path   string
		header http.Header
		status int
		code   string
	}{
		{global, noUpgrade, 426, "UPGRADE_REQUIRED"},
		{inst, noUpgrade, 426, "UPGRADE_REQUIRED"},
		{global + "event=*&token=x", noKey, 400, "INVALID_SUBSCRIPTION"},
		{inst + "event=*&token=x", noKey, 400, "INVALID_SUBSCRIPTION"},
		{global + "event=nothing&token=x", foreign, 400, "INVALID_SUBSCRIPTION"},
		{inst + "token=x", foreign, 400, "INVALID_SUBSCRIPTION"},
		{inst + "event=*", foreign, 400, "INVALID_SUBSCRIPTION"},
		{global + "event=*&since=soon&token=x", foreign, 400, "INVALID_SUBSCRIPTION"},
		{global + "event=*&token=x", foreign, 401, "UNAUTHORIZED"},
		{inst + "event=*&token=x", foreign, 401, "UNAUTHORIZED"},
		{global + "event=*&token=" + shop, foreign, 403, "FORBIDDEN"},
		{inst + "event=*&token=" + s.user, foreign, 403, "FORBIDDEN"},
		{global + "event=*&since=9&token=" + s.user, foreign, 403, "ORIGIN_REFUSED"},
		{inst + "event=*&token=" + shop, foreign, 403, "ORIGIN_REFUSED"},
		{inst + "event=*&token=" + shop, twice, 403, "ORIGIN_REFUSED"},
		{inst + "event=*&token=" + ghost, foreign, 403, "ORIGIN_REFUSED"},
		{inst + "event=*&token=" + ghost, nil, 404, "INSTANCE_NOT_FOUND"},
		{global + "event=*&since=4&token=" + s.user, nil, 400, "INVALID_SUBSCRIPTION"},
	} {
		s.refused(c.path, c.header, c.status, c.code)
	}
	s.prune(1, 2)
	s.refused(global+"event=*&since=1&token="+s.user, nil, 410, "EVENTS_GONE")
	if n, _ := s.hub.Stats(); n != 0 {
		t.Errorf("%d clients", n)
	}
}

func TestOnlyPagesOfTheSameHostConnect(t *testing.T) {
	s := newSockets(t)
	for origin, welcome := range map[string]bool{s.url: true, strings.Replace(s.url, "http", "https", 1): true, "https://evil.example": false, "null": false} {
		conn, _, err := websocket.Dial(t.Context(), strings.Replace(s.url, "http", "ws", 1)+"/ws/global/events?event=*&token="+s.user,
			&websocket.DialOptions{HTTPHeader: http.Header{"Origin": {origin}}})
		if (err == nil) != welcome {
			t.Errorf("origin %s: %v", origin, err)
		}
		if err == nil {
			_ = conn.CloseNow()
		}
	}
}

func TestRevokedTokenClosesConnectionsWith4003(t *testing.T) {
	s := newSockets(t)
	token := s.instance("shop")
	for _, how := range []string{"refresh", "issue", "delete"} {
		conn := s.mustDial("/ws/instance/events?event=*", token)
		var answer struct{ Token string }
		method, path, cred, in := http.MethodPut, "/instance/refreshToken/shop", consumer.Bearer(token), any(map[string]string{"oldToken": token})
		switch how {
		case "issue":
			path, cred, in = "/instance/shop/token", s.key, nil
		case "delete":
			method, path, in = http.MethodDelete, "/instance/shop", nil
		}
		if err := s.api.Call(t.Context(), cred, method, path, in, &answer); err != nil {
			t.Fatal(err)
		}
		if code := s.closedWith(conn); code != 4003 {
			t.Errorf("%s: closed with %d", how, code)
		}
		if _, _, err := s.dial("/ws/instance/events?event=*", token); err == nil {
			t.Errorf("%s: the old token still opens a socket", how)
		}
		token = answer.Token
	}
}

func TestExpiredTokenClosesGlobalConnectionWith4001(t *testing.T) {
	s := newSockets(t)
	conn := s.mustDial("/ws/global/events?event=*", s.mint(2*time.Second)) // exp has whole seconds
	if code := s.closedWith(conn); code != 4001 {
		t.Errorf("closed with %d", code)
	}
}

func TestSocketsEndWith1001WhenTheProgramStops(t *testing.T) {
	s := newSockets(t)
	global, inst := s.mustDial("/ws/global/events?event=*", s.user), s.mustDial("/ws/instance/events?event=*", s.instance("shop"))
	var work sync.WaitGroup
	work.Go(func() { _ = s.Stop(context.Background()) })
	defer work.Wait()
	for _, conn := range []*websocket.Conn{global, inst} {
		if code := s.closedWith(conn); code != 1001 {
			t.Errorf("closed with %d", code)
		}
	}
}

func TestInstanceWebSocketIgnoresWebhookFlags(t *testing.T) {
	delivered := make(chan string, 10)
	hook := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		delivered <- string(body)
	}))
	defer hook.Close()
	s := newSocketsFor(t, hook.URL)
	token := s.instance("shop")
	in := map[string]any{"url": hook.URL, "enabled": false, "events": map[string]bool{}}
	if err := s.api.Call(t.Context(), consumer.Bearer(token), http.MethodPut, "/instance/shop/webhook", in, nil); err != nil {
		t.Fatal(err)
	}
	conn := s.mustDial("/ws/instance/events?event=call.upsert,send.message", token)
	for _, text := range []string{"<é&>", "second"} {
		for _, kind := range []event.Kind{event.ContactsUpsert, event.SendMessage} { // the first is not asked for
			if err := s.registry.Report(t.Context(), 1, event.Fact{Kind: kind, Data: map[string]string{"text": text}}); err != nil {
				t.Fatal(err)
			}
		}
		_, body, err := conn.Read(t.Context())
		if err != nil || !strings.Contains(string(body), text) {
			t.Fatalf("got %s, %v", body, err)
		}
		if a, b := <-delivered, <-delivered; string(body) != a && string(body) != b {
			t.Errorf("the socket has %s, the webhook %s and %s", body, a, b)
		}
	}
}

func TestQueriesOfSocketsAreNeverLogged(t *testing.T) {
	s := newSockets(t)
	shop := s.instance("shop")
	for path, token := range map[string]string{"/ws/global/events?event=*&since=0&token=": s.user, "/ws/instance/events?event=*&token=": shop} {
		for _, query := range []string{token, token + "x", token + "&event=marker", token + "&marker=1", "%zzmarker"} {
			conn, _, err := websocket.Dial(t.Context(), strings.Replace(s.url, "http", "ws", 1)+path+query, nil)
			if err == nil {
				_ = conn.Close(websocket.StatusNormalClosure, "marker")
			}
		}
		s.refused(path, nil, 400, "INVALID_SUBSCRIPTION")
	}
	_ = s.Stop(context.Background())
	logs := s.log.String()
	if !strings.Contains(logs, "/ws/global/events") {
		t.Error("the handshakes are not logged at all")
	}
	for _, secret := range []string{s.user, shop, "token=", "since=", "event=*", "marker"} {
		if i := strings.Index(logs, secret); i >= 0 {
			t.Errorf("the log shows %q: %s", secret, logs[max(0, i-100):min(len(logs), i+50)])
		}
	}
}

func TestReplaysOfLargeEventsArePagedByBytes(t *testing.T) {
	s := newSockets(t)
	err := s.store.Update(t.Context(), func(tx *store.Tx) error {
		var err error
		for range 40 {
			err = errors.Join(err, s.outbox.Emit(tx, outbox.Emission{Kind: event.BatchCreated, Owner: s.owner, Data: strings.Repeat("x", 30<<10)}))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	log := hub.BatchEvents{Store: s.store}
	for after := uint64(0); after < 40; {
		page, err := log.EventsAfter(s.owner, after, 64)
		if err != nil || len(page) == 0 || len(page) > 4 || page[0].Seq != after+1 {
			t.Fatalf("after %d: %d events, %v", after, len(page), err)
		}
		after = page[len(page)-1].Seq
	}
	if page, err := log.EventsAfter(s.owner, 40, 64); err != nil || len(page) != 0 {
		t.Errorf("at the end: %d events, %v", len(page), err)
	}
	if page, err := log.EventsAfter(s.owner, 0, 1); err != nil || len(page) != 1 {
		t.Errorf("limit 1: %s", fmt.Sprint(len(page), err))
	}
}

func TestAReplayReadsOnBehindDamagedEntries(t *testing.T) {
	s := newSockets(t)
	for range 20 {
		s.emit(event.BatchProgress)
	}
	err := s.store.Update(t.Context(), func(tx *store.Tx) error {
		var err error
		for seq := uint64(5); seq <= 14; seq++ {
			err = errors.Join(err, tx.Put("outbox", store.Key(seq), []byte("?")))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	page, err := hub.BatchEvents{Store: s.store}.EventsAfter(s.owner, 0, 64)
	var got []uint64
	for _, e := range page {
		got = append(got, e.Seq)
	}
	if want := []uint64{1, 2, 3, 4, 15, 16, 17, 18, 19, 20}; err != nil || !slices.Equal(got, want) {
		t.Errorf("got %d, %v; want %d", got, err, want)
	}
}
