package dispatch

import (
	"context"
	"net"
	"net/http"
	"net/http/httptrace"
	"sync/atomic"
)

// permit is asked before the first byte of a request. The name was resolved, the connection
// dialled and the handshake made by then, which may take longer than the right to deliver
// lasts.
type permit struct {
	valid   func() bool
	cancel  context.CancelFunc
	refused atomic.Bool
}

// withPermit returns req with a permit that the connection on which it leaves asks.
// The caller calls cancel at the end.
func withPermit(req *http.Request, valid func() bool) (*http.Request, *permit) {
	ctx, cancel := context.WithCancel(req.Context())
	p := &permit{valid: valid, cancel: cancel}
	return req.WithContext(httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		// The handshake is over: what the connection writes next is the request.
		GotConn: func(i httptrace.GotConnInfo) {
			conn := i.Conn
			if over, ok := conn.(interface{ NetConn() net.Conn }); ok { // TLS
				conn = over.NetConn()
			}
			if conn, ok := conn.(*permittedConn); ok {
				conn.next.Store(p)
			}
		},
	})), p
}

// permittedConn is a connection whose next write needs a permit.
type permittedConn struct {
	net.Conn
	next atomic.Pointer[permit] // nil: the request has begun
}

// Write implements [net.Conn].
func (c *permittedConn) Write(b []byte) (int, error) {
	if p := c.next.Swap(nil); p != nil && !p.valid() {
		p.refused.Store(true)
		p.cancel() // otherwise the request is tried on another connection
		return 0, errNotOwner
	}
	return c.Conn.Write(b)
}

type dialFunc = func(ctx context.Context, network, address string) (net.Conn, error)

// permitted returns dial with connections that ask for permits.
func permitted(dial dialFunc) dialFunc {
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := dial(ctx, network, address)
		if err != nil {
			return nil, err
		}
		return &permittedConn{Conn: conn}, nil
	}
}
