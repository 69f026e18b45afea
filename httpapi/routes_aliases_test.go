package httpapi

import "testing"

func TestAPathThatIsNoAliasCostsNoMemory(t *testing.T) {
	table := aliases()
	n := testing.AllocsPerRun(100, func() { _, _, _ = rewrite(table, "GET", "/instance/a/connection/status") })
	if n != 0 {
		t.Errorf("%v allocations", n)
	}
}
