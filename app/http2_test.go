package app

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"net/http"
	"strings"
	"testing"
	"time"

	"nhooyr.io/websocket"

	"postern/app/certificate/certificatetest"
	"postern/event"
)

// speaking returns a client that offers HTTP/2, or does not.
func speaking(a *certificatetest.Authority, two bool) *http.Client {
	pool := x509.NewCertPool()
	pool.AddCert(a.Cert)
	return &http.Client{Timeout: 20 * time.Second, Transport: &http.Transport{ForceAttemptHTTP2: two, TLSClientConfig: &tls.Config{RootCAs: pool}}}
}

// TestHTTP2AndWebSocketsOverTLS: a client that offers both protocols gets
// the newer one, and for a WebSocket, as a browser does, the older one by a connection of
// its own.
func TestHTTP2AndWebSocketsOverTLS(t *testing.T) {
	a := certificatetest.New(t)
	a.Issue(time.Now().Add(time.Hour))
	s := secureSockets(t, a)
	for two, want := range map[bool]string{true: "HTTP/2.0", false: "HTTP/1.1"} {
		client := speaking(a, two)
		resp, err := client.Get(s.URL() + "/ready")
		if err != nil {
			t.Fatal(err)
		}
		_ = resp.Body.Close()
		if resp.Proto != want || resp.StatusCode != http.StatusOK {
			t.Errorf("%s %s, want %s", resp.Proto, resp.Status, want)
		}
		s.api.HTTP = *client
		s.must(s.key, http.MethodPost, "/instance", map[string]string{"instanceName": "by-" + strings.ToLower(want[5:6])}, nil)

		ws, _, err := websocket.Dial(t.Context(), strings.Replace(s.URL(), "https", "wss", 1)+"/ws/global/events?event=*&token="+s.user, &websocket.DialOptions{HTTPClient: client})
		if err != nil {
			t.Fatal(err)
		}
		s.emit(event.BatchCreated)
		if _, _, err := ws.Read(t.Context()); err != nil {
			t.Errorf("the WebSocket beside %s: %v", want, err)
		}
		_ = ws.CloseNow()
	}
	resp, err := speaking(a, true).Get(s.URL() + "/ws/global/events?event=*&token=" + s.user)
	if err != nil {
		t.Fatal(err)
	}
	_ = resp.Body.Close()
	if resp.ProtoMajor != 2 || resp.StatusCode != http.StatusUpgradeRequired {
		t.Errorf("a WebSocket's path over %s: %s", resp.Proto, resp.Status)
	}
}

// TestStopClosesIdleConnections, which clients keep open.
func TestStopClosesIdleConnections(t *testing.T) {
	a := certificatetest.New(t)
	a.Issue(time.Now().Add(time.Hour))
	s := secureSockets(t, a)
	client := speaking(a, true)
	if got := serialOf(t, client, s.URL()); got == 0 {
		t.Error("no certificate")
	}
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
	defer cancel()
	if err := s.Stop(ctx); err != nil {
		t.Error(err)
	}
}
