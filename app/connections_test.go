package app

import (
	"testing"
)

func TestTheLimitOfConnectionsLeavesRoomForOurs(t *testing.T) {
	for _, c := range []struct{ descriptors, ours, want int }{
		{1_048_576, 200, 20_000},
		{4096, 200, 2048},
		{1024, 200, 512},
		{1024, 900, 124},
		{256, 150, 106},
		{64, 150, 8},
	} {
		if got := clientConnections(c.descriptors, c.ours); got != c.want {
			t.Errorf("%d descriptors, %d ours: %d, want %d", c.descriptors, c.ours, got, c.want)
		}
	}
	for _, c := range []struct {
		configured  int64
		total, want int
	}{{256, 20_000, 256}, {256, 100, 50}, {0, 100, 0}, {1, 100, 1}, {5, 1, 1}} {
		if got := perAddress(c.configured, c.total); got != c.want {
			t.Errorf("%d of %d: %d, want %d", c.configured, c.total, got, c.want)
		}
	}
}
