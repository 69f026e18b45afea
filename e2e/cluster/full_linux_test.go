package cluster

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"postern/cli/consumer"
)

// An owner whose disk is full hands over to a standby with room, and follows no more
// until it has room again.
func TestOwnerWithAFullDiskHandsOver(t *testing.T) {
	n := newNetwork(t)
	disk := t.TempDir()
	if err := syscall.Mount("tmpfs", disk, "tmpfs", 0, "size=160M"); err != nil {
		t.Skipf("no file system of its own can be mounted: %v", err)
	}
	t.Cleanup(func() { _ = syscall.Unmount(disk, syscall.MNT_DETACH) })
	a, b := n.node("a", "STORE_PATH="+filepath.Join(disk, "postern.db"), "CLUSTER_LEASE=30s"), n.node("b", "CLUSTER_LEASE=30s")
	a.launch()
	a.awaitOwner()
	b.launch()
	b.awaitStandby()
	b.Pair("shop")
	id := b.batch("full", 5)

	filler := filepath.Join(disk, "filler")
	if err := os.WriteFile(filler, make([]byte, 110<<20), 0o600); err != nil {
		t.Fatal(err)
	}
	if status := a.exit(); status != 4 || !strings.Contains(a.Output.String(), "hands the cell over") {
		t.Errorf("the owner ended with the status %d and said:\n%s", status, a.Output)
	}
	b.awaitOwner()
	b.finish(id, "full")
	b.sequences()

	a.launch()
	a.Await("it says that its disk is full", func() bool {
		err := a.API.Call(t.Context(), consumer.Credential{}, "GET", "/ready", nil, nil)
		return err != nil && containsCode(err, "DISK_FULL")
	})
	a.AwaitOnline("shop", tokenOf(t, a, "shop")) // it forwards all the same
	if err := os.Remove(filler); err != nil {
		t.Fatal(err)
	}
	a.awaitStandby()
	b.Stop()
	a.awaitOwner()
	a.sequences()
}
