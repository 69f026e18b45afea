//go:build unix

package config

import "golang.org/x/sys/unix"

// Writable returns an error when this process may not create files in a folder.
func Writable(folder string) error { return unix.Access(folder, unix.W_OK|unix.X_OK) }
