package cli

import (
	"bytes"
	"cmp"
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"
)

// TestEveryLinkedModuleHasItsLicence also writes licences.txt, with
// -update.
func TestEveryLinkedModuleHasItsLicence(t *testing.T) {
	want := licenceTexts(t)
	if *updateLicences {
		if err := os.WriteFile("licences.txt", []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	} else if licences != want {
		t.Error("licences.txt is not what the linked modules' own files say; run make docs")
	}
	var out bytes.Buffer
	if status := run(context.Background(), []string{"version", "--licences"}, &out, io.Discard); status != 0 {
		t.Fatalf("status %d", status)
	}
	for _, text := range []string{"GNU GENERAL PUBLIC LICENSE", "Mozilla Public License Version 2.0", "Copyright 2012-2015 The Prometheus Authors", "Copyright 2009 The Go Authors"} {
		if !strings.Contains(out.String(), text) {
			t.Errorf("no %q", text)
		}
	}
}

// module is one that is linked on some system, and where its files are.
type module struct{ name, folder string }

// linkedModules returns those of the program on all systems that it is built for, and
// Go itself.
func linkedModules(t *testing.T) []module {
	t.Helper()
	var all []module
	for _, system := range []string{"linux", "darwin", "freebsd", "windows"} {
		cmd := exec.CommandContext(t.Context(), "go", "list", "-deps", "-f", "{{with .Module}}{{if not .Main}}{{.Path}} {{.Dir}}{{end}}{{end}}", "postern")
		cmd.Env = append(os.Environ(), "GOOS="+system, "CGO_ENABLED=0")
		out, err := cmd.Output()
		if err != nil {
			t.Skipf("go list for %s: %v", system, err)
		}
		for line := range strings.Lines(string(out)) {
			if name, folder, ok := strings.Cut(strings.TrimSpace(line), " "); ok {
				all = append(all, module{name, folder})
			}
		}
	}
	all = append(all, module{"the Go standard library and runtime", goRoot(t)})
	for name, folder := range map[string]string{"preact (in the console)": "preact", "htm (in the console)": "htm"} {
		all = append(all, module{name, filepath.Join("..", "console", "page", "vendored", folder)})
	}
	slices.SortFunc(all, func(a, b module) int { return cmp.Compare(a.name, b.name) })
	return slices.Compact(all)
}

func goRoot(t *testing.T) string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "go", "env", "GOROOT").Output()
	if err != nil {
		t.Skipf("go env: %v (%s)", err, runtime.Version())
	}
	return strings.TrimSpace(string(out))
}

var licenceFile = regexp.MustCompile(`(?i)^(licen[cs]e|copying|notice|patents)(\.txt|\.md)?$`)

// licenceTexts is licences.txt: each text once, below the modules that it is for.
func licenceTexts(t *testing.T) string {
	t.Helper()
	users := map[string][]string{}
	for _, m := range linkedModules(t) {
		entries, err := os.ReadDir(m.folder)
		if err != nil {
			t.Fatal(err)
		}
		found := false
		for _, e := range entries {
			if e.IsDir() || !licenceFile.MatchString(e.Name()) {
				continue
			}
			text, err := os.ReadFile(filepath.Join(m.folder, e.Name()))
			if err != nil {
				t.Fatal(err)
			}
			body := strings.TrimSpace(strings.ReplaceAll(string(text), "\r\n", "\n"))
			users[body] = append(users[body], m.name)
			found = found || !strings.EqualFold(e.Name(), "NOTICE")
		}
		if !found {
			t.Errorf("%s has no licence file", m.name)
		}
	}
	bodies := make([]string, 0, len(users))
	for body := range users {
		bodies = append(bodies, body)
	}
	slices.SortFunc(bodies, func(a, b string) int {
		return cmp.Or(cmp.Compare(users[a][0], users[b][0]), cmp.Compare(a, b))
	})
	var out strings.Builder
	out.WriteString("Postern links the works below. Their source is where their names point; the source of this program is at the place that you have it from.\n")
	for _, body := range bodies {
		fmt.Fprintf(&out, "\n%s\n%s\n%s\n\n%s\n", strings.Repeat("=", 78), strings.Join(users[body], "\n"), strings.Repeat("-", 78), body)
	}
	return out.String()
}

var updateLicences = flag.Bool("update", false, "rewrite generated files")
