package whatsapp

import (
	"flag"
	"testing"
)

// TestMain runs four of the parallel tests at once, unless -parallel is given: they
// mostly wait, whatever the number of processors.
func TestMain(m *testing.M) {
	_ = flag.Set("test.parallel", "4")
	m.Run()
}
