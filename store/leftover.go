package store

import (
	"os"
	"path/filepath"
	"strings"
)

// Leftovers are the files and folders in a folder that are called as [os.CreateTemp] and
// [os.MkdirTemp] call them: begins, mark, and digits. An empty begins is any. What
// somebody else named is not among them, such as a copy called postern.db.new-disk. It
// is empty where the folder cannot be read.
func Leftovers(folder, begins, mark string) (paths []string) {
	files, err := os.ReadDir(folder)
	if err != nil {
		return nil
	}
	for _, f := range files {
		at := strings.LastIndex(f.Name(), mark)
		if at < 1 || begins != "" && f.Name()[:at] != begins {
			continue
		}
		if drawn := f.Name()[at+len(mark):]; drawn != "" && strings.Trim(drawn, "0123456789") == "" {
			paths = append(paths, filepath.Join(folder, f.Name()))
		}
	}
	return paths
}
