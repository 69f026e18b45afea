//go:build unix

package unixsocket

import (
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// deaf leaves the file of a socket behind without a listener, as a killed
// program does.
func deaf(t *testing.T) (path string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "s")
	l, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	l.(*net.UnixListener).SetUnlinkOnClose(false)
	_ = l.Close()
	return path
}

func TestAStaleSocketIsReplaced(t *testing.T) {
	path := deaf(t)
	l, err := Listen(t.Context(), path, 0o640)
	if err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o640 {
		t.Errorf("%v, %v", info, err)
	}
	if err := l.Close(); err != nil {
		t.Error(err)
	}
}

// TestOneOfManyStartsGetsTheSocket, which is reachable.
func TestOneOfManyStartsGetsTheSocket(t *testing.T) {
	for range 20 {
		path := deaf(t)
		var all sync.WaitGroup
		got := make(chan net.Listener, 10)
		for range cap(got) {
			all.Go(func() {
				if l, err := Listen(t.Context(), path, 0o600); err == nil {
					got <- l
				} else if !strings.Contains(err.Error(), "another program listens at") {
					t.Error(err)
				}
			})
		}
		all.Wait()
		if len(got) != 1 {
			t.Fatalf("%d have the socket", len(got))
		}
		c, err := net.Dial("unix", path)
		if err != nil {
			t.Fatal(err)
		}
		_ = c.Close()
		_ = (<-got).Close()
	}
}

func TestUsedSocketsAndOtherFilesAreKept(t *testing.T) {
	live := filepath.Join(t.TempDir(), "s")
	l, err := Listen(t.Context(), live, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	file := filepath.Join(t.TempDir(), "f")
	if err := os.WriteFile(file, []byte("precious"), 0o600); err != nil {
		t.Fatal(err)
	}
	link := filepath.Join(t.TempDir(), "l")
	if err := os.Symlink(deaf(t), link); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{
		live: "another program listens at", file: "is not a socket", link: "is not a socket",
		filepath.Join(t.TempDir(), "no", "s"): "its folder must be there",
	} {
		_, err := Listen(t.Context(), path, 0o600)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", path, err, want)
		}
	}
	if raw, err := os.ReadFile(file); string(raw) != "precious" {
		t.Error(err)
	}
	c, err := net.Dial("unix", live)
	if err != nil {
		t.Fatalf("the live one is gone: %v", err)
	}
	_ = c.Close()
}

// TestStopKeepsTheSocketOfAnotherProgram: an operator has moved ours away.
func TestStopKeepsTheSocketOfAnotherProgram(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s")
	first, err := Listen(t.Context(), path, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(path, path+".old"); err != nil {
		t.Fatal(err)
	}
	second, err := Listen(t.Context(), path, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = second.Close() }()
	if err := first.Close(); err != nil {
		t.Error(err)
	}
	c, err := net.Dial("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	_ = c.Close()
}
