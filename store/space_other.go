//go:build !unix

package store

func freeBytes(string) (free uint64, known bool) { return 0, false }

func isReadOnlyFS(error) bool { return false }
