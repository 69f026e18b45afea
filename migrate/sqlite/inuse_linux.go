package sqlite

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"

	"golang.org/x/sys/unix"
)

// inUse returns the process that has the file at path open for writing; empty: none that this user may see.
// A program without a write-ahead log holds no lock while it is idle, so
// open files are checked, too.
func inUse(path string) string {
	if who := lockedBy(path); who != "" {
		return who
	}
	want, err := os.Stat(path)
	if err != nil {
		return ""
	}
	open, _ := filepath.Glob("/proc/[0-9]*/fd/*")
	for _, link := range open {
		if is, err := os.Stat(link); err != nil || !os.SameFile(is, want) {
			continue
		}
		process := filepath.Dir(filepath.Dir(link))
		if forWriting(filepath.Join(process, "fdinfo", filepath.Base(link))) {
			name, _ := os.ReadFile(filepath.Join(process, "comm"))
			return fmt.Sprintf("process %s (%.20s)", filepath.Base(process), bytes.TrimSpace(name))
		}
	}
	return ""
}

// forWriting reports whether an open file may be written, by its page in /proc.
func forWriting(page string) bool {
	text, _ := os.ReadFile(page)
	for line := range bytes.Lines(text) {
		if flags, is := bytes.CutPrefix(line, []byte("flags:")); is {
			n, err := strconv.ParseInt(string(bytes.TrimSpace(flags)), 8, 64)
			return err == nil && n&unix.O_ACCMODE != unix.O_RDONLY
		}
	}
	return false
}
