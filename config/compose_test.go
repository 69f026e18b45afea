package config

import (
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// scalars returns the plain values of a YAML file by their path, such as services.a.hostname. It knows
// no lists and no blocks of text.
func scalars(t *testing.T, path string) map[string]string {
	t.Helper()
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	type level struct {
		indent int
		name   string
	}
	var above []level
	found := map[string]string{}
	for line := range strings.Lines(string(raw)) {
		line, _, _ = strings.Cut(strings.TrimRight(line, "\n"), "   #")
		text := strings.TrimLeft(line, " ")
		name, value, is := strings.Cut(text, ":")
		if !is || strings.HasPrefix(text, "#") || strings.HasPrefix(text, "- ") {
			continue
		}
		indent := len(line) - len(text)
		above = slices.DeleteFunc(above, func(l level) bool { return l.indent >= indent })
		whole := ""
		for _, l := range above {
			whole += l.name + "."
		}
		found[whole+name] = strings.Trim(value, ` "`)
		above = append(above, level{indent, name})
	}
	return found
}

func TestComposeFileSetsExistingSettings(t *testing.T) {
	all := scalars(t, filepath.Join("..", "packaging", "compose.yml"))
	var known []string
	for _, s := range settings(&Config{}) {
		known = append(known, s.env(), s.fileEnv())
	}
	secrets := t.TempDir()
	for _, node := range []string{"a", "b"} {
		var environ []string
		for path, value := range all {
			name, of := strings.CutPrefix(path, "services."+node+".environment.")
			if !of {
				continue
			}
			if !slices.Contains(known, name) {
				t.Errorf("%s sets %s, and there is no such setting", node, name)
			}
			value = strings.ReplaceAll(value, "${POSTGRES_PASSWORD}", "0123")
			if inside, is := strings.CutPrefix(value, "/run/secrets/"); is {
				if all["secrets."+inside+".file"] == "" {
					t.Errorf("%s reads %s, which is no secret of the file", node, value)
				}
				value = filepath.Join(secrets, inside)
				if err := os.WriteFile(value, []byte(strings.Repeat(inside+" 0123456789", 4)+"\n"), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			environ = append(environ, name+"="+value)
		}
		c, warnings, err := Load("", environ)
		if err != nil || len(warnings) > 0 {
			t.Fatalf("%s: %v %v", node, warnings, err)
		}
		if want := fmt.Sprintf("http://%s:8084", all["services."+node+".hostname"]); c.Cluster.Node != node || c.Cluster.Advertise != want {
			t.Errorf("%s is %q at %q, want %q", node, c.Cluster.Node, c.Cluster.Advertise, want)
		}
		u, err := url.Parse(c.Store.URL)
		if err != nil {
			t.Fatal(err)
		}
		for host := range strings.SplitSeq(u.Host, ",") {
			database := "services." + host + ".environment."
			if got := all[database+"PATRONI_POSTGRESQL_CONNECT_ADDRESS"]; got != host+":5432" {
				t.Errorf("%s looks for a database at %s, where %q is", node, host, got)
			}
		}
	}
}

// TestPatroniFileNamesWhatDiffers between the servers, as the compose file sets it.
func TestPatroniFileNamesWhatDiffers(t *testing.T) {
	raw, err := os.ReadFile(filepath.Join("..", "packaging", "patroni.yml"))
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for path := range scalars(t, filepath.Join("..", "packaging", "compose.yml")) {
		if _, name, is := strings.Cut(path, ".environment.PATRONI_"); is {
			if n++; !strings.Contains(string(raw), "PATRONI_"+name) {
				t.Errorf("PATRONI_%s is not named in patroni.yml", name)
			}
		}
	}
	if n != 3*9 {
		t.Errorf("the compose file sets %d variables of Patroni", n)
	}
}
