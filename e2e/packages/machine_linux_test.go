package packages

import (
	"bufio"
	"context"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

// machine is a root folder that its own systemd has booted: with processes, mounts, users'
// messages and control groups of its own, on the network of the test.
type machine struct {
	t    *testing.T
	init string // the process that is 1 in it
}

// boot makes sh create the mounts that systemd expects from the container manager
// (systemd.io/CONTAINER_INTERFACE), and become it.
const boot = `set -e
mount --make-rprivate /
mount --bind "$0" "$0"
cd "$0"
mount -t proc proc proc
mount -t sysfs -o ro sysfs sys
mount -t tmpfs -o mode=755 tmpfs dev
for n in null zero full random urandom tty; do touch dev/$n; mount --bind /dev/$n dev/$n; done
mkdir dev/shm dev/pts
mount -t devpts -o newinstance,ptmxmode=0666,mode=620 devpts dev/pts
ln -s pts/ptmx dev/ptmx
touch dev/console
mount --bind "$1" dev/console
mount -t tmpfs -o mode=755 tmpfs run
mount -t tmpfs -o mode=1777 tmpfs tmp
mount -t cgroup2 cgroup2 sys/fs/cgroup
pivot_root . mnt
umount -l /mnt
mount --make-rshared /
exec env -i container=test PATH=/usr/sbin:/usr/bin:/sbin:/bin /lib/systemd/systemd --unit=multi-user.target
`

// booted boots the system in a root folder, and ends it with the test. Where that is not
// allowed the test is skipped.
func booted(t *testing.T, root string) *machine {
	t.Helper()
	for _, tool := range []string{"unshare", "nsenter", "mount", "umount", "pivot_root", "sh"} {
		needs(t, tool)
	}
	group := controlGroup(t)
	console := filepath.Join(folder, "console")
	if err := os.WriteFile(console, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	in, err := os.Open(group)
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	cmd := exec.CommandContext(context.WithoutCancel(t.Context()), "unshare", "--pid", "--fork", "--kill-child", "--mount", "--uts", "--ipc", "--cgroup", "sh", "-c", boot, root, console)
	cmd.SysProcAttr = &syscall.SysProcAttr{UseCgroupFD: true, CgroupFD: int(in.Fd())}
	said, err := os.Create(filepath.Join(folder, "boot"))
	if err != nil {
		t.Fatal(err)
	}
	defer said.Close()
	cmd.Stdout, cmd.Stderr = said, said
	if err := cmd.Start(); err != nil {
		t.Skipf("no system can be booted here: %v", err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		<-ended
		emptied(t, group)
	})
	m := &machine{t: t}
	var state string
	for end := time.Now().Add(2 * time.Minute); time.Now().Before(end); time.Sleep(100 * time.Millisecond) {
		if m.init == "" {
			children, _ := os.ReadFile(fmt.Sprintf("/proc/%d/task/%[1]d/children", cmd.Process.Pid))
			m.init = strings.TrimSpace(string(children))
		} else {
			state, _ = m.tried("systemctl", "is-system-running")
		}
		if state = strings.TrimSpace(state); state == "running" || state == "degraded" {
			return m
		}
		select {
		case err := <-ended:
			ended <- err
			why, _ := os.ReadFile(said.Name())
			t.Skipf("no system can be booted here: %v\n%s", err, why)
		default:
		}
	}
	why, _ := os.ReadFile(console)
	t.Skipf("the system that was booted is %q\n%s", state, why)
	return nil
}

// controlGroup makes a group of processes for a machine.
func controlGroup(t *testing.T) string {
	t.Helper()
	mounts, err := os.Open("/proc/self/mounts")
	if err != nil {
		t.Skip(err)
	}
	defer mounts.Close()
	for lines := bufio.NewScanner(mounts); lines.Scan(); {
		if fields := strings.Fields(lines.Text()); len(fields) > 2 && fields[2] == "cgroup2" {
			group, err := os.MkdirTemp(fields[1], "postern-test-")
			if err != nil {
				t.Skipf("no control group can be made here: %v", err)
			}
			return group
		}
	}
	t.Skip("there are no control groups of the second version here")
	return ""
}

// emptied removes a control group when its last process has ended.
func emptied(t *testing.T, group string) {
	t.Helper()
	for end := time.Now().Add(30 * time.Second); ; time.Sleep(50 * time.Millisecond) {
		var all []string
		_ = filepath.WalkDir(group, func(path string, d fs.DirEntry, err error) error {
			if err == nil && d.IsDir() {
				all = append(all, path)
			}
			return nil
		})
		var err error
		for _, group := range slices.Backward(all) {
			err = os.Remove(group)
		}
		if err == nil {
			return
		}
		if time.Now().After(end) {
			t.Error(err)
			return
		}
	}
}

// tried runs a program in the machine.
func (m *machine) tried(args ...string) (string, error) {
	m.t.Helper()
	return tried(m.t, "/", "nsenter", append([]string{"--target", m.init, "--all", "--"}, args...)...)
}

// does runs one to its good end.
func (m *machine) does(args ...string) string {
	m.t.Helper()
	out, err := m.tried(args...)
	if err != nil {
		m.t.Fatalf("%s: %v\n%s\n%s", strings.Join(args, " "), err, out, m.journal())
	}
	return out
}

// journal returns what the service has said.
func (m *machine) journal() string {
	m.t.Helper()
	out, _ := m.tried("journalctl", "--no-pager", "--lines", "60", "--unit", "postern.service")
	return out
}

// property returns what systemd knows of the service.
func (m *machine) property(name string) string {
	m.t.Helper()
	return strings.TrimSpace(m.does("systemctl", "show", "postern.service", "--property", name, "--value"))
}

// await polls until a property is so.
func (m *machine) await(name, want string) {
	m.t.Helper()
	for end := time.Now().Add(time.Minute); ; time.Sleep(100 * time.Millisecond) {
		got := m.property(name)
		if got == want {
			return
		}
		if time.Now().After(end) {
			m.t.Fatalf("%s is %q instead of %q\n%s", name, got, want, m.journal())
		}
	}
}
