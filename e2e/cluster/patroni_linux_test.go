package cluster

import (
	"context"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"postern/cluster/postgres/pgtest"
	"postern/e2e/capture"
	"postern/e2e/rig"
	"postern/internal/nightly"
)

// patroni is a database server under Patroni, with all its processes in one group.
type patroni struct {
	name, api string
	data      string // its folder
	cmd       *exec.Cmd
	said      *capture.Buffer
}

const nobody = 65534

// server starts a program that ends with the test. Its user is not root, which PostgreSQL
// refuses.
func server(t *testing.T, dir string, env []string, name string, args ...string) (*exec.Cmd, *capture.Buffer) {
	t.Helper()
	said := &capture.Buffer{}
	cmd := exec.Command(name, args...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = dir, said, said
	cmd.Env = append([]string{"PATH=" + os.Getenv("PATH"), "LC_ALL=C.UTF-8", "HOME=" + dir}, env...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	if os.Getuid() == 0 {
		cmd.SysProcAttr.Credential = &syscall.Credential{Uid: nobody, Gid: nobody}
	}
	started := make(chan error)
	go func() {
		runtime.LockOSThread() // the signal comes when the thread ends that started the program
		started <- cmd.Start()
		_ = cmd.Wait()
	}()
	if err := <-started; err != nil {
		t.Fatal(err)
	}
	return cmd, said
}

// folderOf returns a folder of the servers' user.
func folderOf(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	if os.Getuid() == 0 {
		for _, d := range []string{filepath.Dir(dir), dir} {
			if err := os.Chmod(d, 0o711); err != nil { //nolint:gosec // another user works there
				t.Fatal(err)
			}
		}
		if err := os.Chown(dir, nobody, nobody); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// lose kills all processes of a server, as the loss of its machine does. PostgreSQL is no
// child of Patroni, and must not outlive it.
func (p *patroni) lose() {
	_ = syscall.Kill(-p.cmd.Process.Pid, syscall.SIGKILL)
	raw, err := os.ReadFile(filepath.Join(p.data, "postmaster.pid"))
	if err != nil {
		return // it was never started
	}
	line, _, _ := strings.Cut(string(raw), "\n")
	first, err := strconv.Atoi(line)
	if err != nil {
		return
	}
	all := []int{first}
	stats, _ := filepath.Glob("/proc/[0-9]*/stat")
	for _, path := range stats {
		stat, _ := os.ReadFile(path)
		pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(path)))
		if _, after, _ := strings.Cut(string(stat), ") "); strings.HasPrefix(after[min(2, len(after)):], line+" ") {
			all = append(all, pid)
		}
	}
	for _, pid := range all {
		_ = syscall.Kill(pid, syscall.SIGKILL)
	}
}

// leads reports whether Patroni says that the server is the primary.
func (p *patroni) leads() bool { return answers("http://" + p.api + "/primary") }

// follows reports whether commits wait for the server.
func (p *patroni) follows() bool { return answers("http://" + p.api + "/synchronous") }

func answers(url string) bool {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return false
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return false
	}
	res.Body.Close()
	return res.StatusCode == http.StatusOK
}

// startPatroni starts etcd and three servers with the configuration of packaging, and returns
// the address of all.
func startPatroni(t *testing.T) (all []*patroni, url string) {
	t.Helper()
	for _, name := range []string{"etcd", "patroni"} {
		if _, err := exec.LookPath(name); err != nil {
			t.Skip(name + " is not installed (Debian: patroni, etcd-server)")
		}
	}
	bin := pgtest.Programs(t)
	raw, err := os.ReadFile(filepath.Join("packaging", "patroni.yml"))
	if err != nil {
		t.Fatal(err)
	}
	dir := folderOf(t)
	file := filepath.Join(dir, "patroni.yml")
	config := strings.NewReplacer("bin_dir: /usr/lib/postgresql/15/bin", "bin_dir: "+bin, "unix_socket_directories: /tmp", "unix_socket_directories: "+dir).Replace(string(raw))
	if err := os.WriteFile(file, []byte(config), 0o644); err != nil { //nolint:gosec // another user reads it
		t.Fatal(err)
	}
	client, peer := rig.FreeAddress(t), rig.FreeAddress(t)
	server(t, dir, nil, "etcd", "--data-dir", filepath.Join(dir, "etcd"), "--listen-client-urls", "http://"+client, "--advertise-client-urls", "http://"+client, "--listen-peer-urls", "http://"+peer)
	var hosts []string
	for _, name := range []string{"db1", "db2", "db3"} {
		p := &patroni{name: name, api: rig.FreeAddress(t), data: filepath.Join(dir, name)}
		address := rig.FreeAddress(t)
		hosts = append(hosts, address)
		p.cmd, p.said = server(t, dir, []string{
			"PATRONI_NAME=" + p.name, "PATRONI_ETCD3_HOSTS=" + client, "PATRONI_RESTAPI_LISTEN=" + p.api, "PATRONI_RESTAPI_CONNECT_ADDRESS=" + p.api,
			"PATRONI_POSTGRESQL_LISTEN=" + address, "PATRONI_POSTGRESQL_CONNECT_ADDRESS=" + address, "PATRONI_POSTGRESQL_DATA_DIR=" + p.data,
			"PATRONI_SUPERUSER_PASSWORD=secret", "PATRONI_REPLICATION_PASSWORD=secret", "PATRONI_POSTGRESQL_PGPASS=" + filepath.Join(dir, name+".pgpass"),
		}, "patroni", file)
		t.Cleanup(func() {
			p.lose()
			if t.Failed() {
				said := p.said.String()
				t.Logf("%s said at the end:\n%s", p.name, said[max(0, len(said)-3000):])
			}
		})
		all = append(all, p)
	}
	return all, "postgres://postgres:secret@" + strings.Join(hosts, ",") + "/postgres?sslmode=disable"
}

// pick waits for a server of which something is so.
func pick(t *testing.T, what string, all []*patroni, is func(*patroni) bool) *patroni {
	t.Helper()
	for began := time.Now(); time.Since(began) < 4*time.Minute; time.Sleep(100 * time.Millisecond) {
		for _, p := range all {
			if is(p) {
				return p
			}
		}
	}
	t.Fatalf("no server %s", what)
	return nil
}

// The machine of the primary is lost, and Patroni promotes the copy that commits waited for. A
// client writes every tenth of a second at both nodes.
func TestPatroniPromotesACopy(t *testing.T) {
	if nightly.Or("", "all") == "" {
		t.Skip("takes minutes; NIGHTLY=1 does it")
	}
	for _, nodes := range []time.Duration{10 * time.Second, 60 * time.Second} {
		t.Run("lease "+nodes.String(), func(t *testing.T) { promoted(t, nodes) })
	}
}

func promoted(t *testing.T, of time.Duration) {
	t.Helper()
	all, url := startPatroni(t)
	pick(t, "leads", all, (*patroni).leads)
	pick(t, "is waited for", all, (*patroni).follows)
	n := &network{t: t, url: url}
	a, b := n.node("a", "CLUSTER_LEASE="+of.String()), n.node("b", "CLUSTER_LEASE="+of.String())
	a.launch()
	a.awaitOwner()
	b.launch()
	b.awaitStandby()
	a.Pair("shop")
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	w := &writer{n: n}
	go w.run(ctx, a.Sec.GlobalAuthToken)
	a.Await("some are created", func() bool { return w.count() > 10 })
	batch := a.batch("promoted", 5)
	run := a.Cmd.Process.Pid

	primary := pick(t, "leads", all, (*patroni).leads)
	lost := time.Now()
	primary.lose()
	before := w.count()
	for w.count() <= before+1 { // one may have been on its way
		n.revive(t)
		time.Sleep(50 * time.Millisecond)
		if time.Since(lost) > 4*time.Minute {
			t.Fatalf("nothing is written again; a said:\n%s", a.Output)
		}
	}
	silence := time.Since(lost)
	next := pick(t, "leads", all, (*patroni).leads)
	at := n.alive(t)
	t.Logf("with a lease of %s: %s after the loss of %s a client's write succeeds again; %s leads; the owner %s", of, silence.Round(100*time.Millisecond), primary.name, next.name,
		map[bool]string{true: "is the same process", false: "is another one"}[a.Cmd.Process.Pid == run && n.ownerOf(t) == 0])
	time.Sleep(2 * time.Second)
	stop()
	at.ends(batch)
	at.checkItems(batch, "promoted")
	w.check(at)
	t.Logf("%d instances were created, %d of them before; the user has %d events", w.count(), before, at.sequences())
	at.delivered()
}
