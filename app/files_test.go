package app

import (
	"encoding/pem"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"postern/app/certificate/certificatetest"
	"postern/config"
)

// TestFilesThatTheConfigurationNamesAreLookedAt writes one wrong file or name at a time
// into a configuration that is right, and wants it to be said by setting and rule.
func TestFilesThatTheConfigurationNamesAreLookedAt(t *testing.T) {
	ca := certificatetest.New(t)
	issued := func(until time.Time) (cert, key string) {
		ca.Folder = t.TempDir()
		ca.Issue(until)
		return filepath.Join(ca.Folder, "cert.pem"), filepath.Join(ca.Folder, "key.pem")
	}
	cert, key := issued(time.Now().Add(time.Hour))
	other, otherKey := issued(time.Now().Add(time.Hour))
	over, overKey := issued(time.Now().Add(-time.Minute))
	folder := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(folder, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	roots := write("roots.pem", string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: ca.Cert.Raw})))
	text, large := write("text", "nothing of it"), write("large", strings.Repeat("x", config.MaxPEM+1))
	noCertificate := write("no.pem", string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: []byte("x")})))
	missing := filepath.Join(folder, "missing")
	pngs := write("logo", "\x89PNG\r\n\x1a\n")
	damaged := filepath.Join(t.TempDir(), "p.db")
	if err := os.WriteFile(filepath.Join(filepath.Dir(damaged), "secrets.json"), []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	good := map[string]string{
		"server.tls.cert": cert, "server.tls.key": key, "server.socket": filepath.Join(folder, "s"),
		"store.path": filepath.Join(folder, "not", "there", "p.db"), "backup.dir": filepath.Join(folder, "backups"), "backup.every": "1h",
		"console.logo_file": pngs, "sandbox.enabled": "true", "sandbox.path": filepath.Join(folder, "sandbox.db"),
	}
	endpoint := map[string]string{"sandbox.enabled": "false", "whatsapp.endpoint": "wss://h.example:8/ws", "whatsapp.endpoint_ca": roots, "whatsapp.endpoint_root_key": strings.Repeat("ab", 32)}
	acme := map[string]string{"server.tls.cert": "", "server.tls.key": "", "server.tls.domain": "a.example", "server.tls.acme_ca": roots}
	with := func(base map[string]string, pairs ...string) map[string]string {
		all := map[string]string{}
		maps.Copy(all, base)
		for i := 0; i < len(pairs); i += 2 {
			all[pairs[i]] = pairs[i+1]
		}
		return all
	}
	for name, c := range map[string]struct {
		change map[string]string
		want   []string // empty: nothing is wrong
	}{
		"all is right":       {nil, nil},
		"so is an endpoint":  {endpoint, nil},
		"so is an authority": {acme, nil},
		"not used":           {map[string]string{"backup.dir": text, "backup.every": "0", "sandbox.enabled": "false", "sandbox.path": folder}, nil},

		"no certificate":            {with(nil, "server.tls.cert", missing), []string{"server.tls.cert: open " + missing}},
		"a folder":                  {with(nil, "server.tls.cert", folder), []string{"server.tls.cert: read " + folder}},
		"a text as certificate":     {with(nil, "server.tls.cert", text), []string{"server.tls.cert: " + text + " has no certificate in PEM"}},
		"the key as certificate":    {with(nil, "server.tls.cert", key), []string{"server.tls.cert: " + key + " has no certificate in PEM"}},
		"a certificate of no bytes": {with(nil, "server.tls.cert", noCertificate), []string{"server.tls.cert: " + noCertificate + ": x509"}},
		"no key":                    {with(nil, "server.tls.key", missing), []string{"server.tls.key: open " + missing}},
		"another's key":             {with(nil, "server.tls.key", otherKey), []string{"server.tls.key: " + otherKey + " is not the key of " + cert}},
		"another's certificate":     {with(nil, "server.tls.cert", other), []string{"server.tls.key: " + key + " is not the key of " + other}},
		"the certificate as key":    {with(nil, "server.tls.key", cert), []string{"server.tls.key: " + cert + " is not the key"}},
		"a file without end":        {with(nil, "server.tls.key", large), []string{"server.tls.key: " + large + " has more than"}},
		"a certificate that ended":  {with(nil, "server.tls.cert", over, "server.tls.key", overKey), []string{"server.tls.cert: " + over + " ended at "}},
		"both files":                {with(nil, "server.tls.cert", missing, "server.tls.key", missing), []string{"server.tls.cert: open", "server.tls.key: open"}},
		"no roots":                  {with(acme, "server.tls.acme_ca", missing), []string{"server.tls.acme_ca: open " + missing}},
		"roots of text":             {with(acme, "server.tls.acme_ca", text), []string{"server.tls.acme_ca: " + text + " has no certificate in PEM"}},
		"no CA":                     {with(endpoint, "whatsapp.endpoint_ca", missing), []string{"whatsapp.endpoint_ca: open " + missing}},
		"a key as CA":               {with(endpoint, "whatsapp.endpoint_ca", key), []string{"whatsapp.endpoint_ca: " + key + " has no certificate in PEM"}},
		"no folder of a socket":     {with(nil, "server.socket", missing+"/s"), []string{"server.socket: its folder must be there"}},
		"a file at the socket":      {with(nil, "server.socket", text), []string{"server.socket: " + text + " exists and is not a socket"}},
		"a folder as data file":     {with(nil, "store.path", folder), []string{"store.path: " + folder + " is a folder"}},
		"a file as data folder":     {with(nil, "store.path", text+"/p.db"), []string{"store.path: stat " + text + "/p.db"}},
		"damaged secrets":           {with(nil, "store.path", damaged), []string{"store.path: secrets in " + filepath.Join(filepath.Dir(damaged), "secrets.json")}},
		"a file as backup folder":   {with(nil, "backup.dir", text), []string{"backup.dir: " + text + " is not a folder"}},
		"a folder in a file":        {with(nil, "backup.dir", text+"/b"), []string{"backup.dir: stat " + text + "/b"}},
		"no logo":                   {with(nil, "console.logo_file", missing), []string{"console.logo_file: open " + missing}},
		"a text as logo":            {with(nil, "console.logo_file", text), []string{"console.logo_file: " + text + " must be a PNG, JPEG, WebP or SVG image"}},
		"a text that says SVG":      {with(nil, "console.logo_file", write("text.svg", "x")), []string{"console.logo_file: "}},
		"a folder as sandbox":       {with(nil, "sandbox.path", folder), []string{"sandbox.path: " + folder + " is a folder"}},
	} {
		var environ []string
		for k, v := range with(good, flat(c.change)...) {
			environ = append(environ, strings.ToUpper(strings.ReplaceAll(k, ".", "_"))+"="+v)
		}
		cfg, _, err := config.Load(write("config.toml", ""), environ)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		faults := FileFaults(cfg)
		if len(faults) != len(c.want) {
			t.Errorf("%s: %v, want %q", name, faults, c.want)
			continue
		}
		for i, want := range c.want {
			key, _, _ := strings.Cut(want, ":")
			if want = "environment " + strings.ToUpper(strings.ReplaceAll(key, ".", "_")) + ": " + want; !strings.HasPrefix(faults[i].Error(), want) {
				t.Errorf("%s: %v, want it to begin with %q", name, faults[i], want)
			}
		}
	}
	for _, name := range []string{"not", "backups", "sandbox.db", "s"} {
		if _, err := os.Stat(filepath.Join(folder, name)); err == nil {
			t.Errorf("%s was made", name)
		}
	}
}

func flat(m map[string]string) (pairs []string) {
	for k, v := range m {
		pairs = append(pairs, k, v)
	}
	return pairs
}

// TestInaccessibleFilesAreReported, for users other than root.
func TestInaccessibleFilesAreReported(t *testing.T) {
	if os.Getuid() == 0 {
		t.Skip("root may read and write everything")
	}
	folder := t.TempDir()
	logo := filepath.Join(folder, "logo.png")
	if err := os.WriteFile(logo, []byte("\x89PNG\r\n\x1a\n"), 0); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(folder, 0o500); err != nil { //nolint:gosec // a folder
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.Chmod(folder, 0o700) }) //nolint:gosec // to be removed
	cfg := config.Default()
	cfg.Store.Path, cfg.Console.LogoFile = filepath.Join(folder, "p.db"), logo
	faults := FileFaults(cfg)
	if len(faults) != 2 || !strings.HasPrefix(faults[0].Error(), "default: store.path: nothing can be written into "+folder) || !strings.Contains(faults[1].Error(), "console.logo_file: ") {
		t.Errorf("%v", faults)
	}
	for _, f := range faults {
		if !strings.Contains(f.Error(), "check as that one") {
			t.Errorf("%v does not say what to do", f)
		}
	}
}
