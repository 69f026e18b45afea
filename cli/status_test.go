package cli

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"postern/app"
	"postern/config"
	"postern/store"
)

// TestFailedStartExitStatusSaysWhetherToRetry: 78 needs a person, and 1
// what may go away by itself.
func TestFailedStartExitStatusSaysWhetherToRetry(t *testing.T) {
	writes := func(name, text string) func(*testing.T) {
		return func(t *testing.T) {
			if err := errors.Join(os.MkdirAll(filepath.Dir(name), 0o700), os.WriteFile(name, []byte(text), 0o600)); err != nil {
				t.Fatal(err)
			}
		}
	}
	sets := func(name, value string) func(*testing.T) {
		return func(t *testing.T) { t.Setenv(name, value) }
	}
	for name, c := range map[string]struct {
		before func(*testing.T)
		args   []string
		want   int
		says   string
	}{
		"an unknown setting":              {writes("config.toml", "[log]\nlevle = \"info\"\n"), nil, 78, "log.levle"},
		"no TOML":                         {writes("config.toml", "["), nil, 78, "config.toml: line 1"},
		"a value out of its bounds":       {sets("LOG_LEVEL", "loud"), nil, 78, "LOG_LEVEL"},
		"no file of that name":            {nil, []string{"--config", "other.toml"}, 78, "other.toml"},
		"a folder":                        {writes("c/x", ""), []string{"--config", "c"}, 78, "is a directory"},
		"secrets that are damaged":        {writes("data/secrets.json", "{"), nil, 78, "secrets.json"},
		"another file than a data file":   {writes("data/postern.db", "no data file"), nil, 78, "not a Postern data file"},
		"a logo that is none":             {func(t *testing.T) { writes("logo", "none")(t); t.Setenv("CONSOLE_LOGO_FILE", "logo") }, nil, 78, "console.logo_file"},
		"a socket's place that is taken":  {func(t *testing.T) { writes("s", "")(t); t.Setenv("SERVER_SOCKET", "s") }, nil, 78, "is not a socket"},
		"an address that is in use":       {takenAddress, nil, 1, "server.listen"},
		"a data file that is in use":      {takenFile, nil, 1, "in use"},
		"a certificate that is not there": {func(t *testing.T) { t.Setenv("SERVER_TLS_CERT", "c.pem"); t.Setenv("SERVER_TLS_KEY", "k.pem") }, nil, 1, "c.pem"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Chdir(t.TempDir())
			t.Setenv("SERVER_LISTEN", "127.0.0.1:0")
			t.Setenv("LOG_LEVEL", "error")
			if c.before != nil {
				c.before(t)
			}
			var errOut bytes.Buffer
			if got := run(t.Context(), append([]string{"serve"}, c.args...), io.Discard, &errOut); got != c.want || !strings.Contains(errOut.String(), c.says) {
				t.Errorf("status %d, not %d: %s", got, c.want, errOut.String())
			}
		})
	}
}

func takenAddress(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	t.Setenv("SERVER_LISTEN", l.Addr().String())
}

func takenFile(t *testing.T) {
	s, err := store.Open(store.Options{Path: filepath.Join("data", "postern.db"), Buckets: app.Buckets(), MinFree: 1})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
}

// TestSystemErrorsExceptPermissionsAreRetried.
func TestSystemErrorsExceptPermissionsAreRetried(t *testing.T) {
	of := func(errno syscall.Errno) error { return &fs.PathError{Op: "open", Path: "x", Err: errno} }
	for _, c := range []struct {
		err  error
		want int
	}{
		{unstarted{fmt.Errorf("open: %w", store.ErrNewer)}, 78},
		{unstarted{fmt.Errorf("open: %w", store.ErrCorrupt)}, 78},
		{unstarted{fmt.Errorf("open: %w (%w)", store.ErrReadOnly, of(syscall.EROFS))}, 78},
		{unstarted{fmt.Errorf("open: %w (%w)", store.ErrDiskFull, of(syscall.ENOSPC))}, 1},
		{unstarted{store.ErrLocked}, 1},
		{unstarted{of(syscall.EIO)}, 1},
		{unstarted{of(syscall.ENOENT)}, 1}, // what is no setting's may come
		{unstarted{&net.OpError{Op: "listen", Err: os.NewSyscallError("bind", syscall.EACCES)}}, 78},
		{unstarted{&net.OpError{Op: "listen", Err: os.NewSyscallError("bind", syscall.EADDRNOTAVAIL)}}, 1},
		{unstarted{config.Faulty(of(syscall.ENOENT))}, 78},
		{unstarted{config.Faulty(of(syscall.EACCES))}, 78},
		{unstarted{config.Faulty(of(syscall.EIO))}, 1},
		{unstarted{config.Faulty(of(syscall.EMFILE))}, 1},
		{config.Faulty(of(syscall.EACCES)), 1}, // of another command, or later
	} {
		if got := statusOf(c.err); got != c.want {
			t.Errorf("%v: %d, not %d", c.err, got, c.want)
		}
	}
}

// TestHelpAndManualListExitStatuses.
func TestHelpAndManualListExitStatuses(t *testing.T) {
	var help bytes.Buffer
	run(t.Context(), []string{"--help"}, &help, io.Discard)
	for _, s := range statuses() {
		if !strings.Contains(help.String(), fmt.Sprintf("\n  %-2d  %s\n", s.is, s.says)) {
			t.Errorf("the help lacks %d", s.is)
		}
		if !strings.Contains(manText(t), fmt.Sprintf("\n.TP\n%d\n", s.is)) {
			t.Errorf("the manual lacks %d", s.is)
		}
	}
}
