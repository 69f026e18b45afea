package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

var someTime = time.Date(2026, 1, 31, 23, 59, 59, 0, time.UTC)

func TestPackageVersionsAreOrderedByTime(t *testing.T) {
	inOrder := []struct{ git, want string }{
		{"abcdef0", "0.0.0+20260131235959.abcdef0"},
		{"v1.2.0-rc.1", "1.2.0~rc.1"},
		{"v1.2.0-rc.1-7-gabcdef0", "1.2.0~rc.1+7.gabcdef0"},
		{"v1.2.0", "1.2.0"},
		{"v1.2.0-3-gabcdef0", "1.2.0+3.gabcdef0"},
		{"v1.2.0-3-gabcdef0-dirty", "1.2.0+3.gabcdef0+dirty"},
		{"v1.2.0-12-g0123456", "1.2.0+12.g0123456"},
		{"1.10.0", "1.10.0"},
	}
	before := ""
	for _, c := range inOrder {
		is := (&release{version: c.git, at: someTime}).packageVersion()
		if is != c.want {
			t.Errorf("%s is %s instead of %s", c.git, is, c.want)
		}
		if _, err := exec.LookPath("dpkg"); err == nil && before != "" {
			if err := exec.CommandContext(t.Context(), "dpkg", "--compare-versions", before, "lt", is).Run(); err != nil {
				t.Errorf("for dpkg %s does not precede %s: %v", before, is, err)
			}
		}
		before = is
	}
}

func TestAWrongCommandLineNamesWhatIsWrong(t *testing.T) {
	for _, c := range []struct{ args, want string }{
		{"-version ../up", "-version"},
		{"-version -x", "-version"},
		{"-epoch -1", "-epoch"},
		{"-epoch tomorrow", "-epoch"},
		{"-platforms linux/amd64,plan9/mips", `no "plan9/mips"; there are linux/amd64`},
		{"-platforms ,", "-platforms"},
		{"-fast", "-fast"},
	} {
		if _, err := parse(strings.Fields(c.args), io.Discard); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", c.args, err)
		}
	}
}

// TestReleaseHasTheSameBytesAnywhere, on the same day or not, whatever the folder's
// files had for times and rights.
func TestReleaseHasTheSameBytesAnywhere(t *testing.T) {
	first, second := filepath.Join(t.TempDir(), "a"), filepath.Join(t.TempDir(), "elsewhere", "b")
	for _, folder := range []string{first, second} {
		smallRelease(t, folder, "linux/amd64,windows/amd64")
	}
	if a, b := contents(t, first), contents(t, second); !maps.Equal(a, b) || len(a) != 5 {
		t.Errorf("%d files and %d; they differ: %v %v", len(a), len(b), slices.Sorted(maps.Keys(a)), slices.Sorted(maps.Keys(b)))
	}
	checkSums(t, first)
}

// smallRelease makes a release of a small program in place of Postern into out.
func smallRelease(t *testing.T, out, platforms string) {
	t.Helper()
	r := small(t, out, platforms)
	if err := r.make(t.Context()); err != nil {
		t.Fatal(err)
	}
}

func small(t *testing.T, out, platforms string) *release {
	t.Helper()
	if _, err := exec.LookPath("go"); err != nil {
		t.Skip(err)
	}
	source := t.TempDir()
	for name, content := range map[string]string{
		"go.mod":                    "module postern\n\ngo 1.26.0\n",
		"main.go":                   "package main\n\nimport \"os\"\n\nvar version string\n\nfunc main() { os.Stdout.WriteString(version + os.Args[len(os.Args)-1]) }\n",
		"LICENSE":                   "free",
		"README.md":                 "read me",
		"CHANGELOG.md":              "changes",
		"SECURITY.md":               "reports",
		"BENCHMARKS.md":             "figures",
		"CONTRIBUTING.md":           "recipes",
		"docs/api.md":               "routes",
		"docs/alerts.yml":           "rules",
		"docs/grafana.json":         "{}",
		"docs/pictures/console.png": "picture",
		"config.toml.example":       "# settings",
		"cli/licences.txt":          "of others",
		"packaging/postern.service": "[Unit]",
		"packaging/postern.socket":  "[Unit]",
	} {
		file := filepath.Join(source, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	r, err := parse([]string{
		"-version", "v1.2.0", "-commit", "0123456789", "-epoch", fmt.Sprint(someTime.Unix()), "-out", out, "-platforms", platforms, "-tools=false",
		"--", "-trimpath", "-ldflags", "-s -w -X main.version=v1.2.0",
	}, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	r.source = source
	return r
}

// contents are the files of a folder.
func contents(t *testing.T, folder string) map[string]string {
	t.Helper()
	all := map[string]string{}
	entries, err := os.ReadDir(folder)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		raw, err := os.ReadFile(filepath.Join(folder, e.Name()))
		if err != nil {
			t.Fatal(err)
		}
		all[e.Name()] = string(raw)
	}
	return all
}

func checkSums(t *testing.T, folder string) {
	t.Helper()
	all := contents(t, folder)
	sums := all[sumsFile]
	delete(all, sumsFile)
	for name, content := range all {
		if line := fmt.Sprintf("%x  %s\n", sha256.Sum256([]byte(content)), name); !strings.Contains(sums, line) {
			t.Errorf("%s has no %q:\n%s", sumsFile, line, sums)
		}
	}
	if strings.Count(sums, "\n") != len(all) {
		t.Errorf("%d files:\n%s", len(all), sums)
	}
}

// TestAFolderOfOthersIsNotReplaced, and one that an interrupted run would replace stays.
func TestAFolderOfOthersIsNotReplaced(t *testing.T) {
	out := filepath.Join(t.TempDir(), "out")
	if err := os.Mkdir(out, 0o755); err != nil {
		t.Fatal(err)
	}
	thesis := filepath.Join(out, "thesis.txt")
	if err := os.WriteFile(thesis, []byte("of years"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := small(t, out, "linux/amd64").make(t.Context()); err == nil || !strings.Contains(err.Error(), "name another folder") {
		t.Errorf("%v", err)
	}
	if err := os.WriteFile(filepath.Join(out, sumsFile), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := small(t, out, "linux/amd64").make(ctx); err == nil {
		t.Error("an interrupted run made a release")
	}
	if raw, err := os.ReadFile(thesis); err != nil || string(raw) != "of years" {
		t.Errorf("%q %v", raw, err)
	}
	left, err := os.ReadDir(filepath.Dir(out))
	if err != nil || len(left) != 1 {
		t.Errorf("an interrupted run left %v (%v)", left, err)
	}
}

func TestArchivesAreCompleteAndAnonymous(t *testing.T) {
	out := filepath.Join(t.TempDir(), "out")
	smallRelease(t, out, "linux/amd64,windows/amd64")
	z, err := gzip.NewReader(open(t, filepath.Join(out, "postern_1.2.0_linux_amd64.tar.gz")))
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for r := tar.NewReader(z); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if h.Uid != 0 || h.Gid != 0 || h.Uname != "" || h.Gname != "" || !h.ModTime.Equal(someTime) {
			t.Errorf("%+v", h)
		}
		if want := map[bool]int64{true: 0o755, false: 0o644}[path.Base(h.Name) == "postern"]; h.Mode != want {
			t.Errorf("%s has the rights %o", h.Name, h.Mode)
		}
		names = append(names, strings.TrimPrefix(h.Name, "postern_1.2.0_linux_amd64/"))
	}
	want := []string{
		"BENCHMARKS.md", "CHANGELOG.md", "CONTRIBUTING.md", "LICENSE", "README.md", "SECURITY.md",
		"completions/postern.bash", "completions/postern.fish", "completions/postern.powershell", "completions/postern.zsh",
		"config.toml.example", "docs/alerts.yml", "docs/api.md", "docs/grafana.json", "docs/pictures/console.png", "licences.txt", "postern", "postern.1", "postern.service", "postern.socket",
	}
	if !slices.Equal(names, want) {
		t.Errorf("the archive has %v", names)
	}

	windows := filepath.Join(out, "postern_1.2.0_windows_amd64.zip")
	archive, err := zip.OpenReader(windows)
	if err != nil {
		t.Fatal(err)
	}
	defer archive.Close()
	found := false
	for _, f := range archive.File {
		found = found || path.Base(f.Name) == "postern.exe" && f.Mode().Perm() == 0o755
		if !f.Modified.Equal(someTime) {
			t.Errorf("%s is of %v", f.Name, f.Modified)
		}
	}
	if !found {
		t.Error("no postern.exe")
	}
}

func open(t *testing.T, name string) *os.File {
	t.Helper()
	f, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = f.Close() })
	return f
}

// TestPackageScriptsAreShellScripts.
func TestPackageScriptsAreShellScripts(t *testing.T) {
	shell, err := exec.LookPath("sh")
	if err != nil {
		t.Skip(err)
	}
	n := 0
	err = fs.WalkDir(os.DirFS(".."), "scripts", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		n++
		if out, err := exec.CommandContext(t.Context(), shell, "-n", filepath.Join("..", name)).CombinedOutput(); err != nil {
			t.Errorf("%s: %v\n%s", name, err, out)
		}
		return nil
	})
	if err != nil || n != 4 {
		t.Errorf("%d scripts: %v", n, err)
	}
}

func TestBillIsCompleteAndAnonymous(t *testing.T) {
	raw, err := completeBill([]byte(`{"$schema":"s","bomFormat":"CycloneDX","specVersion":"1.6","version":1,
		"metadata":{"tools":[{"name":"cyclonedx-gomod","hashes":[{"alg":"MD5"}]}],"component":{"name":"postern"}},
		"components":[{"name":"std"},{"name":"other"}],"dependencies":[],"compositions":[]}`))
	if err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]int{"hashes": 0, "GPL-3.0-or-later": 1, "BSD-3-Clause": 1, "cyclonedx-gomod": 1} {
		if n := bytes.Count(raw, []byte(text)); n != want {
			t.Errorf("%s is there %d times:\n%s", text, n, raw)
		}
	}
	if _, err := completeBill([]byte(`{"bomFormat":"CycloneDX","vulnerabilities":[]}`)); err == nil {
		t.Error("a part that would be dropped is taken")
	}
}
