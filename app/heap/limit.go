package heap

import (
	"io/fs"
	"log/slog"
	"math"
	"os"
	"path"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
)

// Limit makes the collector keep the program below nine tenths of the memory that its
// control group may have: it works harder before the kernel kills the program. Where
// GOMEMLIMIT is set in the environment that stands.
func Limit(log *slog.Logger) { limit(os.DirFS("/"), log) }

func limit(root fs.FS, log *slog.Logger) {
	if os.Getenv("GOMEMLIMIT") != "" {
		return
	}
	if most, found := groupMemory(root); found {
		debug.SetMemoryLimit(most / 10 * 9)
		log.Debug("the control group limits the memory; the garbage collector keeps below nine tenths of it", "bytes", most)
	}
}

// groupBounds are the files of a control group that bound its memory, of the second
// version and of the first, and what stands before the number there.
var groupBounds = []struct{ file, key string }{
	{"memory.max", ""},
	{"memory.high", ""},
	{"memory.limit_in_bytes", ""},
	{"memory.stat", "hierarchical_memory_limit "}, // of groups above that a container does not see
}

// unbounded is what the first version has for no limit, at the least: the largest number of
// whole pages.
const unbounded = math.MaxInt64 >> 1

// groupMemory returns how many bytes of memory the control groups of this process leave it: the
// least that its own and those above it may have.
func groupMemory(root fs.FS) (least int64, found bool) {
	least = math.MaxInt64
	for _, dir := range memoryGroups(root) {
		for _, bound := range groupBounds {
			text, _ := fs.ReadFile(root, path.Join(dir, bound.file))
			for line := range strings.Lines(string(text)) {
				number, is := strings.CutPrefix(strings.TrimSpace(line), bound.key)
				if n, err := strconv.ParseInt(number, 10, 64); is && err == nil && n > 0 && n < unbounded { // it may be max
					least, found = min(least, n), true
				}
			}
		}
	}
	return least, found
}

// memoryGroups returns the folders of the control groups that may bound the memory of this
// process, and of those above them, as far as it sees them.
func memoryGroups(root fs.FS) (all []string) {
	own, _ := fs.ReadFile(root, "proc/self/cgroup")
	mounts, _ := fs.ReadFile(root, "proc/self/mountinfo")
	for line := range strings.Lines(string(own)) {
		f := strings.SplitN(strings.TrimSpace(line), ":", 3) // number, controllers, group
		if len(f) < 3 || f[0] != "0" && !slices.Contains(strings.Split(f[1], ","), "memory") {
			continue
		}
		for mount := range strings.Lines(string(mounts)) {
			from, at, second, is := memoryMount(mount)
			if !is || second != (f[0] == "0") {
				continue
			}
			below, inside := strings.CutPrefix(f[2]+"/", strings.TrimSuffix(from, "/")+"/")
			switch {
			case !inside: // of another namespace: the container's own group is what is mounted
				below = ""
			case strings.HasPrefix(below, "../"): // beside what is mounted
				continue
			}
			for dir := path.Join(at, below); len(dir) > len(at); dir = path.Dir(dir) {
				all = append(all, dir)
			}
			all = append(all, at)
		}
	}
	return all
}

// memoryMount reads a line of /proc/self/mountinfo: the group that a mount shows, where it
// is, and whether its groups are of the second version. Others than those of control groups
// that may bound memory are none.
func memoryMount(line string) (from, at string, second, is bool) {
	place, kind, _ := strings.Cut(line, " - ")
	p, k := strings.Fields(place), strings.Fields(kind)
	if len(p) < 5 || len(k) < 3 {
		return "", "", false, false
	}
	second = k[0] == "cgroup2"
	is = second || k[0] == "cgroup" && slices.Contains(strings.Split(k[2], ","), "memory")
	return octal.Replace(p[3]), strings.TrimPrefix(octal.Replace(p[4]), "/"), second, is
}

// octal are the characters that /proc/self/mountinfo writes as numbers.
var octal = strings.NewReplacer(`\040`, " ", `\011`, "\t", `\012`, "\n", `\134`, `\`)
