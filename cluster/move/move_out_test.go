package move_test

import (
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
)

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
			Awake: awake(),
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
