package later

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"postern/event"
	"postern/store"
)

// file gives a send a file of that size.
func (r *rig) file(size int) func(*Send) {
	r.Helper()
	path := filepath.Join(r.TempDir(), "file")
	if err := os.WriteFile(path, []byte(content(size)), 0o600); err != nil {
		r.Fatal(err)
	}
	return func(d *Send) {
		d.Out.Content = event.Content{Media: &event.Media{
			Kind: event.MediaDocument, FileName: "a.txt",
			File: &event.MediaFile{Path: path, MediaInfo: event.MediaInfo{Kind: event.MediaDocument, MimeType: "text/plain", Size: int64(size)}},
		}}
	}
}

func content(size int) string { return strings.Repeat("0123456789abcde\n", size/16+1)[:size] }

func TestFilesAreKeptUntilSent(t *testing.T) {
	for _, size := range []int{1, pieceSize - 1, pieceSize, pieceSize + 1, perCommit * pieceSize, 3_000_000} {
		t.Run(fmt.Sprint(size), func(t *testing.T) {
			inBubble(t, nil, func(r *rig) {
				id := r.instance("a", true)
				change := r.file(size)
				d := Send{}
				change(&d)
				key := r.in(id, time.Hour, change)
				if err := os.Remove(d.Out.Content.Media.File.Path); err != nil { // its creator's
					t.Fatal(err)
				}
				r.restart()
				time.Sleep(time.Hour + time.Second)
				r.wantSent(key)
				if got := r.arrivals(); len(got) != 1 || got[0].file != content(size) {
					t.Errorf("%d arrived", len(got))
				}
				r.wantEmpty()
			})
		})
	}
}

func TestDamagedFileIsReported(t *testing.T) {
	inBubble(t, nil, func(r *rig) {
		id := r.instance("a", true)
		key := r.in(id, time.Hour, r.file(600_000))
		err := r.store.Update(bg, func(tx *store.Tx) error { return tx.Delete(files, store.Key(id, key, 1)) })
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(2 * time.Hour)
		r.wantFailed(key, "INVALID_MEDIA")
		r.wantEmpty()
	})
}
