package faults

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"postern/e2e/rig"
)

// activated returns the program with sockets that someone else opened, as systemd does.
func activated(t *testing.T, sockets ...*os.File) (cmd *exec.Cmd, said *bytes.Buffer) {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("there is no systemd here")
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	folder := t.TempDir()
	cmd = exec.CommandContext(t.Context(), "/bin/sh", "-c", `LISTEN_PID=$$ exec "$0" serve`, self)
	cmd.Dir = folder
	cmd.Env = append(os.Environ(), rig.AsProgram+"=1", "STORE_PATH="+filepath.Join(folder, "p.db"), "SERVER_LISTEN=192.0.2.1:1", fmt.Sprint("LISTEN_FDS=", len(sockets)))
	cmd.ExtraFiles = sockets
	said = &bytes.Buffer{}
	cmd.Stdout, cmd.Stderr = said, said
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return cmd, said
}

func socketFile(t *testing.T) (address string, f *os.File) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	f, err = l.(*net.TCPListener).File()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = f.Close() })
	return l.Addr().String(), f // l stays open: who comes early waits
}

// TestTheSocketThatSystemdOpenedIsServed, whatever server.listen says, and who came
// before the program waited.
func TestTheSocketThatSystemdOpenedIsServed(t *testing.T) {
	address, f := socketFile(t)
	early := make(chan error)
	go func() {
		client := http.Client{Timeout: 30 * time.Second}
		resp, err := client.Get("http://" + address + "/health")
		if err == nil {
			_, _ = io.Copy(io.Discard, resp.Body)
			err = resp.Body.Close()
		}
		early <- err
	}()
	cmd, said := activated(t, f)
	if err := <-early; err != nil {
		t.Errorf("who came early: %v", err)
	}
	_ = cmd.Process.Signal(os.Interrupt)
	if err := cmd.Wait(); err != nil {
		t.Errorf("%v: %s", err, said)
	}
	if !strings.Contains(said.String(), "url=http://"+address) {
		t.Errorf("it says %s", said)
	}
}

func TestTwoSocketsOfAKindAreRefused(t *testing.T) {
	_, one := socketFile(t)
	_, two := socketFile(t)
	cmd, said := activated(t, one, two) // both of TCP
	if err := cmd.Wait(); err == nil || !strings.Contains(said.String(), "systemd passed 2 sockets") {
		t.Errorf("%v: %s", err, said)
	}
}

// TestSystemdSocketsAreBothServed, and the file stays for the
// next start.
func TestSystemdSocketsAreBothServed(t *testing.T) {
	address, tcp := socketFile(t)
	path := filepath.Join(t.TempDir(), "s")
	l, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	socket, err := l.(*net.UnixListener).File()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = socket.Close() }()
	cmd, said := activated(t, tcp, socket)
	over := http.Client{Timeout: 30 * time.Second, Transport: &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "unix", path)
	}}}
	for url, client := range map[string]*http.Client{"http://" + address: {Timeout: 30 * time.Second}, "http://postern": &over} {
		resp, err := client.Get(url + "/health")
		if err != nil {
			t.Fatal(err)
		}
		_ = resp.Body.Close()
	}
	over.CloseIdleConnections()
	_ = cmd.Process.Signal(os.Interrupt)
	if err := cmd.Wait(); err != nil {
		t.Errorf("%v: %s", err, said)
	}
	if _, err := os.Stat(path); err != nil {
		t.Errorf("systemd's socket is gone: %v", err)
	}
}

// TestSocketOfKilledProgramIsReplaced, with the real program.
func TestSocketOfKilledProgramIsReplaced(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("no kill -9 here")
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "s")
	begin := func() *exec.Cmd {
		cmd := exec.CommandContext(t.Context(), self, "serve")
		cmd.Dir = t.TempDir()
		cmd.Env = append(os.Environ(), rig.AsProgram+"=1", "SERVER_LISTEN=127.0.0.1:0", "SERVER_SOCKET="+path, "LOG_LEVEL=error")
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		for deadline := time.Now().Add(30 * time.Second); ; time.Sleep(20 * time.Millisecond) {
			if status, _ := rig.Program(t, t.TempDir(), nil, "healthcheck", "--url", "unix:"+path); status == 0 {
				return cmd
			}
			if time.Now().After(deadline) {
				t.Fatal("it never served the socket")
			}
		}
	}
	cmd := begin()
	if status, said := rig.Program(t, t.TempDir(), []string{"SERVER_SOCKET=" + path}, "serve"); status != 1 || !strings.Contains(said, "another program listens at") {
		t.Errorf("a second one: %d %s", status, said)
	}
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
	if _, err := os.Lstat(path); err != nil {
		t.Fatalf("a kill leaves the file: %v", err)
	}
	cmd = begin()
	_ = cmd.Process.Signal(os.Interrupt)
	if err := cmd.Wait(); err != nil {
		t.Error(err)
	}
	if _, err := os.Lstat(path); !os.IsNotExist(err) {
		t.Errorf("after a stop in order: %v", err)
	}
}
