package move_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"postern/cluster"
	"postern/cluster/memory"
	"postern/cluster/move"
	"postern/store"
)

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
