package whatsapp

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/url"

	"postern/event"
)

// Endpoint is another server that speaks WhatsApp's protocol, such as the sandbox. All
// connections of the client, to whatever host, go to the host and port of URL.
type Endpoint struct {
	URL     string   // wss://host:port/path; only host and port are used
	CA      []byte   // PEM; the only authority that TLS trusts
	RootKey [32]byte // public key that signs the server's Noise certificate
	Sandbox bool     // it is the sandbox of this process
}

// Network returns the network at the endpoint, WhatsApp for nil.
func (e *Endpoint) Network() event.Network {
	switch {
	case e == nil:
		return event.WhatsApp
	case e.Sandbox:
		return event.SandboxNetwork(e.RootKey)
	default:
		return event.EndpointNetwork(e.RootKey)
	}
}

// server is a checked endpoint.
type server struct {
	address string // host:port
	name    string
	pool    *x509.CertPool
}

// open checks the endpoint.
func (e *Endpoint) open() (*server, error) {
	u, err := url.Parse(e.URL)
	if err != nil {
		return nil, err
	}
	if u.Scheme != "wss" || u.Port() == "" {
		return nil, fmt.Errorf("%q is not wss://host:port/path", e.URL)
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(e.CA) {
		return nil, errors.New("the CA holds no PEM certificate")
	}
	if e.RootKey == [32]byte{} {
		return nil, errors.New("the root key is missing")
	}
	return &server{address: u.Host, name: u.Hostname(), pool: pool}, nil
}

// target returns the address to dial for an address of WhatsApp.
func (c *Connector) target(addr string) string { return c.endpoint.target(addr) }

// target returns the address to dial for an address of WhatsApp; e may be nil.
func (e *server) target(addr string) string {
	if e != nil {
		return e.address
	}
	return addr
}

// Reach connects with dial to an address of WhatsApp, or to the endpoint if that is not
// nil, and does the TLS handshake as connections of instances do. It sends no request.
func Reach(ctx context.Context, endpoint *Endpoint, addr string, dial func(ctx context.Context, network, addr string) (net.Conn, error)) error {
	var e *server
	if endpoint != nil {
		var err error
		if e, err = endpoint.open(); err != nil {
			return err
		}
	}
	settings, err := e.tlsFor(addr)
	if err != nil {
		return err
	}
	raw, err := dial(ctx, "tcp", e.target(addr))
	if err != nil {
		return err
	}
	defer func() { _ = raw.Close() }()
	return tls.Client(raw, settings).HandshakeContext(ctx)
}

// tlsFor returns the TLS settings for the server at an address of WhatsApp. An endpoint
// needs a certificate issued by its CA, for the name in the client's URL or for the
// endpoint's own name.
func (e *server) tlsFor(addr string) (*tls.Config, error) {
	wanted, _, err := net.SplitHostPort(addr)
	if err != nil {
		return nil, err
	}
	settings := &tls.Config{MinVersion: tls.VersionTLS12, ServerName: wanted, NextProtos: []string{"http/1.1"}}
	if e != nil {
		// The standard check accepts one name; verify accepts two.
		settings.InsecureSkipVerify = true //nolint:gosec // verified in VerifyConnection
		settings.VerifyConnection = func(s tls.ConnectionState) error { return e.verify(s, wanted) }
	}
	return settings, nil
}

func (e *server) verify(s tls.ConnectionState, wanted string) error {
	opts := x509.VerifyOptions{Roots: e.pool, Intermediates: x509.NewCertPool()}
	for _, c := range s.PeerCertificates[1:] {
		opts.Intermediates.AddCert(c)
	}
	leaf := s.PeerCertificates[0]
	if _, err := leaf.Verify(opts); err != nil {
		return err
	}
	if err := leaf.VerifyHostname(wanted); err != nil && leaf.VerifyHostname(e.name) != nil {
		return err
	}
	return nil
}
