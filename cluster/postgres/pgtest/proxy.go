//go:build linux

package pgtest

import (
	"bytes"
	"context"
	"net"
	"strconv"
	"sync"
	"syscall"
	"testing"
	"time"
)

// Proxy is an address that leads to a server until it is cut.
type Proxy struct {
	Host string
	Port int

	// Answer changes what the server sends; nil: it stays as it is. It is set before the
	// first connection.
	Answer func([]byte) []byte

	// Delay is what the proxy adds to a round trip. It is set before the first connection.
	Delay time.Duration
	mu    sync.Mutex
	to    string // the address that it leads to
	open  map[net.Conn]struct{}
	dark  bool          // what arrives is not handed on
	lose  bool          // the next answer is lost with its connection
	held  chan struct{} // closed when what arrived is handed on; nil: it is at once
}

// StartProxy starts a proxy in front of s.
func (s *Server) StartProxy(t testing.TB) *Proxy {
	t.Helper()
	return ProxyAt(t, loopback, s.Address())
}

// Address returns the host and port of the server.
func (s *Server) Address() string { return local(s.Port) }

const loopback = "127.0.0.1"

func local(port int) string { return net.JoinHostPort(loopback, strconv.Itoa(port)) }

// ProxyAt starts a proxy at an address of this machine, on any port, that leads to another address.
func ProxyAt(t testing.TB, host, to string) *Proxy {
	t.Helper()
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", net.JoinHostPort(host, "0"))
	if err != nil {
		t.Fatal(err)
	}
	p := &Proxy{Host: host, Port: l.Addr().(*net.TCPAddr).Port, to: to, open: map[net.Conn]struct{}{}}
	t.Cleanup(func() {
		l.Close()
		p.Cut()
	})
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go p.serve(t.Context(), c)
		}
	}()
	return p
}

// URL returns the address of a database by way of the proxy.
func (p *Proxy) URL(database string) string { return urlOf(database, []string{p.Address()}) }

// Address returns the host and port of the proxy.
func (p *Proxy) Address() string { return net.JoinHostPort(p.Host, strconv.Itoa(p.Port)) }

func (p *Proxy) serve(ctx context.Context, c net.Conn) {
	defer c.Close()
	p.mu.Lock()
	to := p.to
	p.mu.Unlock()
	up, err := new(net.Dialer).DialContext(ctx, "tcp", to)
	if err != nil {
		return
	}
	defer up.Close()
	p.mu.Lock()
	p.open[c], p.open[up] = struct{}{}, struct{}{}
	p.mu.Unlock()
	defer func() {
		p.mu.Lock()
		delete(p.open, c)
		delete(p.open, up)
		p.mu.Unlock()
	}()
	go p.copy(c, up, true)
	p.copy(up, c, false)
}

func (p *Proxy) copy(to, from net.Conn, answers bool) {
	defer to.Close()
	defer from.Close()
	write := to.Write
	if p.Delay > 0 {
		late := make(chan part, 1000)
		defer close(late)
		go handOn(to, late)
		write = func(b []byte) (int, error) {
			late <- part{time.Now().Add(p.Delay / 2), bytes.Clone(b)}
			return len(b), nil
		}
	}
	b := make([]byte, 32<<10)
	for {
		n, err := from.Read(b)
		p.mu.Lock()
		dark, lost, held := p.dark, answers && p.lose, p.held
		p.lose = p.lose && !lost
		p.mu.Unlock()
		if held != nil {
			<-held
		}
		if lost {
			return
		}
		if n > 0 && !dark {
			sent := b[:n]
			if answers && p.Answer != nil {
				sent = p.Answer(sent)
			}
			if _, err := write(sent); err != nil {
				return
			}
		}
		if err != nil {
			return
		}
	}
}

// part is what arrived, and when it is handed on.
type part struct {
	at    time.Time
	bytes []byte
}

func handOn(to net.Conn, late <-chan part) {
	broken := false
	for p := range late {
		pause(time.Until(p.at))
		if _, err := to.Write(p.bytes); err != nil && !broken {
			broken = true
			to.Close()
		}
	}
}

// pause sleeps in the kernel: a timer of the runtime that is due within a millisecond often fires a
// millisecond late.
func pause(d time.Duration) {
	if d > 0 {
		rest := syscall.NsecToTimespec(d.Nanoseconds())
		_ = syscall.Nanosleep(&rest, nil)
	}
}

// Cut ends all connections.
func (p *Proxy) Cut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for c := range p.open {
		c.Close()
	}
}

// Darken keeps all that arrives, in both directions, from being handed on, or lets it pass
// again.
func (p *Proxy) Darken(dark bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.dark = dark
}

// Lead has new connections lead to another port of this machine, and ends those that are open.
func (p *Proxy) Lead(port int) {
	p.mu.Lock()
	p.to = local(port)
	p.mu.Unlock()
	p.Cut()
}

// Hold keeps what arrives until release is called, and then hands it on, even if who sent
// it is gone.
func (p *Proxy) Hold() (release func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	held := make(chan struct{})
	p.held = held
	return sync.OnceFunc(func() {
		p.mu.Lock()
		p.held = nil
		p.mu.Unlock()
		close(held)
	})
}

// Lose has the next answer of the server lost, with its connection.
func (p *Proxy) Lose() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.lose = true
}
