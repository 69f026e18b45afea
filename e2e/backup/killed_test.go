package backup

import (
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"postern/e2e/rig"
)

// TestLeftoversOfKilledCommandsAreReportedAndRemoved: by kill -9 a command leaves what it
// was writing beside its FILE or the data file, under a name that says so. The doctor tells
// of it, and the next command that writes there removes it, and nothing else.
func TestLeftoversOfKilledCommandsAreReportedAndRemoved(t *testing.T) {
	o := rig.NewOperator(t)
	o.Pair("red")
	o.Stop()
	data := filepath.Dir(o.DataFile())
	whole := filepath.Join(t.TempDir(), "whole.tar")
	o.Says(0, "1 instance", "backup", whole)
	archive, err := os.ReadFile(whole)
	if err != nil {
		t.Fatal(err)
	}
	stalling := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body) // only then the server notices that the client has gone
		_, _ = w.Write(archive[:4000])
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
	}))
	defer stalling.Close()
	pipe := filepath.Join(t.TempDir(), "pipe")
	if err := unix.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	both, err := os.OpenFile(pipe, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer both.Close()
	before := o.Files()
	for what, c := range map[string]struct{ killed, next []string }{
		"backup": {
			[]string{"backup", "--url", stalling.URL, "--key", "k", filepath.Join(data, "b.tar")},
			[]string{"backup", filepath.Join(data, "other.tar")},
		},
		"support": {[]string{"support", filepath.Join(data, "s.zip")}, []string{"support", filepath.Join(data, "s.zip")}},
		"restore": {[]string{"restore", "--force", "--yes", pipe}, []string{"restore", "--force", "--yes", whole}},
	} {
		begun := func() []string {
			all, _ := filepath.Glob(filepath.Join(data, "*.unfinished-postern-*"))
			return all
		}
		o.KilledOnce(func() bool { return len(begun()) > 0 }, c.killed...)
		if len(begun()) != 1 {
			t.Fatalf("%s: a kill leaves %q", what, begun())
		}
		if _, said := o.Runs(nil, "doctor"); !strings.Contains(said, "left behind") || !strings.Contains(said, filepath.Base(begun()[0])) {
			t.Errorf("%s: the doctor says %s", what, said)
		}
		mine := filepath.Join(data, "mine.unfinished")
		if err := os.WriteFile(mine, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		o.Says(0, "", c.next...)
		if left := begun(); len(left) > 0 {
			t.Errorf("%s: the next leaves %q", what, left)
		}
		if err := os.Remove(mine); err != nil {
			t.Error(err)
		}
	}
	for _, name := range []string{"other.tar", "s.zip", "secrets.json"} {
		if err := os.Remove(filepath.Join(data, name)); err != nil {
			t.Error(err)
		}
	}
	after := slices.DeleteFunc(o.Files(), func(name string) bool { return strings.Contains(name, ".replaced-") })
	if _, said := o.Runs(nil, "doctor"); !slices.Equal(before, after) || strings.Contains(said, "unfinished") {
		t.Errorf("there are %q instead of %q, and the doctor says %s", after, before, said)
	}
}

// TestRestoreFromAPipeCanBeInterrupted.
func TestRestoreFromAPipeCanBeInterrupted(t *testing.T) {
	o := rig.NewOperator(t)
	o.Stop()
	pipe := filepath.Join(t.TempDir(), "pipe")
	if err := unix.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	before := o.Files()
	if status, took := o.Signalled(os.Interrupt, time.Second, nil, "restore", "--force", "--yes", pipe); status != 1 || took > 5*time.Second {
		t.Errorf("status %d after %v", status, took)
	}
	o.Untouched(before)
}
