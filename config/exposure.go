package config

import (
	"fmt"
	"io/fs"
	"net"
	"net/netip"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"strings"
)

// Exposures lists what others than the operator can reach or read, with a remedy for
// each. None of it is an error by itself, so none of it stops the start.
func Exposures(c *Config) (found []string) {
	warn := func(holds bool, format string, args ...any) {
		if holds {
			found = append(found, fmt.Sprintf(format, args...))
		}
	}
	address, base := c.ListenAddress(), c.Server.BaseURL
	reachable := address != "" && !IsLoopback(address)
	encrypted := strings.HasPrefix(base, "https://")
	warn(reachable && !encrypted && !c.Secure(),
		"%s is reachable from other machines, and the API key, tokens and messages are sent unencrypted; set server.tls.domain, or server.tls.cert and server.tls.key, or listen on 127.0.0.1 behind a proxy with TLS and set server.base_url to its https address", address)
	warn(base != "" && !encrypted && !isLoopbackURL(base),
		"server.base_url is not https: the API key, tokens and messages are sent unencrypted; use a proxy with TLS")
	warn(c.Sandbox.Enabled && (reachable || base != "" && !isLoopbackURL(base)),
		"sandbox.enabled is true on an address that others reach: no message goes to WhatsApp, and the API key controls every simulated phone; use it on 127.0.0.1 only")
	s3 := c.Media.Store.S3.Endpoint
	warn(c.Media.Store.Kind == "s3" && strings.HasPrefix(s3, "http://") && !isLoopbackURL(s3),
		"media.store.s3.endpoint is not https: files of messages are sent unencrypted; use https, unless the network to it is private")
	warn(c.Metrics.Listen != "" && !IsLoopback(c.Metrics.Listen),
		"metrics.listen: %s is reachable from other machines, and serves the metrics without a credential; listen on 127.0.0.1, or leave it empty and scrape /metrics with the API key", c.Metrics.Listen)
	return append(found, OpenPaths(c)...)
}

// OpenPaths lists the files and folders with secrets or messages that others than their
// owner may read, with a remedy for each.
func OpenPaths(c *Config) (found []string) {
	for _, path := range c.privatePaths() {
		info, err := os.Stat(path)
		if err != nil || !openToOthers(info.Mode()) {
			continue
		}
		mode := "600"
		if info.IsDir() {
			mode = "700"
		}
		found = append(found, fmt.Sprintf("others than the owner may read %s; chmod %s %s", path, mode, Absolute(path)))
	}
	return found
}

// privatePaths returns the files and folders that hold secrets or messages. Some may
// not exist.
func (c *Config) privatePaths() []string {
	paths := []string{filepath.Dir(c.Store.Path), c.Store.Path, SecretsPath(c)}
	if c.Server.TLSKey != "" {
		paths = append(paths, c.Server.TLSKey)
	}
	if c.Sandbox.Enabled && c.Sandbox.Path != "" {
		if folder := filepath.Dir(c.Sandbox.Path); folder != filepath.Dir(c.Store.Path) {
			paths = append(paths, folder)
		}
		paths = append(paths, c.Sandbox.Path)
	}
	return paths
}

// openToOthers reports whether others than the owner have access. Windows has
// other means than these bits.
func openToOthers(mode fs.FileMode) bool {
	return runtime.GOOS != "windows" && mode.Perm()&0o077 != 0
}

// IsLoopback reports whether only this machine reaches host:port.
func IsLoopback(address string) bool {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return false
	}
	ip, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && ip.Unmap().IsLoopback()
}

func isLoopbackURL(text string) bool {
	u, err := url.Parse(text)
	return err == nil && IsLoopback(net.JoinHostPort(u.Hostname(), ""))
}
