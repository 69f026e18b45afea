package sqlite_test

import (
	"bufio"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"postern/migrate/sqlite"
)

// opened returns a database in a journal mode, with a row, that stays open and rests.
func opened(t *testing.T, path, mode string) *sql.DB {
	t.Helper()
	db, err := sql.Open("sqlite", path+"?_pragma=journal_mode("+mode+")")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	db.SetMaxOpenConns(1)
	for _, s := range []string{"CREATE TABLE a (b)", "INSERT INTO a VALUES (1)", "PRAGMA wal_checkpoint(TRUNCATE)"} {
		if _, err := db.Exec(s); err != nil {
			t.Fatalf("%s: %v", s, err)
		}
	}
	return db
}

// TestAFileInUseIsRefused while its program rests, whatever it locks then.
func TestAFileInUseIsRefused(t *testing.T) {
	for _, mode := range []string{"DELETE", "WAL"} {
		path := filepath.Join(t.TempDir(), "live.db")
		db := opened(t, path, mode)
		_, err := sqlite.Open(path)
		if want := fmt.Sprintf("process %d (", os.Getpid()); !errors.Is(err, sqlite.ErrInUse) || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "stop that program") {
			t.Errorf("%s: %v, want it to say %q", mode, err, want)
		}
		if err := db.Close(); err != nil {
			t.Fatal(err)
		}
		reader, err := os.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		if rows := asRead(t, path, "a"); len(rows) != 1 {
			t.Errorf("%s: after the program ended: %v", mode, rows)
		}
		_ = reader.Close()
	}
}

const holdEnv = "POSTERN_TEST_HOLD"

// TestLocksOfAnotherProcessAreSeen, for those whose files this user may not see.
func TestLocksOfAnotherProcessAreSeen(t *testing.T) {
	if path := os.Getenv(holdEnv); path != "" { // the other process
		opened(t, path, "WAL")
		fmt.Println("held")
		_, _ = bufio.NewReader(os.Stdin).ReadString('\n')
		return
	}
	path := filepath.Join(t.TempDir(), "live.db")
	c := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestLocksOfAnotherProcessAreSeen$", "-test.v")
	c.Env = append(os.Environ(), holdEnv+"="+path)
	in, err := c.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(out)
	for lines.Scan() && lines.Text() != "held" {
	}
	if who, want := sqlite.LockedBy(path), fmt.Sprintf("process %d", c.Process.Pid); who != want {
		t.Errorf("locked by %q, not by %q", who, want)
	}
	_ = in.Close()
	for lines.Scan() {
	}
	if err := c.Wait(); err != nil {
		t.Fatal(err)
	}
	if who := sqlite.LockedBy(path); who != "" {
		t.Errorf("after its end it is locked by %q", who)
	}
}
