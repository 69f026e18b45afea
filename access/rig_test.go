package access

import (
	"path/filepath"
	"testing"
	"time"

	"postern/store"
)

// rig is a data file that can be reopened.
type rig struct {
	t    *testing.T
	path string
	s    *store.Store
	now  func() time.Time // nil: time.Now
}

func newRig(t *testing.T) *rig {
	r := &rig{t: t, path: filepath.Join(t.TempDir(), "t.db")}
	r.open()
	t.Cleanup(func() { _ = r.s.Close() })
	return r
}

func (r *rig) open() {
	r.t.Helper()
	var err error
	if r.s, err = store.Open(store.Options{Path: r.path, Buckets: Buckets(), NoSync: true, MinFree: 1, Now: r.now}); err != nil {
		r.t.Fatal(err)
	}
}

// again reopens the file, as after a restart.
func (r *rig) again() {
	r.t.Helper()
	if err := r.s.Close(); err != nil {
		r.t.Fatal(err)
	}
	r.open()
}

func (r *rig) keys() *Keys {
	r.t.Helper()
	all, err := OpenKeys(r.s, nil)
	if err != nil {
		r.t.Fatal(err)
	}
	return all
}

func (r *rig) book() *Book {
	r.t.Helper()
	b, err := OpenBook(r.s, nil)
	if err != nil {
		r.t.Fatal(err)
	}
	return b
}

// list returns the records of a log, newest first.
func (r *rig) list(b *Book) []Record {
	r.t.Helper()
	page, err := b.List(Filter{}, 0, 0, 1000)
	if err != nil || page.Total != len(page.Records) {
		r.t.Fatalf("%d of %d, %v", len(page.Records), page.Total, err)
	}
	return page.Records
}

// sound returns a valid key.
func sound() Key { return Key{Name: "k", Scopes: []Scope{Read}} }

func later(d time.Duration) time.Time { return time.Now().Add(d) }
