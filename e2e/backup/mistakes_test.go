package backup

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"postern/e2e/rig"
)

// TestRunningProgramChecksItsOwnFile, by whichever name; that of
// another one is refused.
func TestRunningProgramChecksItsOwnFile(t *testing.T) {
	t.Parallel() // it waits more than it works
	o := rig.NewOperator(t)
	link := filepath.Join(t.TempDir(), "link.db")
	if err := os.Symlink(o.DataFile(), link); err != nil {
		t.Fatal(err)
	}
	for _, file := range []string{o.DataFile(), link} {
		o.Says(0, "no fault", "check", file)
		o.Says(0, "instance_name", "stats", file)
	}
	for _, command := range []string{"check", "stats"} {
		if status, said := o.Runs([]string{"STORE_PATH=" + filepath.Join(t.TempDir(), "other.db")}, command, o.DataFile()); status != 1 || !strings.Contains(said, "in use") {
			t.Errorf("%s of another program's file: %d %s", command, status, said)
		}
	}
	o.Stop()
}

// TestTheKeyThatIsGivenIsUsed for the program of this machine, too.
func TestTheKeyThatIsGivenIsUsed(t *testing.T) {
	o := rig.NewOperator(t)
	o.Pair("red")
	file := filepath.Join(t.TempDir(), "file")
	o.Says(1, "UNAUTHORIZED", "backup", "--key", "not the key at all", file)
	o.Says(1, "UNAUTHORIZED", "instance", "export", "--key", "not the key at all", "red", file)
	o.Says(0, "1 instance", "backup", "--key", o.Sec.GlobalAuthToken, file)
	o.Stop()
}

// TestWhereNoDataFileIsNoneIsMade by what looks for something in it.
func TestWhereNoDataFileIsNoneIsMade(t *testing.T) {
	if testing.Short() {
		t.Skip("starts real processes")
	}
	folder := t.TempDir()
	for _, args := range [][]string{
		{"backup", "b.tar"},
		{"check"},
		{"check", "--repair", "--yes"},
		{"check", "nowhere.db"},
		{"stats"},
		{"compact"},
		{"instance", "export", "shop", "shop.account"},
		{"instance", "export", "--undo", "shop"},
	} {
		status, said := rig.Program(t, folder, nil, args...)
		if status != 1 || !strings.Contains(said, "no such data file") {
			t.Errorf("%q: %d %s", args, status, said)
		}
	}
	if left, err := os.ReadDir(folder); err != nil || len(left) > 0 {
		t.Errorf("%v was made, %v", left, err)
	}
}

// TestRestoreReplacesTheTargetOfALink, which stays.
func TestRestoreReplacesTheTargetOfALink(t *testing.T) {
	o := rig.NewOperator(t)
	token := o.Pair("red")
	file := filepath.Join(t.TempDir(), "b.tar")
	o.Says(0, "1 instance", "backup", file)
	o.Stop()
	large := filepath.Join(t.TempDir(), "large.db")
	if err := errors.Join(os.Rename(o.DataFile(), large), os.Symlink(large, o.DataFile())); err != nil {
		t.Fatal(err)
	}
	o.Says(0, "the old file is now "+large+".replaced-", "restore", "--force", "--yes", file)
	if to, err := os.Readlink(o.DataFile()); err != nil || to != large {
		t.Errorf("the link leads to %q, %v", to, err)
	}
	o.Start()
	o.AwaitOnline("red", token)
	o.Stop()
}

// TestTwoRestoresAtOnceLeaveAWholeFile: none takes the other's files away, and one that is
// refused says so.
func TestTwoRestoresAtOnceLeaveAWholeFile(t *testing.T) {
	o := rig.NewOperator(t)
	o.Pair("red")
	file := filepath.Join(t.TempDir(), "b.tar")
	o.Says(0, "1 instance", "backup", file)
	o.Stop()
	raw, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	in, out, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	first := o.Begins(in, "restore", "--force", "--yes", "-")
	if _, err := out.Write(raw[:3000]); err != nil { // it has begun, and waits for the rest
		t.Fatal(err)
	}
	o.Await("its folder", func() bool {
		begun, _ := filepath.Glob(o.DataFile() + ".unfinished-postern-*/postern.db")
		return len(begun) == 1
	})
	o.Says(1, "another restore to "+o.DataFile()+" is running", "restore", "--force", "--yes", file)
	_, err = out.Write(raw[3000:])
	if err = errors.Join(err, out.Close(), first()); err != nil {
		t.Fatal(err)
	}
	o.Says(0, "no fault", "check")
	if _, said := o.Runs(nil, "instance", "export", "red", file+".account"); !strings.Contains(said, "the account of red") {
		t.Errorf("the restored file does not have the account: %s", said)
	}
}

// TestCommandsPrintTheirResultInOneLine, and logs nothing beside it.
func TestCommandsPrintTheirResultInOneLine(t *testing.T) {
	o := rig.NewOperator(t)
	o.Pair("red")
	o.Stop()
	folder := t.TempDir()
	for _, args := range [][]string{
		{"backup", filepath.Join(folder, "b.tar")},
		{"check"},
		{"compact"},
		{"instance", "export", "red", filepath.Join(folder, "red.account")},
		{"instance", "export", "--undo", "red"},
	} {
		if status, said := o.Runs(nil, args...); status != 0 || strings.Count(said, "\n") != 1 {
			t.Errorf("%q: %d %s", args, status, said)
		}
	}
	if err := os.Remove(o.DataFile()); err != nil {
		t.Fatal(err)
	}
	// A restore also warns of the credentials that are valid again.
	for _, args := range [][]string{{"restore", filepath.Join(folder, "b.tar")}, {"instance", "export", "red", filepath.Join(folder, "again.account")}} {
		if status, said := o.Runs(nil, args...); status != 0 || strings.Count(said, "\n") < 1 {
			t.Errorf("%q: %d %s", args, status, said)
		}
	}
}

// TestRestoreByRootKeepsTheOwner: file and secrets belong to whom the
// file of before, or the folder, belonged.
func TestRestoreByRootKeepsTheOwner(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("only root gives files away")
	}
	o := rig.NewOperator(t)
	file := filepath.Join(t.TempDir(), "b.tar")
	o.Says(0, "0 instances", "backup", file)
	o.Stop()
	folder := filepath.Dir(o.DataFile())
	const unprivileged = 65534
	if err := errors.Join(os.Chown(folder, unprivileged, unprivileged), os.Remove(o.DataFile())); err != nil {
		t.Fatal(err)
	}
	// A restore also warns of the credentials that are valid again.
	for _, args := range [][]string{{"restore", file}, {"restore", "--force", "--yes", file}} {
		o.Says(0, "0 instances", args...)
		for _, name := range []string{o.DataFile(), filepath.Join(folder, "secrets.json")} {
			var s unix.Stat_t
			if err := unix.Stat(name, &s); err != nil || s.Uid != unprivileged || s.Gid != unprivileged || s.Mode&0o777 != 0o600 {
				t.Errorf("%q: %s is of %d:%d, mode %o, %v", args, name, s.Uid, s.Gid, s.Mode&0o777, err)
			}
		}
	}
}

// TestRestoreReportsOtherConfiguredSecrets, with which the tokens of the backup are
// not valid.
func TestRestoreReportsOtherConfiguredSecrets(t *testing.T) {
	o := rig.NewOperator(t)
	file := filepath.Join(t.TempDir(), "b.tar")
	o.Says(0, "0 instances", "backup", file)
	o.Stop()
	const says = "the configured secrets differ from those of the backup"
	if said := o.Says(0, "0 instances", "restore", "--force", "--yes", file); strings.Contains(said, says) {
		t.Error(said)
	}
	_, said := o.Runs([]string{"AUTHENTICATION_JWT_SECRET=another-secret-of-at-least-32-bytes-0123456789"}, "restore", "--force", "--yes", file)
	if !strings.Contains(said, says) {
		t.Error(said)
	}
}

// TestAnInterruptionThatComesTwiceLeavesNothing, as by timeout, which tells the process and
// its group.
func TestAnInterruptionThatComesTwiceLeavesNothing(t *testing.T) {
	if _, err := exec.LookPath("timeout"); err != nil {
		t.Skip("there is no timeout")
	}
	o := rig.NewOperator(t)
	folder := t.TempDir()
	reports := 0                                      // what is interrupted before it has begun reports nothing
	for _, after := range []string{"0.5", "1", "2"} { // of ten seconds
		status, said := o.Under([]string{"timeout", "-s", "INT", after}, "support", filepath.Join(folder, "s.zip"))
		if interrupted := strings.Contains(said, "interrupted"); interrupted {
			reports++
		} else if said != "" {
			t.Errorf("after %s s: %s", after, said)
		}
		if status != 124 {
			t.Errorf("after %s s: status %d", after, status)
		}
		if left, err := os.ReadDir(folder); err != nil || len(left) > 0 {
			t.Errorf("after %s s: %v is left, %v", after, left, err)
		}
	}
	if reports == 0 {
		t.Error("no interruption was reported")
	}
	o.Stop()
}

// TestUnwritableFolderIsReported, and the file stays as it is.
func TestUnwritableFolderIsReported(t *testing.T) {
	o := rig.NewOperator(t)
	file := filepath.Join(t.TempDir(), "b.tar")
	o.Says(0, "0 instances", "backup", file)
	o.Stop()
	before := o.Files()
	folder := filepath.Dir(o.DataFile())
	if err := os.Chmod(folder, 0o500); err != nil {
		t.Fatal(err)
	}
	// A restore also warns of the credentials that are valid again.
	for _, args := range [][]string{{"restore", "--force", "--yes", file}, {"backup", filepath.Join(folder, "b.tar")}} {
		if status, said := o.Unprivileged(args...); status != 1 || !strings.Contains(said, "cannot write to the folder "+folder+": permission denied") {
			t.Errorf("%q: %d %s", args, status, said)
		}
	}
	if err := os.Chmod(folder, 0o700); err != nil {
		t.Fatal(err)
	}
	o.Untouched(before)
}
