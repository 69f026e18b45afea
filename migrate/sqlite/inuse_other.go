//go:build !linux

package sqlite

// inUse is who has the file at path open; empty: nobody, or it cannot be told.
func inUse(path string) string { return lockedBy(path) }
