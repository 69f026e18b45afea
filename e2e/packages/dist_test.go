package packages

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestReleasesAreReproducible: all that a release has for linux/amd64.
func TestReleasesAreReproducible(t *testing.T) {
	first, second := release(t), built(t, copyOfSource(t, "second/and-deeper"), older, "linux/amd64")
	entries, err := os.ReadDir(first)
	if err != nil {
		t.Fatal(err)
	}
	kinds := map[string]bool{}
	for _, e := range entries {
		a, err := os.ReadFile(filepath.Join(first, e.Name()))
		if err != nil {
			t.Fatal(err)
		}
		if b, err := os.ReadFile(filepath.Join(second, e.Name())); err != nil || !bytes.Equal(a, b) {
			t.Errorf("%s differs (%v)", e.Name(), err)
		}
		kinds[filepath.Ext(e.Name())] = true
		if bytes.Contains(a, []byte(folder)) {
			t.Errorf("%s names the folder that it was made in", e.Name())
		}
	}
	for _, kind := range []string{".gz", ".deb", ".rpm", ".tar", ".json", ".txt", ""} {
		if !kinds[kind] {
			t.Errorf("no file of the kind %q among %v", kind, entries)
		}
	}
	run(t, first, "sha256sum", "--check", "--strict", "SHA256SUMS")
}

// TestBillOfMaterialsListsModulesAndLicences.
func TestBillOfMaterialsListsModulesAndLicences(t *testing.T) {
	made := release(t)
	raw, err := os.ReadFile(one(t, made, "*.cdx.json"))
	if err != nil {
		t.Fatal(err)
	}
	var bill struct {
		BOMFormat  string
		Components []struct {
			Name, Version      string
			Licenses, Evidence json.RawMessage
		}
	}
	if err := json.Unmarshal(raw, &bill); err != nil {
		t.Fatal(err)
	}
	named := map[string]string{}
	for _, c := range bill.Components {
		named[c.Name] = c.Version
		if !strings.Contains(string(c.Licenses)+string(c.Evidence), `"id"`) {
			t.Errorf("%s has no licence", c.Name)
		}
	}
	n := 0
	for line := range strings.Lines(run(t, made, "go", "version", "-m", unpacked(t, made, "linux_amd64"))) {
		if fields := strings.Fields(line); len(fields) >= 3 && fields[0] == "dep" {
			n++
			if named[fields[1]] != fields[2] {
				t.Errorf("%s %s is %q in the bill", fields[1], fields[2], named[fields[1]])
			}
		}
	}
	if n < 10 || bill.BOMFormat != "CycloneDX" || named["std"] == "" {
		t.Errorf("%d modules in the program; the bill of the format %q has %v", n, bill.BOMFormat, named)
	}
}

// unpacked returns the program of an archive.
func unpacked(t *testing.T, made, platform string) string {
	t.Helper()
	to := t.TempDir()
	run(t, to, "tar", "-xzf", one(t, made, "postern_*_"+platform+".tar.gz"))
	return one(t, to, "*/postern")
}

func TestVersionShowsCommitAndDate(t *testing.T) {
	out := run(t, folder, unpacked(t, release(t), "linux_amd64"), "version")
	if !strings.HasPrefix(out, "postern "+older+" (commit 0123456789abcdef0123456789abcdef01234567, 2026-01-01T00:00:00Z, go") || !strings.HasSuffix(out, " linux/amd64)\n") {
		t.Error(out)
	}
}
