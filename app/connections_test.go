package app

import (
	"bytes"
	"log/slog"
	"strings"
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

// TestStartWarnsOfTooLowLimits, and not of sufficient ones.
func TestStartWarnsOfTooLowLimits(t *testing.T) {
	for _, c := range []struct {
		instances, descriptors int
		memory                 int64
		want                   []string
	}{
		{0, 256, 1 << 30, nil},
		{0, 255, 1 << 30, []string{"LimitNOFILE=", "limit=255", "needs=256"}},
		{1000, 4256, 1 << 30, nil},
		{1000, 4255, 1 << 30, []string{"needs=4256", "instances=1000"}},
		{1000, 65536, 256 << 20, []string{"MemoryMax=", "limit_bytes=268435456"}},
	} {
		var said bytes.Buffer
		warnRoom(slog.New(slog.NewTextHandler(&said, nil)), c.instances, c.descriptors, c.memory)
		if c.want == nil && said.Len() > 0 {
			t.Errorf("%+v: %s", c, said.String())
		}
		for _, want := range c.want {
			if !strings.Contains(said.String(), want) {
				t.Errorf("%+v: no %q in %q", c, want, said.String())
			}
		}
	}
}
