package doctor

import (
	"testing"
	"time"
)

func TestClocksApartAreReported(t *testing.T) {
	for off, level := range map[time.Duration]Level{0: OK, 9 * time.Second: OK, 11 * time.Second: Warning, -time.Hour: Warning, 30 * time.Hour: Warning} {
		if found := apart(off); len(found) != 1 || found[0].Level != level {
			t.Errorf("%v apart: %+v, want %s", off, found, level)
		}
	}
}
