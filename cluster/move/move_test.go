package move_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"postern/cluster"
	"postern/cluster/memory"
	"postern/cluster/move"
	"postern/store"
	"postern/store/schema"
)

const lease = 10 * time.Second

var buckets = []schema.Bucket{{Name: "thing", Owner: "test", Key: "any", Value: "any"}, {Name: "other", Owner: "test", Key: "any", Value: "any"}}

var secrets = map[string][]byte{"key": []byte("secret")}

// database is one in memory that can fail.
type database struct {
	*memory.Database
	die int // the step at which the process ends; 0: none
	at  int // the step that was reached
}

// killed is what a step panics with.
type killed struct{}

// step is a moment at which the process may end.
func (d *database) step() {
	if d.at++; d.at == d.die {
		panic(killed{})
	}
}

func (d *database) Check(ctx context.Context) (cluster.Server, error) {
	d.step()
	return d.Database.Check(ctx)
}

func (d *database) Look(ctx context.Context, cell string) (cluster.Cell, bool, error) {
	d.step()
	return d.Database.Look(ctx, cell)
}

func (d *database) MoveIn(ctx context.Context, cell string, seen cluster.Cell, m cluster.Contents) error {
	d.step()
	rows, verify := m.Rows, m.Verify
	m.Rows = func(put func(store.Row) error) error { return rows(d.second(put)) }
	m.Verify = func(back func(func(store.Row) error) error) error {
		d.step()
		err := verify(back)
		d.step()
		return err
	}
	err := d.Database.MoveIn(ctx, cell, seen, m)
	d.step()
	return err
}

func (d *database) Acquire(ctx context.Context, cell string, m cluster.Member, seen cluster.Cell) (cluster.Grant, error) {
	d.step()
	g, err := d.Database.Acquire(ctx, cell, m, seen)
	d.step()
	return g, err
}

func (d *database) Rows(ctx context.Context, cell string, fn func(store.Row) error) error {
	return d.Database.Rows(ctx, cell, d.second(fn))
}

// second returns fn with a step before its second call.
func (d *database) second(fn func(store.Row) error) func(store.Row) error {
	calls := 0
	return func(r store.Row) error {
		if calls++; calls == 2 {
			d.step()
		}
		return fn(r)
	}
}

func (d *database) MoveOut(ctx context.Context, g cluster.Grant) error {
	d.step()
	err := d.Database.MoveOut(ctx, g)
	d.step()
	return err
}

// until runs fn, which ends at step n. It reports whether fn got there.
func (d *database) until(n int, fn func()) (died bool) {
	d.at, d.die = 0, n
	defer func() {
		d.die = 0
		if p := recover(); p != nil {
			if _, is := p.(killed); !is {
				panic(p)
			}
			died = true
		}
	}()
	fn()
	return false
}

func options(path string) store.Options {
	return store.Options{Path: path, Buckets: buckets, NoSync: true, MinFree: 1}
}

func (d *database) config(path string, force bool) move.Config {
	return move.Config{Database: d, Cell: "main", Lease: lease, Path: path, Buckets: buckets, Force: force}
}

// file makes a data file with some records.
func file(t *testing.T, keys ...string) (path string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "postern.db")
	s, err := store.Open(options(path))
	if err != nil {
		t.Fatal(err)
	}
	put(t, s, keys...)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	return path
}

func put(t *testing.T, s *store.Store, keys ...string) {
	t.Helper()
	for _, key := range keys {
		err := s.Update(t.Context(), func(tx *store.Tx) error {
			_, err := tx.NextID("thing")
			return errors.Join(err, tx.Put("thing", []byte(key), []byte("of "+key)))
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}

// contents are the records of an open file, and the number given last.
func contents(t *testing.T, s *store.Store) map[string]string {
	t.Helper()
	all := map[string]string{}
	err := s.View(func(tx *store.Tx) error {
		last, err := tx.LastID("thing")
		all["last"] = fmt.Sprint(last)
		return errors.Join(err, tx.Scan("thing", store.Range{}, func(key, value []byte) (bool, error) {
			all["/"+string(key)] = string(value)
			return true, nil
		}))
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// alone returns what a file has that no cell concerns.
func alone(t *testing.T, path string) map[string]string {
	t.Helper()
	s, err := store.Open(options(path))
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	return contents(t, s)
}

// lead returns the file of a node once it owns the cell, and what stops the node.
func (d *database) lead(t *testing.T, name, path string) (s *store.Store, stop func(), err error) {
	t.Helper()
	n := cluster.New(cluster.Config{
		Database: d.Database, Cell: "main", Name: name, Lease: lease, Logger: slog.New(slog.DiscardHandler), File: options(path),
		Ended: func(err error) { t.Errorf("the node ended: %v", err) },
	})
	s, err = n.Lead(t.Context())
	return s, func() {
		if s != nil {
			err = s.Close()
		}
		if err := errors.Join(err, n.Stop(t.Context())); err != nil && s != nil {
			t.Error(err)
		}
	}, err
}

// owned returns what an owner of the cell has in its file.
func (d *database) owned(t *testing.T, name, path string) map[string]string {
	t.Helper()
	s, stop, err := d.lead(t, name, path)
	defer stop()
	if err != nil {
		t.Fatal(err)
	}
	return contents(t, s)
}

func (d *database) look(t *testing.T) (cluster.Cell, bool) {
	t.Helper()
	c, found, err := d.Database.Look(t.Context(), "main")
	if err != nil {
		t.Fatal(err)
	}
	return c, found
}

// must is look for a cell that is there.
func (d *database) must(t *testing.T) cluster.Cell {
	t.Helper()
	c, found := d.look(t)
	if !found {
		t.Fatal("there is no cell")
	}
	return c
}

func same(t *testing.T, what string, got, want map[string]string) {
	t.Helper()
	if !maps.Equal(got, want) {
		t.Errorf("%s has %v, want %v", what, got, want)
	}
}

func wants(t *testing.T, err, want error) {
	t.Helper()
	if !errors.Is(err, want) {
		t.Errorf("error %v, want one that wraps %q", err, want)
	}
}

var three = map[string]string{"last": "3", "/a": "of a", "/b": "of b", "/c": "of c"}

func TestNodesStartOnAMovedFile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d, path := &database{Database: &memory.Database{}}, file(t, "a", "b", "c")
		r, err := move.In(t.Context(), d.config(path, false), secrets)
		if err != nil {
			t.Fatal(err)
		}
		if r.Version != 1 || r.Rows < 3 {
			t.Errorf("it says %+v", r)
		}
		if value, err := d.Secret(t.Context(), "main", "key"); err != nil || string(value) != "secret" {
			t.Errorf("the secret is %q, error %v", value, err)
		}
		if _, err := store.Open(options(path)); !errors.Is(err, store.ErrCopy) {
			t.Errorf("the file opens without its cell: %v", err)
		}
		same(t, "a node on the file", d.owned(t, "n1", path), three)
		same(t, "a node without a file", d.owned(t, "n2", filepath.Join(t.TempDir(), "new.db")), three)
		wants(t, errOf(move.In(t.Context(), d.config(path, false), nil)), cluster.ErrExists)
	})
}

func errOf(_ move.Result, err error) error { return err }

func TestKilledMoveInLeavesFileOrCell(t *testing.T) {
	for n, died := 1, true; died; n++ {
		synctest.Test(t, func(t *testing.T) {
			d, path := &database{Database: &memory.Database{}}, file(t, "a", "b", "c")
			was, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			died = d.until(n, func() { _, err = move.In(t.Context(), d.config(path, false), secrets) })
			if err != nil {
				t.Fatal(err)
			}
			if _, found := d.look(t); found {
				same(t, fmt.Sprintf("step %d: a node on the file", n), d.owned(t, "n1", path), three)
				return
			}
			if is, _ := os.ReadFile(path); string(is) != string(was) && n < d.at-1 {
				t.Errorf("step %d of %d: the file was changed", n, d.at)
			}
			s, stop, err := d.lead(t, "n1", path) // makes a cell
			stop()
			if err == nil || s != nil {
				t.Errorf("step %d: a node started on the file: %v", n, err)
			}
			if err := d.Drop(t.Context(), "main"); err != nil {
				t.Fatal(err)
			}
			same(t, fmt.Sprintf("step %d: the file", n), alone(t, path), three)
			if _, err := move.In(t.Context(), d.config(path, false), secrets); err != nil {
				t.Errorf("step %d: moved again: %v", n, err)
			}
			same(t, fmt.Sprintf("step %d: a node at last", n), d.owned(t, "n1", path), three)
		})
		if n > 100 {
			t.Fatal("it never ends")
		}
		if !died && n < 6 {
			t.Fatalf("there are only %d steps", n)
		}
	}
}

func TestKilledReplacementKeepsTheCell(t *testing.T) {
	for n, died := 1, true; died; n++ {
		synctest.Test(t, func(t *testing.T) {
			d, path, first := &database{Database: &memory.Database{}}, file(t, "a", "b", "c"), file(t, "x")
			if _, err := move.In(t.Context(), d.config(first, false), secrets); err != nil {
				t.Fatal(err)
			}
			was, _ := d.look(t)
			var err error
			died = d.until(n, func() { _, err = move.In(t.Context(), d.config(path, true), nil) })
			if err != nil {
				t.Fatal(err)
			}
			if is, _ := d.look(t); is.ID == was.ID {
				same(t, fmt.Sprintf("step %d: the former cell", n), d.owned(t, "n1", first), map[string]string{"last": "1", "/x": "of x"})
				same(t, fmt.Sprintf("step %d: the file", n), alone(t, path), three)
				return
			}
			same(t, fmt.Sprintf("step %d: the new cell", n), d.owned(t, "n1", path), three)
			_, stop, err := d.lead(t, "n2", first)
			stop()
			wants(t, err, store.ErrOtherCell)
		})
	}
}

func TestMoveInFailsWithoutATrace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d, path := &database{Database: &memory.Database{}}, file(t, "a", "b", "c")
		d.SetAway(true)
		wants(t, errOf(move.In(t.Context(), d.config(path, false), nil)), cluster.ErrUnreachable)
		d.SetAway(false)

		open, err := store.Open(options(path))
		if err != nil {
			t.Fatal(err)
		}
		wants(t, errOf(move.In(t.Context(), d.config(path, false), nil)), store.ErrLocked)
		if err := open.Close(); err != nil {
			t.Fatal(err)
		}
		beside := &interloper{database: d}
		c := d.config(path, false)
		c.Database = beside
		wants(t, errOf(move.In(t.Context(), c, nil)), cluster.ErrChanged)
		same(t, "the file", alone(t, path), three)
	})
}

// interloper is a database in which another process makes the cell meanwhile.
type interloper struct{ *database }

func (d *interloper) MoveIn(ctx context.Context, cell string, seen cluster.Cell, m cluster.Contents) error {
	return errors.Join(d.Create(ctx, cell, "other"), d.Database.MoveIn(ctx, cell, seen, m))
}

func TestMoveInRefusesALiveOwner(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d, path, first := &database{Database: &memory.Database{}}, file(t, "a", "b", "c"), file(t, "x")
		if _, err := move.In(t.Context(), d.config(first, false), nil); err != nil {
			t.Fatal(err)
		}
		s, stop, err := d.lead(t, "n1", first)
		if err != nil {
			t.Fatal(err)
		}
		wants(t, errOf(move.In(t.Context(), d.config(path, true), nil)), move.ErrOwned)
		put(t, s, "y")
		stop()
		if _, err := move.In(t.Context(), d.config(path, true), nil); err != nil {
			t.Fatal(err)
		}

		// One that died is waited for.
		seen, _ := d.look(t)
		if _, err := d.Database.Acquire(t.Context(), "main", cluster.Member{Name: "n1", Lease: 3 * lease}, seen); err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		if _, err := move.In(t.Context(), d.config(path, true), nil); err != nil || time.Since(began) < 3*lease {
			t.Errorf("after %s: error %v", time.Since(began), err)
		}
	})
}

func TestMoveInRefusesACopyThatIsBehind(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d, path := &database{Database: &memory.Database{}}, file(t, "a")
		if _, err := move.In(t.Context(), d.config(path, false), nil); err != nil {
			t.Fatal(err)
		}
		other := filepath.Join(t.TempDir(), "other.db")
		s, stop, err := d.lead(t, "n1", other)
		if err != nil {
			t.Fatal(err)
		}
		put(t, s, "b")
		stop()
		wants(t, errOf(move.In(t.Context(), d.config(path, true), nil)), move.ErrBehind)

		// The newest copy replaces a cell that went back, and other copies are loaded again.
		d.Forget("main", 1)
		if _, err := move.In(t.Context(), d.config(other, true), nil); err != nil {
			t.Fatal(err)
		}
		want := map[string]string{"last": "2", "/a": "of a", "/b": "of b"}
		same(t, "a node on the newest file", d.owned(t, "n1", other), want)
		same(t, "a node on an older file", d.owned(t, "n2", path), want)
	})
}

// A copy that was moved in although another one is newer is the cell from then on: that other
// one is loaded again.
func TestCopiesNewerThanTheMovedCellAreReloaded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d, path := &database{Database: &memory.Database{}}, file(t, "a")
		if _, err := move.In(t.Context(), d.config(path, false), nil); err != nil {
			t.Fatal(err)
		}
		write := func(name, path string, keys ...string) {
			t.Helper()
			s, stop, err := d.lead(t, name, path)
			if err != nil {
				t.Fatal(err)
			}
			put(t, s, keys...)
			stop()
		}
		older, newest := filepath.Join(t.TempDir(), "older.db"), filepath.Join(t.TempDir(), "newest.db")
		write("n1", older, "b")
		write("n2", newest) // its first commit is the one that only it has
		at := d.must(t).Version
		d.Forget("main", int(at)-1)
		if _, err := move.In(t.Context(), d.config(older, true), nil); err != nil {
			t.Fatal(err)
		}
		if now := d.must(t).Version; now <= at {
			t.Errorf("the cell has the version %d, and a copy has %d", now, at)
		}
		write("n1", older, "c")
		want := map[string]string{"last": "3", "/a": "of a", "/b": "of b", "/c": "of c"}
		same(t, "a node on the newer copy", d.owned(t, "n2", newest), want)
	})
}

// A cell that went back and went on without what it lost is replaced by the newest file once
// its data were taken out.
func TestNewestFileReplacesACellThatWentOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d, newest := &database{Database: &memory.Database{}}, file(t, "a")
		if _, err := move.In(t.Context(), d.config(newest, false), nil); err != nil {
			t.Fatal(err)
		}
		s, stop, err := d.lead(t, "n1", newest)
		if err != nil {
			t.Fatal(err)
		}
		put(t, s, "b", "c")
		stop()
		d.Forget("main", 2)
		s, stop, err = d.lead(t, "n2", filepath.Join(t.TempDir(), "new.db")) // it cannot know
		if err != nil {
			t.Fatal(err)
		}
		put(t, s, "d", "e", "f", "g")
		stop()
		err = errOf(move.In(t.Context(), d.config(newest, true), nil))
		wants(t, err, move.ErrBehind)
		if !strings.Contains(err.Error(), "migrate --from") {
			t.Errorf("it does not say what to do: %v", err)
		}
		out := filepath.Join(t.TempDir(), "out.db")
		if _, err := move.Out(t.Context(), d.config(out, false), nil, func(map[string][]byte) error { return nil }); err != nil {
			t.Fatal(err)
		}
		if _, err := move.In(t.Context(), d.config(newest, true), nil); err != nil {
			t.Fatal(err)
		}
		same(t, "a node", d.owned(t, "n3", filepath.Join(t.TempDir(), "n3.db")), three)
		if got := alone(t, out); got["/g"] != "of g" {
			t.Errorf("what the cell had meanwhile is lost: %v", got)
		}
	})
}

// A database that was lost has no cell: a node with a copy does not begin an empty one.
func TestLostDatabaseIsNotBegunAnew(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d, path := &database{Database: &memory.Database{}}, file(t, "a", "b", "c")
		if _, err := move.In(t.Context(), d.config(path, false), nil); err != nil {
			t.Fatal(err)
		}
		same(t, "a node", d.owned(t, "n1", path), three)
		d.Database = &memory.Database{}
		_, stop, err := d.lead(t, "n1", path)
		stop()
		wants(t, err, cluster.ErrWentBack)
		if _, found := d.look(t); found {
			t.Error("it made a cell")
		}
		if _, err := move.In(t.Context(), d.config(path, false), nil); err != nil {
			t.Fatal(err)
		}
		same(t, "a node on the file", d.owned(t, "n1", path), three)
	})
}

func TestMovedOutFileGoesOnAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d, path := &database{Database: &memory.Database{}}, file(t, "a", "b", "c")
		if _, err := move.In(t.Context(), d.config(path, false), secrets); err != nil {
			t.Fatal(err)
		}
		out := filepath.Join(t.TempDir(), "out.db")
		var kept map[string][]byte
		keep := func(all map[string][]byte) error {
			kept = all
			return nil
		}
		wants(t, errOf(move.Out(t.Context(), d.config(path, false), []string{"key"}, keep)), fs.ErrExist)
		r, err := move.Out(t.Context(), d.config(out, false), []string{"key"}, keep)
		if err != nil || r.Rows < 3 || string(kept["key"]) != "secret" {
			t.Fatalf("it says %+v, secrets %q, error %v", r, kept, err)
		}
		s, err := store.Open(options(out))
		if err != nil {
			t.Fatal(err)
		}
		if mark, is, err := s.Mark(); !is || !mark.Alone || err != nil {
			t.Errorf("the file says %+v, error %v", mark, err)
		}
		same(t, "the file", contents(t, s), three)
		put(t, s, "d")
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		for name, path := range map[string]string{"n1": path, "n2": out, "n3": filepath.Join(t.TempDir(), "new.db")} {
			_, stop, err := d.lead(t, name, path)
			stop()
			if !errors.Is(err, cluster.ErrLeft) && !errors.Is(err, store.ErrNoCell) {
				t.Errorf("a node on %s: %v", path, err)
			}
		}
		wants(t, errOf(move.Out(t.Context(), d.config(out+"2", false), nil, keep)), cluster.ErrLeft)

		if _, err := move.In(t.Context(), d.config(out, true), secrets); err != nil {
			t.Fatal(err)
		}
		want := maps.Clone(three)
		want["last"], want["/d"] = "4", "of d"
		same(t, "a node on the file that went on", d.owned(t, "n2", out), want)
		same(t, "a node on the former file", d.owned(t, "n1", path), want)
	})
}

func TestMoveOutTakesOverOnlyByForce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d, path := &database{Database: &memory.Database{}}, file(t, "a", "b", "c")
		if _, err := move.In(t.Context(), d.config(path, false), secrets); err != nil {
			t.Fatal(err)
		}
		var ended atomic.Pointer[error]
		n := cluster.New(cluster.Config{
			Database: d.Database, Cell: "main", Name: "n1", Address: "http://n1", Lease: lease, Logger: slog.New(slog.DiscardHandler), File: options(path),
			Ended: func(err error) { ended.Store(&err) },
		})
		s, err := n.Lead(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		out := filepath.Join(t.TempDir(), "out.db")
		keep := func(map[string][]byte) error { return nil }
		err = errOf(move.Out(t.Context(), d.config(out, false), nil, keep))
		if wants(t, err, move.ErrOwned); err == nil || !strings.Contains(err.Error(), "n1 at http://n1") {
			t.Errorf("the error does not name the owner: %v", err)
		}
		if _, err := move.Out(t.Context(), d.config(out, true), nil, keep); err != nil {
			t.Fatal(err)
		}
		time.Sleep(lease)
		synctest.Wait()
		if err := ended.Load(); err == nil || !errors.Is(*err, store.ErrFenced) {
			t.Errorf("the owner ended with %v", err)
		}
		same(t, "the file", alone(t, out), three)
	})
}

func TestKilledMoveOutLeavesOneTruth(t *testing.T) {
	if testing.Short() {
		t.Skip("kills at every step")
	}
	for n, died := 1, true; died; n++ {
		synctest.Test(t, func(t *testing.T) {
			d, path := &database{Database: &memory.Database{}}, file(t, "a", "b", "c")
			if _, err := move.In(t.Context(), d.config(path, false), secrets); err != nil {
				t.Fatal(err)
			}
			out := filepath.Join(t.TempDir(), "out.db")
			var err error
			died = d.until(n, func() {
				_, err = move.Out(t.Context(), d.config(out, false), nil, func(map[string][]byte) error { return nil })
			})
			if err != nil {
				t.Fatal(err)
			}
			c, _ := d.look(t)
			if _, err := os.Lstat(out); err == nil && !c.Left {
				t.Errorf("step %d: both the file and the cell go on", n)
			} else if err != nil && !c.Left {
				same(t, fmt.Sprintf("step %d: a node", n), d.owned(t, "n1", path), three)
				return
			} else if err != nil {
				if _, err := move.Out(t.Context(), d.config(out, true), nil, func(map[string][]byte) error { return nil }); err != nil {
					t.Fatalf("step %d: %v", n, err)
				}
			}
			same(t, fmt.Sprintf("step %d: the file", n), alone(t, out), three)
		})
	}
}
