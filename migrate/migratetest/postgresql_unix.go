//go:build unix

package migratetest

import (
	"net/url"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// PostgreSQL is a server of the test's own, reached by a socket in its folder.
type PostgreSQL struct {
	folder string
	bin    string
	as     *syscall.Credential // nil: the user of the test
}

// StartPostgreSQL starts a server with an empty database, which ends with the test.
func StartPostgreSQL(t testing.TB) *PostgreSQL {
	t.Helper()
	p := &PostgreSQL{bin: serverPrograms(t), as: unprivileged(t)}
	var err error
	if p.folder, err = os.MkdirTemp("/tmp", "postern-pg-"); err != nil { //nolint:usetesting // a socket's path is short, and the folder another user's
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(p.folder) })
	if p.as != nil {
		if err := os.Chown(p.folder, int(p.as.Uid), int(p.as.Gid)); err != nil {
			t.Fatal(err)
		}
	}
	data := filepath.Join(p.folder, "data")
	p.run(t, "", filepath.Join(p.bin, "initdb"), "--no-sync", "--auth=trust", "--encoding=UTF8", "--locale=C", "--username=postgres", "--pgdata", data)
	server := p.command(t, filepath.Join(p.bin, "postgres"), "-F", "-D", data, "-k", p.folder, "-c", "listen_addresses=")
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = server.Wait()
	}()
	t.Cleanup(func() {
		_ = server.Process.Signal(syscall.SIGINT)
		<-ended
	})
	deadline := time.Now().Add(time.Minute)
	for p.command(t, "psql", "-h", p.folder, "-U", "postgres", "-c", "SELECT 1").Run() != nil {
		select {
		case <-ended:
			t.Fatal("the PostgreSQL server ended")
		case <-time.After(50 * time.Millisecond):
		}
		if time.Now().After(deadline) {
			t.Fatal("the PostgreSQL server does not answer")
		}
	}
	return p
}

// serverPrograms returns the folder with initdb and postgres, which Debian does not put
// on the PATH.
func serverPrograms(t testing.TB) string {
	t.Helper()
	folders, _ := filepath.Glob("/usr/lib/postgresql/*/bin")
	for _, folder := range slices.Backward(folders) {
		if _, err := os.Stat(filepath.Join(folder, "initdb")); err == nil {
			return folder
		}
	}
	path, err := exec.LookPath("initdb")
	if err != nil {
		t.Skip("no PostgreSQL server; apt-get install postgresql")
	}
	return filepath.Dir(path)
}

// unprivileged is a user other than root, as whom the server does not start.
func unprivileged(t testing.TB) *syscall.Credential {
	t.Helper()
	if os.Getuid() != 0 {
		return nil
	}
	for _, name := range []string{"postgres", "nobody"} {
		if who, err := user.Lookup(name); err == nil {
			uid, _ := strconv.ParseUint(who.Uid, 10, 32)
			gid, _ := strconv.ParseUint(who.Gid, 10, 32)
			return &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}
		}
	}
	t.Skip("PostgreSQL does not run as root, and there is no user postgres or nobody")
	return nil
}

func (p *PostgreSQL) command(t testing.TB, name string, args ...string) *exec.Cmd {
	t.Helper()
	c := exec.Command(name, args...) //nolint:noctx // ends with the clean-up, after the context of the test
	c.Dir = p.folder
	c.SysProcAttr = &syscall.SysProcAttr{Credential: p.as}
	return c
}

func (p *PostgreSQL) run(t testing.TB, input, name string, args ...string) string {
	t.Helper()
	c := p.command(t, name, args...)
	c.Stdin = strings.NewReader(input)
	var wrong strings.Builder
	c.Stderr = &wrong
	out, err := c.Output()
	if err != nil {
		t.Fatalf("%s: %v\n%s", filepath.Base(name), err, wrong.String())
	}
	return string(out)
}

// Exec runs statements by psql.
func (p *PostgreSQL) Exec(t testing.TB, statements string) {
	t.Helper()
	p.run(t, statements, "psql", "-h", p.folder, "-U", "postgres", "-q", "-v", "ON_ERROR_STOP=1")
}

// Dump returns the path of the text that pg_dump makes of the database.
func (p *PostgreSQL) Dump(t testing.TB, options ...string) string {
	t.Helper()
	text := p.run(t, "", "pg_dump", append([]string{"-h", p.folder, "-U", "postgres"}, options...)...)
	path := filepath.Join(t.TempDir(), "pg.sql")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// URL returns the address of the database.
func (p *PostgreSQL) URL() string {
	return "postgres://postgres@/postgres?host=" + url.QueryEscape(p.folder)
}
