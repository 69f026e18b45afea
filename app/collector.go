package app

import (
	"os"
	"runtime"
	"runtime/debug"
	runtimemetrics "runtime/metrics"
	"time"
)

// How much garbage may lie until the collector begins: as much as leastRoom, or, when more
// is in use, roomShare percent of that. The runtime's own rule is 100 percent and four
// megabytes at the least, which has a small program under load collect several times a second,
// and lets one of many accounts take twice what it uses.
//
// Under load that would still be a dozen turns a second, a tenth of the processor. So the
// room doubles with each turn that comes soon after the one before, and goes back with
// each that comes late. At 32 MB it has the most of what it can gain: docs/performance.md has
// what more would cost. A program that rests has little garbage, and leaves less room.
const (
	leastRoom = 16 << 20 // bytes
	mostRoom  = 32 << 20
	soon      = 250 * time.Millisecond
	late      = time.Second
	resting   = 10 * time.Second
	roomShare = 65
	restShare = 25
	leastHeap = 4 << 20 // bytes; the runtime takes its percentage of these where less is in use
)

// TuneCollector sizes the garbage collector's room after each of its turns until the process
// ends. Where GOGC is set in the environment that stands; GOMEMLIMIT holds in any case.
// It is for a process that is a server as a whole.
func TuneCollector() {
	if os.Getenv("GOGC") == "" {
		afterEachCollection(&tuned{percent: 100, room: leastRoom})
	}
}

// tuned is what the collector was last set to.
type tuned struct {
	percent int
	room    uint64    // bytes
	share   uint64    // percent of what is in use, where that is more
	last    time.Time // when it was through last
}

// turned takes note of a turn.
func (t *tuned) turned(now time.Time) {
	apart := now.Sub(t.last)
	switch {
	case t.last.IsZero():
	case apart < soon:
		t.room = min(2*t.room, mostRoom)
	case apart > late:
		t.room = max(t.room/2, leastRoom)
	}
	if t.share = roomShare; !t.last.IsZero() && apart > resting {
		t.share = restShare
	}
	t.last = now
}

// afterEachCollection sets the room now and whenever the collector has found the
// object that it leaves behind.
func afterEachCollection(t *tuned) {
	t.turned(time.Now())
	if p := collectorPercent(inUse(), t.room, t.share); p > t.percent+t.percent/10 || p < t.percent-t.percent/10 {
		t.percent = p
		debug.SetGCPercent(p) // stops the world for a moment, so not for every little difference
	}
	left := &struct{ next *tuned }{t}
	runtime.AddCleanup(left, afterEachCollection, t)
}

// collectorPercent is the runtime's percentage for so many bytes in use, and so much room.
func collectorPercent(used, room, share uint64) int {
	return int(max(share, room*100/max(used, leastHeap)))
}

// inUse is what the runtime's percentage is of: the heap that the last turn found
// alive, stacks and global variables.
func inUse() (sum uint64) {
	samples := []runtimemetrics.Sample{{Name: "/gc/heap/live:bytes"}, {Name: "/gc/scan/stack:bytes"}, {Name: "/gc/scan/globals:bytes"}}
	runtimemetrics.Read(samples)
	for _, s := range samples {
		if s.Value.Kind() == runtimemetrics.KindUint64 {
			sum += s.Value.Uint64()
		}
	}
	return sum
}
