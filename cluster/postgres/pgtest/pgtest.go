//go:build linux

// Package pgtest starts PostgreSQL servers of Debian's packages for tests. They are processes
// of the test, not services of the system, and end with it.
package pgtest

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// Password is that of the user postgres. It has characters that a URL must encode.
const Password = "p@ss/w:rd %41é"

// Server is a server that runs.
type Server struct {
	Port int
	dir  string
	cmd  *exec.Cmd
	done chan struct{} // closed when the process has ended
}

// Programs returns the folder of the server's programs, and skips the test if there is none.
func Programs(t testing.TB) string {
	t.Helper()
	folders, _ := filepath.Glob("/usr/lib/postgresql/*/bin")
	slices.SortFunc(folders, func(a, b string) int { return versionOf(a) - versionOf(b) })
	for _, folder := range slices.Backward(folders) {
		if _, err := os.Stat(filepath.Join(folder, "postgres")); err == nil && versionOf(folder) >= 15 {
			return folder
		}
	}
	t.Skip("PostgreSQL 15 or newer is not installed (Debian: postgresql)")
	return ""
}

func versionOf(folder string) int {
	n, _ := strconv.Atoi(filepath.Base(filepath.Dir(folder)))
	return n
}

// user is the one that servers run as: PostgreSQL refuses to run as root.
func user(t testing.TB) *syscall.SysProcAttr {
	t.Helper()
	attr := &syscall.SysProcAttr{Setpgid: true}
	if os.Getuid() == 0 {
		attr.Credential = &syscall.Credential{Uid: nobody, Gid: nobody}
	}
	return attr
}

const nobody = 65534

// command returns one of the server's programs, which runs as its user.
func command(t testing.TB, name string, args ...string) *exec.Cmd {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), filepath.Join(Programs(t), name), args...)
	cmd.SysProcAttr, cmd.Dir = user(t), "/"
	cmd.Env = []string{"LC_ALL=C.UTF-8", "TZ=UTC", "PATH=" + os.Getenv("PATH"), "PGPASSWORD=" + Password}
	return cmd
}

func run(t testing.TB, cmd *exec.Cmd) string {
	t.Helper()
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v\n%s", strings.Join(cmd.Args, " "), err, out)
	}
	return string(out)
}

// folder returns a new folder of the server's user.
func folder(t testing.TB) string {
	t.Helper()
	dir := t.TempDir()
	if os.Getuid() == 0 {
		if err := errors.Join(os.Chmod(filepath.Dir(dir), 0o711), os.Chown(dir, nobody, nobody)); err != nil { //nolint:gosec // another user works there
			t.Fatal(err)
		}
	}
	return dir
}

// Start starts a primary with the user postgres and [Password]. settings are lines of
// postgresql.conf.
func Start(t testing.TB, settings ...string) *Server {
	t.Helper()
	Programs(t)
	s := &Server{dir: filepath.Join(folder(t), "data")}
	pwfile := filepath.Join(filepath.Dir(s.dir), "password")
	if err := os.WriteFile(pwfile, []byte(Password+"\n"), 0o644); err != nil { //nolint:gosec // read by another user
		t.Fatal(err)
	}
	run(t, command(t, "initdb", "-D", s.dir, "-U", "postgres", "--pwfile", pwfile, "--no-sync", "--auth=scram-sha-256", "--encoding=UTF8", "--locale=C.UTF-8", "--wal-segsize=4"))
	s.append(t, "pg_hba.conf", "host replication postgres 127.0.0.1/32 scram-sha-256")
	s.append(t, "postgresql.conf", append([]string{
		"unix_socket_directories = ''", "listen_addresses = '127.0.0.1'", "shared_buffers = 32MB", "max_connections = 60", "max_wal_senders = 5",
		"wal_keep_size = 64MB", "min_wal_size = 16MB", "max_wal_size = 512MB", "log_line_prefix = '%m [%p] '", "autovacuum_naptime = 10s", "hot_standby = on", "wal_receiver_status_interval = 1s",
	}, settings...)...)
	s.Restart(t)
	return s
}

func (s *Server) append(t testing.TB, file string, lines ...string) {
	t.Helper()
	f, err := os.OpenFile(filepath.Join(s.dir, file), os.O_APPEND|os.O_WRONLY, 0)
	if err == nil {
		_, err = f.WriteString(strings.Join(lines, "\n") + "\n")
		err = errors.Join(err, f.Close())
	}
	if err != nil {
		t.Fatal(err)
	}
}

// Restart starts a server that was killed. The processes of its sessions end a moment later than itself, and no other
// server starts before that.
func (s *Server) Restart(t testing.TB) {
	t.Helper()
	for began := time.Now(); ; time.Sleep(50 * time.Millisecond) {
		before, _ := os.ReadFile(s.dir + ".log")
		s.start(t)
		s.wait(t, "it answers or ends", func() bool {
			select {
			case <-s.done:
				return true
			default:
				return exec.CommandContext(t.Context(), filepath.Join(Programs(t), "pg_isready"), "-q", "-h", "127.0.0.1", "-p", strconv.Itoa(s.Port)).Run() == nil
			}
		})
		select {
		case <-s.done:
		default:
			return
		}
		log, _ := os.ReadFile(s.dir + ".log")
		if said := string(log[min(len(before), len(log)):]); !strings.Contains(said, "shared memory block") || time.Since(began) > 30*time.Second {
			t.Fatalf("the server ended:\n%s", said)
		}
	}
}

// start starts the process.
func (s *Server) start(t testing.TB) {
	t.Helper()
	if s.Port == 0 {
		l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		s.Port = l.Addr().(*net.TCPAddr).Port
		l.Close()
	}
	log, err := os.OpenFile(s.dir+".log", os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	s.cmd = command(t, "postgres", "-D", s.dir, "-p", strconv.Itoa(s.Port))
	s.cmd.Stdout, s.cmd.Stderr = log, log
	s.done = make(chan struct{})
	s.cmd.SysProcAttr.Pdeathsig = syscall.SIGQUIT // it ends at once with the test
	started := make(chan error)
	go func(cmd *exec.Cmd, done chan struct{}) {
		runtime.LockOSThread() // the signal comes when the thread ends that started the server
		err := cmd.Start()
		started <- err
		if err == nil {
			_ = cmd.Wait() // it ends by a signal
			close(done)
		}
	}(s.cmd, s.done)
	if err := <-started; err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		s.Kill()
		if t.Failed() {
			if log, err := os.ReadFile(s.dir + ".log"); err == nil {
				t.Logf("the log of port %d ends with\n%s", s.Port, log[max(0, len(log)-3000):])
			}
		}
	})
}

func (s *Server) wait(t testing.TB, what string, is func() bool) {
	t.Helper()
	for began := time.Now(); !is(); time.Sleep(20 * time.Millisecond) {
		if time.Since(began) > time.Minute {
			log, _ := os.ReadFile(s.dir + ".log")
			t.Fatalf("not within a minute: %s\n%s", what, log)
		}
	}
}

// AddStandby starts a copy, and makes the commits of s wait for it.
func (s *Server) AddStandby(t testing.TB, name string) *Server {
	t.Helper()
	return s.AddStandbyBy(t, name, s.Port)
}

// AddStandbyBy is AddStandby with a copy that reaches s at another port, that of a proxy.
func (s *Server) AddStandbyBy(t testing.TB, name string, port int) *Server {
	t.Helper()
	standby := &Server{dir: filepath.Join(folder(t), "data")}
	run(t, command(t, "pg_basebackup", "-D", standby.dir, "-X", "stream", "-c", "fast", "-R", "--no-sync", "-d", conninfo(name, port)))
	standby.Restart(t)
	s.SetSynchronous(t, name)
	standby.wait(t, "the primary waits for it", func() bool {
		return s.SQL(t, "select count(*) from pg_stat_replication where sync_state <> 'async' and application_name = '"+name+"'") == "1"
	})
	return standby
}

func conninfo(name string, port int) string {
	return fmt.Sprintf("host=127.0.0.1 port=%d user=postgres password='%s' application_name=%s", port, Password, name)
}

// SetSynchronous sets synchronous_standby_names.
func (s *Server) SetSynchronous(t testing.TB, names string) {
	t.Helper()
	s.SQL(t, "alter system set synchronous_standby_names = '"+names+"'")
	s.SQL(t, "select pg_reload_conf()")
	s.wait(t, "the setting counts", func() bool { return s.SQL(t, "show synchronous_standby_names") == names })
}

// CancelWaits ends the waits of commits for a second copy: each gets the notice that it happened, with
// a warning.
func (s *Server) CancelWaits(t testing.TB) {
	t.Helper()
	s.SQL(t, "select pg_cancel_backend(pid) from pg_stat_activity where wait_event = 'SyncRep'")
}

// Promote makes a standby a primary.
func (s *Server) Promote(t testing.TB) {
	t.Helper()
	s.SQL(t, "select pg_promote()")
}

// Kill ends the server as a loss of power does, but for what the system has still to write.
func (s *Server) Kill() {
	all := s.processes()
	_ = syscall.Kill(s.cmd.Process.Pid, syscall.SIGKILL) // the first, so that it starts no others
	for _, pid := range all {
		_ = syscall.Kill(pid, syscall.SIGKILL)
	}
	<-s.done
}

// Pause stops all processes of the server.
func (s *Server) Pause() { s.signal(syscall.SIGSTOP) }

// Resume lets them go on.
func (s *Server) Resume() { s.signal(syscall.SIGCONT) }

func (s *Server) signal(sig syscall.Signal) {
	for _, pid := range s.processes() {
		_ = syscall.Kill(pid, sig) // it may have ended
	}
}

// processes returns those of the server, the first one first.
func (s *Server) processes() []int {
	first := s.cmd.Process.Pid
	all := []int{first}
	stats, _ := filepath.Glob("/proc/[0-9]*/stat")
	for _, path := range stats {
		stat, err := os.ReadFile(path)
		if err != nil {
			continue
		}
		_, after, _ := strings.Cut(string(stat), ") ")
		fields := strings.Fields(after)
		if pid, err := strconv.Atoi(filepath.Base(filepath.Dir(path))); err == nil && len(fields) > 1 && fields[1] == strconv.Itoa(first) {
			all = append(all, pid)
		}
	}
	return all
}

// URL returns the address of a database on the servers, the first one that takes changes.
func URL(database string, servers ...*Server) string {
	hosts := make([]string, len(servers))
	for i, s := range servers {
		hosts[i] = local(s.Port)
	}
	return urlOf(database, hosts)
}

func urlOf(database string, hosts []string) string {
	return "postgres://postgres:" + url.UserPassword("", Password).String()[1:] + "@" + strings.Join(hosts, ",") + "/" + database + "?sslmode=disable"
}

// Database makes a database and returns its name.
func (s *Server) Database(t testing.TB) string {
	t.Helper()
	name := fmt.Sprintf("test%d", counter())
	s.SQL(t, "create database "+name+" template template0 encoding 'UTF8'")
	return name
}

var (
	counting sync.Mutex
	counted  int
)

func counter() int {
	counting.Lock()
	defer counting.Unlock()
	counted++
	return counted
}

// SQL runs a statement in the database postgres and returns its result as text.
func (s *Server) SQL(t testing.TB, sql string) string { t.Helper(); return s.In(t, "postgres", sql) }

// In runs a statement in a database and returns its result as text, columns separated by |.
// It waits for no second copy.
func (s *Server) In(t testing.TB, database, sql string) string {
	t.Helper()
	cmd := command(t, "psql", "-X", "-A", "-t", "-q", "-v", "ON_ERROR_STOP=1", "-h", "127.0.0.1", "-p", strconv.Itoa(s.Port), "-U", "postgres", "-d", database, "-c", sql)
	cmd.Env = append(cmd.Env, "PGOPTIONS=-c synchronous_commit=local -c client_min_messages=warning")
	return strings.TrimSpace(run(t, cmd))
}

// Alone makes the commits of a standby, once it is promoted, wait for
// no other server.
func (s *Server) Alone(t testing.TB) {
	t.Helper()
	s.append(t, "postgresql.auto.conf", "synchronous_standby_names = ''")
	s.SQL(t, "select pg_reload_conf()")
}
