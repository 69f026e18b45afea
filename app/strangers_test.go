package app

import (
	"context"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"postern/event"
	"postern/internal/nightly"
)

// besiege keeps so many connections from this address open, each of which sends the
// beginning of a request and then nothing. With again, each is opened again as soon as it
// is closed. It returns when all have come once.
func (s *socketRig) besiege(ctx context.Context, connections int, begin string, again bool) (wait func()) {
	var attack, came sync.WaitGroup
	came.Add(connections)
	for range connections {
		attack.Go(func() {
			var once sync.Once
			for first := true; ctx.Err() == nil && (first || again); first = false {
				c, err := (&net.Dialer{}).DialContext(ctx, "tcp", strings.TrimPrefix(s.url, "http://"))
				if err != nil {
					break
				}
				_, _ = io.WriteString(c, begin)
				once.Do(came.Done)
				closed := context.AfterFunc(ctx, func() { _ = c.Close() })
				_, _ = io.Copy(io.Discard, c)
				closed()
				_ = c.Close()
			}
			once.Do(came.Done)
		})
	}
	came.Wait()
	return attack.Wait
}

// TestOwnerIsAnsweredBesideSlowStrangers: 400 slow requests from the owner's address that
// have no right credential, whatever they are slow with, leave the owner 9 of 10 calls
// and its WebSocket.
func TestOwnerIsAnsweredBesideSlowStrangers(t *testing.T) {
	for name, attack := range map[string]struct {
		begin string
		again bool
	}{
		"body without a credential": {"POST /instance HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\n{", true},
		"body with a wrong key":     {"POST /session HTTP/1.1\r\nHost: x\r\nApikey: wrong\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n", true},
		"headers":                   {"GET / HTTP/1.1\r\nHost:", false},
		"upgrade":                   {"GET /ws/console HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nContent-Length: 9\r\n\r\n", true},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSockets(t)
			socket := s.mustDial("/ws/global/events?event=*", s.user)
			ctx, end := context.WithCancel(t.Context())
			wait := s.besiege(ctx, 400, attack.begin, attack.again)
			calls, answered := nightly.Or(30, 100), 0
			for range calls {
				client := http.Client{Timeout: 20 * time.Second, Transport: &http.Transport{DisableKeepAlives: true}}
				req, _ := http.NewRequestWithContext(ctx, http.MethodPut, s.url+"/admin/log", strings.NewReader(`{"level":"info","minutes":1}`))
				req.Header.Set("Apikey", s.sec.GlobalAuthToken)
				resp, err := client.Do(req)
				if err != nil {
					continue
				}
				if resp.StatusCode == http.StatusOK {
					answered++
				}
				_ = resp.Body.Close()
			}
			end()
			wait()
			if answered < calls*9/10 {
				t.Errorf("%d of %d calls were answered", answered, calls)
			}
			s.emit(event.BatchCreated)
			if _, _, err := socket.Read(t.Context()); err != nil {
				t.Errorf("the WebSocket: %v", err)
			}
		})
	}
}
