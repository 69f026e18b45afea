package packages

import (
	"context"
	"net"
	"testing"
)

// restartsWhatMayHelp wants the service to be tried again as long as something may go away
// by itself, and left alone when only a person can repair it.
func (m *machine) restartsWhatMayHelp(t *testing.T, url, key, addr string) {
	t.Helper()
	const wrong = "system/postern.service.d/wrong.conf"
	for name, c := range map[string]struct{ breaks, mends func() }{
		"a configuration that is wrong": {
			func() { m.says(wrong, "[Service]\nEnvironment=LOG_LEVEL=loud\n") },
			func() { m.says(wrong, "") },
		},
		"a configuration that the service may not read": {
			func() { m.does("chown", "root:root", "/etc/postern/config.toml") },
			func() { m.does("chown", "root:postern", "/etc/postern/config.toml") },
		},
		"no data file": {
			func() { m.says(wrong, "[Service]\nEnvironment=STORE_PATH=/etc/hostname\n") },
			func() { m.says(wrong, "") },
		},
	} {
		c.breaks()
		if out, err := m.tried("systemctl", "restart", "postern.service"); err == nil {
			t.Errorf("%s: it starts\n%s", name, out)
		}
		// One that is tried again is activating.
		if state, status, again := m.property("ActiveState"), m.property("ExecMainStatus"), m.property("NRestarts"); state != "failed" || status != "78" || again != "0" {
			t.Errorf("%s: it is %s with %s, after %s further starts\n%s", name, state, status, again, m.journal())
		}
		c.mends()
		m.does("systemctl", "restart", "postern.service")
		m.has(url, key, addr)
	}

	m.does("systemctl", "stop", "postern.service")
	other, err := (&net.ListenConfig{}).Listen(context.Background(), "tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	if out, err := m.tried("systemctl", "start", "postern.service"); err == nil {
		t.Errorf("another program has its address: it starts\n%s", out)
	}
	m.await("NRestarts", "1")
	if err := other.Close(); err != nil {
		t.Error(err)
	}
	m.await("ActiveState", "active")
	m.has(url, key, addr)
}
