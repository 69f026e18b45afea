package store

import (
	"errors"
	"fmt"
	"os"
)

// writeBackMetas makes the disk hold the two meta pages that bbolt reads. After a failed sync, or
// a kill before it, the newer of them may exist in the system's memory only. bbolt would
// take it for the state of the file and reuse pages that the state on disk still needs:
// after a power cut, neither state would be whole. It therefore writes both pages
// back unchanged and syncs the file before the first commit. The caller holds the lock on
// the file.
func writeBackMetas(path string, pageSize int) error {
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	metas := make([]byte, 2*pageSize)
	_, err = f.ReadAt(metas, 0)
	if err == nil {
		_, err = f.WriteAt(metas, 0)
	}
	if err == nil {
		err = f.Sync()
	}
	if err := errors.Join(err, f.Close()); err != nil {
		return fmt.Errorf("write back the meta pages: %w", err)
	}
	return nil
}
