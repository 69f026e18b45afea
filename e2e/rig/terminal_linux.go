//go:build linux

package rig

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"testing"

	"golang.org/x/sys/unix"
)

// SmallDisk mounts a file system of so many bytes, such as "64k". Where none can be
// mounted the test is skipped.
func SmallDisk(t *testing.T, bytes string) string {
	t.Helper()
	folder := t.TempDir()
	if err := unix.Mount("tmpfs", folder, "tmpfs", 0, "size="+bytes); err != nil {
		t.Skipf("no small file system can be mounted here: %v", err)
	}
	t.Cleanup(func() { _ = unix.Unmount(folder, unix.MNT_DETACH) })
	return folder
}

// Answers runs a command on a terminal on which someone types an answer, and returns its
// status and what it says.
func (o *Operator) Answers(answer string, args ...string) (status int, output string) {
	o.t.Helper()
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		o.t.Skipf("there are no terminals here: %v", err)
	}
	defer master.Close()
	fd := int(master.Fd())
	n, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	if err == nil {
		err = unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0)
	}
	if err != nil {
		o.t.Fatal(err)
	}
	terminal, err := os.OpenFile(fmt.Sprint("/dev/pts/", n), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		o.t.Fatal(err)
	}
	defer terminal.Close()
	if _, err := master.WriteString(answer + "\n"); err != nil {
		o.t.Fatal(err)
	}
	cmd := o.command(args...)
	cmd.Stdin = terminal
	return run(o.t, cmd)
}

// Under runs a command by another program, to which it is handed behind its words, such
// as nice -n 5, and returns its status and what it says.
func (o *Operator) Under(other []string, args ...string) (status int, output string) {
	o.t.Helper()
	as := o.command(args...)
	cmd := exec.CommandContext(context.WithoutCancel(o.t.Context()), other[0], slices.Concat(other[1:], as.Args)...)
	cmd.Dir, cmd.Env = as.Dir, as.Env
	return run(o.t, cmd)
}

// Unprivileged runs a command as one to whom the modes of files and folders apply, and
// returns its status and what it says. Where root cannot do without what lets it pass them
// the test is skipped.
func (o *Operator) Unprivileged(args ...string) (status int, output string) {
	o.t.Helper()
	if os.Getuid() != 0 {
		return o.Runs(nil, args...)
	}
	if _, err := exec.LookPath("setpriv"); err != nil {
		o.t.Skip("setpriv is not installed")
	}
	return o.Under([]string{"setpriv", "--bounding-set=-dac_override,-dac_read_search"}, args...)
}

// ShrinkDisk leaves what SmallDisk mounted so many bytes for its file, and so much more.
func ShrinkDisk(t *testing.T, folder string, used, free int64) {
	t.Helper()
	if err := unix.Mount("tmpfs", folder, "tmpfs", unix.MS_REMOUNT, fmt.Sprint("size=", used+free)); err != nil {
		t.Fatal(err)
	}
}
