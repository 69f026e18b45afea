package sandbox

import (
	"testing"

	"go.mau.fi/whatsmeow/appstate"
	"go.mau.fi/whatsmeow/types/events"
)

// TestRefusedFirstReadGetsNoHelp: who could not read the state at its
// first login is given neither the key again nor time, as by a real phone.
func TestRefusedFirstReadGetsNoHelp(t *testing.T) {
	s := openGiving(t, Config{})
	p := addPhone(t, s, "5511911111111")
	s.SetFaults(Faults{StateError: 503})
	c := newClient(t, s, newStateDevice())
	c.pairByQR(p)
	eventually(t, "every collection was asked for", func() bool { return s.StateRead(p) })
	// The library repeats a request whose answer it did not get once it is connected again.
	// It makes one at a time, so after another one it has all answers.
	if err := c.FetchAppState(t.Context(), appstate.WAPatchRegularLow, false, false); err == nil {
		t.Fatal("the request was not refused")
	}
	s.SetFaults(Faults{})
	c.Disconnect()
	c.connect()
	wait(c, 2, every[*events.Connected])
	mustDo(t, s, p, "archive", fields{"chat": otherNumber})
	// The library takes the change for a part of its first read.
	wait(c, 1, func(e any) bool {
		done, ok := e.(*events.AppStateSyncComplete)
		return ok && done.Name == appstate.WAPatchRegularLow
	})
	mustDo(t, s, p, "archive", fields{"chat": otherNumber, "archived": false})
	wait(c, 1, func(e any) bool {
		a, ok := e.(*events.Archive)
		if ok && a.Action.GetArchived() {
			t.Error("the first change was reported")
		}
		return ok
	})
	versions := 0
	for _, name := range appstate.AllPatchNames {
		if version, _, err := c.Store.AppState.GetAppStateVersion(t.Context(), string(name)); err != nil {
			t.Error(err)
		} else if version > 0 {
			versions++
		}
	}
	if versions != 1 {
		t.Errorf("%d collections are read, want the one that changed", versions)
	}
}
