package store

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	bolt "go.etcd.io/bbolt"

	"postern/store/files"
)

// TestSettlingRewritesTheMetaPagesUnchanged for every page size, and if one of the two
// is damaged.
func TestSettlingRewritesTheMetaPagesUnchanged(t *testing.T) {
	for _, pageSize := range []int{1024, 4096, 16384, 65536} {
		t.Run(fmt.Sprint(pageSize), func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "p.db")
			db, err := bolt.Open(path, files.Mode, &bolt.Options{PageSize: pageSize, NoFreelistSync: true})
			if err != nil {
				t.Fatal(err)
			}
			sch, err := withOwn(declared)
			if err == nil {
				err = db.Update(func(tx *bolt.Tx) error { return initialise(tx, sch) })
			}
			if err != nil {
				t.Fatal(err)
			}
			if err := db.Close(); err != nil {
				t.Fatal(err)
			}
			whole, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			// The first page is the newest: it was written last.
			for name, image := range map[string][]byte{"whole": whole, "older meta damaged": damage(whole, pageSize+60)} {
				if err := os.WriteFile(path, image, files.Mode); err != nil {
					t.Fatal(err)
				}
				if err := writeBackMetas(path, pageSize); err != nil {
					t.Errorf("%s: %v", name, err)
				}
				if after, err := os.ReadFile(path); err != nil || !bytes.Equal(after, image) {
					t.Errorf("%s: settling changed the file (%v)", name, err)
				}
				s := openTest(t, path, func(o *Options) { o.NoSync = false })
				put(t, s, "a", name)
				if err := s.Close(); err != nil {
					t.Error(err)
				}
				s = openTest(t, path)
				if got := get(t, s, "a"); got != name {
					t.Errorf("%s: got %q", name, got)
				}
				_ = s.Close()
			}
		})
	}
}
