package files

import (
	"os"
	"path/filepath"
	"strings"
)

// Leftovers returns the files and folders in a folder whose names are of the form that
// [os.CreateTemp] and [os.MkdirTemp] produce: begins, mark, and digits. An empty begins
// matches any beginning. Files with other names, such as a copy called
// postern.db.new-disk, are not returned. If the folder cannot be read, the result is
// empty.
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
