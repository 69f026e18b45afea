package app

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"time"

	"postern/config"
)

// certificateEvery bounds how often the files of the certificate are looked at, by a
// handshake that needs one.
const certificateEvery = time.Second

// certificate is the pair of files by which the program proves to clients who it is.
// Files that changed are read again at the next handshake; while they cannot be used,
// the certificate before them is.
type certificate struct {
	log *slog.Logger

	mu        sync.Mutex
	cert, key string // paths
	is        *tls.Certificate
	stamps    [2]stamp // of the files that is was read from
	logged    [2]stamp // of files that were logged as unusable
	looked    time.Time
	gone      bool // a file cannot be looked at, which was said
}

// stamp tells one state of a file from another.
type stamp struct {
	size    int64
	changed time.Time
}

// openCertificate reads the certificate of the API, nil for without TLS.
func openCertificate(cfg *config.Config, log *slog.Logger) (*certificate, error) {
	if cfg.Server.TLSCert == "" {
		return nil, nil
	}
	c := &certificate{cert: cfg.Server.TLSCert, key: cfg.Server.TLSKey, log: log}
	stamps, err := c.look()
	if err == nil {
		err = c.load(stamps)
	}
	if err != nil {
		return nil, fmt.Errorf("server.tls.cert and server.tls.key: %w", err)
	}
	return c, nil
}

// config returns the TLS configuration with the certificate, nil without TLS.
func (c *certificate) config() *tls.Config {
	if c == nil {
		return nil
	}
	return &tls.Config{MinVersion: tls.VersionTLS12, GetCertificate: c.get, NextProtos: []string{"h2", "http/1.1"}}
}

// ends returns when the certificate ends, zero without TLS.
func (c *certificate) ends() time.Time {
	if c == nil {
		return time.Time{}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.is.Leaf.NotAfter
}

// replace has another certificate take the place of this one, at the next
// handshake. Both are of the same files, or of others.
func (c *certificate) replace(by *certificate) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.cert, c.key, c.is, c.stamps, c.looked = by.cert, by.key, by.is, by.stamps, by.looked
	c.logged, c.gone = [2]stamp{}, false
}

func (c *certificate) get(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if time.Since(c.looked) < certificateEvery {
		return c.is, nil
	}
	stamps, err := c.look()
	said := c.gone && err != nil
	if c.gone = err != nil; err == nil && stamps != c.stamps {
		// Each time: their rights may have changed, which stamps do not tell.
		said, c.logged = stamps == c.logged, stamps
		if err = c.load(stamps); err == nil {
			c.log.Info("reloaded the certificate", "file", c.cert, "until", c.is.Leaf.NotAfter)
		}
	}
	if err != nil && !said {
		c.log.Error("cannot reload the certificate; still serving the previous one; correct the files that the error names", "file", c.cert, "until", c.is.Leaf.NotAfter, "error", err)
	}
	return c.is, nil
}

func (c *certificate) look() (stamps [2]stamp, err error) {
	c.looked = time.Now()
	for i, path := range []string{c.cert, c.key} {
		info, err := os.Stat(path)
		if err != nil {
			return stamps, err
		}
		stamps[i] = stamp{info.Size(), info.ModTime()}
	}
	return stamps, nil
}

func (c *certificate) load(stamps [2]stamp) error {
	pair, err := config.KeyPair(c.cert, c.key)
	if err != nil {
		return err
	}
	if pair.Leaf == nil {
		if pair.Leaf, err = x509.ParseCertificate(pair.Certificate[0]); err != nil {
			return err
		}
	}
	if err := ended(c.cert, pair.Leaf); err != nil {
		if c.is != nil {
			return err
		}
		c.log.Error("clients will refuse the certificate; renew it", "error", err)
	}
	c.is, c.stamps = &pair, stamps
	return nil
}
