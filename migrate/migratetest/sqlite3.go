package migratetest

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// SQLite3 returns the path of sqlite3.
func SQLite3(t testing.TB) string {
	t.Helper()
	path, err := exec.LookPath("sqlite3")
	if err != nil {
		t.Skip("no sqlite3 on the PATH; apt-get install sqlite3")
	}
	return path
}

// SQLiteDump returns the path of the text that sqlite3 makes of a database.
func SQLiteDump(t testing.TB, database string) string {
	t.Helper()
	text, err := exec.CommandContext(t.Context(), SQLite3(t), database, ".dump").Output()
	if err != nil {
		t.Fatalf("sqlite3 .dump: %v", err)
	}
	path := filepath.Join(t.TempDir(), "dump.sql")
	if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}
