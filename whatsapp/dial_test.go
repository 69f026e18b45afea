package whatsapp

import (
	"context"
	"crypto/tls"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"

	"postern/event"
)

// TestCancelledDialEndsAtOnce cancels while the server withholds its half of the
// handshake, for which the library would wait for 20 s; then the session can dial
// again.
func TestCancelledDialEndsAtOnce(t *testing.T) {
	cert, ca := authority(t, "web.whatsapp.com")
	greeted := make(chan struct{}, 10)
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c, err := websocket.Accept(w, r, &websocket.AcceptOptions{InsecureSkipVerify: true})
		if err != nil {
			return
		}
		defer func() { _ = c.CloseNow() }()
		for {
			if _, _, err := c.Read(r.Context()); err != nil {
				return
			}
			greeted <- struct{}{}
		}
	}))
	server.TLS = &tls.Config{Certificates: []tls.Certificate{cert}}
	server.StartTLS()
	defer server.Close()
	s, _, _ := offline(t, Config{Endpoint: &Endpoint{
		URL: "wss://" + strings.TrimPrefix(server.URL, "https://") + "/ws/chat", CA: ca, RootKey: [32]byte{1},
	}})
	for range 2 {
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- s.Connect(ctx) }()
		<-greeted
		cancel()
		select {
		case err := <-ended:
			if err == nil || !strings.Contains(err.Error(), event.ErrNotConnected.Error()) {
				t.Errorf("it ended with %v", err)
			}
		case <-time.After(10 * time.Second):
			t.Fatal("it goes on")
		}
		s.Disconnect()
	}
}
