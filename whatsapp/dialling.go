package whatsapp

import (
	"net/http"
	"sync"

	"postern/whatsapp/proxy"
)

// lines are the HTTP clients by which an instance reaches WhatsApp. Each determines the
// proxy in force before every request, and never connects in another way.
type lines struct{ socket, media *line }

// line is the HTTP client for one use. It shares no connections with other instances,
// each of which may have its own proxy.
type line struct {
	client *http.Client // over this line

	conn     *Connector
	instance int64
	use      proxy.Use

	mu   sync.Mutex
	path *path // of the last request; nil before the first
}

func (c *Connector) newLines(instance int64) lines {
	return lines{socket: c.newLine(instance, proxy.Socket), media: c.newLine(instance, proxy.Media)}
}

func (c *Connector) newLine(instance int64, use proxy.Use) *line {
	l := &line{conn: c, instance: instance, use: use}
	l.client = &http.Client{Transport: l}
	return l
}

// reroute closes the connections that do not use the proxy now in force.
func (l lines) reroute() {
	l.socket.reroute()
	l.media.reroute()
}

// RoundTrip implements http.RoundTripper.
func (l *line) RoundTrip(r *http.Request) (*http.Response, error) {
	p, err := l.current()
	if err != nil {
		return nil, err
	}
	res, err := p.transport.RoundTrip(r)
	return res, p.why(err)
}

// current returns the path through the proxy in force. It closes connections through
// another one.
func (l *line) current() (*path, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	via, err := l.conn.via(l.instance, l.use)
	if err != nil {
		l.end()
		return nil, &notDialled{err}
	}
	if l.path == nil || l.path.via != via {
		l.end()
		l.path = l.conn.newPath(via)
	}
	return l.path, nil
}

// end closes all connections. The caller holds l.mu.
func (l *line) end() {
	if l.path != nil {
		l.path.close()
		l.path = nil
	}
}

// close closes the line.
func (l *line) close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.end()
}

// CloseIdleConnections implements the optional interface of http.Client.
func (l *line) CloseIdleConnections() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.path != nil {
		l.path.transport.CloseIdleConnections()
	}
}

// reroute implements lines.reroute.
func (l *line) reroute() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.path == nil {
		return
	}
	if via, err := l.conn.via(l.instance, l.use); err != nil || via != l.path.via {
		l.end()
	}
}

// via returns the proxy of an instance for a use, the zero Server for none.
func (c *Connector) via(instance int64, use proxy.Use) (proxy.Server, error) {
	if c.cfg.Proxy == nil {
		return proxy.Server{}, nil
	}
	return c.cfg.Proxy(instance, use)
}
