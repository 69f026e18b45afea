package config

import (
	"errors"
	"net/url"
	"os"
	"slices"
	"strings"
)

// Rules of store.url and of the settings of a cell.

// CheckDatabaseURL returns the rule that a text breaks as store.url, without the text.
func CheckDatabaseURL(s string) error {
	u, err := url.Parse(s)
	if err != nil || u.Scheme != "postgres" && u.Scheme != "postgresql" || u.Opaque != "" {
		return errors.New("must be a URL of PostgreSQL: postgres://user:password@host:port/database, with every special character of the password percent-encoded")
	}
	return nil
}

// databaseSecrets are the parameters of the URL that hold passwords.
var databaseSecrets = []string{"password", "sslpassword", "passfile"}

// maskDatabase returns a URL of a database with its passwords as xxxxx.
func maskDatabase(text string) string {
	u, err := url.Parse(text)
	if text == "" || err != nil {
		return text[:0]
	}
	q := u.Query()
	for name := range q {
		if slices.Contains(databaseSecrets, strings.ToLower(name)) {
			q.Set(name, "xxxxx")
			u.RawQuery = q.Encode()
		}
	}
	return u.Redacted()
}

// CheckCell returns the rule that a text breaks as cluster.cell.
func CheckCell(s string) error {
	if !named(s, "abcdefghijklmnopqrstuvwxyz0123456789_-") {
		return errors.New("must have 1 to 63 characters of a-z, 0-9, _ and -")
	}
	return nil
}

func checkNode(s string) error {
	if !named(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-") {
		return errors.New("must have 1 to 63 characters of A-Z, a-z, 0-9, _, . and -")
	}
	return nil
}

// named reports whether s is a name of 1 to 63 of these characters.
func named(s, characters string) bool {
	return s != "" && len(s) <= 63 && strings.Trim(s, characters) == "" && !strings.ContainsFunc(s, func(r rune) bool { return !strings.ContainsRune(characters, r) })
}

func checkAdvertise(s string) error {
	u, err := url.Parse(s)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" || u.Port() == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "" {
		return errors.New("must be http(s)://host:port, followed by server.base_path if that is set")
	}
	return nil
}

// NodeName returns the name of this node: the configured one, or the host's.
func (c *Config) NodeName() (string, error) {
	if c.Cluster.Node != "" {
		return c.Cluster.Node, nil
	}
	host, err := os.Hostname()
	if err == nil {
		err = checkNode(host)
	}
	if err != nil {
		return "", errors.New("cluster.node: the host name cannot be used as the name of the node; set cluster.node")
	}
	return host, nil
}

// defaultCluster are the defaults of cluster.*.
var defaultCluster = Default().Cluster

// clusterRules returns the rules that concern store.url.
func (c *Config) clusterRules() []rule {
	def := defaultCluster
	return []rule{
		{c.Store.URL == "" && c.Cluster.Cell != def.Cell, "needs store.url", []string{"cluster.cell", "store.url"}},
		{c.Store.URL == "" && c.Cluster.Node != def.Node, "needs store.url", []string{"cluster.node", "store.url"}},
		{c.Store.URL == "" && c.Cluster.Advertise != def.Advertise, "needs store.url", []string{"cluster.advertise", "store.url"}},
		{c.Store.URL == "" && c.Cluster.Lease != def.Lease, "needs store.url", []string{"cluster.lease", "store.url"}},
		{c.Store.URL == "" && c.Cluster.Forward != def.Forward, "needs store.url", []string{"cluster.forward", "store.url"}},
		{c.Store.URL == "" && c.Store.AcceptLoss, "needs store.url", []string{"store.accept_loss", "store.url"}},
		{
			c.Store.URL != "" && c.Sandbox.Enabled,
			"cannot be true together with store.url, since its phones are in the file of one machine: run `postern sandbox` as a process of its own, and give all nodes its whatsapp.endpoint",
			[]string{"sandbox.enabled", "store.url"},
		},
	}
}
