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

// TestASIGTERMDuringAStartEndsWith0AndOneLine holds the data file's lock while the
// program starts, and lets go of it after the signal. A busy machine may hand the
// signal over late, when more parts are up; they are stopped without a word.
func TestASIGTERMDuringAStartEndsWith0AndOneLine(t *testing.T) {
	for _, letGo := range []bool{true, false} {
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
		lines := strings.Split(strings.TrimSpace(w.Output.String()), "\n")
		last := lines[len(lines)-1]
		if err != nil || !strings.Contains(last, "stopped before the start was complete") || strings.Contains(w.Output.String(), "msg=stopped ") {
			t.Errorf("lock let go %v: %v\n%s", letGo, err, w.Output)
		}
	}
}
