package packages

import (
	"context"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestSystemdStartsWatchesReloadsAndStopsTheService that the .deb brings, in a small Debian
// that systemd has booted: it is started when it answers, as its own user, with the secrets
// that only root reads; it comes back from a kill and from a hang, reads its
// configuration again, ends in order, continues as the newer program after an upgrade, is
// not started over and over where only a person can help, and starts when someone comes to its socket.
func TestSystemdStartsWatchesReloadsAndStopsTheService(t *testing.T) {
	root := debian(t)
	older, newer := brought(t, root, one(t, release(t), "*.deb")), brought(t, root, one(t, upgrade(t), "*.deb"))
	run(t, root, "mv", "."+older, "."+newer, "root") // there is another /tmp then
	older, newer = filepath.Join("/root", filepath.Base(older)), filepath.Join("/root", filepath.Base(newer))
	for _, unit := range []string{"console-getty.service", "getty.target"} { // no console is attached
		run(t, "/", "chroot", root, "systemctl", "mask", unit)
	}
	m := booted(t, root)
	t.Cleanup(func() { cleared(t, root) })

	addr := freeAddress(t)
	url := "http://" + addr + "/instance"
	m.says("system/postern.service.d/address.conf", "[Service]\nEnvironment=SERVER_LISTEN="+addr+"\n")
	m.says("system/postern.socket.d/address.conf", "[Socket]\nListenStream=\nListenStream="+addr+"\n")
	m.does("dpkg", "--install", older)
	if got, _ := m.tried("systemctl", "is-active", "postern.service"); got != "inactive\n" {
		t.Errorf("after the installation it is %s", got)
	}
	m.does("systemctl", "enable", "--now", "postern.service")
	if !answers(addr) {
		t.Errorf("it is started, and does not answer\n%s", m.journal())
	}
	key := read(t, root, "etc/postern/secrets/api-key")
	call(t, "POST", url, key, `{"instanceName":"kept"}`)
	uid, _ := userOf(t, root, "postern")
	pid := m.property("MainPID")
	if status := m.does("cat", "/proc/"+pid+"/status"); !strings.Contains(status, "\nUid:\t"+strconv.Itoa(uid)+"\t") || !strings.Contains(status, "\nCapEff:\t0000000000000000\n") {
		t.Errorf("it runs as\n%s", status)
	}
	if said := m.journal(); strings.Contains(said, key) {
		t.Errorf("the journal has the key\n%s", said)
	}

	change(t, root)
	m.does("systemctl", "reload", "postern.service")
	if said := m.journal(); m.property("MainPID") != pid || !strings.Contains(said, "reloaded the configuration") || !strings.Contains(said, "log.level") {
		t.Errorf("a reload did not do it\n%s", said)
	}

	m.does("systemctl", "kill", "--signal=KILL", "postern.service")
	m.await("NRestarts", "1")
	m.await("ActiveState", "active")
	m.has(url, key, addr)

	m.says("system/postern.service.d/watchdog.conf", "[Service]\nWatchdogSec=3s\n")
	m.does("systemctl", "restart", "postern.service")
	before := m.property("NRestarts")
	time.Sleep(7 * time.Second) // longer than the watchdog waits for a notification
	if got := m.property("NRestarts"); got != before {
		t.Errorf("a program that is well was started again\n%s", m.journal())
	}
	m.does("systemctl", "kill", "--signal=STOP", "postern.service")
	m.await("NRestarts", "1")
	m.await("ActiveState", "active")
	m.has(url, key, addr)

	open, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	defer open.Close()
	m.does("dpkg", "--install", "--force-confold", newer)
	m.await("ActiveState", "active")
	m.has(url, key, addr)
	if out := m.does("postern", "version"); !strings.HasPrefix(out, "postern v1.2.4 ") || !strings.Contains(m.journal(), "version=v1.2.4") {
		t.Errorf("after the upgrade %s runs\n%s", out, m.journal())
	}

	m.restartsWhatMayHelp(t, url, key, addr)

	m.does("systemctl", "stop", "postern.service")
	if m.property("Result") != "success" || m.property("ActiveState") != "inactive" || !strings.Contains(m.journal(), "part=store") {
		t.Errorf("it did not end in order: %s\n%s", m.property("Result"), m.journal())
	}
	m.does("systemctl", "start", "postern.socket")
	if got, _ := m.tried("systemctl", "is-active", "postern.service"); got != "inactive\n" {
		t.Errorf("before anybody comes to its socket it is %s", got)
	}
	m.has(url, key, addr)

	m.does("dpkg", "--purge", "postern")
	if answers(addr) || !there(root, "var/lib/postern/postern.db") {
		t.Error("a removal leaves it running, or takes the data")
	}
	for _, unit := range []string{"console-getty.service", "getty.target"} {
		m.does("systemctl", "unmask", unit)
	}
}

// says writes a file of the administrator's and makes systemd read it.
func (m *machine) says(name, content string) {
	m.t.Helper()
	m.does("sh", "-c", `mkdir -p "$(dirname "$0")" && printf %s "$1" >"$0" && systemctl daemon-reload`, "/run/systemd/"+name, content)
}

// has wants the instance to be there that was made.
func (m *machine) has(url, key, addr string) {
	m.t.Helper()
	await(m.t, addr, time.Minute, journal{m})
	if got := call(m.t, "GET", url, key, ""); !strings.Contains(got, `"kept"`) {
		m.t.Errorf("the data is gone: %s\n%s", got, m.journal())
	}
}

type journal struct{ *machine }

func (j journal) String() string { return j.journal() }

func answers(addr string) bool {
	c, err := (&net.Dialer{Timeout: time.Second}).DialContext(context.Background(), "tcp", addr)
	if err == nil {
		_ = c.Close()
	}
	return err == nil
}

// cleared takes away what the machine had, for the next test in the same folder.
func cleared(t *testing.T, root string) {
	t.Helper()
	for _, name := range []string{"var/lib/postern", "var/lib/private/postern", "var/log/journal"} {
		if err := os.RemoveAll(filepath.Join(root, name)); err != nil {
			t.Error(err)
		}
	}
	_ = syscall.Unlink(filepath.Join(root, "etc/machine-id"))
}
