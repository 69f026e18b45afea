// Package certificatetest makes certificates for tests of servers that read them from
// files.
package certificatetest

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// Authority signs certificates for 127.0.0.1 and writes them to Folder, as cert.pem and
// key.pem.
type Authority struct {
	Cert   *x509.Certificate // its own
	Folder string

	t      testing.TB
	key    *ecdsa.PrivateKey
	serial int64
}

// New returns an authority with a new key and an empty folder.
func New(t testing.TB) *Authority {
	t.Helper()
	a := &Authority{t: t, Folder: t.TempDir()}
	a.key = a.newKey()
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "test"}, NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	raw, err := x509.CreateCertificate(rand.Reader, template, template, &a.key.PublicKey, a.key)
	if err == nil {
		a.Cert, err = x509.ParseCertificate(raw)
	}
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func (a *Authority) newKey() *ecdsa.PrivateKey {
	a.t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		a.t.Fatal(err)
	}
	return key
}

// Issue writes a new certificate, one file after the other, and returns its number. The
// files of each have times of their own, however soon they follow others.
func (a *Authority) Issue(until time.Time) (serial int64) {
	a.t.Helper()
	key := a.newKey()
	a.serial++
	template := &x509.Certificate{
		SerialNumber: big.NewInt(100 + a.serial), NotAfter: until, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	cert, err := x509.CreateCertificate(rand.Reader, template, a.Cert, &key.PublicKey, a.key)
	if err != nil {
		a.t.Fatal(err)
	}
	a.Write("cert.pem", pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: cert}))
	a.Write("key.pem", a.keyPEM(key))
	at := time.Unix(1_000_000_000+a.serial, 0)
	for _, name := range []string{"cert.pem", "key.pem"} {
		if err := os.Chtimes(filepath.Join(a.Folder, name), at, at); err != nil {
			a.t.Fatal(err)
		}
	}
	return 100 + a.serial
}

// Write writes a file of the folder.
func (a *Authority) Write(name string, content []byte) {
	a.t.Helper()
	if err := os.WriteFile(filepath.Join(a.Folder, name), content, 0o600); err != nil {
		a.t.Fatal(err)
	}
}

// Client returns a client that trusts the authority and makes a connection for each
// request, or keeps it.
func (a *Authority) Client(keep bool) *http.Client {
	pool := x509.NewCertPool()
	pool.AddCert(a.Cert)
	return &http.Client{Timeout: 20 * time.Second, Transport: &http.Transport{DisableKeepAlives: !keep, TLSClientConfig: &tls.Config{RootCAs: pool}}}
}

// OtherKey returns a key in PEM that is of no certificate.
func (a *Authority) OtherKey() []byte {
	a.t.Helper()
	return a.keyPEM(a.newKey())
}

func (a *Authority) keyPEM(key *ecdsa.PrivateKey) []byte {
	a.t.Helper()
	secret, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		a.t.Fatal(err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: secret})
}
