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

// path is the part of a line that uses one proxy, or none, with its connections.
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

// noPlainText rejects URLs that are not https.
func noPlainText(context.Context, string, string) (net.Conn, error) {
	return nil, errors.New("connections to WhatsApp require https")
}

// close cancels running dials and closes all connections, idle or not.
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

// dial connects to addr, or to the endpoint instead, with TLS. Its own timeout is
// shorter than the caller's, so that the error names the step that took too long.
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

// reach opens the connection below TLS.
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

// errRerouted is the error of a connection that was closed because the proxy changed.
var errRerouted = errors.New("the proxy was changed in the meantime")

// notDialled is the error of a dial for which the proxy could not be determined.
type notDialled struct{ cause error }

// Error implements error.
func (e *notDialled) Error() string { return "not dialled: " + e.cause.Error() }

// Plain marks the text as plain for package netfault.
func (e *notDialled) Plain() string { return e.Error() }

// Unwrap returns the cause.
func (e *notDialled) Unwrap() error { return e.cause }

// noWay reports whether err is a failure of a proxy.
func noWay(err error) bool {
	_, failed := errors.AsType[*proxy.Error](err)
	_, unknown := errors.AsType[*notDialled](err)
	return failed || unknown || errors.Is(err, errRerouted)
}

// why replaces the error of a request or connection that the path closed by the reason.
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

// Hosts of WhatsApp that Probe connects to. Media servers also have other names, which
// WhatsApp sends.
const (
	socketHost = "web.whatsapp.com:443"
	mediaHost  = "mmg.whatsapp.net:443"
)

// Probe connects to WhatsApp, or the endpoint, through a proxy with TLS, as an instance
// with that proxy would, and closes the connection. It takes at most
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
