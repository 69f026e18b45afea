package faults

import (
	"bytes"
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

// activated is the program with sockets that somebody else opened, as systemd does.
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

func TestMoreSocketsThanOneAreRefused(t *testing.T) {
	_, one := socketFile(t)
	_, two := socketFile(t)
	cmd, said := activated(t, one, two)
	if err := cmd.Wait(); err == nil || !strings.Contains(said.String(), "systemd passed 2 sockets") {
		t.Errorf("%v: %s", err, said)
	}
}
