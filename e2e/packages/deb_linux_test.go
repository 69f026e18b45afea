package packages

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestTheDebInstallsServesUpgradesAndGoes in a small Debian: an upgrade keeps what the
// operator changed, the secrets and the data; a removal keeps all three; a purge takes
// configuration and secrets, and leaves the data with the user that it belongs to.
func TestTheDebInstallsServesUpgradesAndGoes(t *testing.T) {
	root := debian(t)
	dpkg := func(args ...string) string {
		t.Helper()
		return run(t, "/", "chroot", append([]string{root, "dpkg"}, args...)...)
	}
	said := dpkg("--install", brought(t, root, one(t, release(t), "*.deb")))
	if !strings.Contains(said, "systemctl enable --now postern") {
		t.Errorf("the installer does not say how to start it: %s", said)
	}
	installed(t, root, older)
	if got := run(t, "/", "chroot", root, "dpkg-query", "--show", "--showformat=${Status}${Conffiles}", "postern"); !strings.Contains(got, "install ok installed") ||
		!strings.Contains(got, "/etc/postern/config.toml") || strings.Count(got, "/") != 3 {
		t.Errorf("dpkg knows %q", got)
	}
	lives(t, root, true)
	config, secrets := change(t, root), secretsOf(t, root)

	dpkg("--install", "--force-confdef", "--force-confold", brought(t, root, one(t, upgrade(t), "*.deb")))
	installed(t, root, newer)
	if read(t, root, "etc/postern/config.toml") != config || secretsOf(t, root) != secrets {
		t.Error("an upgrade changed the configuration or the secrets")
	}
	if !strings.HasPrefix(read(t, root, "etc/postern/config.toml.dpkg-dist"), "# Of the newer release.") {
		t.Error("the new example is nowhere")
	}
	lives(t, root, false)

	dpkg("--remove", "postern")
	if there(root, "usr/bin/postern") || there(root, "usr/lib/systemd/system/postern.service") {
		t.Error("a removal leaves the program")
	}
	if read(t, root, "etc/postern/config.toml") != config || secretsOf(t, root) != secrets || !there(root, "var/lib/postern/postern.db") {
		t.Error("a removal took configuration, secrets or data")
	}
	said = dpkg("--purge", "postern")
	if there(root, "etc/postern") {
		left, _ := os.ReadDir(filepath.Join(root, "etc/postern"))
		t.Errorf("a purge leaves %v", left)
	}
	if !there(root, "var/lib/postern/postern.db") || !strings.Contains(said, "/var/lib/postern") {
		t.Errorf("a purge took the data, or does not say where it is: %s", said)
	}
	userOf(t, root, "postern")
	if err := os.RemoveAll(filepath.Join(root, "var/lib/postern")); err != nil {
		t.Fatal(err)
	}
}

// brought copies a package into a root folder and returns its name there.
func brought(t *testing.T, root, pkg string) string {
	t.Helper()
	run(t, "/", "cp", pkg, filepath.Join(root, "tmp"))
	return "/tmp/" + filepath.Base(pkg)
}

// TestRPMKeepsTheConfiguration.
func TestRPMKeepsTheConfiguration(t *testing.T) {
	wanted(t)
	rpm := needs(t, "rpm")
	pkg := one(t, release(t), "*.rpm")
	if got := run(t, folder, rpm, "-qp", "--queryformat", "%{NAME} %{VERSION} %{RELEASE} %{ARCH} %{LICENSE} %{BUILDHOST} %{BUILDTIME}", pkg); !strings.HasSuffix(got, "postern 1.2.3 1 x86_64 GPL-3.0-or-later localhost 1767225600") {
		t.Error(got)
	}
	files := run(t, folder, rpm, "-qp", "--list", pkg)
	for _, name := range []string{
		"/usr/bin/postern", "/usr/lib/systemd/system/postern.service", "/usr/lib/systemd/system/postern.socket", "/etc/postern/config.toml", "/etc/postern/secrets",
		"/usr/share/man/man1/postern.1.gz", "/usr/share/bash-completion/completions/postern", "/usr/share/zsh/site-functions/_postern",
		"/usr/share/fish/vendor_completions.d/postern.fish", "/usr/share/licenses/postern/copyright",
		"/usr/share/doc/postern/README.md", "/usr/share/doc/postern/docs/operation.md", "/usr/share/doc/postern/docs/alerts.yml", "/usr/share/doc/postern/docs/grafana.json",
	} {
		if !strings.Contains(files, name+"\n") {
			t.Errorf("no %s in\n%s", name, files)
		}
	}
	if got := run(t, folder, rpm, "-qp", "--configfiles", pkg); !strings.HasSuffix(strings.TrimSpace(got), "/etc/postern/config.toml") || strings.Count(got, "/") != 3 {
		t.Errorf("configuration: %s", got)
	}
	if got := run(t, folder, rpm, "-qp", "--requires", pkg); !strings.Contains(got, "ca-certificates") {
		t.Errorf("requires %s", got)
	}
}

// TestTheRpmInstallsServesUpgradesAndGoes: its scripts are called otherwise than those of
// a .deb, and what stays is the same.
func TestTheRpmInstallsServesUpgradesAndGoes(t *testing.T) {
	root := debian(t)
	rpm := needs(t, "rpm")
	// The names of what it depends on are those of other systems.
	do := func(args ...string) string {
		t.Helper()
		return run(t, "/", rpm, append([]string{"--root", root, "--dbpath", "/var/lib/rpm-of-the-test", "--nodeps", "--noplugins"}, args...)...)
	}
	if out, err := exec.CommandContext(t.Context(), "chroot", root, "dpkg-query", "--show", "postern").Output(); err == nil {
		t.Skipf("the .deb is there: %s", out)
	}
	do("--install", one(t, release(t), "*.rpm"))
	installed(t, root, older)
	lives(t, root, true)
	config, secrets := change(t, root), secretsOf(t, root)

	do("--upgrade", one(t, upgrade(t), "*.rpm"))
	installed(t, root, newer)
	if read(t, root, "etc/postern/config.toml") != config || secretsOf(t, root) != secrets {
		t.Error("an upgrade changed the configuration or the secrets")
	}
	if !strings.HasPrefix(read(t, root, "etc/postern/config.toml.rpmnew"), "# Of the newer release.") {
		t.Error("the new example is nowhere")
	}
	lives(t, root, false)

	do("--erase", "postern")
	if there(root, "usr/bin/postern") || there(root, "usr/lib/systemd/system/postern.service") {
		t.Error("a removal leaves the program")
	}
	if secretsOf(t, root) != secrets || read(t, root, "etc/postern/config.toml.rpmsave") != config || !there(root, "var/lib/postern/postern.db") {
		t.Error("a removal took configuration, secrets or data")
	}
	for _, name := range []string{"var/lib/postern", "etc/postern"} {
		if err := os.RemoveAll(filepath.Join(root, name)); err != nil {
			t.Fatal(err)
		}
	}
}
