package heap

import (
	"log/slog"
	"runtime/debug"
	"testing"
	"testing/fstest"
)

// mountV2 and mountV1 are lines of /proc/self/mountinfo: where this process sees the
// groups of the second version, and those of memory of the first, from the group root on.
func mountV2(root, at string) string {
	return "31 23 0:28 " + root + " " + at + " rw,relatime shared:9 - cgroup2 cgroup rw,nsdelegate\n"
}

func mountV1(root, at string) string {
	return "30 23 0:27 " + root + " /sys/fs/cgroup/pids rw - cgroup cgroup rw,pids\n" +
		"35 31 0:32 " + root + " " + at + " rw,relatime shared:9 master:3 - cgroup cgroup rw,memory\n"
}

// TestControlGroupMemoryIsTheLowestLimit, its own and those above, in both versions of
// control groups.
func TestControlGroupMemoryIsTheLowestLimit(t *testing.T) {
	const (
		self, mounts = "proc/self/cgroup", "proc/self/mountinfo"
		v1           = "sys/fs/cgroup/memory"
	)
	whole, memory := mountV2("/", "/sys/fs/cgroup"), mountV1("/", "/sys/fs/cgroup/memory")
	for name, c := range map[string]struct {
		files map[string]string
		want  int64 // 0: there is no limit
	}{
		"a service":                 {map[string]string{self: "0::/system.slice/p.service\n", mounts: whole, "sys/fs/cgroup/system.slice/p.service/memory.max": "1073741824\n", "sys/fs/cgroup/system.slice/memory.max": "max\n"}, 1 << 30},
		"a container":               {map[string]string{self: "0::/\n", mounts: whole, "sys/fs/cgroup/memory.max": "536870912\n"}, 512 << 20},
		"the one above has less":    {map[string]string{self: "0::/a/b\n", mounts: whole, "sys/fs/cgroup/a/b/memory.max": "2000000000\n", "sys/fs/cgroup/a/memory.max": "100000000\n"}, 100_000_000},
		"it is held back before":    {map[string]string{self: "0::/a\n", mounts: whole, "sys/fs/cgroup/a/memory.max": "200000000\n", "sys/fs/cgroup/a/memory.high": "100000000\n"}, 100_000_000},
		"no limit":                  {map[string]string{self: "0::/a\n", mounts: whole, "sys/fs/cgroup/a/memory.max": "max\n"}, 0},
		"outside of what is seen":   {map[string]string{self: "0::/../../a\n", mounts: whole, "sys/fs/cgroup/memory.max": "5\n", "sys/a/memory.max": "5\n", "a/memory.max": "5\n"}, 0},
		"another system than Linux": {nil, 0},

		// A container whose namespace is the host's: the path is that of the host.
		"the host's path":          {map[string]string{self: "0::/docker/x\n", mounts: mountV2("/docker/x", "/sys/fs/cgroup"), "sys/fs/cgroup/memory.max": "536870912\n"}, 512 << 20},
		"a group in the container": {map[string]string{self: "0::/docker/x/own\n", mounts: mountV2("/docker/x", "/sys/fs/cgroup"), "sys/fs/cgroup/memory.max": "536870912\n", "sys/fs/cgroup/own/memory.max": "5000000\n"}, 5_000_000},
		"a path that is not seen":  {map[string]string{self: "0::/docker/x\n", mounts: whole, "sys/fs/cgroup/memory.max": "536870912\n"}, 512 << 20},
		"a root that is not above": {map[string]string{self: "0::/docker/x\n", mounts: mountV2("/docker/xyz", "/sys/fs/cgroup"), "sys/fs/cgroup/memory.max": "536870912\n"}, 512 << 20},
		"a mount of the host":      {map[string]string{self: "0::/../x\n", mounts: mountV2("/..", "/sys/fs/cgroup"), "sys/fs/cgroup/x/memory.max": "5000000\n"}, 5_000_000},
		"a name with a space":      {map[string]string{self: "0::/a\n", mounts: mountV2("/", `/control\040groups`), "control groups/a/memory.max": "5000000\n"}, 5_000_000},

		"v1, a service":                  {map[string]string{self: "5:pids:/x\n4:memory:/a\n", mounts: memory, v1 + "/a/memory.limit_in_bytes": "536870912\n"}, 512 << 20},
		"v1, the one above has less":     {map[string]string{self: "4:memory:/a/b\n", mounts: memory, v1 + "/a/b/memory.limit_in_bytes": "536870912\n", v1 + "/a/memory.limit_in_bytes": "5000000\n"}, 5_000_000},
		"v1, one above that is not seen": {map[string]string{self: "4:memory:/\n", mounts: memory, v1 + "/memory.limit_in_bytes": "9223372036854771712\n", v1 + "/memory.stat": "cache 12\nhierarchical_memory_limit 268435456\nhierarchical_memsw_limit 7\n"}, 256 << 20},
		"v1, no limit":                   {map[string]string{self: "4:memory:/a\n", mounts: memory, v1 + "/a/memory.limit_in_bytes": "9223372036854771712\n", v1 + "/memory.limit_in_bytes": "9223372036854775807\n", v1 + "/a/memory.stat": "hierarchical_memory_limit 9223372036854710272\n"}, 0},
		"v1, the host's path":            {map[string]string{self: "4:memory:/docker/x\n", mounts: mountV1("/docker/x", "/sys/fs/cgroup/memory"), v1 + "/memory.limit_in_bytes": "536870912\n"}, 512 << 20},
		"v1, a path that is not seen":    {map[string]string{self: "4:memory:/docker/x\n", mounts: memory, v1 + "/memory.limit_in_bytes": "536870912\n"}, 512 << 20},
		"v1, mounted with another":       {map[string]string{self: "4:cpu,memory:/a\n", mounts: "35 31 0:32 / /cg/both rw - cgroup none rw,cpu,memory\n", "cg/both/a/memory.limit_in_bytes": "5000000\n"}, 5_000_000},
		"hybrid, memory in v1":           {map[string]string{self: "4:memory:/a\n1:name=systemd:/m\n0::/u\n", mounts: memory + mountV2("/", "/sys/fs/cgroup/unified"), v1 + "/a/memory.limit_in_bytes": "536870912\n", v1 + "/u/memory.limit_in_bytes": "5\n", "sys/fs/cgroup/unified/u/cgroup.procs": "1\n"}, 512 << 20},
		"hybrid, memory in v2":           {map[string]string{self: "4:pids:/a\n0::/u\n", mounts: memory + mountV2("/", "/sys/fs/cgroup/unified"), "sys/fs/cgroup/unified/u/memory.max": "5000000\n"}, 5_000_000},
	} {
		root := fstest.MapFS{}
		for path, text := range c.files {
			root[path] = &fstest.MapFile{Data: []byte(text)}
		}
		got, found := groupMemory(root)
		if found != (c.want != 0) || found && got != c.want {
			t.Errorf("%s: %d (%v), not %d", name, got, found, c.want)
		}
	}
}

// TestMemoryLimitFollowsTheControlGroup, unless GOMEMLIMIT says otherwise.
func TestMemoryLimitFollowsTheControlGroup(t *testing.T) {
	before := debug.SetMemoryLimit(-1)
	t.Cleanup(func() { debug.SetMemoryLimit(before) })
	root := fstest.MapFS{
		"proc/self/cgroup": {Data: []byte("4:memory:/\n")}, "proc/self/mountinfo": {Data: []byte(mountV1("/", "/sys/fs/cgroup/memory"))},
		"sys/fs/cgroup/memory/memory.limit_in_bytes": {Data: []byte("10000000000\n")},
	}
	t.Setenv("GOMEMLIMIT", "off")
	if limit(root, slog.New(slog.DiscardHandler)); debug.SetMemoryLimit(-1) != before {
		t.Error("GOMEMLIMIT does not stand")
	}
	t.Setenv("GOMEMLIMIT", "")
	if limit(root, slog.New(slog.DiscardHandler)); debug.SetMemoryLimit(-1) != 9_000_000_000 {
		t.Errorf("the limit is %d", debug.SetMemoryLimit(-1))
	}
}
