package standby

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"nhooyr.io/websocket"

	"postern/cluster"
)

const testKey = "the key of the cell"

// rig is a standby in front of an owner.
type rig struct {
	t     *testing.T
	owner *httptest.Server
	node  *httptest.Server
	api   *API

	mu    sync.Mutex
	state cluster.State
}

func newRig(t *testing.T, owner http.Handler, change ...func(*Config)) *rig {
	r := &rig{t: t, owner: httptest.NewServer(owner)}
	t.Cleanup(r.owner.Close)
	r.set(func(s *cluster.State) {
		s.Role, s.Lease = cluster.Standby, 10*time.Second
		s.Cell = cluster.Cell{Epoch: 3, Owner: cluster.Member{Name: "a", Address: r.owner.URL}}
	})
	c := Config{
		State:   func() cluster.State { r.mu.Lock(); defer r.mu.Unlock(); return r.state },
		Owned:   func(s cluster.State) bool { return s.Cell.Owner.Name != "" && s.OwnerSilent < s.Lease },
		Forward: true, Key: func() string { return testKey },
		Local: func() http.Handler { return nil }, IsLocal: func(path string) bool { return path == "/admin/log" },
		Logger: slog.New(slog.DiscardHandler),
	}
	for _, f := range change {
		f(&c)
	}
	r.api = New(c)
	r.node = httptest.NewServer(r.api)
	t.Cleanup(r.node.Close)
	return r
}

func (r *rig) set(change func(*cluster.State)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	change(&r.state)
}

// ask returns the status, the code of a refusal, and the header.
func (r *rig) ask(method, path string, body io.Reader) (status int, code string, answer *http.Response, text string) {
	r.t.Helper()
	req, err := http.NewRequestWithContext(r.t.Context(), method, r.node.URL+path, body)
	if err != nil {
		r.t.Fatal(err)
	}
	req.Header.Set("X-Own", "value")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		r.t.Fatal(err)
	}
	defer resp.Body.Close()
	raw, _ := io.ReadAll(resp.Body)
	var refusal struct{ Code string }
	_ = json.Unmarshal(raw, &refusal)
	return resp.StatusCode, refusal.Code, resp, string(raw)
}

func TestStandbyForwardsRequestsAsTheyCame(t *testing.T) {
	var got atomic.Pointer[http.Request]
	var body atomic.Pointer[string]
	r := newRig(t, http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		raw, _ := io.ReadAll(req.Body)
		text := string(raw)
		body.Store(&text)
		got.Store(req)
		w.Header().Set("Cache-Control", "no-store")
		w.WriteHeader(http.StatusTeapot)
		_, _ = io.WriteString(w, "from the owner")
	}))
	status, _, answer, text := r.ask(http.MethodPost, "/instance/a%20b?x=1&y=%20", strings.NewReader("a body"))
	if status != http.StatusTeapot || text != "from the owner" || answer.Header.Get(HeaderOwner) != "a" || len(answer.Header.Values("Cache-Control")) != 1 {
		t.Errorf("%d %q %v", status, text, answer.Header)
	}
	req := got.Load()
	if req.Method != http.MethodPost || req.RequestURI != "/instance/a%20b?x=1&y=%20" || req.Header.Get("X-Own") != "value" || *body.Load() != "a body" {
		t.Errorf("%s %s %v %q", req.Method, req.RequestURI, req.Header, *body.Load())
	}
	if !Genuine(req, testKey) || Accept(req, testKey).RemoteAddr != req.Header.Get(headerClient) {
		t.Errorf("the owner does not see the address of the client: %v", req.Header)
	}
	if answer.Header.Get("X-Request-Id") != "" && req.Header.Get("X-Request-Id") == "" {
		t.Error("the owner has another request id")
	}
}

func TestHeadersFromOutsideGainNothing(t *testing.T) {
	req := httptest.NewRequest(http.MethodGet, "/", nil)
	req.RemoteAddr = "192.0.2.1:1"
	req.Header.Set(headerForwarded, "a guess")
	req.Header.Set(headerClient, "127.0.0.1:1")
	for _, key := range []string{testKey, ""} {
		if out := Accept(req, key); out.RemoteAddr != "192.0.2.1:1" || out.Header.Get(headerClient) != "" || out.Header.Get(headerForwarded) != "" {
			t.Errorf("%q: %s %v", key, out.RemoteAddr, out.Header)
		}
	}
}

func TestStandbyRefusalsByState(t *testing.T) {
	for _, row := range []struct {
		name   string
		change func(*cluster.State)
		config func(*Config)
		code   string
	}{
		{"unreachable", func(s *cluster.State) { s.Role, s.Reason = cluster.Connecting, cluster.ErrUnreachable }, nil, CodeUnreachable},
		{"refused", func(s *cluster.State) { s.Role, s.Reason = cluster.Connecting, cluster.ErrRefused }, nil, CodeRefused},
		{"read-only", func(s *cluster.State) { s.Role, s.Reason = cluster.Connecting, cluster.ErrReadOnly }, nil, CodeReadOnly},
		{"silent owner", func(s *cluster.State) { s.OwnerSilent = 11 * time.Second }, nil, CodeNoOwner},
		{"no owner", func(s *cluster.State) { s.Cell.Owner = cluster.Member{} }, nil, CodeNoOwner},
		{"forwarding off", nil, func(c *Config) { c.Forward = false }, CodeStandby},
		{"no address", func(s *cluster.State) { s.Cell.Owner.Address = "" }, nil, CodeStandby},
		{"loading", func(s *cluster.State) { s.Role = cluster.Loading }, nil, CodeNoOwner},
	} {
		t.Run(row.name, func(t *testing.T) {
			var changes []func(*Config)
			if row.config != nil {
				changes = append(changes, row.config)
			}
			r := newRig(t, http.NotFoundHandler(), changes...)
			if row.change != nil {
				r.set(row.change)
			}
			status, code, answer, _ := r.ask(http.MethodGet, "/instance", nil)
			if status != http.StatusServiceUnavailable || code != row.code || answer.Header.Get("Retry-After") != "1" {
				t.Errorf("%d %s, want 503 %s", status, code, row.code)
			}
			if row.code == CodeStandby && answer.Header.Get(HeaderOwner) != "a" {
				t.Error("the owner is not named")
			}
			if status, _, _, _ := r.ask(http.MethodGet, "/health", nil); status != http.StatusOK {
				t.Errorf("/health is %d", status)
			}
			if status, _, _, text := r.ask(http.MethodGet, "/ready", nil); status != http.StatusServiceUnavailable || !strings.Contains(text, `"role":"standby"`) {
				t.Errorf("/ready is %d %s", status, text)
			}
		})
	}
}

func TestOwnerLostDuringARequest(t *testing.T) {
	var asked atomic.Int64
	release := make(chan struct{})
	t.Cleanup(func() { close(release) })
	r := newRig(t, http.HandlerFunc(func(_ http.ResponseWriter, req *http.Request) {
		asked.Add(1)
		_, _ = io.Copy(io.Discard, req.Body)
		select {
		case <-release:
		case <-req.Context().Done():
		}
	}))
	for _, row := range []struct {
		method, code string
		status       int
	}{
		{http.MethodPost, CodeOwnerLost, http.StatusBadGateway},
		{http.MethodGet, CodeNoOwner, http.StatusServiceUnavailable},
	} {
		r.set(func(s *cluster.State) { s.OwnerSilent = 0 })
		before := asked.Load()
		go func() {
			for asked.Load() == before {
				time.Sleep(time.Millisecond)
			}
			r.set(func(s *cluster.State) { s.OwnerSilent = time.Minute })
		}()
		if status, code, _, _ := r.ask(row.method, "/instance", strings.NewReader("{}")); status != row.status || code != row.code {
			t.Errorf("%s: %d %s, want %d %s", row.method, status, code, row.status, row.code)
		}
	}
	r.owner.CloseClientConnections()
	r.owner.Listener.Close()
	r.set(func(s *cluster.State) { s.OwnerSilent, s.Cell.Epoch = 0, 4 })
	if status, code, _, _ := r.ask(http.MethodPost, "/instance", strings.NewReader("{}")); status != http.StatusServiceUnavailable || code != CodeNoOwner {
		t.Errorf("what was surely not sent: %d %s", status, code)
	}
}

func TestWebSocketEndsWhenItsOwnerIsLost(t *testing.T) {
	for _, row := range []struct {
		name string
		end  func(*rig, *websocket.Conn, net.Conn)
		want websocket.StatusCode
	}{
		{"killed", func(_ *rig, _ *websocket.Conn, raw net.Conn) { _ = raw.Close() }, websocket.StatusServiceRestart},
		{"lease over", func(r *rig, _ *websocket.Conn, _ net.Conn) {
			r.set(func(s *cluster.State) { s.OwnerSilent = time.Minute })
		}, websocket.StatusServiceRestart},
		{"another owner", func(r *rig, _ *websocket.Conn, _ net.Conn) { r.set(func(s *cluster.State) { s.Cell.Epoch++ }) }, websocket.StatusServiceRestart},
		{"stopped in order", func(_ *rig, c *websocket.Conn, _ net.Conn) { go c.Close(websocket.StatusGoingAway, "stopping") }, websocket.StatusGoingAway},
	} {
		t.Run(row.name, func(t *testing.T) {
			held := make(chan struct {
				c   *websocket.Conn
				raw net.Conn
			}, 1)
			over := make(chan struct{})
			r := newRig(t, http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
				keep := &keeping{ResponseWriter: w}
				c, err := websocket.Accept(keep, req, nil)
				if err != nil {
					t.Error(err)
					return
				}
				for _, text := range []string{"short", strings.Repeat("long ", 5000), strings.Repeat("longest ", 20000)} {
					_ = c.Write(req.Context(), websocket.MessageText, []byte(text))
				}
				held <- struct {
					c   *websocket.Conn
					raw net.Conn
				}{c, keep.raw}
				<-over
			}))
			defer close(over)
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			c, _, err := websocket.Dial(ctx, r.node.URL+"/ws", nil)
			if err != nil {
				t.Fatal(err)
			}
			defer c.CloseNow()
			c.SetReadLimit(1 << 20)
			for _, want := range []int{5, 25000, 160000} {
				if _, text, err := c.Read(ctx); err != nil || len(text) != want {
					t.Fatalf("%d bytes, %v", len(text), err)
				}
			}
			h := <-held
			row.end(r, h.c, h.raw)
			_, _, err = c.Read(ctx)
			if got := websocket.CloseStatus(err); got != row.want {
				t.Errorf("it ended with %v (%v), want %v", got, err, row.want)
			}
		})
	}
}

// keeping keeps the connection that is hijacked.
type keeping struct {
	http.ResponseWriter
	raw net.Conn
}

func (k *keeping) Hijack() (c net.Conn, rw *bufio.ReadWriter, err error) {
	c, rw, err = http.NewResponseController(k.ResponseWriter).Hijack()
	k.raw = c
	return c, rw, err
}

func TestLocalRoutesAreNotForwarded(t *testing.T) {
	r := newRig(t, http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("it was forwarded") }), func(c *Config) {
		c.Local = func() http.Handler {
			return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "own") })
		}
	})
	if _, _, _, text := r.ask(http.MethodGet, "/admin/log", nil); text != "own" {
		t.Errorf("got %q", text)
	}
}

func TestUnsentRequestIsRecognised(t *testing.T) {
	if !unsent(&net.OpError{Op: "dial", Err: errors.New("refused")}) || unsent(io.ErrUnexpectedEOF) {
		t.Error("a request that was not sent is not recognised")
	}
}
