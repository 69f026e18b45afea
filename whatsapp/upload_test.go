package whatsapp

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"go.mau.fi/whatsmeow"

	"postern/event"
	"postern/store"
)

func TestUploadOnAFullDisk(t *testing.T) {
	full := errors.Join(event.ErrSendRefused, store.ErrDiskFull)
	for cause, want := range map[error]error{
		syscall.ENOSPC: full, syscall.EDQUOT: full, syscall.EFBIG: full,
		syscall.EIO: event.ErrSendRefused, whatsmeow.ErrNotLoggedIn: event.ErrNotConnected,
	} {
		err := classifyUpload(&os.PathError{Op: "open", Path: "/spool/x", Err: cause})
		for _, e := range []error{event.ErrSendRefused, store.ErrDiskFull, event.ErrNotConnected} {
			if errors.Is(err, e) != errors.Is(want, e) {
				t.Errorf("%v: %v, want %v", cause, err, want)
			}
		}
	}
}

func TestEncryptedFileIsRemovedAfterUpload(t *testing.T) {
	t.Setenv("TMPDIR", filepath.Join(t.TempDir(), "nowhere"))
	source := newFiles(t, "a file")
	r := newRigWith(t, Config{Media: source})
	r.pair()
	r.sentFile(event.MediaDocument)
	left, err := os.ReadDir(filepath.Dir(source.path))
	if err != nil || len(left) != 1 || left[0].Name() != filepath.Base(source.path) {
		t.Errorf("%v, %v", left, err)
	}
}
