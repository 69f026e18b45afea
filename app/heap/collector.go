// Package heap bounds and sizes the heap of a process that is a server as a whole.
package heap

import (
	"os"
	"runtime"
	"runtime/debug"
	runtimemetrics "runtime/metrics"
	"time"
)

// The garbage that triggers a collection: minHeadroom, or, when more
// is in use, headroomShare percent of that. The runtime's own rule is 100 percent and four
// megabytes at the least, which makes a small program under load collect several times a second,
// and lets one with many accounts take twice the memory that it uses.
//
// Under load that would still be a dozen collections a second, a tenth of the processor. So the
// headroom doubles with each collection that follows soon after the previous one, and shrinks with
// each that comes late. 32 MB give most of the possible gain: docs/performance.md has
// the cost of more. An idle program has little garbage and gets less headroom.
const (
	minHeadroom   = 16 << 20 // bytes
	maxHeadroom   = 32 << 20
	frequent      = 250 * time.Millisecond
	late          = time.Second
	idle          = 10 * time.Second
	headroomShare = 65
	idleShare     = 25
	minHeap       = 4 << 20 // bytes; the runtime takes its percentage of these where less is in use
)

// Tune sizes the garbage collector's room after each of its turns until the process ends.
// Where GOGC is set in the environment that stands; GOMEMLIMIT holds in any case.
func Tune() {
	if os.Getenv("GOGC") == "" {
		afterEachCollection(&tuned{percent: 100, room: minHeadroom})
	}
}

// tuned is the current setting of the collector.
type tuned struct {
	percent int
	room    uint64    // bytes
	share   uint64    // percent of what is in use, where that is more
	last    time.Time // when it was through last
}

// turned adjusts the setting after a collection.
func (t *tuned) turned(now time.Time) {
	apart := now.Sub(t.last)
	switch {
	case t.last.IsZero():
	case apart < frequent:
		t.room = min(2*t.room, maxHeadroom)
	case apart > late:
		t.room = max(t.room/2, minHeadroom)
	}
	if t.share = headroomShare; !t.last.IsZero() && apart > idle {
		t.share = idleShare
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

// collectorPercent returns the runtime's percentage for so many bytes in use, and so much room.
func collectorPercent(used, room, share uint64) int {
	return int(max(share, room*100/max(used, minHeap)))
}

// inUse returns what the runtime's percentage is of: the heap that the last turn found
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
