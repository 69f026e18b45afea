//go:build !linux

package doctor

func fileSystem(string) (kind, flaw string) { return "", "" }
