package store

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	bolt "go.etcd.io/bbolt"

	"postern/store/schema"
)

const testCell = "0123456789abcdef0123456789abcdef"

// database is a cell in memory.
type database struct {
	changes []Change
	rows    map[string]Row
	stamp   time.Time

	commit func(Change) error // called before a change happens; nil: it happens
	asked  int                // calls of Room
	room   error
	over   atomic.Bool // the grant
}

func newDatabase() *database { return &database{rows: map[string]Row{}} }

func (d *database) Commit(c Change) error {
	if d.commit != nil {
		if err := d.commit(c); err != nil {
			return err
		}
	}
	if c.Version != d.version()+1 {
		return fmt.Errorf("%w: version %d after %d", ErrDiverged, c.Version, d.version())
	}
	c.Rows = slices.Clone(c.Rows)
	for i, r := range c.Rows {
		r.Value = bytes.Clone(r.Value)
		c.Rows[i] = r
		if r.Value == nil {
			delete(d.rows, r.Bucket+"\x00"+string(r.Key))
		} else {
			d.rows[r.Bucket+"\x00"+string(r.Key)] = r
		}
	}
	d.changes, d.stamp = append(d.changes, c), c.Stamp
	return nil
}

func (d *database) Valid() bool     { return !d.over.Load() }
func (d *database) Room() error     { d.asked++; return d.room }
func (d *database) version() uint64 { return uint64(len(d.changes)) }

// after returns the changes after a version.
func (d *database) after(version uint64) []Change { return d.changes[version:] }

// load fills a new file at path.
func (d *database) load(t *testing.T, path string) {
	t.Helper()
	err := Load(Options{Path: path, Buckets: declared, Follow: testCell}, d.version(), func(put func(Row) error) (uint64, error) {
		for _, name := range slices.Sorted(maps.Keys(d.rows)) {
			if err := put(d.rows[name]); err != nil {
				return 0, err
			}
		}
		return d.version(), nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

func follow(o *Options) { o.Follow, o.NoSync = testCell, false }

// owner opens a file and makes it the owner of d.
func (d *database) owner(t *testing.T, path string, change ...func(*Options)) *Store {
	t.Helper()
	s := openTest(t, path, append([]func(*Options){follow}, change...)...)
	d.catchUp(t, s)
	if err := s.Lead(t.Context(), d, d.version(), d.stamp); err != nil {
		t.Fatal(err)
	}
	return s
}

func (d *database) catchUp(t *testing.T, s *Store) {
	t.Helper()
	if err := s.Apply(d.after(markOfStore(t, s).Version)); err != nil {
		t.Fatal(err)
	}
}

func markOfStore(t *testing.T, s *Store) CellMark {
	t.Helper()
	m, _, err := s.Mark()
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// contents returns all that a file shares with its cell, and the numbers given last.
func contents(t *testing.T, s *Store) map[string]string {
	t.Helper()
	all := map[string]string{}
	err := s.db.View(func(tx *bolt.Tx) error {
		return tx.ForEach(func(name []byte, b *bolt.Bucket) error {
			if string(name) == schema.Damaged.Name {
				return nil
			}
			all[string(name)] = fmt.Sprint(b.Sequence())
			return b.ForEach(func(k, v []byte) error {
				if string(name) != schema.Meta.Name || !isLocalMeta(k) {
					all[string(name)+"/"+string(k)] = string(v)
				}
				return nil
			})
		})
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func sameContents(t *testing.T, what string, got, want map[string]string) {
	t.Helper()
	for k, v := range want {
		if got[k] != v {
			t.Errorf("%s: %q is %q, not %q", what, k, got[k], v)
		}
	}
	for k, v := range got {
		if _, is := want[k]; !is {
			t.Errorf("%s: %q is %q, and should not be there", what, k, v)
		}
	}
}

// randomChange makes one of the changes that a transaction can make.
func randomChange(r *rand.Rand) func(tx *Tx) error {
	key, value := []byte(fmt.Sprint(r.IntN(200))), bytes.Repeat([]byte{byte(r.IntN(256))}, r.IntN(700))
	switch r.IntN(8) {
	case 0:
		return func(tx *Tx) error { return tx.Delete("thing", key) }
	case 1:
		return func(tx *Tx) error { return tx.TakeID("thing", uint64(r.IntN(1000))) }
	case 2:
		return func(tx *Tx) error {
			_, err := tx.DeleteSome("thing", key[:1], 10)
			return err
		}
	case 3:
		return func(tx *Tx) error {
			id, err := tx.NextID("entry")
			return errors.Join(err, tx.Put("entry", Key(id), Key(uint64(tx.Now().UnixMilli()))))
		}
	case 4:
		return func(tx *Tx) error {
			_, err := tx.NextID("entry")
			return errors.Join(err, tx.Put("thing", key, value), errors.New("refused after a write"))
		}
	}
	return func(tx *Tx) error { return tx.Put("thing", key, value) }
}

func getOf(t *testing.T, s *Store, key string) string {
	t.Helper()
	return string(view(t, s, func(tx *Tx) ([]byte, error) { return tx.Get("thing", []byte(key)) }))
}

func sameVersion(t *testing.T, s *Store, d *database) {
	t.Helper()
	if m := markOfStore(t, s); m.Version != d.version() {
		t.Errorf("the file is at version %d, the cell at %d", m.Version, d.version())
	}
}

func copyOf(from, to string) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.Create(to)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	return errors.Join(err, out.Close())
}
