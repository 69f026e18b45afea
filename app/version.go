package app

import (
	"runtime"
	"strconv"
	"strings"
	"time"
)

// These are set by the linker, see the Makefile.
var (
	version   = "dev"
	commit    = "" // in full
	committed = "" // when, in seconds since 1970
)

// Version returns what the program was built from, such as v1.2.0 or v1.2.0-3-gabcdef0;
// dev when the build did not say.
func Version() string { return version }

// Build is Version, with the commit and its date as far as the build said them, the
// Go that built it and the system that it is for: one line.
func Build() string { return build(version, commit, committed) }

func build(version, commit, committed string) string {
	var more []string
	if commit != "" {
		more = append(more, "commit "+commit)
	}
	if seconds, err := strconv.ParseInt(committed, 10, 64); err == nil {
		more = append(more, time.Unix(seconds, 0).UTC().Format(time.RFC3339))
	}
	more = append(more, runtime.Version()+" "+runtime.GOOS+"/"+runtime.GOARCH)
	return version + " (" + strings.Join(more, ", ") + ")"
}
