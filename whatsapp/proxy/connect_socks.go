package proxy

import (
	"context"
	"errors"
	"net"
	"strings"

	"golang.org/x/net/proxy"
)

// connectSOCKS requests a tunnel to address, whose name the proxy resolves, from a
// SOCKS5 proxy.
func connectSOCKS(ctx context.Context, conn net.Conn, via Server, address string) (net.Conn, error) {
	var auth *proxy.Auth
	if who, ok := via.credentials(); ok {
		auth = &proxy.Auth{User: who.user, Password: who.password}
	}
	d, err := proxy.SOCKS5("tcp", via.Address(), auth, reachedAlready{conn})
	if err != nil {
		return nil, Failed(Connect, err)
	}
	tunnel, err := d.(proxy.ContextDialer).DialContext(ctx, "tcp", address)
	if err != nil {
		return nil, notSOCKS(err, via)
	}
	return tunnel, nil
}

// reachedAlready passes an open connection to the library, which wants to dial itself.
type reachedAlready struct{ conn net.Conn }

// Dial implements proxy.Dialer.
func (r reachedAlready) Dial(string, string) (net.Conn, error) { return r.conn, nil }

// DialContext implements proxy.ContextDialer.
func (r reachedAlready) DialContext(context.Context, string, string) (net.Conn, error) {
	return r.conn, nil
}

// notSOCKS returns why there is no tunnel. The library gives the reason only as text.
func notSOCKS(err error, via Server) *Error {
	if op, ok := errors.AsType[*net.OpError](err); ok {
		err = op.Err // of the library, around the cause
	}
	text := err.Error()
	switch {
	case strings.Contains(text, "no acceptable authentication methods"), strings.Contains(text, "username/password authentication failed"):
		return refusedLogin(via)
	case strings.Contains(text, "unexpected protocol version"), strings.Contains(text, "invalid username/password version"),
		strings.Contains(text, "unsupported authentication method"), strings.Contains(text, "unknown address type"),
		strings.Contains(text, "non-zero reserved field"):
		return failed(Connect, "the server is not a SOCKS5 proxy")
	case strings.HasPrefix(text, "unknown error "):
		return failed(Connect, "it could not connect to the server: "+reply(text))
	}
	return Failed(Connect, err)
}

// reply returns the reason in a SOCKS5 reply.
func reply(text string) string {
	for _, known := range []string{
		"general SOCKS server failure", "connection not allowed by ruleset", "network unreachable", "host unreachable",
		"connection refused", "TTL expired", "command not supported", "address type not supported",
	} {
		if strings.HasSuffix(text, known) {
			return known
		}
	}
	return "unknown reason"
}
