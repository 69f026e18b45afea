package packages

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"postern/e2e/capture"
)

// service is the program under a root folder, started by the unit that is installed
// there as systemd would, as far as a test can: its user, its credentials, its state
// folder, its environment and a notify socket.
type service struct {
	addr   string
	key    string
	cmd    *exec.Cmd
	said   *capture.Buffer
	notify *net.UnixConn
}

// Where systemd puts what units name by %d and %S.
const (
	credentials = "/run/credentials/postern.service"
	state       = "/var/lib"
)

// unit is what of a unit's file a test follows.
type unit struct {
	command     []string
	environment []string
	credentials map[string]string // the file of each
}

func unitOf(t *testing.T, root string) unit {
	t.Helper()
	u := unit{credentials: map[string]string{}}
	for line := range strings.Lines(read(t, root, "usr/lib/systemd/system/postern.service")) {
		what, value, _ := strings.Cut(strings.TrimSpace(line), "=")
		value = strings.NewReplacer("%d", credentials, "%S", state).Replace(value)
		switch what {
		case "ExecStart":
			u.command = strings.Fields(value)
		case "Environment":
			u.environment = append(u.environment, value)
		case "LoadCredential":
			name, file, _ := strings.Cut(value, ":")
			u.credentials[name] = file
		}
	}
	return u
}

// started starts it and returns when it has said that it is ready.
func started(t *testing.T, root string) *service {
	t.Helper()
	u, s := unitOf(t, root), &service{addr: freeAddress(t), said: &capture.Buffer{}}
	uid, gid := userOf(t, root, "postern")
	for _, folder := range []string{credentials, state + "/postern"} {
		folder = filepath.Join(root, folder)
		if err := errors.Join(os.MkdirAll(folder, 0o755), os.Chmod(folder, 0o700), os.Chown(folder, uid, gid)); err != nil {
			t.Fatal(err)
		}
	}
	for name, file := range u.credentials {
		to := filepath.Join(root, credentials, name)
		_ = os.Remove(to)
		if err := errors.Join(os.WriteFile(to, []byte(read(t, root, file)), 0o400), os.Chown(to, uid, gid)); err != nil {
			t.Fatal(err)
		}
	}
	s.key = read(t, root, u.credentials["api-key"])
	notify := filepath.Join(root, "run", "notify")
	_ = os.Remove(notify)
	var err error
	if s.notify, err = net.ListenUnixgram("unixgram", &net.UnixAddr{Name: notify, Net: "unixgram"}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.notify.Close() })
	if err := os.Chmod(notify, 0o777); err != nil {
		t.Fatal(err)
	}
	s.cmd = exec.CommandContext(context.WithoutCancel(t.Context()), u.command[0], u.command[1:]...)
	s.cmd.Dir, s.cmd.Env = state+"/postern", append(u.environment, "PATH=/usr/bin", "NOTIFY_SOCKET=/run/notify", "SERVER_LISTEN="+s.addr)
	s.cmd.Stdout, s.cmd.Stderr = s.said, s.said
	s.cmd.SysProcAttr = &syscall.SysProcAttr{Chroot: root, Credential: &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}}
	if err := s.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.cmd.Process.Kill() })
	s.hear(t, "READY=1")
	await(t, s.addr, 10*time.Second, s.said)
	return s
}

// hear waits for a notification of the program.
func (s *service) hear(t *testing.T, what string) {
	t.Helper()
	message := make([]byte, 200)
	if err := s.notify.SetReadDeadline(time.Now().Add(time.Minute)); err != nil {
		t.Fatal(err)
	}
	for {
		n, err := s.notify.Read(message)
		if err != nil {
			t.Fatalf("%s was not notified: %v\n%s", what, err, s.said)
		}
		if string(message[:n]) == what {
			return
		}
	}
}

// stop ends it in order.
func (s *service) stop(t *testing.T) {
	t.Helper()
	if err := s.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	s.hear(t, "STOPPING=1")
	if err := s.cmd.Wait(); err != nil {
		t.Errorf("%v\n%s", err, s.said)
	}
}

// userOf finds a user of a root folder.
func userOf(t *testing.T, root, name string) (uid, gid int) {
	t.Helper()
	for line := range strings.Lines(read(t, root, "etc/passwd")) {
		fields := strings.Split(strings.TrimSpace(line), ":")
		if fields[0] != name {
			continue
		}
		uid, err := strconv.Atoi(fields[2])
		if err != nil {
			t.Fatal(err)
		}
		gid, err = strconv.Atoi(fields[3])
		if err != nil || fields[6] != "/usr/sbin/nologin" || uid == 0 || uid >= 1000 {
			t.Errorf("the user is %s (%v)", line, err)
		}
		return uid, gid
	}
	t.Fatalf("no user %s", name)
	return 0, 0
}

func read(t *testing.T, root, name string) string {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join(root, name))
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

// rights returns those of a file, with the names of whom it belongs to, as 640 root:postern.
func rights(t *testing.T, root, name string) string {
	t.Helper()
	return strings.TrimSpace(run(t, "/", "chroot", root, "stat", "-c", "%a %U:%G", name))
}

func there(root, name string) bool {
	_, err := os.Lstat(filepath.Join(root, name))
	return err == nil
}

// debian returns a folder with a small Debian in it.
func debian(t *testing.T) string {
	t.Helper()
	wanted(t)
	needsRoot(t)
	needs(t, "debootstrap")
	root := filepath.Join(folder, "root")
	if !there(root, "complete") {
		out, err := tried(t, folder, "debootstrap", "--variant=minbase", "--include=ca-certificates,systemd", "bookworm", root)
		if err != nil {
			t.Skipf("no Debian is to be had here: %v\n%s", err, out)
		}
		if err := os.WriteFile(filepath.Join(root, "complete"), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return root
}

// installed checks what every package of Postern leaves on a machine.
func installed(t *testing.T, root, version string) {
	t.Helper()
	userOf(t, root, "postern")
	for name, want := range map[string]string{
		"/usr/bin/postern": "755 root:root", "/usr/lib/systemd/system/postern.service": "644 root:root", "/usr/lib/systemd/system/postern.socket": "644 root:root",
		"/usr/share/man/man1/postern.1.gz": "644 root:root", "/usr/share/bash-completion/completions/postern": "644 root:root",
		"/usr/share/fish/vendor_completions.d/postern.fish": "644 root:root",
		"/usr/share/doc/postern/README.md":                  "644 root:root", "/usr/share/doc/postern/docs/operation.md": "644 root:root",
		"/usr/share/doc/postern/docs/alerts.yml": "644 root:root", "/usr/share/doc/postern/docs/grafana.json": "644 root:root",
		"/etc/postern": "755 root:root", "/etc/postern/config.toml": "640 root:postern",
		"/etc/postern/secrets": "700 root:root", "/etc/postern/secrets/api-key": "600 root:root", "/etc/postern/secrets/jwt-secret": "600 root:root",
	} {
		if got := rights(t, root, name); got != want {
			t.Errorf("%s is %s instead of %s", name, got, want)
		}
	}
	if a, b := read(t, root, "etc/postern/secrets/api-key"), read(t, root, "etc/postern/secrets/jwt-secret"); len(a) != 64 || len(b) != 64 || a == b {
		t.Errorf("secrets of %d and %d bytes", len(a), len(b))
	}
	if out := run(t, "/", "chroot", root, "postern", "version"); !strings.HasPrefix(out, "postern "+version+" ") {
		t.Error(out)
	}
	if !strings.Contains(run(t, "/", "chroot", root, "sh", "-c", "gzip -dc /usr/share/man/man1/postern.1.gz"), ".TH POSTERN 1") {
		t.Error("no manual page")
	}
	run(t, "/", "chroot", root, "bash", "-n", "/usr/share/bash-completion/completions/postern")
	for _, unit := range []string{"postern.service", "postern.socket"} {
		if out, err := tried(t, "/", "chroot", root, "systemd-analyze", "verify", "--man=no", unit); err != nil || strings.Contains(out, "postern") {
			t.Errorf("%s: %v\n%s", unit, err, out)
		}
	}
	run(t, "/", "chroot", root, "systemd-analyze", "security", "--offline=true", "--threshold=15", "postern.service")
	run(t, "/", "chroot", root, "systemctl", "enable", "postern.service", "postern.socket")
	run(t, "/", "chroot", root, "systemctl", "disable", "postern.service", "postern.socket")
}

// lives starts the service, keeps an instance in it or finds the one that is there, and
// stops it.
func lives(t *testing.T, root string, first bool) {
	t.Helper()
	s := started(t, root)
	url := "http://" + s.addr + "/instance"
	if first {
		call(t, "POST", url, s.key, `{"instanceName":"kept"}`)
	} else if got := call(t, "GET", url, s.key, ""); !strings.Contains(got, `"kept"`) {
		t.Errorf("the data is gone: %s", got)
	}
	s.stop(t)
	if got, want := rights(t, root, "/var/lib/postern/postern.db"), "600 postern:postern"; got != want {
		t.Errorf("the data file is %s", got)
	}
}

// change returns what an operator does to his configuration.
func change(t *testing.T, root string) string {
	t.Helper()
	name := filepath.Join(root, "etc/postern/config.toml")
	raw := read(t, root, "etc/postern/config.toml")
	changed := strings.Replace(raw, `level = "info"`, `level = "debug"`, 1)
	if changed == raw {
		t.Fatal("the example has no level of the log")
	}
	if err := os.WriteFile(name, []byte(changed), 0o640); err != nil {
		t.Fatal(err)
	}
	return changed
}

// secretsOf are both, to be compared.
func secretsOf(t *testing.T, root string) string {
	t.Helper()
	return fmt.Sprint(read(t, root, "etc/postern/secrets/api-key"), read(t, root, "etc/postern/secrets/jwt-secret"))
}
