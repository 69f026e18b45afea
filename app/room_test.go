package app

import (
	"bytes"
	"log/slog"
	"runtime/debug"
	"strings"
	"testing"
	"testing/fstest"
)

// TestTheMemoryOfAControlGroupIsTheLeastThatItAndThoseAboveMayHave.
func TestTheMemoryOfAControlGroupIsTheLeastThatItAndThoseAboveMayHave(t *testing.T) {
	for name, c := range map[string]struct {
		files map[string]string
		want  int64 // 0: there is no limit
	}{
		"a service":                 {map[string]string{"proc/self/cgroup": "0::/system.slice/p.service\n", "sys/fs/cgroup/system.slice/p.service/memory.max": "1073741824\n", "sys/fs/cgroup/system.slice/memory.max": "max\n"}, 1 << 30},
		"a container":               {map[string]string{"proc/self/cgroup": "0::/\n", "sys/fs/cgroup/memory.max": "536870912\n"}, 512 << 20},
		"the one above has less":    {map[string]string{"proc/self/cgroup": "0::/a/b\n", "sys/fs/cgroup/a/b/memory.max": "2000000000\n", "sys/fs/cgroup/a/memory.max": "100000000\n"}, 100_000_000},
		"it is held back before":    {map[string]string{"proc/self/cgroup": "0::/a\n", "sys/fs/cgroup/a/memory.max": "200000000\n", "sys/fs/cgroup/a/memory.high": "100000000\n"}, 100_000_000},
		"no limit":                  {map[string]string{"proc/self/cgroup": "0::/a\n", "sys/fs/cgroup/a/memory.max": "max\n"}, 0},
		"outside of what is seen":   {map[string]string{"proc/self/cgroup": "0::/../../a\n", "sys/a/memory.max": "5\n", "a/memory.max": "5\n"}, 0},
		"the first version":         {map[string]string{"proc/self/cgroup": "4:memory:/a\n", "sys/fs/cgroup/a/memory.max": "5\n"}, 0},
		"another system than Linux": {nil, 0},
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

// TestTheCollectorKeepsBelowNineTenthsOfTheControlGroup, unless GOMEMLIMIT says otherwise.
func TestTheCollectorKeepsBelowNineTenthsOfTheControlGroup(t *testing.T) {
	before := debug.SetMemoryLimit(-1)
	t.Cleanup(func() { debug.SetMemoryLimit(before) })
	root := fstest.MapFS{"proc/self/cgroup": {Data: []byte("0::/\n")}, "sys/fs/cgroup/memory.max": {Data: []byte("10000000000\n")}}
	t.Setenv("GOMEMLIMIT", "off")
	if limitMemory(root, slog.New(slog.DiscardHandler)); debug.SetMemoryLimit(-1) != before {
		t.Error("GOMEMLIMIT does not stand")
	}
	t.Setenv("GOMEMLIMIT", "")
	if limitMemory(root, slog.New(slog.DiscardHandler)); debug.SetMemoryLimit(-1) != 9_000_000_000 {
		t.Errorf("the limit is %d", debug.SetMemoryLimit(-1))
	}
}

// TestLimitsBelowWhatTheInstancesNeedAreToldAtTheStart, and what is enough is not.
func TestLimitsBelowWhatTheInstancesNeedAreToldAtTheStart(t *testing.T) {
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
		tellRoom(slog.New(slog.NewTextHandler(&said, nil)), c.instances, c.descriptors, c.memory)
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
