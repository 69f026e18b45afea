package mediahost

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// Kept files are named by their ids, with goneSuffix for those that only phones have,
// and newPrefix while they are being written.
const (
	goneSuffix = ".gone"
	newPrefix  = "new-"
)

var keptName = regexp.MustCompile(`^[0-9a-f]{32}(\.gone)?$`)

// load loads the kept files, and removes expired and incomplete ones. Other files are
// left alone.
func (h *Host) load() error {
	all, err := os.ReadDir(h.folder)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	for _, e := range all {
		path := filepath.Join(h.folder, e.Name())
		if strings.HasPrefix(e.Name(), newPrefix) {
			_ = os.Remove(path)
		}
		info, err := e.Info()
		if err != nil || !info.Mode().IsRegular() || !keptName.MatchString(e.Name()) {
			continue
		}
		id, gone := strings.CutSuffix(e.Name(), goneSuffix)
		h.files[id] = sealedFile{size: info.Size(), at: info.ModTime(), path: path, gone: gone}
		h.order = append(h.order, id)
		h.total += info.Size()
	}
	slices.SortFunc(h.order, func(a, b string) int { return h.files[a].at.Compare(h.files[b].at) })
	h.prune()
	return nil
}

// store moves a file to be kept to its place. If the disk fails, the file ends with the
// host.
func (h *Host) store(id string, f *sealedFile) {
	if h.folder == "" || !keptName.MatchString(id) {
		return
	}
	path := filepath.Join(h.folder, id)
	if f.file == nil {
		to, err := h.create()
		if err != nil {
			return
		}
		if _, err = to.Write(f.data); err == nil {
			err = to.Close()
		}
		if err == nil {
			err = os.Rename(to.Name(), path)
		}
		if err != nil {
			_ = errors.Join(to.Close(), os.Remove(to.Name()))
			return
		}
		f.data, f.path = nil, path
		return
	}
	if os.Rename(f.file.Name(), path) == nil {
		_ = f.file.Close()
		f.file, f.path = nil, path
	}
}

// create creates a file for incoming data, in the folder of kept files or, without one,
// in the system's temporary folder.
func (h *Host) create() (*os.File, error) {
	if h.folder == "" {
		f, err := os.CreateTemp("", "sandbox-media-*")
		if err == nil {
			_ = os.Remove(f.Name())
		}
		return f, err
	}
	if err := os.MkdirAll(h.folder, 0o700); err != nil {
		return nil, err
	}
	return os.CreateTemp(h.folder, newPrefix+"*")
}

// rename adds a suffix to the name of a kept file.
func (f *sealedFile) rename(suffix string) {
	if f.path != "" && os.Rename(f.path, f.path+suffix) == nil {
		f.path += suffix
	}
}
