package whatsapp

import (
	"context"
	"errors"
	"net"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"postern/event"
	"postern/whatsapp/proxy"
	"postern/whatsapp/proxy/proxytest"
)

// lookups counts the DNS queries of this process. No test uses a name that needs one.
var lookups = func() *atomic.Int64 {
	n := new(atomic.Int64)
	net.DefaultResolver = &net.Resolver{PreferGo: true, Dial: func(context.Context, string, string) (net.Conn, error) {
		n.Add(1)
		return nil, errors.New("this test asks no DNS server")
	}}
	return n
}()

// trap is an address in place of WhatsApp's that must not be dialled directly. A proxy
// that is asked for it connects to the real server instead.
type trap struct {
	address string
	sprung  atomic.Int64
}

func newTrap(t *testing.T) *trap {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	t.Cleanup(func() { _ = l.Close() })
	trap := &trap{address: l.Addr().String()}
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			trap.sprung.Add(1)
			_ = c.Close()
		}
	}()
	return trap
}

// proxied is an instance that must use proxies.
type proxied struct {
	*rig
	trap   *trap
	target string // what a proxy is asked for
	real   string // where the sandbox is

	mu     sync.Mutex
	use    map[proxy.Use]proxy.Server
	failed error
	dialed []string // addresses of proxies
}

// newProxied creates an instance at an endpoint that only proxies reach. With named,
// the endpoint has an unknown name; else it is a trap.
func newProxied(t *testing.T, cfg Config, named bool) *proxied {
	t.Helper()
	p := &proxied{use: map[proxy.Use]proxy.Server{}, trap: newTrap(t)}
	if cfg.ConnectTimeout == 0 {
		cfg.ConnectTimeout = 20 * time.Second
	}
	cfg.Proxy = func(_ int64, use proxy.Use) (proxy.Server, error) {
		p.mu.Lock()
		defer p.mu.Unlock()
		return p.use[use], p.failed
	}
	cfg.Proxies.Control = func(_, address string, _ syscall.RawConn) error {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.dialed = append(p.dialed, address)
		return nil
	}
	p.rig = newRigWith(t, cfg)
	at, err := url.Parse(p.cfg.Endpoint.URL)
	must(t, err)
	p.real, p.target = at.Host, p.trap.address
	if named {
		p.target = "whatsapp.invalid:443"
	}
	p.cfg.Endpoint.URL = "wss://" + p.target + "/ws/chat"
	p.restart()
	before := lookups.Load()
	t.Cleanup(func() {
		if n := p.trap.sprung.Load(); n != 0 {
			t.Errorf("WhatsApp was dialled %d times without a proxy", n)
		}
		if n := lookups.Load() - before; n != 0 {
			t.Errorf("%d names were looked up", n)
		}
	})
	return p
}

// proxy starts a proxy that connects to the sandbox for every target.
func (p *proxied) proxy(t *testing.T, scheme string) *proxytest.Proxy {
	t.Helper()
	px := proxytest.New(t, scheme)
	px.Route(func(string) string { return p.real })
	return px
}

// through sets the proxy of the instance for these uses, and none for others.
func (p *proxied) through(t *testing.T, url string, uses ...proxy.Use) {
	t.Helper()
	server, err := proxy.Parse(url)
	must(t, err)
	p.mu.Lock()
	defer p.mu.Unlock()
	clear(p.use)
	for _, use := range uses {
		p.use[use] = server
	}
}

func (p *proxied) fail(err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.failed = err
}

// onlyAsked compares the requests to a proxy with the expected ones.
func (p *proxied) onlyAsked(t *testing.T, px *proxytest.Proxy) {
	t.Helper()
	for _, got := range px.Asked() {
		if got != p.target {
			t.Errorf("the proxy was asked for %s, want %s", got, p.target)
		}
	}
}

// dialFails dials and returns the error.
func (p *proxied) dialFails(t *testing.T) error {
	t.Helper()
	err := p.session.Connect(t.Context())
	if !errors.Is(err, event.ErrNotConnected) {
		t.Fatalf("the dial ended in %v", err)
	}
	return err
}

func wantStep(t *testing.T, err error, step proxy.Step, words string) {
	t.Helper()
	failed, ok := errors.AsType[*proxy.Error](err)
	if !ok || failed.Step != step || !strings.Contains(err.Error(), "the proxy failed at "+string(step)) || !strings.Contains(err.Error(), words) {
		t.Errorf("the reason is %q, want step %s and %q", err, step, words)
	}
	for _, secret := range []string{"pa55word", "someone", "127.0.0.1"} {
		if strings.Contains(err.Error(), secret) {
			t.Errorf("the reason %q contains %s", err, secret)
		}
	}
}
