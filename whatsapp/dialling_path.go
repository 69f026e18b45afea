package whatsapp

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"slices"
	"sync"
	"time"

	"postern/whatsapp/proxy"
)

// path is a line while it goes over one proxy, or over none, with the
// connections made on it.
type path struct {
	via       proxy.Server
	conn      *Connector
	transport *http.Transport
	life      context.Context // ends with close
	end       context.CancelFunc

	mu     sync.Mutex
	closed bool
	open   map[*pathConn]struct{}
}

func (c *Connector) newPath(via proxy.Server) *path {
	p := &path{via: via, conn: c, open: map[*pathConn]struct{}{}}
	p.life, p.end = context.WithCancel(context.Background())
	p.transport = &http.Transport{DialTLSContext: p.dial, DialContext: noPlainText, IdleConnTimeout: 30 * time.Second, MaxIdleConnsPerHost: 2}
	return p
}

// noPlainText keeps a URL that is not https from being dialled.
func noPlainText(context.Context, string, string) (net.Conn, error) {
	return nil, errors.New("only https is spoken with WhatsApp")
}

// close ends the dials under way and all connections, idle or not.
func (p *path) close() {
	p.mu.Lock()
	p.closed = true
	open := p.open
	p.open = nil
	p.mu.Unlock()
	p.end()
	for c := range open {
		_ = c.Conn.Close()
	}
	p.transport.CloseIdleConnections()
}

// dial connects to addr, or to the endpoint in its place, and speaks TLS. It
// ends by itself before whoever waits for it gives up, so that they hear which
// step took too long.
func (p *path) dial(ctx context.Context, network, addr string) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, p.conn.cfg.ConnectTimeout*9/10)
	defer cancel()
	defer context.AfterFunc(p.life, cancel)()
	raw, err := p.reach(ctx, network, p.conn.target(addr))
	if err != nil {
		return nil, err
	}
	raw, err = p.keep(raw)
	if err != nil {
		return nil, err
	}
	settings, err := p.conn.endpoint.tlsFor(addr)
	if err != nil {
		return nil, errors.Join(err, raw.Close())
	}
	conn := tls.Client(raw, settings)
	if err := conn.HandshakeContext(ctx); err != nil {
		_ = raw.Close()
		if !p.via.IsZero() {
			err = proxy.Failed(proxy.TLS, err)
		}
		return nil, err
	}
	return conn, nil
}

// reach makes the connection that TLS is spoken on.
func (p *path) reach(ctx context.Context, network, address string) (net.Conn, error) {
	if p.via.IsZero() {
		return (&net.Dialer{KeepAlive: 30 * time.Second}).DialContext(ctx, network, address)
	}
	return p.conn.cfg.Proxies.Dial(ctx, p.via, address)
}

// pathConn is a connection that its path can close.
type pathConn struct {
	net.Conn
	path *path
}

// Read implements net.Conn.
func (c *pathConn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	return n, c.path.why(err)
}

// Write implements net.Conn.
func (c *pathConn) Write(b []byte) (int, error) {
	n, err := c.Conn.Write(b)
	return n, c.path.why(err)
}

// Close implements net.Conn.
func (c *pathConn) Close() error {
	c.path.mu.Lock()
	delete(c.path.open, c)
	c.path.mu.Unlock()
	return c.Conn.Close()
}

// errRerouted is the end of a connection that a change of the proxy closed.
var errRerouted = errors.New("the proxy was changed meanwhile")

// notDialled is the error of a connection that was not made, since the way is
// not known.
type notDialled struct{ cause error }

// Error implements error.
func (e *notDialled) Error() string { return "not dialled: " + e.cause.Error() }

// Plain tells package netfault that the text is in plain words.
func (e *notDialled) Plain() string { return e.Error() }

// Unwrap returns why the way is not known.
func (e *notDialled) Unwrap() error { return e.cause }

// noWay reports whether something failed for the sake of a proxy.
func noWay(err error) bool {
	_, failed := errors.AsType[*proxy.Error](err)
	_, unknown := errors.AsType[*notDialled](err)
	return failed || unknown || errors.Is(err, errRerouted)
}

// why names the reason for the end of a request, or of a connection, that the
// path ended.
func (p *path) why(err error) error {
	if err == nil || errors.Is(err, io.EOF) {
		return err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return errRerouted
	}
	return err
}

func (p *path) keep(raw net.Conn) (net.Conn, error) {
	c := &pathConn{raw, p}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return nil, errors.Join(errRerouted, raw.Close())
	}
	p.open[c] = struct{}{}
	return c, nil
}

// Hosts of WhatsApp that a proxy is tried with. Servers of media have other
// names too, which WhatsApp tells.
const (
	socketHost = "web.whatsapp.com:443"
	mediaHost  = "mmg.whatsapp.net:443"
)

// Probe dials WhatsApp, or the endpoint, through a proxy and speaks TLS with it,
// as an instance with that proxy would, and hangs up. It takes no longer than
// Config.ConnectTimeout. The error is a [proxy.Error].
func (c *Connector) Probe(ctx context.Context, via proxy.Server, uses []proxy.Use) error {
	host := mediaHost
	if slices.Contains(uses, proxy.Socket) {
		host = socketHost
	}
	p := c.newPath(via)
	defer p.close()
	_, err := p.dial(ctx, "tcp", host)
	return err
}
