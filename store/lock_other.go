//go:build !(darwin || dragonfly || freebsd || linux || netbsd || openbsd)

package store

import "os"

// lockFile opens the file. bbolt's lock cannot be taken beforehand here: a file
// that another process writes may look damaged instead of locked.
func lockFile(path string) (*os.File, error) { return os.OpenFile(path, os.O_RDWR, 0) }

// lockShared opens the file for reading.
func lockShared(path string) (*os.File, error) { return os.Open(path) }
