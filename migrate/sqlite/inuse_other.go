//go:build !linux

package sqlite

// inUse returns the process that has the file at path open; empty: none or unknown.
func inUse(path string) string { return lockedBy(path) }
