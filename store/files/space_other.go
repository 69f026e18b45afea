//go:build !unix

package files

// FreeBytes does not know the free space.
func FreeBytes(string) (free uint64, known bool) { return 0, false }

// IsReadOnly reports false.
func IsReadOnly(error) bool { return false }
