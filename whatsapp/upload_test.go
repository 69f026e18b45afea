package whatsapp

import (
	"os"
	"path/filepath"
	"testing"

	"postern/event"
)

func TestTheEncryptedFormOfAFileLiesBesideItAndGoesAfterTheUpload(t *testing.T) {
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
