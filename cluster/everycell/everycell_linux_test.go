//go:build !everycell

package everycell

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"postern/cluster/postgres"
	"postern/cluster/postgres/pgtest"
	"postern/internal/nightly"
)

// Each suite runs with every data file thrown away at each open and loaded from PostgreSQL,
// row by row what was committed. SKIP are the tests that damage a file behind the store's back
// and PACKAGES the suites, as make cells has them.
func TestSuitesRunOnPostgreSQL(t *testing.T) {
	packages := strings.Fields(os.Getenv("PACKAGES"))
	if nightly.Or("", "all") == "" || len(packages) == 0 {
		t.Skip("takes minutes; make rows does it")
	}
	server := pgtest.Start(t, "fsync = off", "synchronous_commit = off", "max_connections = 200")
	name := server.Database(t)
	server.In(t, name, postgres.PrintSQL())
	t.Chdir(filepath.Join("..", ".."))
	list := exec.CommandContext(t.Context(), "go", append([]string{"list", "-f", "{{.Dir}} {{.Name}} {{len .TestGoFiles}}"}, packages...)...)
	found, err := list.Output()
	if err != nil {
		t.Fatal(err)
	}
	added := map[string]string{}
	dir := t.TempDir()
	for line := range strings.Lines(string(found)) {
		folder, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
		name, tests, _ := strings.Cut(rest, " ")
		if tests == "0" {
			continue
		}
		source := filepath.Join(dir, strings.ReplaceAll(folder, "/", "_")+".go")
		if err := os.WriteFile(source, []byte("package "+name+"\n\nimport _ \"postern/cluster/everycell\"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		added[filepath.Join(folder, "everycell_added_test.go")] = source
	}
	overlay := filepath.Join(dir, "overlay.json")
	raw, err := json.Marshal(map[string]any{"Replace": added})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(overlay, raw, 0o600); err != nil {
		t.Fatal(err)
	}
	args := append([]string{"test", "-tags", "everycell", "-overlay", overlay, "-count", "1", "-timeout", "60m", "-skip", os.Getenv("SKIP")}, packages...)
	cmd := exec.CommandContext(t.Context(), "go", args...)
	cmd.Env = append(os.Environ(), "NIGHTLY=", "POSTERN_TEST_EVERYCELL_URL="+pgtest.URL(name, server))
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	if err := cmd.Run(); err != nil {
		t.Error(err)
	}
	t.Logf("%s cells with %s rows were made, in %s commits", server.In(t, name, "select count(*) from postern.cell"), server.In(t, name, "select count(*) from postern.kv"), server.In(t, name, "select sum(version) from postern.cell"))
}
