package whatsapp

import (
	"flag"
	"testing"
)

// TestMain has four of the parallel tests run at once, unless -parallel says otherwise:
// they wait, however few processors there are.
func TestMain(m *testing.M) {
	_ = flag.Set("test.parallel", "4")
	m.Run()
}
