package certificate

import (
	"crypto/tls"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"time"

	"postern/config"
)

// lookEvery bounds how often the files of the certificate are looked at, by a handshake
// that needs one.
const lookEvery = time.Second

// Files is the certificate of server.tls.cert and server.tls.key. A nil one is that of a
// program without TLS.
// Files that changed are read again at the next handshake; while they cannot be used,
// the certificate before them is.
type Files struct {
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

// Open reads the certificate of the API. It is nil without server.tls.cert.
func Open(cfg *config.Config, log *slog.Logger) (*Files, error) {
	if cfg.Server.TLSCert == "" {
		return nil, nil
	}
	c := &Files{cert: cfg.Server.TLSCert, key: cfg.Server.TLSKey, log: log}
	stamps, err := c.look()
	if err == nil {
		err = c.load(stamps)
	}
	if err != nil {
		return nil, fmt.Errorf("server.tls.cert and server.tls.key: %w", err)
	}
	return c, nil
}

// Config returns the TLS configuration with the certificate, nil without TLS.
func (c *Files) Config() *tls.Config {
	if c == nil {
		return nil
	}
	return &tls.Config{MinVersion: tls.VersionTLS12, GetCertificate: c.get, NextProtos: []string{"h2", "http/1.1"}}
}

// Expires returns when the certificate ends, zero without TLS.
func (c *Files) Expires() time.Time {
	if c == nil {
		return time.Time{}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.is.Leaf.NotAfter
}

// Replace makes the next handshake use the certificate of by, which may be of the same
// files or of others.
func (c *Files) Replace(by *Files) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.cert, c.key, c.is, c.stamps, c.looked = by.cert, by.key, by.is, by.stamps, by.looked
	c.logged, c.gone = [2]stamp{}, false
}

func (c *Files) get(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if time.Since(c.looked) < lookEvery {
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

func (c *Files) look() (stamps [2]stamp, err error) {
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

func (c *Files) load(stamps [2]stamp) error {
	pair, err := config.KeyPair(c.cert, c.key)
	if err != nil {
		return err
	}
	if err := expired(c.cert, pair.Leaf); err != nil {
		if c.is != nil {
			return err
		}
		c.log.Error("clients will refuse the certificate; renew it", "error", err)
	}
	c.is, c.stamps = &pair, stamps
	return nil
}
