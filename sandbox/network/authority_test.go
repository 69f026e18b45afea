package network

import (
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"math/big"
	"testing"
	"time"

	"go.mau.fi/whatsmeow/proto/waCert"
	"google.golang.org/protobuf/proto"
)

// clocks are those that the sandbox may run with, however wrong.
func clocks() []time.Time {
	return []time.Time{time.Unix(1, 0), time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC), time.Now(), time.Now().AddDate(80, 0, 0)}
}

// wantTrusted verifies a new TLS certificate of a as clients with that CA do.
func wantTrusted(t *testing.T, a *Authority, ca *x509.Certificate, at time.Time) {
	t.Helper()
	cfg, err := a.tlsConfig("127.0.0.1")
	if err != nil {
		t.Fatal(err)
	}
	leaf, err := x509.ParseCertificate(cfg.Certificates[0].Certificate[0])
	if err != nil {
		t.Fatal(err)
	}
	pool := x509.NewCertPool()
	pool.AddCert(ca)
	if _, err := leaf.Verify(x509.VerifyOptions{Roots: pool, DNSName: "web.whatsapp.com", CurrentTime: at}); err != nil {
		t.Errorf("at %v: %v", at, err)
	}
}

func TestCertificatesAreValidAtAnyClock(t *testing.T) {
	a, err := NewAuthority()
	if err != nil {
		t.Fatal(err)
	}
	raw, err := a.noiseCertificate()
	if err != nil {
		t.Fatal(err)
	}
	var chain waCert.CertChain
	if err := proto.Unmarshal(raw, &chain); err != nil {
		t.Fatal(err)
	}
	for _, at := range clocks() {
		wantTrusted(t, a, a.ca, at)
		for _, c := range []*waCert.CertChain_NoiseCertificate{chain.GetIntermediate(), chain.GetLeaf()} {
			var d waCert.CertChain_NoiseCertificate_Details
			if err := proto.Unmarshal(c.GetDetails(), &d); err != nil {
				t.Fatal(err)
			}
			if now := uint64(at.Unix()); now < d.GetNotBefore() || now > d.GetNotAfter() {
				t.Errorf("the Noise certificate %d is not valid at %v", d.GetSerial(), at)
			}
		}
	}
}

// TestOlderCertificateIsReplacedOnce restores the CA of an older release, made while the
// clock was a year ahead.
func TestOlderCertificateIsReplacedOnce(t *testing.T) {
	a, err := NewAuthority()
	if err != nil {
		t.Fatal(err)
	}
	ahead := time.Now().AddDate(1, 0, 0)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "Postern sandbox CA"},
		NotBefore: ahead.Add(-time.Hour), NotAfter: ahead.AddDate(20, 0, 0),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &a.caKey.PublicKey, a.caKey)
	if err != nil {
		t.Fatal(err)
	}
	if a.ca, err = x509.ParseCertificate(der); err != nil {
		t.Fatal(err)
	}
	old := a.ca
	saved, err := a.save()
	if err != nil {
		t.Fatal(err)
	}
	again, err := saved.restore()
	if err != nil {
		t.Fatal(err)
	}
	if replaced, err := again.validAlways(); err != nil || !replaced {
		t.Fatalf("replaced %t, %v", replaced, err)
	}
	for _, at := range clocks() {
		wantTrusted(t, again, again.ca, at)
	}
	wantTrusted(t, again, old, ahead)
	if replaced, err := again.validAlways(); err != nil || replaced {
		t.Errorf("replaced %t a second time, %v", replaced, err)
	}
	if again.RootPub() != a.RootPub() {
		t.Error("the root key changed")
	}
}
