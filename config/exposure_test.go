package config

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// strongKey and strongSecret are what an operator may configure.
const (
	strongKey    = "an API key of an operator"
	strongSecret = "a secret of thirty-two different bytes, more or less"
)

func TestWeakSecretsStopTheStart(t *testing.T) {
	const key, secret = "AUTHENTICATION_GLOBAL_AUTH_TOKEN", "AUTHENTICATION_JWT_SECRET"
	for name, c := range map[string]struct {
		env  []string
		want []string // of the error; none: it is accepted
	}{
		"a key of 15 bytes":             {[]string{key + "=123456789abcdef"}, []string{key, "has 15 bytes", "needs 16"}},
		"a key of 16 bytes":             {[]string{key + "=0123456789abcdef"}, nil},
		"a secret of one byte 32 times": {[]string{secret + "=" + strings.Repeat("x", 32)}, []string{secret, "1 different", "16"}},
		"15 different bytes":            {[]string{secret + "=" + strings.Repeat("abcdefghijklmno", 3)}, []string{secret, "15 different", "openssl rand"}},
		"16 different bytes":            {[]string{secret + "=" + strings.Repeat("abcdefghijklmnop", 2)}, nil},
		"one digit of hex":              {[]string{secret + "=" + strings.Repeat("ab", 32)}, []string{secret, "2 different"}},
		"random bytes in hex that lack a digit": {
			[]string{secret + "=" + strings.ReplaceAll("8f14e45fceea167a5a36dedd4bea2543c9f0f895fb98ab9159f51fd0297e236d", "0", "1")}, nil,
		},
		"both equal":           {[]string{key + "=" + strongSecret, secret + "=" + strongSecret}, []string{"authentication.jwt_secret", "authentication.global_auth_token", "differ"}},
		"both, and both good":  {[]string{key + "=" + strongKey, secret + "=" + strongSecret}, nil},
		"neither":              {nil, nil},
		"both weak, in a file": {[]string{key + "_FILE=" + writeSecret(t, "k", 0o600), secret + "_FILE=" + writeSecret(t, strings.Repeat("k", 40), 0o600)}, []string{"has 1 byte", "1 different"}},
	} {
		_, _, err := Load(writeConfig(t, ""), c.env)
		if (err == nil) != (c.want == nil) {
			t.Errorf("%s: %v", name, err)
			continue
		}
		for _, want := range c.want {
			if !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), strongSecret) || strings.Contains(err.Error(), "abcdefg") {
				t.Errorf("%s: no %q in %v, or the secret", name, want, err)
			}
		}
	}
}

// TestConfiguredSecretMustDifferFromTheStoredOne: the key that was made at the first
// start is no secret to sign with, and the other way round.
func TestConfiguredSecretMustDifferFromTheStoredOne(t *testing.T) {
	c := Default()
	c.Store.Path = filepath.Join(t.TempDir(), "p.db")
	kept, _, err := LoadSecrets(c)
	if err != nil {
		t.Fatal(err)
	}
	c.Authentication.JWTSecret = kept.GlobalAuthToken
	if _, _, err := LoadSecrets(c); err == nil || !strings.Contains(err.Error(), "differ") || strings.Contains(err.Error(), kept.GlobalAuthToken) {
		t.Errorf("the kept key as the secret: %v", err)
	}
	c.Authentication.JWTSecret, c.Authentication.GlobalAuthToken = "", kept.JWTSecret
	if _, _, err := LoadSecrets(c); err == nil || !strings.Contains(err.Error(), "differ") {
		t.Errorf("the kept secret as the key: %v", err)
	}
}

func TestWhatOthersCanReachIsAWarning(t *testing.T) {
	const plain, simulated, figures = "unencrypted", "sandbox.enabled", "metrics.listen"
	for name, c := range map[string]struct {
		adapt func(*Config)
		want  []string
	}{
		"by default":                    {func(*Config) {}, nil},
		"localhost by name":             {func(c *Config) { c.Server.Listen = "localhost:1" }, nil},
		"another loopback address":      {func(c *Config) { c.Server.Listen = "127.8.9.1:1" }, nil},
		"loopback of IPv6":              {func(c *Config) { c.Server.Listen = "[::1]:1" }, nil},
		"all interfaces":                {func(c *Config) { c.Server.Listen = "0.0.0.0:1" }, []string{plain}},
		"all interfaces of IPv6":        {func(c *Config) { c.Server.Listen = "[::]:1" }, []string{plain}},
		"without a host":                {func(c *Config) { c.Server.Listen = ":1" }, []string{plain}},
		"a port alone":                  {func(c *Config) { c.Server.Port = 8084 }, []string{plain}},
		"a name":                        {func(c *Config) { c.Server.Listen = "api.example.org:1" }, []string{plain}},
		"an address of the net":         {func(c *Config) { c.Server.Listen = "192.0.2.1:1" }, []string{plain}},
		"behind a proxy with TLS":       {func(c *Config) { c.Server.Port, c.Server.BaseURL = 1, "https://api.example.org" }, nil},
		"behind a proxy without":        {func(c *Config) { c.Server.BaseURL = "http://api.example.org" }, []string{"server.base_url"}},
		"with a certificate":            {func(c *Config) { c.Server.Listen, c.Server.TLSCert = "0.0.0.0:1", "cert.pem" }, nil},
		"a base URL of the loopback":    {func(c *Config) { c.Server.BaseURL = "http://localhost:8084" }, nil},
		"the sandbox on the loopback":   {func(c *Config) { c.Sandbox.Enabled = true }, nil},
		"the sandbox for all":           {func(c *Config) { c.Sandbox.Enabled, c.Server.Port = true, 1 }, []string{plain, simulated}},
		"the sandbox behind a proxy":    {func(c *Config) { c.Sandbox.Enabled, c.Server.BaseURL = true, "https://api.example.org" }, []string{simulated}},
		"the metrics on the loopback":   {func(c *Config) { c.Metrics.Listen = "127.0.0.1:9" }, nil},
		"the metrics on all interfaces": {func(c *Config) { c.Metrics.Listen = ":9" }, []string{figures}},
	} {
		cfg := Default()
		cfg.Store.Path = filepath.Join(privateFolder(t), "p.db")
		c.adapt(cfg)
		got := Exposures(cfg)
		if len(got) != len(c.want) {
			t.Errorf("%s: %q, want %q", name, got, c.want)
			continue
		}
		for i, want := range c.want {
			if !strings.Contains(got[i], want) {
				t.Errorf("%s: %q, want %q", name, got, c.want)
			}
		}
	}
}

func privateFolder(t *testing.T) string {
	t.Helper()
	folder := filepath.Join(t.TempDir(), "private")
	if err := os.Mkdir(folder, 0o700); err != nil {
		t.Fatal(err)
	}
	return folder
}

func TestWhatOthersCanReadIsAWarning(t *testing.T) {
	cfg := Default()
	folder := privateFolder(t)
	cfg.Store.Path = filepath.Join(folder, "p.db")
	cfg.Sandbox.Enabled, cfg.Sandbox.Path = true, filepath.Join(folder, "s.db")
	files := []string{cfg.Store.Path, cfg.Sandbox.Path, filepath.Join(folder, secretsFile)}
	for _, path := range files {
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if got := Exposures(cfg); len(got) != 0 {
		t.Fatalf("with everything private: %q", got)
	}
	for _, path := range append(files, folder) {
		for mode, command := range map[os.FileMode]string{0o604: "chmod 600 ", 0o640: "chmod 600 ", 0o755: "chmod 700 "} {
			if (path == folder) != (mode == 0o755) {
				continue
			}
			if err := os.Chmod(path, mode); err != nil {
				t.Fatal(err)
			}
			if got := Exposures(cfg); len(got) != 1 || !strings.Contains(got[0], command+path) {
				t.Errorf("%s with mode %o: %q", path, mode, got)
			}
		}
		if err := os.Chmod(path, map[bool]os.FileMode{true: 0o700, false: 0o600}[path == folder]); err != nil {
			t.Fatal(err)
		}
	}
}

func TestReadableConfigurationWithSecretIsAWarning(t *testing.T) {
	for name, c := range map[string]struct {
		content string
		mode    os.FileMode
		want    int
	}{
		"a key":                           {line("authentication.global_auth_token", `"`+strongKey+`"`), 0o644, 1},
		"a secret":                        {line("authentication.jwt_secret", `"`+strongSecret+`"`), 0o640, 1},
		"a webhook with a credential":     {line("webhook.global.url", `"https://h.example/hook?token=x"`), 0o604, 1},
		"a webhook without":               {line("webhook.global.url", `"https://h.example"`), 0o644, 0},
		"nothing secret":                  {line("webhook.workers", "3"), 0o644, 0},
		"a key that only the owner reads": {line("authentication.global_auth_token", `"`+strongKey+`"`), 0o600, 0},
	} {
		path := writeConfig(t, c.content)
		if err := os.Chmod(path, c.mode); err != nil {
			t.Fatal(err)
		}
		_, warnings, err := Load(path, nil)
		if err != nil || len(warnings) != c.want || c.want > 0 && !strings.Contains(warnings[0], "chmod 600 "+path) {
			t.Errorf("%s: %q, %v", name, warnings, err)
		}
	}
}
