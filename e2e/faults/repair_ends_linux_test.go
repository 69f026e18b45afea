package faults

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"postern/e2e/rig"
	"postern/internal/nightly"
	"postern/store"
)

// damagedFile returns an operator without a running program, whose data file has some
// megabytes and faults.
func damagedFile(t *testing.T) (o *rig.Operator, image []byte) {
	t.Helper()
	if testing.Short() {
		t.Skip("starts real processes")
	}
	rich := richFile(t)
	edit(t, rich, func(tx *store.Tx) error {
		for i := range 20_000 {
			if err := tx.Put("device", store.Key(1, byte('?'), i), bytes.Repeat([]byte{byte(i)}, 400)); err != nil {
				return err
			}
		}
		return errors.Join(tx.Delete("instance", store.Key(1)), tx.Delete("delivery_due", first(tx, "delivery_due")))
	})
	image, err := os.ReadFile(rich)
	if err != nil {
		t.Fatal(err)
	}
	w := rig.NewWorld(t)
	if err := os.MkdirAll(filepath.Dir(w.DataFile()), 0o700); err != nil {
		t.Fatal(err)
	}
	putFile(t, w.DataFile(), image)
	return rig.Beside(t, w), image
}

// putFile makes a file the only one in its folder.
func putFile(t *testing.T, path string, content []byte) {
	t.Helper()
	all, err := filepath.Glob(path + "*")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range all {
		err = errors.Join(err, os.Remove(name))
	}
	if err := errors.Join(err, os.WriteFile(path, content, 0o600)); err != nil {
		t.Fatal(err)
	}
}

// whole wants the data file to be the one that there was, or one without a fault; it
// reports whether it is the old one.
func whole(t *testing.T, o *rig.Operator, image []byte, when string) (old bool) {
	t.Helper()
	raw, err := os.ReadFile(o.DataFile())
	if err != nil {
		t.Fatalf("%s: %v", when, err)
	}
	if bytes.Equal(raw, image) {
		return true
	}
	if faults := faultsOf(t, o.DataFile()); len(faults) > 0 {
		t.Errorf("%s: the file is another one, with %q", when, faults)
	}
	return false
}

// repairTime returns how long a repair takes here.
func repairTime(t *testing.T, o *rig.Operator, image []byte) time.Duration {
	t.Helper()
	began := time.Now()
	o.Says(0, "the old file is now ", "check", "--repair", "--yes")
	took := time.Since(began)
	if whole(t, o, image, "repaired") {
		t.Error("nothing was repaired")
	}
	return took
}

// TestInterruptedRepairKeepsTheFile sends SIGINT at many moments: nothing has
// been done, or all of it.
func TestInterruptedRepairKeepsTheFile(t *testing.T) {
	t.Parallel()
	o, image := damagedFile(t)
	took, interrupted := repairTime(t, o, image), 0
	moments := nightly.Or[time.Duration](8, 20)
	for n := range moments {
		putFile(t, o.DataFile(), image)
		before := o.Files()
		status, late := o.Signalled(os.Interrupt, took*n/(moments-2), nil, "check", "--repair", "--yes")
		old := whole(t, o, image, "interrupted")
		if old != (status != 0) {
			t.Errorf("%d/%d of the time: status %d, and the file is the old one: %v", n, moments-2, status, old)
		}
		if old {
			interrupted++
			o.Untouched(before)
		}
		if late > 2*time.Second+took {
			t.Errorf("it took %v to end", late)
		}
	}
	if interrupted < int(moments)/5 {
		t.Errorf("only %d were interrupted before their end", interrupted)
	}
}

// TestAKilledRepairLeavesOneOfBothFiles kills at many moments: a whole file is in its place, and
// the next repair does all of it and removes what the one before it left.
func TestAKilledRepairLeavesOneOfBothFiles(t *testing.T) {
	t.Parallel()
	o, image := damagedFile(t)
	took, killed := repairTime(t, o, image), 0
	moments := nightly.Or[time.Duration](8, 20)
	for n := range moments {
		putFile(t, o.DataFile(), image)
		if status, _ := o.Signalled(os.Kill, took*n/(moments-2), nil, "check", "--repair", "--yes"); status != 0 {
			killed++
		}
		if whole(t, o, image, "killed") {
			for _, name := range o.Files() {
				if strings.Contains(name, ".replaced-") { // killed before the other one was put in place
					_ = os.Remove(filepath.Join(filepath.Dir(o.DataFile()), name))
				}
			}
			o.Says(0, "the old file is now ", "check", "--repair", "--yes")
		}
		o.Says(0, "no fault", "check")
		if left := o.Files(); slices.ContainsFunc(left, func(name string) bool { return strings.Contains(name, ".new-") }) {
			t.Errorf("left behind: %v", left)
		}
	}
	if killed < int(moments)/5 {
		t.Errorf("only %d were killed before their end", killed)
	}
}

// TestRepairWithoutSpaceKeepsTheFile with no byte free, and where the room ends in the
// middle.
func TestRepairWithoutSpaceKeepsTheFile(t *testing.T) {
	o, image := damagedFile(t)
	for _, free := range []int64{20 << 10, 4000 << 10} {
		disk := rig.SmallDisk(t, "64m")
		path := filepath.Join(disk, "postern.db")
		putFile(t, path, image)
		rig.ShrinkDisk(t, disk, int64(len(image)), free)
		status, said := o.Runs([]string{"STORE_PATH=" + path}, "check", "--repair", "--yes")
		if status != 1 || !strings.Contains(said, "make room first") {
			t.Errorf("%d free: %d %s", free, status, said)
		}
		if raw, err := os.ReadFile(path); err != nil || !bytes.Equal(raw, image) {
			t.Errorf("%d free: the file was changed (%v)", free, err)
		}
		if left, _ := os.ReadDir(disk); len(left) != 1 {
			t.Errorf("%d free: left %v", free, left)
		}
	}
}

// TestRepairWithWriteErrorKeepsTheFile, after some megabytes.
func TestRepairWithWriteErrorKeepsTheFile(t *testing.T) {
	o, image := damagedFile(t)
	before := o.Files()
	for _, blocks := range []string{"100", "8000", "14000"} { // of 512 bytes
		status, said := o.Under([]string{"sh", "-c", `ulimit -f ` + blocks + ` && exec "$@"`, "sh"}, "check", "--repair", "--yes")
		if status != 1 || !strings.Contains(said, "file too large") || !whole(t, o, image, blocks) {
			t.Errorf("%s blocks: %d %s", blocks, status, said)
		}
		o.Untouched(before)
	}
}

// TestRepairWithoutPermissionKeepsTheFile where the folder takes no other file, and
// where the file cannot be written.
func TestRepairWithoutPermissionKeepsTheFile(t *testing.T) {
	o, image := damagedFile(t)
	folder := filepath.Dir(o.DataFile())
	for what, modes := range map[string][2]os.FileMode{"the folder": {0o500, 0o600}, "the file": {0o700, 0}} {
		before := o.Files()
		if err := errors.Join(os.Chmod(o.DataFile(), modes[1]), os.Chmod(folder, modes[0])); err != nil {
			t.Fatal(err)
		}
		status, said := o.Unprivileged("check", "--repair", "--yes")
		if err := errors.Join(os.Chmod(folder, 0o700), os.Chmod(o.DataFile(), 0o600)); err != nil {
			t.Fatal(err)
		}
		if status != 1 || !strings.Contains(said, "permission denied") || !strings.Contains(said, folder) {
			t.Errorf("%s: %d %s", what, status, said)
		}
		if !whole(t, o, image, what) {
			t.Errorf("%s: it was repaired", what)
		}
		o.Untouched(before)
	}
}

// TestRepairNeedsConfirmation: it is not done when the answer on the terminal is no or empty.
func TestRepairNeedsConfirmation(t *testing.T) {
	o, image := damagedFile(t)
	before := o.Files()
	for _, answer := range []string{"n", "no", "", "yes please"} {
		status, said := o.Answers(answer, "check", "--repair")
		if status != 1 || !strings.Contains(said, "Continue? [y/N]") || !strings.Contains(said, "nothing was done") {
			t.Errorf("%q: %d %s", answer, status, said)
		}
		if !whole(t, o, image, answer) {
			t.Errorf("%q: it was repaired", answer)
		}
		o.Untouched(before)
	}
	if status, said := o.Answers("y", "check", "--repair"); status != 0 || !strings.Contains(said, "the old file is now ") {
		t.Errorf("agreed: %d %s", status, said)
	}
	o.Says(0, "no fault", "check")
}
