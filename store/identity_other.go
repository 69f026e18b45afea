//go:build !(darwin || dragonfly || freebsd || linux || netbsd || openbsd)

package store

import "os"

// identify knows no time here that nobody could have set.
func (*note) identify(*os.File) (known bool) { return false }

// ownedAs gives a new file the rights of another.
func ownedAs(f *os.File, other os.FileInfo) error { return f.Chmod(other.Mode().Perm()) }
