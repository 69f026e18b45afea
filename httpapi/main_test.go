package httpapi

import (
	"os"
	"runtime/debug"
	"testing"
)

// TestMain has garbage collected less often: every rig builds the documents of the
// interface, and collecting would be a third of all work.
func TestMain(m *testing.M) {
	debug.SetGCPercent(400)
	os.Exit(m.Run())
}
