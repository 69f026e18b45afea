package app

import (
	"strings"
	"testing"
)

func TestVersionShowsTheKnownBuildInformation(t *testing.T) {
	const commit = "0123456789abcdef0123456789abcdef01234567"
	for _, c := range []struct{ version, commit, committed, begins string }{
		{"v1.2.0", commit, "1767225600", "v1.2.0 (commit " + commit + ", 2026-01-01T00:00:00Z, go"},
		{"v1.2.0", commit, "", "v1.2.0 (commit " + commit + ", go"},
		{"v1.2.0", "", "yesterday", "v1.2.0 (go"},
		{"dev", "", "", "dev (go"},
	} {
		if got := build(c.version, c.commit, c.committed); !strings.HasPrefix(got, c.begins) || !strings.HasSuffix(got, ")") {
			t.Errorf("%q instead of %q…", got, c.begins)
		}
	}
}
