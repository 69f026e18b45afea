package network

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"math/big"
	"net"
	"slices"
	"time"

	"go.mau.fi/libsignal/ecc"
	"go.mau.fi/whatsmeow/proto/waCert"
	"go.mau.fi/whatsmeow/util/keys"
	"google.golang.org/protobuf/proto"

	"postern/sandbox/network/mediahost"
	"postern/store"
)

// always is the validity of every certificate here. A wrong clock at its creation,
// corrected later, must not lock out the sandbox's accounts. The end is the date that
// RFC 5280 defines as none; the Noise chain has no such date.
func always() (from, to time.Time) {
	return time.Unix(0, 0).UTC(), time.Date(9999, 12, 31, 23, 59, 59, 0, time.UTC)
}

// Authority is what clients trust: the CA of the TLS certificate, and the root key of
// the Noise certificate chain. Its keys never change. The certificates below both are
// issued at each start.
type Authority struct {
	ca     *x509.Certificate
	caKey  *ecdsa.PrivateKey
	root   *keys.KeyPair // signs the intermediate Noise certificate
	static *keys.KeyPair // the server's Noise identity
}

// savedAuthority is an Authority as it is stored.
type savedAuthority struct {
	CA     []byte `json:"ca"`     // DER
	CAKey  []byte `json:"ca_key"` // SEC 1 DER
	Root   []byte `json:"root"`   // 32 bytes, private
	Static []byte `json:"static"` // 32 bytes, private
}

// NewAuthority creates an authority with new keys.
func NewAuthority() (*Authority, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("make CA key: %w", err)
	}
	ca, err := caCertificate(key)
	if err != nil {
		return nil, err
	}
	return &Authority{ca: ca, caKey: key, root: keys.NewKeyPair(), static: keys.NewKeyPair()}, nil
}

func caCertificate(key *ecdsa.PrivateKey) (*x509.Certificate, error) {
	from, to := always()
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "Postern sandbox CA"},
		NotBefore: from, NotAfter: to,
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		return nil, fmt.Errorf("make CA certificate: %w", err)
	}
	ca, err := x509.ParseCertificate(der)
	if err != nil {
		return nil, fmt.Errorf("read CA certificate: %w", err)
	}
	return ca, nil
}

// validAlways replaces the CA certificate of an older release, which expires, by one
// for the same key, and reports whether it did. Clients that trust the old one accept
// the new one until it expires: key and name are the same.
func (a *Authority) validAlways() (replaced bool, err error) {
	if from, to := always(); a.ca.NotBefore.Equal(from) && a.ca.NotAfter.Equal(to) {
		return false, nil
	}
	ca, err := caCertificate(a.caKey)
	if err != nil {
		return false, err
	}
	a.ca = ca
	return true, nil
}

func (a *Authority) save() (savedAuthority, error) {
	key, err := x509.MarshalECPrivateKey(a.caKey)
	if err != nil {
		return savedAuthority{}, fmt.Errorf("encode CA key: %w", err)
	}
	return savedAuthority{CA: a.ca.Raw, CAKey: key, Root: a.root.Priv[:], Static: a.static.Priv[:]}, nil
}

func (s savedAuthority) restore() (*Authority, error) {
	if len(s.Root) != 32 || len(s.Static) != 32 {
		return nil, errors.New("restore authority: a Noise key is damaged")
	}
	ca, err := x509.ParseCertificate(s.CA)
	if err != nil {
		return nil, fmt.Errorf("restore CA certificate: %w", err)
	}
	key, err := x509.ParseECPrivateKey(s.CAKey)
	if err != nil {
		return nil, fmt.Errorf("restore CA key: %w", err)
	}
	return &Authority{
		ca: ca, caKey: key,
		root:   keys.NewKeyPairFromPrivateKey([32]byte(s.Root)),
		static: keys.NewKeyPairFromPrivateKey([32]byte(s.Static)),
	}, nil
}

func (a *Authority) caPEM() []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: a.ca.Raw})
}

// RootPub returns the public root key of the Noise certificate chain.
func (a *Authority) RootPub() [32]byte { return *a.root.Pub }

// tlsConfig issues a certificate for WhatsApp's names, the loopback and host.
func (a *Authority) tlsConfig(host string) (*tls.Config, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("make TLS key: %w", err)
	}
	serial, err := rand.Int(rand.Reader, big.NewInt(1<<62))
	if err != nil {
		return nil, fmt.Errorf("make TLS serial: %w", err)
	}
	from, to := always()
	template := &x509.Certificate{
		SerialNumber: serial, Subject: pkix.Name{CommonName: "web.whatsapp.com"},
		NotBefore: from, NotAfter: to,
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
		DNSNames:    []string{"web.whatsapp.com", mediahost.Name, "localhost"},
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1), net.IPv6loopback},
	}
	if ip := net.ParseIP(host); ip != nil {
		template.IPAddresses = append(template.IPAddresses, ip)
	} else if host != "" && !slices.Contains(template.DNSNames, host) {
		template.DNSNames = append(template.DNSNames, host)
	}
	der, err := x509.CreateCertificate(rand.Reader, template, a.ca, &key.PublicKey, a.caKey)
	if err != nil {
		return nil, fmt.Errorf("make TLS certificate: %w", err)
	}
	return &tls.Config{
		MinVersion:   tls.VersionTLS12,
		NextProtos:   []string{"http/1.1"}, // HTTP/2 cannot upgrade to a WebSocket
		Certificates: []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: key}},
	}, nil
}

// noiseCertificate is the chain that the handshake carries: the root signs an intermediate
// key, which signs the Noise identity.
func (a *Authority) noiseCertificate() ([]byte, error) {
	const intermediateSerial, leafSerial = 1, 2
	middle := keys.NewKeyPair()
	intermediate, err := noiseCertificate(a.root, middle.Pub, intermediateSerial, 0)
	if err != nil {
		return nil, err
	}
	leaf, err := noiseCertificate(middle, a.static.Pub, leafSerial, intermediateSerial)
	if err != nil {
		return nil, err
	}
	chain, err := proto.Marshal(&waCert.CertChain{Leaf: leaf, Intermediate: intermediate})
	if err != nil {
		return nil, fmt.Errorf("encode Noise certificate: %w", err)
	}
	return chain, nil
}

func noiseCertificate(issuer *keys.KeyPair, subject *[32]byte, serial, issuerSerial uint32) (*waCert.CertChain_NoiseCertificate, error) {
	from, to := always()
	details, err := proto.Marshal(&waCert.CertChain_NoiseCertificate_Details{
		Serial: new(serial), IssuerSerial: new(issuerSerial), Key: subject[:],
		NotBefore: new(uint64(from.Unix())),
		NotAfter:  new(uint64(to.Unix())),
	})
	if err != nil {
		return nil, fmt.Errorf("encode Noise certificate %d: %w", serial, err)
	}
	signature := ecc.CalculateSignature(ecc.NewDjbECPrivateKey(*issuer.Priv), details)
	return &waCert.CertChain_NoiseCertificate{Details: details, Signature: signature[:]}, nil
}

// loadAuthority reads the authority, or creates it if there is none.
func (p *persistence) loadAuthority() (*Authority, error) {
	if p.file == nil {
		return NewAuthority()
	}
	var saved savedAuthority
	var found bool
	err := p.file.View(func(tx *store.Tx) (err error) {
		saved, found, err = store.GetJSON[savedAuthority](tx, bucketAuthority, authorityKey)
		return err
	})
	if errors.Is(err, store.ErrDamaged) {
		p.log.Error("the sandbox's authority is damaged and was replaced; give the new certificate to clients in other processes", "error", err)
		return p.createAuthority()
	}
	if err != nil {
		return nil, fmt.Errorf("read the sandbox's authority: %w", err)
	}
	if found {
		return p.restoreAuthority(saved)
	}
	return p.createAuthority()
}

func (p *persistence) restoreAuthority(saved savedAuthority) (*Authority, error) {
	a, err := saved.restore()
	if err != nil {
		return nil, err
	}
	replaced, err := a.validAlways()
	if err != nil || !replaced {
		return a, err
	}
	return a, p.saveAuthority(a)
}

func (p *persistence) createAuthority() (*Authority, error) {
	a, err := NewAuthority()
	if err != nil {
		return nil, err
	}
	return a, p.saveAuthority(a)
}

func (p *persistence) saveAuthority(a *Authority) error {
	saved, err := a.save()
	if err != nil {
		return err
	}
	err = p.file.Update(context.Background(), func(tx *store.Tx) error {
		return store.PutJSON(tx, bucketAuthority, authorityKey, saved)
	})
	if err != nil {
		return fmt.Errorf("save the sandbox's authority: %w", err)
	}
	return nil
}

var authorityKey = []byte("authority")

// RootKey returns the public root key of the authority in the file at path, which no
// sandbox has open. Errors are those of store.ScanFile, and fs.ErrNotExist if the file
// has no authority.
func RootKey(path string) (key [32]byte, err error) {
	found := false
	err = store.ScanFile(path, Buckets(), bucketAuthority, func(_, v []byte) error {
		var saved savedAuthority
		if json.Unmarshal(v, &saved) != nil {
			return nil
		}
		a, err := saved.restore()
		if err == nil {
			key, found = a.RootPub(), true
		}
		return err
	})
	if err == nil && !found {
		err = fmt.Errorf("the sandbox's authority: %w", fs.ErrNotExist)
	}
	return key, err
}
