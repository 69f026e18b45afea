package device

import (
	"path/filepath"
	"testing"
	"time"

	wastore "go.mau.fi/whatsmeow/store"
	"go.mau.fi/whatsmeow/types"

	"postern/event"
	"postern/store"
)

// file is a data file with a container that can be closed and opened again.
type file struct {
	path string
	*store.Store
	container *Container
	now       func() time.Time // nil: the time of day
}

func newFile(t *testing.T) *file {
	t.Helper()
	f := &file{path: filepath.Join(t.TempDir(), "data.db")}
	f.open(t)
	t.Cleanup(func() { _ = f.Close() })
	return f
}

func (f *file) open(t *testing.T) {
	t.Helper()
	st, err := store.Open(store.Options{Path: f.path, Buckets: Buckets(), NoSync: true, Now: f.now})
	if err != nil {
		t.Fatal(err)
	}
	f.Store = st
	if f.container, err = Open(st, nil); err != nil {
		t.Fatal(err)
	}
	f.container.Join(event.WhatsApp)
	f.container.KeepLoggedOut(0) // as network_test.go does not
}

func (f *file) reopen(t *testing.T) {
	t.Helper()
	check(t, f.container.Close(t.Context()))
	f.crash(t)
}

// crash opens the file again although the devices are in use.
func (f *file) crash(t *testing.T) {
	t.Helper()
	check(t, f.Close())
	f.open(t)
}

// stores returns the stores of an instance whose device has nothing but its record.
func (f *file) stores(t *testing.T, instance int64) wastore.AllStores {
	t.Helper()
	check(t, f.Update(t.Context(), func(tx *store.Tx) error {
		if tx.Has(deviceBucket, recordKey(instance)) {
			return nil
		}
		return tx.Put(deviceBucket, recordKey(instance), []byte("{}"))
	}))
	d := f.container.New(instance)
	f.container.initialise(d, instance)
	return both{d.Sessions.(*account), f.container.lids}
}

// both has all interfaces of the library.
type both struct {
	*account
	*lidMap
}

// pair makes a paired device as the library does.
func (f *file) pair(t *testing.T, instance int64, jid types.JID) *wastore.Device {
	t.Helper()
	d := f.container.New(instance)
	d.ID = &jid
	if err := d.Save(t.Context()); err != nil {
		t.Fatal(err)
	}
	return d
}

// commits returns how many commits fn costs.
func (f *file) commits(fn func()) uint64 {
	before := f.Stats().Commits
	fn()
	return f.Stats().Commits - before
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
