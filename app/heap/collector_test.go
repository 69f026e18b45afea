package heap

import (
	"runtime"
	"runtime/debug"
	"testing"
	"time"
)

// TestCollectorLeavesSixteenMegabytesOrTwoThirds computes the runtime's goal for the heap:
// what is in use and a percentage of it, and at least that percentage of 4 MB.
func TestCollectorLeavesSixteenMegabytesOrTwoThirds(t *testing.T) {
	const mb = 1 << 20
	for used, want := range map[uint64]float64{ // in MB
		0:        16, // before the first collection
		1 * mb:   15,
		2 * mb:   14,
		8 * mb:   16,
		24 * mb:  16,
		100 * mb: 65,
		1 << 32:  0.65 * 4096,
	} {
		percent := float64(collectorPercent(used, minHeadroom, headroomShare)) / 100
		room := (max(float64(used)*(1+percent), 4*mb*percent) - float64(used)) / mb
		if room < want*0.98 || room > want*1.02 {
			t.Errorf("%d bytes in use leave %.1f MB, want %.1f", used, room, want)
		}
	}
}

// TestFrequentCollectionsRaiseTheHeapTarget: up to twice as much, and back; and less
// of what is in use while the program rests.
func TestFrequentCollectionsRaiseTheHeapTarget(t *testing.T) {
	c := tuned{room: minHeadroom}
	at := time.Unix(1, 0)
	for i, turn := range []struct {
		apart       time.Duration
		room, share uint64 // in MB, in percent
	}{
		{0, 16, 65},
		{100 * time.Millisecond, 32, 65},
		{100 * time.Millisecond, 32, 65},
		{500 * time.Millisecond, 32, 65},
		{2 * time.Second, 16, 65},
		{2 * time.Minute, 16, 25},
		{2 * time.Minute, 16, 25},
		{time.Second, 16, 65},
	} {
		at = at.Add(turn.apart)
		if c.turned(at); c.room != turn.room<<20 || c.share != turn.share {
			t.Errorf("turn %d leaves %d bytes or %d %%, not %d MB or %d %%", i+1, c.room, c.share, turn.room, turn.share)
		}
	}
}

// TestHeapTargetFollowsMemoryInUse lets memory be used and given back.
func TestHeapTargetFollowsMemoryInUse(t *testing.T) {
	t.Setenv("GOGC", "")
	before := debug.SetGCPercent(100)
	ended := &tuned{percent: 100, room: minHeadroom}
	afterEachCollection(ended)
	t.Cleanup(func() { debug.SetGCPercent(before) })
	set := func() int { // to what it is
		p := debug.SetGCPercent(100)
		debug.SetGCPercent(p)
		return p
	}
	await := func(what string, ok func(int) bool) {
		t.Helper()
		for deadline := time.Now().Add(30 * time.Second); !ok(set()); time.Sleep(time.Millisecond) {
			if time.Now().After(deadline) {
				t.Fatalf("with %s it is %d", what, set())
			}
			runtime.GC()
		}
	}
	used := make([]byte, 200<<20)
	await("200 MB in use", func(p int) bool { return p == headroomShare })
	runtime.KeepAlive(used)
	await("them given back", func(p int) bool { return p > 100 })
}
