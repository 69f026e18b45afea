//go:build unix

package doctor

import "golang.org/x/sys/unix"

func writable(folder string) error { return unix.Access(folder, unix.W_OK|unix.X_OK) }
