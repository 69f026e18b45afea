package store

import (
	"errors"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"postern/store/schema"
)

func TestOfflineRowsAreThoseOfAnOwner(t *testing.T) {
	d, path := newDatabase(), filepath.Join(t.TempDir(), "owner.db")
	s := d.owner(t, path)
	r := rand.New(rand.NewPCG(1, 1))
	for range 60 {
		_ = s.Update(t.Context(), randomChange(r)) // some refuse
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	was, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	o, err := OpenOffline(path, declared)
	if err != nil {
		t.Fatal(err)
	}
	rows, sums, of := map[string]string{}, Totals{}, Totals{}
	for name, row := range d.rows {
		if row.Bucket != schema.Meta.Name {
			rows[name] = string(row.Value)
			if err := sums.Add(row); err != nil {
				t.Fatal(err)
			}
		}
	}
	err = o.Rows(t.Context(), func(row Row) error {
		if row.Bucket == schema.Meta.Name {
			if isLocalMeta(row.Key) {
				t.Errorf("meta/%s is of this file only", row.Key)
			}
			return nil
		}
		if name := row.Bucket + "\x00" + string(row.Key); rows[name] != string(row.Value) {
			t.Errorf("%q is %q, not %q", name, row.Value, rows[name])
		}
		return of.Add(row)
	})
	if err != nil || !maps.Equal(of, sums) || of.Rows() == 0 {
		t.Errorf("error %v, totals %v, want %v", err, of, sums)
	}
	if o.ID() != testCell || o.Mark().Version != d.version() {
		t.Errorf("it is %s, %+v", o.ID(), o.Mark())
	}
	if _, err := Open(Options{Path: path, Buckets: declared}); !errors.Is(err, ErrLocked) {
		t.Errorf("it can be opened meanwhile: %v", err)
	}
	if err := o.Close(); err != nil {
		t.Fatal(err)
	}
	if is, err := os.ReadFile(path); err != nil || string(is) != string(was) {
		t.Errorf("the file was changed, error %v", err)
	}
}

// TestCopyIsTakenOutForARestore: Alone opens the file of a standby, and from then on it needs
// no cell.
func TestCopyIsTakenOutForARestore(t *testing.T) {
	d, path := newDatabase(), filepath.Join(t.TempDir(), "copy.db")
	s := d.owner(t, filepath.Join(t.TempDir(), "owner.db"))
	defer s.Close()
	change(t, s, func(tx *Tx) error { return tx.Put("thing", []byte("key"), make([]byte, 500)) })
	d.load(t, path)
	if _, err := Open(Options{Path: path, Buckets: declared}); !errors.Is(err, ErrCopy) {
		t.Errorf("a copy opens without its cell: %v", err)
	}
	for _, o := range []Options{{Path: path, Buckets: declared, Alone: true}, {Path: path, Buckets: declared}} {
		alone, err := Open(o)
		if err != nil {
			t.Fatal(err)
		}
		if m := markOfStore(t, alone); !m.Alone {
			t.Errorf("the file says %+v", m)
		}
		if err := alone.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

func TestOfflineRefusesADamagedFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "some.db")
	s := openTest(t, path)
	change(t, s, func(tx *Tx) error { return tx.Put("thing", []byte("key"), make([]byte, 500)) })
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for at := 2 * os.Getpagesize(); at < len(raw); at += 64 {
		raw[at] ^= 0xff
	}
	if err := os.WriteFile(path, raw, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := OpenOffline(path, declared); !errors.Is(err, ErrCorrupt) {
		t.Errorf("error %v", err)
	}
}
