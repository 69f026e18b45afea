package cli

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const (
	testURL      = "postgres://postern:s3cr%20et@127.0.0.1:1/postern?connect_timeout=2"
	testPassword = "s3cr"
)

func TestMigrateShowsNoPassword(t *testing.T) {
	inPrivateFolder(t)
	if err := os.Mkdir("data", 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile("data/secrets.json", []byte(`{"globalAuthToken":"an API key of an operator","jwtSecret":"a secret of thirty-two different bytes, more or less"}`), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, row := range []struct {
		line   string
		status int
		says   string
	}{
		{"migrate", 2, "one of --to, --from and --print-sql is needed"},
		{"migrate --to URL --from URL file", 2, "one of --to, --from and --print-sql is needed"},
		{"migrate --print-sql --force", 2, "--print-sql takes neither"},
		{"migrate --to URL file", 2, `unexpected argument "file"`},
		{"migrate --to URL URL", 2, "unexpected argument"},
		{"migrate --from URL", 2, "FILE is missing"},
		{"migrate --from URL URL", 2, "the URL belongs to --from"},
		{"migrate --from file URL", 2, "--from must be a URL of PostgreSQL"},
		{"migrate --to my-URL", 2, "--to must be a URL of PostgreSQL"},
		{"migrate --to URL --cell A", 2, "--cell must have 1 to 63 characters"},
		{"migrate --toURL", 2, "unknown flag"},
		{"migrate URL", 2, "one of --to, --from and --print-sql is needed"},
		{"URL", 2, "unknown command"},
		{"migrate --from URL file", 1, "cannot be reached"},
		{"migrate --to URL", 1, "there is no such data file"},
		{"migrate --help", 0, "--print-sql"},
	} {
		var out bytes.Buffer
		line := strings.Fields(strings.ReplaceAll(row.line, "URL", testURL))
		if status := run(t.Context(), line, &out, &out); status != row.status || !strings.Contains(out.String(), row.says) {
			t.Errorf("%s: status %d, want %d with %q: %s", row.line, status, row.status, row.says, out.String())
		}
		if strings.Contains(out.String(), testPassword) {
			t.Errorf("%s shows the password: %s", row.line, out.String())
		}
	}
}

func TestMigratePrintsTheStatements(t *testing.T) {
	var out bytes.Buffer
	if status := run(t.Context(), []string{"migrate", "--print-sql"}, &out, &out); status != 0 || !strings.Contains(out.String(), "create table") {
		t.Errorf("status %d: %s", status, out.String())
	}
}

// TestCopyOfACellIsNotChanged: commands that change a data file say how to do it while a cell
// has the data.
func TestCopyOfACellIsNotChanged(t *testing.T) {
	inPrivateFolder(t)
	t.Setenv("STORE_URL", testURL)
	t.Setenv("SERVER_LISTEN", "127.0.0.1:1")
	file := filepath.Join(t.TempDir(), "some.account")
	if err := errors.Join(os.Mkdir("data", 0o700), os.WriteFile("data/postern.db", nil, 0o600), os.WriteFile(file, nil, 0o600)); err != nil {
		t.Fatal(err)
	}
	for command, line := range map[string]string{
		"restore": "restore x", "compact": "compact", "import": "import whatsmeow --from x", "check --repair": "check --repair data/postern.db",
		"instance import": "instance import " + file, "instance export": "instance export shop y",
	} {
		var out bytes.Buffer
		status := run(t.Context(), strings.Fields(line), &out, &out)
		for _, want := range []string{"store.url is set", "`postern migrate --from URL FILE`", "`postern migrate --to URL --force`", fmt.Sprintf("run `postern %s`", command)} {
			if status != 1 || !strings.Contains(out.String(), want) {
				t.Errorf("%s: status %d, no %q: %s", line, status, want, out.String())
			}
		}
		if strings.Contains(out.String(), testPassword) {
			t.Errorf("%s shows the password: %s", line, out.String())
		}
	}
}
