package certificate

import (
	"context"
	"crypto/tls"
	"encoding/pem"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"sync"

	"golang.org/x/crypto/acme/autocert"

	"postern/store/files"
)

// cache stores certificates and keys in a folder that only this user may read. What
// cannot be written there is kept in memory and must be requested again at the next
// start.
type cache struct {
	dir autocert.DirCache
	log *slog.Logger

	mu   sync.Mutex
	kept map[string][]byte
	said bool
}

// Get implements [autocert.Cache].
func (c *cache) Get(ctx context.Context, name string) ([]byte, error) {
	c.mu.Lock()
	raw, newer := c.kept[name]
	c.mu.Unlock()
	if newer {
		return raw, nil
	}
	raw, err := c.dir.Get(ctx, name)
	if err != nil && !errors.Is(err, autocert.ErrCacheMiss) {
		c.log.Warn("cannot read the stored certificates; make the folder readable for the user of the program", "folder", string(c.dir), "error", err)
		return nil, autocert.ErrCacheMiss
	}
	if block, _ := pem.Decode(raw); err == nil && block == nil { // autocert would fail with it each time
		c.log.Warn("a stored certificate or key is empty or damaged, as after a power cut; requesting a new one; check the disk if this happens again", "name", name, "folder", string(c.dir))
		return nil, autocert.ErrCacheMiss
	}
	return raw, err
}

// Put implements [autocert.Cache]. What it returned for is on the disk.
func (c *cache) Put(ctx context.Context, name string, raw []byte) error {
	err := c.dir.Put(ctx, name, raw)
	if err == nil {
		err = c.sync(name)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.kept, name)
	if err == nil {
		return nil
	}
	c.kept[name] = raw
	if !c.said {
		c.said = true
		c.log.Error("cannot store certificates; the next start must request new ones, and the authority limits how often; make the folder writable for the user of the program", "folder", string(c.dir), "error", err)
	}
	return nil
}

// sync writes a file of the folder to the disk.
func (c *cache) sync(name string) error {
	f, err := os.OpenFile(filepath.Join(string(c.dir), name), os.O_RDWR, 0)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close(), files.SyncFolder(string(c.dir)))
}

// Delete implements [autocert.Cache].
func (c *cache) Delete(ctx context.Context, name string) error {
	c.mu.Lock()
	delete(c.kept, name)
	c.mu.Unlock()
	return c.dir.Delete(ctx, name)
}

// certificate returns the stored certificate of a domain, nil for none. Its expiry is
// not checked.
func (c *cache) certificate(domain string) *tls.Certificate {
	raw, err := c.Get(context.Background(), domain)
	if err != nil {
		return nil
	}
	pair, err := tls.X509KeyPair(raw, raw)
	if err != nil {
		c.log.Warn("the stored certificate is unusable; requesting a new one; delete the file if this happens again", "domain", domain, "folder", string(c.dir), "error", err)
		return nil
	}
	return &pair
}
