package app

import (
	"io/fs"
	"log/slog"
	"math"
	"os"
	"path"
	"runtime/debug"
	"strconv"
	"strings"

	"postern/peers"
)

// What the memory of Go needs at the least, in bytes: docs/operation.md has what was
// measured.
const (
	leastMemory    = 48 << 20
	instanceMemory = 300 << 10
)

// LimitMemory has the collector keep the program below nine tenths of the memory that its
// control group may have: it works harder before the kernel ends the program. Where
// GOMEMLIMIT is set in the environment that stands. It is for a process that is a server as
// a whole.
func LimitMemory(log *slog.Logger) { limitMemory(os.DirFS("/"), log) }

func limitMemory(root fs.FS, log *slog.Logger) {
	if os.Getenv("GOMEMLIMIT") != "" {
		return
	}
	if limit, found := groupMemory(root); found {
		debug.SetMemoryLimit(limit / 10 * 9)
		log.Debug("the control group bounds the memory, and the collector keeps below nine tenths of it", "bytes", limit)
	}
}

// groupMemory is how many bytes of memory the control groups of this process leave it: the
// least that its own and those above it may have. Those of the first version of control
// groups are not looked at.
func groupMemory(root fs.FS) (least int64, found bool) {
	const groups = "sys/fs/cgroup"
	least = math.MaxInt64
	own, _ := fs.ReadFile(root, "proc/self/cgroup")
	for line := range strings.Lines(string(own)) {
		group, is := strings.CutPrefix(strings.TrimSpace(line), "0::")
		for dir := path.Join(groups, group); is && strings.HasPrefix(dir, groups); dir = path.Dir(dir) {
			for _, bound := range []string{"memory.max", "memory.high"} {
				text, _ := fs.ReadFile(root, path.Join(dir, bound))
				if n, err := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64); err == nil { // it may be max
					least, found = min(least, n), true
				}
			}
		}
	}
	return least, found
}

// tellRoom warns of limits of the system that are below what so many instances need.
func tellRoom(log *slog.Logger, instances, descriptors int, memory int64) {
	if needs := peers.Enough(instances); descriptors < needs {
		log.Warn("the program may have too few files and connections open for its instances; raise LimitNOFILE= of the service, ulimit -n, or --ulimit nofile of the container",
			"limit", descriptors, "needs", needs, "instances", instances)
	}
	if needs := leastMemory + int64(instances)*instanceMemory; memory < needs {
		log.Warn("the program may have too little memory for its instances; raise MemoryMax= of the service, --memory of the container, or GOMEMLIMIT",
			"limit_bytes", memory, "needs_bytes", needs, "instances", instances)
	}
}
