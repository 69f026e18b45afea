package proxy

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"net"
	"syscall"
	"time"
)

// Dialer dials through proxies. Its fields must not change while it is in use.
type Dialer struct {
	// Control checks each address of a proxy before it is dialled, see net.Dialer.
	// nil allows all.
	Control func(network, address string, c syscall.RawConn) error
	// Roots verify the certificates of https proxies. nil: the system's.
	Roots *x509.CertPool
}

// keepAlive is the pause between probes of an idle connection.
const keepAlive = 30 * time.Second

// Dial returns a connection through the proxy to address, a host:port. ctx limits its
// time. Its error is an [Error].
func (d Dialer) Dial(ctx context.Context, via Server, address string) (net.Conn, error) {
	to := net.Dialer{KeepAlive: keepAlive, Control: d.Control}
	conn, err := to.DialContext(ctx, "tcp", via.Address())
	if err != nil {
		return nil, reached(err)
	}
	if via.scheme == overTLS {
		if conn, err = d.secure(ctx, conn, via.host); err != nil {
			return nil, err
		}
	}
	through := connectHTTP
	if via.scheme == socks5 {
		through = connectSOCKS
	}
	tunnel, err := through(ctx, conn, via, address)
	if err != nil {
		_ = conn.Close()
		return nil, err
	}
	return tunnel, nil
}

// secure does the TLS handshake with the proxy.
func (d Dialer) secure(ctx context.Context, raw net.Conn, name string) (net.Conn, error) {
	conn := tls.Client(raw, &tls.Config{MinVersion: tls.VersionTLS12, ServerName: name, RootCAs: d.Roots, NextProtos: []string{"http/1.1"}})
	if err := conn.HandshakeContext(ctx); err != nil {
		_ = raw.Close()
		return nil, &Error{Step: TLS, why: "with the proxy itself: " + words(err), cause: err}
	}
	return conn, nil
}

// bounded runs one exchange on a connection and aborts it when ctx ends. The connection
// has no deadline afterwards.
func bounded(ctx context.Context, conn net.Conn, exchange func() error) error {
	past := time.Unix(1, 0)
	stop := context.AfterFunc(ctx, func() { _ = conn.SetDeadline(past) })
	err := exchange()
	if !stop() && err == nil {
		err = context.Cause(ctx)
	}
	return err
}
