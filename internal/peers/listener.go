package peers

import (
	"cmp"
	"context"
	"crypto/tls"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"time"
)

// Limits bound the connections of one listener.
type Limits struct {
	Total      int     // 1 or more
	PerAddress int     // of one address; 0: no limit but Total
	Exempt     Proxies // may hold as many as Total, for they bring many clients
	Strangers  bool    // a request is a stranger's until [Prove] is called for it
	Logger     *slog.Logger

	spare time.Duration // see conn.resting; 0: one second
}

// Listener accepts connections within its limits.
//
// A connection that rests is worth less than a newcomer: one that is silent,
// whose headers come byte by byte, or that a browser keeps for its next
// request. At a limit, the one that has rested longest is closed. When all have
// requests, a newcomer of an address at its limit is closed, and any other
// waits, as do all behind it, until one ends.
//
// With Limits.Strangers, a request without a call of [Prove] so far is worth less
// still: at a limit the oldest such connection is closed first, and at once. So slow
// requests without a credential take no place from one that has a right credential.
// At the limit of its address, a connection that never had a proven request is not spared either.
//
// Over HTTP/2 a connection carries many requests at once. Each that begins beside
// another one counts as a connection of its own, and is reset where there is no
// place for it: it never waits.
type Listener struct {
	net.Listener
	log      *slog.Logger
	total    int
	exempt   Proxies
	warnings throttle

	freed   chan struct{} // size 1: one ended or rests, for waiting connections
	done    chan struct{} // closed by Close
	closing sync.Once

	mu        sync.Mutex
	table     table
	stats     ListenerStats
	forwarded forwarded
}

// ListenerStats are the figures of a Listener. All but Open only grow.
type ListenerStats struct {
	Open    int    // connections now, and requests beside another one on theirs
	Refused uint64 // closed or reset at once, for their address was at its limit
	Evicted uint64 // closed while they rested, to make room
	Waited  uint64 // had to wait, for all others had requests
}

// Listen puts limits on a listener. The caller serves it with Serve.
func Listen(l net.Listener, limits Limits) *Listener {
	limits.Logger = cmp.Or(limits.Logger, slog.New(slog.DiscardHandler))
	if limits.spare == 0 {
		limits.spare = time.Second
	}
	return &Listener{
		Listener: l, log: limits.Logger, total: limits.Total, exempt: limits.Exempt,
		freed: make(chan struct{}, 1), done: make(chan struct{}),
		table: newTable(limits),
	}
}

// Serve is srv.Serve on this listener. The server tells it which connections
// have a request.
func (l *Listener) Serve(srv *http.Server) error { return l.serve(srv, l) }

// ServeTLS is Serve with TLS, but for connections to a Unix socket, where no client
// listens in.
func (l *Listener) ServeTLS(srv *http.Server, config *tls.Config) error {
	return l.serve(srv, secured{l, config})
}

// secured is a listener whose connections have TLS.
type secured struct {
	net.Listener
	config *tls.Config
}

// Accept implements net.Listener.
func (s secured) Accept() (net.Conn, error) {
	c, err := s.Listener.Accept()
	if err != nil || c.LocalAddr().Network() == "unix" {
		return c, err
	}
	return tls.Server(c, s.config), nil
}

// stream is a request over HTTP/2 that is served.
type stream struct {
	conn   *conn
	proven bool // guarded by the listener's mu
}

type (
	connKey   struct{}
	streamKey struct{}
)

// Prove notes that the request with a context has a right credential: its connection
// gives its place to no newcomer. It does nothing when no [Listener] serves the request.
func Prove(ctx context.Context) {
	if s, ok := ctx.Value(streamKey{}).(*stream); ok {
		l := s.conn.listener
		l.mu.Lock()
		defer l.mu.Unlock()
		if !s.proven {
			s.proven = l.table.prove(s.conn)
		}
		return
	}
	c, _ := ctx.Value(connKey{}).(*conn)
	if c == nil {
		return
	}
	c.listener.mu.Lock()
	defer c.listener.mu.Unlock()
	if c.proven == 0 {
		c.listener.table.prove(c)
	}
}

func (l *Listener) serve(srv *http.Server, on net.Listener) error {
	srv.ConnContext = func(ctx context.Context, c net.Conn) context.Context {
		return context.WithValue(ctx, connKey{}, underneath(c))
	}
	srv.ConnState = func(c net.Conn, s http.ConnState) {
		if known := underneath(c); known != nil && s == http.StateIdle {
			l.rests(known)
		}
	}
	next := srv.Handler
	srv.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		known, _ := r.Context().Value(connKey{}).(*conn)
		if known == nil {
			next.ServeHTTP(w, r)
			return
		}
		l.introduce(known, r)
		switch {
		case r.ProtoMajor < 2:
			l.works(known)
		case !l.begins(known):
			panic(http.ErrAbortHandler) // resets this request alone, and holds nothing
		default:
			s := &stream{conn: known}
			defer l.ends(s)
			r = r.WithContext(context.WithValue(r.Context(), streamKey{}, s))
		}
		next.ServeHTTP(w, r)
	})
	return srv.Serve(on)
}

// underneath returns a server's connection as the listener knows it, nil when it is
// another's.
func underneath(c net.Conn) *conn {
	if secure, ok := c.(*tls.Conn); ok {
		c = secure.NetConn()
	}
	known, _ := c.(*conn)
	return known
}

// Accept implements net.Listener.
func (l *Listener) Accept() (net.Conn, error) {
	for {
		accepted, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		from := addressOf(accepted.RemoteAddr().String())
		c := &conn{Conn: accepted, listener: l, network: network(from), exempt: l.exempt.Trust(from)}
		if l.admit(c) {
			return c, nil
		}
		_ = accepted.Close()
	}
}

// Close implements net.Listener. Connections stay open.
func (l *Listener) Close() error {
	l.closing.Do(func() { close(l.done) })
	return l.Listener.Close()
}

// Total returns how many connections are taken.
func (l *Listener) Total() int { return l.total }

// Stats returns the figures of now.
func (l *Listener) Stats() ListenerStats {
	l.mu.Lock()
	defer l.mu.Unlock()
	s := l.stats
	s.Open = l.table.open
	return s
}

// admit finds a place for c, and waits for one unless it is its own address that
// has none left.
func (l *Listener) admit(c *conn) bool {
	for first := true; ; first = false {
		p := l.place(c, first)
		if p.full && first {
			if times := l.warnings.count("total"); times > 0 {
				l.log.Warn("all connections are taken; who has no request gives its place, others wait; raise the limit of open files (LimitNOFILE= of the service, ulimit -n) when these are your clients", "limit", l.total, "count", times)
			}
		}
		switch {
		case p.evicted != nil:
			if !p.full {
				l.crowded(c)
			}
			_ = p.evicted.Conn.Close()
			return true
		case p.admitted:
			return true
		case p.refused:
			l.crowded(c)
			return false
		}
		if !l.await(p.again) {
			return false
		}
	}
}

// crowded warns that an address is at its limit.
func (l *Listener) crowded(c *conn) {
	if times := l.warnings.count("address"); times > 0 {
		l.log.Warn("an address holds as many connections as it may; those without a right credential or a request are closed first, then newcomers; raise server.max_connections_per_address, or name your reverse proxy in server.trusted_proxies, when these are your clients",
			"address", Name(c.network.Addr()), "limit", l.table.perAddress, "count", times)
	}
}

// place is table.place with the figures kept.
func (l *Listener) place(c *conn, first bool) placing {
	l.mu.Lock()
	defer l.mu.Unlock()
	p := l.table.place(c, time.Now())
	switch {
	case p.evicted != nil:
		l.stats.Evicted++
	case p.refused:
		l.stats.Refused++
	case !p.admitted && first:
		l.stats.Waited++
	}
	return p
}

// await waits until something may have changed. It reports false when the
// listener was closed.
func (l *Listener) await(again time.Duration) bool {
	var rested <-chan time.Time
	if again > 0 {
		timer := time.NewTimer(again)
		defer timer.Stop()
		rested = timer.C
	}
	select {
	case <-l.freed:
	case <-rested:
	case <-l.done:
		return false
	}
	return true
}

func (l *Listener) rests(c *conn) {
	l.mu.Lock()
	l.table.rest(c, time.Now())
	l.mu.Unlock()
	l.tell()
}

func (l *Listener) works(c *conn) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.table.work(c, time.Now())
}

// begins counts a request of HTTP/2. It reports false when there is no place for it.
func (l *Listener) begins(c *conn) bool {
	l.mu.Lock()
	evicted, ok := l.table.begin(c, time.Now())
	switch {
	case !ok:
		l.stats.Refused++
	case evicted != nil:
		l.stats.Evicted++
	}
	l.mu.Unlock()
	if evicted != nil {
		_ = evicted.Conn.Close()
	}
	if ok {
		return true
	}
	if times := l.warnings.count("address"); times > 0 {
		l.log.Warn("an address has as many requests and connections as it may, or all are taken; more requests over HTTP/2 are reset; raise server.max_connections_per_address, or name your reverse proxy in server.trusted_proxies, when these are your clients", "address", Name(c.network.Addr()), "limit", l.table.perAddress, "count", times)
	}
	return false
}

func (l *Listener) ends(s *stream) {
	l.mu.Lock()
	l.table.end(s.conn, s.proven, time.Now())
	l.mu.Unlock()
	l.tell()
}

func (l *Listener) ended(c *conn) {
	l.mu.Lock()
	l.table.remove(c)
	l.mu.Unlock()
	l.tell()
}

func (l *Listener) tell() {
	select {
	case l.freed <- struct{}{}:
	default:
	}
}

// throttle bounds a warning that could come by the thousand to one a minute.
type throttle struct {
	mu    sync.Mutex
	last  map[string]time.Time
	since map[string]int
}

// count notes that a thing happened. It returns how often it did since it was
// last warned of, and 0 when it is not to be warned of now.
func (t *throttle) count(key string) int {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.last == nil {
		t.last, t.since = map[string]time.Time{}, map[string]int{}
	}
	t.since[key]++
	if last, warned := t.last[key]; warned && time.Since(last) < time.Minute {
		return 0
	}
	times := t.since[key]
	t.last[key], t.since[key] = time.Now(), 0
	return times
}
