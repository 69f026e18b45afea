package whatsapp

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"time"
)

// Endpoint is another server that speaks WhatsApp's protocol, such as the
// sandbox. Every connection of the client, whatever host it names, is dialled
// at the host and port of URL.
type Endpoint struct {
	URL     string   // wss://host:port/path; only host and port are used
	CA      []byte   // PEM; the only authority that TLS trusts
	RootKey [32]byte // public key that signs the server's Noise certificate
}

// client returns the HTTP client for the login socket, the pairing socket and
// media alike. The server is verified in full: its certificate must be issued
// by CA for the name in the client's URL or for the endpoint's own name.
func (e *Endpoint) client() (*http.Client, error) {
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
	dialer := &tlsDialer{address: u.Host, name: u.Hostname(), pool: pool}
	return &http.Client{Transport: &http.Transport{
		DialTLSContext:      dialer.dial,
		TLSHandshakeTimeout: 10 * time.Second,
		IdleConnTimeout:     30 * time.Second,
		MaxIdleConnsPerHost: 2,
	}}, nil
}

type tlsDialer struct {
	net     net.Dialer
	address string
	name    string
	pool    *x509.CertPool
}

func (d *tlsDialer) dial(ctx context.Context, network, addr string) (net.Conn, error) {
	wanted, _, err := net.SplitHostPort(addr)
	if err != nil {
		return nil, err
	}
	raw, err := d.net.DialContext(ctx, network, d.address)
	if err != nil {
		return nil, err
	}
	conn := tls.Client(raw, &tls.Config{
		MinVersion: tls.VersionTLS12,
		ServerName: wanted,
		NextProtos: []string{"http/1.1"},
		// The standard check accepts one name; this one is done by verify,
		// against two.
		InsecureSkipVerify: true, //nolint:gosec // verified in VerifyConnection
		VerifyConnection:   func(s tls.ConnectionState) error { return d.verify(s, wanted) },
	})
	if err := conn.HandshakeContext(ctx); err != nil {
		return nil, errors.Join(err, raw.Close())
	}
	return conn, nil
}

func (d *tlsDialer) verify(s tls.ConnectionState, wanted string) error {
	opts := x509.VerifyOptions{Roots: d.pool, Intermediates: x509.NewCertPool()}
	for _, c := range s.PeerCertificates[1:] {
		opts.Intermediates.AddCert(c)
	}
	leaf := s.PeerCertificates[0]
	if _, err := leaf.Verify(opts); err != nil {
		return err
	}
	if err := leaf.VerifyHostname(wanted); err != nil && leaf.VerifyHostname(d.name) != nil {
		return err
	}
	return nil
}
