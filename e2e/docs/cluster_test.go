package docs

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestClusterPageUnitIsValid: systemd knows every line of the drop-in of docs/cluster.md, beside
// the unit of the packages.
func TestClusterPageUnitIsValid(t *testing.T) {
	if _, err := exec.LookPath("systemd-analyze"); err != nil {
		t.Skip("systemd-analyze is not here; Debian has it in systemd")
	}
	page, err := os.ReadFile("docs/cluster.md")
	if err != nil {
		t.Fatal(err)
	}
	unit, err := os.ReadFile("packaging/postern.service")
	if err != nil {
		t.Fatal(err)
	}
	dropIn := regexp.MustCompile("(?s)\n```ini\n(.*?)```").FindSubmatch(page)
	if dropIn == nil {
		t.Fatal("the page has no drop-in")
	}
	// The program is not installed here.
	unit = regexp.MustCompile("(?m)^ExecStart=.*").ReplaceAll(unit, []byte("ExecStart=/bin/true"))
	folder := t.TempDir()
	path := filepath.Join(folder, "postern.service")
	if err := errors.Join(os.WriteFile(path, unit, 0o600), os.Mkdir(path+".d", 0o700), os.WriteFile(filepath.Join(path+".d", "cluster.conf"), dropIn[1], 0o600)); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), "systemd-analyze", "verify", "--man=no", path)
	cmd.Env = append(os.Environ(), "SYSTEMD_UNIT_PATH="+folder+":")
	if out, err := cmd.CombinedOutput(); err != nil || strings.Contains(string(out), "postern") {
		t.Errorf("%v\n%s", err, out)
	}
}
