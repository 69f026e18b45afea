package faults

import (
	"net"
	"strings"
	"syscall"
	"testing"

	"postern/app"
	"postern/e2e/capture"
	"postern/e2e/rig"
	"postern/store"
)

// TestSIGTERMDuringStartExitsWith0 holds the data file's lock while the
// program starts, and lets go of it after the signal. A busy machine may hand the
// signal over late: when more parts are up, they are stopped without a word; when all
// are, it was no start any more, and there is another try.
func TestSIGTERMDuringStartExitsWith0(t *testing.T) {
	for _, letGo := range []bool{true, false} {
		for try := 1; ; try++ {
			output, err := signalled(t, letGo)
			late := letGo && strings.Contains(output, "msg=ready ")
			if late && err == nil && try < 50 {
				continue
			}
			lines := strings.Split(strings.TrimSpace(output), "\n")
			last := lines[len(lines)-1]
			if late || err != nil || !strings.Contains(last, "stopped before the start was complete") || strings.Contains(output, "msg=stopped ") {
				t.Errorf("lock let go %v, try %d: %v\n%s", letGo, try, err, output)
			}
			break
		}
	}
}

// signalled returns what a program says that gets a SIGTERM while another has the data file,
// which that may let go of then.
func signalled(t *testing.T, letGo bool) (output string, err error) {
	t.Helper()
	w := rig.NewWorld(t)
	held, err := store.Open(store.Options{Path: w.DataFile(), Buckets: app.Buckets()})
	if err != nil {
		t.Fatal(err)
	}
	defer held.Close()
	addr := rig.FreeAddress(t)
	w.Output = &capture.Buffer{}
	w.Launch(addr)
	w.Await("the address", func() bool { // taken first, so the start is under way
		c, err := net.Dial("tcp", addr)
		if err == nil {
			_ = c.Close()
		}
		return err == nil
	})
	_ = w.Cmd.Process.Signal(syscall.SIGTERM)
	if letGo {
		if err := held.Close(); err != nil {
			t.Fatal(err)
		}
	}
	err = w.Wait()
	return w.Output.String(), err
}
