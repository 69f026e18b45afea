package httpapi

import (
	"testing"

	"postern/httpapi/rest"
)

func TestUnknownPathCostsNoMemory(t *testing.T) {
	table := aliases()
	n := testing.AllocsPerRun(100, func() { _, _, _ = rest.Rewrite(table, "GET", "/instance/a/connection/status") })
	if n != 0 {
		t.Errorf("%v allocations", n)
	}
}
