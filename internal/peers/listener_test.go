package peers

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// hall is a served listener whose handler keeps /stay until it is let go, and
// hijacks /take.
type hall struct {
	*Listener
	t     *testing.T
	stays atomic.Int32  // requests of /stay
	leave chan struct{} // one for each /stay
	taken chan net.Conn
	logs  lockedText
}

type lockedText struct {
	mu sync.Mutex
	b  bytes.Buffer
}

// Write implements io.Writer.
func (l *lockedText) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedText) count(what string) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Count(l.b.String(), what)
}

// short is a spare time that tests wait for, long one that none outlives.
const (
	short = 50 * time.Millisecond
	long  = time.Hour
)

func newHall(t *testing.T, limits Limits) *hall {
	t.Helper()
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	h := &hall{t: t, leave: make(chan struct{}), taken: make(chan net.Conn, 10)}
	limits.Logger = slog.New(slog.NewTextHandler(&h.logs, nil))
	h.Listener = Listen(l, limits)
	srv := &http.Server{Handler: h, ReadHeaderTimeout: time.Minute, Protocols: &http.Protocols{}}
	srv.Protocols.SetHTTP1(true)
	srv.Protocols.SetUnencryptedHTTP2(true)
	served := make(chan error, 1)
	go func() { served <- h.Serve(srv) }()
	t.Cleanup(func() {
		close(h.leave)
		_ = srv.Close()
		if err := <-served; !errors.Is(err, http.ErrServerClosed) {
			t.Errorf("serve: %v", err)
		}
	})
	return h
}

// ServeHTTP implements http.Handler.
func (h *hall) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if strings.HasPrefix(r.Header.Get("Apikey"), "right") {
		Prove(r.Context())
	}
	switch r.URL.Path {
	case "/stay":
		h.stays.Add(1)
		defer h.stays.Add(-1)
		select {
		case <-h.leave:
		case <-r.Context().Done():
		}
	case "/take":
		c, _, err := http.NewResponseController(w).Hijack()
		if err != nil {
			h.t.Error(err)
			return
		}
		_, _ = io.WriteString(c, "HTTP/1.1 101 Switching Protocols\r\n\r\n")
		h.taken <- c
	}
}

// guest is one client connection.
type guest struct {
	net.Conn
	in *bufio.Reader
}

// come connects from an address of the loopback network.
func (h *hall) come(from string) *guest {
	h.t.Helper()
	d := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(from)}}
	c, err := d.DialContext(h.t.Context(), "tcp", h.Addr().String())
	if err != nil {
		h.t.Skipf("this machine has no address %s: %v", from, err)
	}
	h.t.Cleanup(func() { _ = c.Close() })
	return &guest{c, bufio.NewReader(c)}
}

func (g *guest) ask(path string) *guest {
	_, _ = io.WriteString(g, "GET "+path+" HTTP/1.1\r\nHost: x\r\n\r\n")
	return g
}

// prove asks with a right credential.
func (g *guest) prove(path string) *guest {
	_, _ = io.WriteString(g, "GET "+path+" HTTP/1.1\r\nHost: x\r\nApikey: right\r\n\r\n")
	return g
}

// answer waits for an answer and returns its status, or why there is none.
func (g *guest) answer(within time.Duration) (int, error) {
	_ = g.SetReadDeadline(time.Now().Add(within))
	res, err := http.ReadResponse(g.in, nil)
	if err != nil {
		return 0, err
	}
	return res.StatusCode, res.Body.Close()
}

const patience = 30 * time.Second

func (h *hall) mustAnswer(who string, g *guest) {
	h.t.Helper()
	if status, err := g.answer(patience); err != nil {
		h.t.Fatalf("%s: %d, %v", who, status, err)
	}
}

// await polls until the figures are as they should be.
func (h *hall) await(what string, ok func(ListenerStats) bool) {
	h.t.Helper()
	for deadline := time.Now().Add(patience); !ok(h.Stats()); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			h.t.Fatalf("%s: %+v", what, h.Stats())
		}
	}
}

func TestANewcomerWaitsWhileAllOthersHaveRequests(t *testing.T) {
	h := newHall(t, Limits{Total: 2, spare: short})
	first, second := h.come("127.0.0.1").ask("/stay"), h.come("127.0.0.1").ask("/stay")
	h.await("both are inside", func(s ListenerStats) bool { return s.Open == 2 && h.stays.Load() == 2 })
	third := h.come("127.0.0.1").ask("/")
	h.await("the third waits", func(s ListenerStats) bool { return s.Waited == 1 })
	if _, err := third.answer(2 * short); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("over the limit: %v", err)
	}
	h.leave <- struct{}{}
	h.mustAnswer("after a request ended", third) // the first or second rests then, and gives its place
	if n := h.logs.count("level=WARN"); n != 1 {
		t.Errorf("%d warnings", n)
	}
	_, _ = first, second
}

// TestIdleConnectionIsEvicted: the silent, the slow and the
// kept, and the one that has been so for longest first.
func TestIdleConnectionIsEvicted(t *testing.T) {
	for name, begin := range map[string]func(h *hall, g *guest){
		"silent":                func(*hall, *guest) {},
		"headers byte by byte":  func(_ *hall, g *guest) { _, _ = io.WriteString(g, "GET / HTTP/1.1\r\nHost:") },
		"kept after its answer": func(h *hall, g *guest) { h.mustAnswer("the resting", g.ask("/")) },
	} {
		t.Run(name, func(t *testing.T) {
			h := newHall(t, Limits{Total: 2, spare: short})
			resting := h.come("127.0.0.1")
			begin(h, resting)
			h.await("it is inside", func(s ListenerStats) bool { return s.Open == 1 })
			working := h.come("127.0.0.1").ask("/stay")
			h.await("all places are taken", func(s ListenerStats) bool { return s.Open == 2 })
			h.mustAnswer("the newcomer", h.come("127.0.0.1").ask("/"))
			if _, err := resting.answer(patience); errors.Is(err, os.ErrDeadlineExceeded) || err == nil {
				t.Errorf("the resting one: %v", err)
			}
			h.leave <- struct{}{}
			h.mustAnswer("the one with a request", working)
			if s := h.Stats(); s.Evicted == 0 || s.Refused != 0 {
				t.Errorf("%+v", s)
			}
			if n := h.logs.count("level=WARN"); n != 1 || h.logs.count("limit=2") != 1 {
				t.Errorf("%d warnings", n)
			}
		})
	}
}

// TestAddressLimitAffectsOnlyThatAddress floods from one address.
func TestAddressLimitAffectsOnlyThatAddress(t *testing.T) {
	exempt, err := ParseProxies([]string{"127.0.0.3"})
	if err != nil {
		t.Fatal(err)
	}
	h := newHall(t, Limits{Total: 8, PerAddress: 2, Exempt: exempt, spare: long})
	for range 2 {
		h.come("127.0.0.1").ask("/stay")
	}
	h.await("two are inside", func(s ListenerStats) bool { return s.Open == 2 && h.stays.Load() == 2 })
	for range 50 {
		if _, err := h.come("127.0.0.1").ask("/").answer(patience); err == nil || errors.Is(err, os.ErrDeadlineExceeded) {
			t.Fatalf("over its limit: %v", err)
		}
	}
	for range 2 {
		h.mustAnswer("another address", h.come("127.0.0.2").ask("/"))
	}
	for range 4 {
		h.mustAnswer("a trusted proxy", h.come("127.0.0.3").ask("/"))
	}
	if s := h.Stats(); s.Open != 8 || s.Refused != 50 || s.Evicted != 0 || s.Waited != 0 {
		t.Errorf("%+v", s)
	}
	if n := h.logs.count("level=WARN"); n != 1 || h.logs.count("address=127.0.0.1 limit=2") != 1 {
		t.Errorf("%d warnings", n)
	}
}

// TestAddressLimitEvictsItsOwnIdleConnection, for a browser
// that keeps many.
func TestAddressLimitEvictsItsOwnIdleConnection(t *testing.T) {
	h := newHall(t, Limits{Total: 8, PerAddress: 1, spare: short})
	other := h.come("127.0.0.2")
	h.mustAnswer("another address", other.ask("/"))
	kept := h.come("127.0.0.1")
	h.mustAnswer("the first", kept.ask("/"))
	for deadline := time.Now().Add(patience); ; time.Sleep(short) {
		if _, err := h.come("127.0.0.1").ask("/").answer(patience); err == nil {
			break
		}
		if time.Now().After(deadline) {
			t.Fatal("its second connection was never taken")
		}
	}
	h.mustAnswer("the other, which rests too", other.ask("/"))
}

func TestHijackedConnectionCountsAndIsNotEvicted(t *testing.T) {
	h := newHall(t, Limits{Total: 1, spare: short})
	socket := h.come("127.0.0.1").ask("/take")
	taken := <-h.taken
	newcomer := h.come("127.0.0.1").ask("/")
	if _, err := newcomer.answer(4 * short); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("while it is open: %v", err)
	}
	_, _ = socket.answer(patience) // the 101
	_, _ = io.WriteString(taken, "still here\n")
	_ = socket.SetReadDeadline(time.Now().Add(patience))
	if line, err := socket.in.ReadString('\n'); line != "still here\n" {
		t.Errorf("%q, %v", line, err)
	}
	_ = taken.Close()
	_ = taken.Close() // twice is once
	h.mustAnswer("after it was closed", newcomer)
	h.await("one is open", func(s ListenerStats) bool { return s.Open == 1 })
}

func TestClosedListenerDoesNotWait(t *testing.T) {
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	h := &hall{t: t, Listener: Listen(l, Limits{Total: 1, spare: long})}
	h.come("127.0.0.1")
	if _, err := h.Accept(); err != nil {
		t.Fatal(err)
	}
	accepted := make(chan error, 1)
	go func() {
		_, err := h.Accept()
		accepted <- err
	}()
	h.come("127.0.0.1")
	h.await("it waits", func(s ListenerStats) bool { return s.Waited == 1 })
	_ = h.Close()
	if err := <-accepted; !errors.Is(err, net.ErrClosed) {
		t.Errorf("got %v", err)
	}
}

func TestAWarningComesOnceAMinute(t *testing.T) {
	var w throttle
	if first, second, other := w.count("a"), w.count("a"), w.count("b"); first != 1 || second != 0 || other != 1 {
		t.Error(first, second, other)
	}
	w.last["a"] = time.Now().Add(-time.Minute)
	if n := w.count("a"); n != 2 {
		t.Errorf("a minute later: %d", n)
	}
}
