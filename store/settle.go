package store

import (
	"errors"
	"fmt"
	"os"
)

// settle makes what bbolt reads in the two meta pages what the disk has in
// them. After a failed sync, or a kill before it, the newest of them may be in
// the system's memory only. bbolt would take it for the state of the file, and
// reuse pages that the state on the disk still needs: a power cut would then
// leave neither of the two. So both pages are written back as they are, and
// synced, before the first commit. The caller holds the lock on the file.
func settle(path string, pageSize int) error {
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
