package clustertest

import (
	"errors"
	"fmt"
	"reflect"
	"time"

	"postern/cluster"
	"postern/store"
)

// contentsOf returns what makes a cell of rows, at version 7.
func contentsOf(rows ...store.Row) cluster.Contents {
	return cluster.Contents{
		ID: "moved", Version: 7, Stamp: time.UnixMilli(1_700_000_000_000).UTC(), Secrets: map[string][]byte{"new": []byte("secret")},
		Rows: func(put func(store.Row) error) error {
			for _, r := range rows {
				if err := put(r); err != nil {
					return err
				}
			}
			return nil
		},
		Verify: func(back func(func(store.Row) error) error) error {
			var all []store.Row
			err := back(func(r store.Row) error {
				all = append(all, r)
				return nil
			})
			if err == nil && !reflect.DeepEqual(all, rows) {
				err = fmt.Errorf("the database has %q, and should have %q", keysOf(all), keysOf(rows))
			}
			return err
		},
	}
}

func movedInCellIsWhole(t fixture) {
	_, err := t.d.Check(t.ctx)
	t.must(err)
	var want []store.Row
	for i := range 30000 {
		want = append(want, put("b", fmt.Sprintf("%06d", i), fmt.Sprint("value ", i)))
	}
	t.must(t.d.MoveIn(t.ctx, "a", cluster.Cell{}, contentsOf(want...)))
	c := t.look("a")
	if c.ID != "moved" || c.Version != 7 || c.Epoch != 1 || c.Owner.Name != "" || c.Left || c.Released || !c.Stamp.Equal(contentsOf().Stamp) {
		t.Errorf("the cell is %+v", c)
	}
	if got := t.rows("a"); !reflect.DeepEqual(got, want) {
		t.Errorf("want %d of rows, got %d", len(want), len(got))
	}
	if _, complete, err := t.d.Changes(t.ctx, "a", 0, 10); err != nil || complete {
		t.Errorf("an empty file may follow: complete %v, error %v", complete, err)
	}

	g := t.acquire("a", "n1")
	t.commit(g, 8, put("b", "000000", "new"))
	t.must(t.d.SetSecret(t.ctx, "a", "old", []byte("old")))
	newer := contentsOf(want[:2]...)
	newer.Version = 20
	t.must(t.d.MoveIn(t.ctx, "a", t.look("a"), newer))
	if got := t.rows("a"); !reflect.DeepEqual(got, want[:2]) {
		t.Errorf("the rows are %q", keysOf(got))
	}
	if c := t.look("a"); c.Epoch != 3 || c.Version != 20 || c.Owner.Name != "" {
		t.Errorf("the replaced cell is %+v", c)
	}
	_, err = t.d.Renew(t.ctx, g)
	t.wants(err, store.ErrFenced)
	for name, value := range map[string]string{"old": "", "new": "secret"} {
		if got, err := t.d.Secret(t.ctx, "a", name); err != nil || string(got) != value {
			t.Errorf("secret %s is %q, error %v", name, got, err)
		}
	}
	if changes, _, err := t.d.Changes(t.ctx, "a", 0, 10); err != nil || len(changes) != 0 {
		t.Errorf("changes of the replaced cell are kept: %v, error %v", changes, err)
	}
	t.must(t.d.Barrier(t.ctx, "a"))
	t.commit(t.acquire("a", "n2"), 21)
}

func moveInNeedsTheStateAsSeen(t fixture) {
	t.create("a")
	t.wants(t.d.MoveIn(t.ctx, "a", cluster.Cell{}, contentsOf()), cluster.ErrChanged)
	seen := t.look("a")
	g := t.acquire("a", "n1")
	t.wants(t.d.MoveIn(t.ctx, "a", seen, contentsOf()), cluster.ErrChanged)
	seen = t.look("a")
	_, err := t.d.Renew(t.ctx, g)
	t.must(err)
	t.wants(t.d.MoveIn(t.ctx, "a", seen, contentsOf()), cluster.ErrChanged)
	t.wants(t.d.MoveIn(t.ctx, "b", seen, contentsOf()), cluster.ErrChanged)
	t.commit(g, 1)
	if c := t.look("a"); c.ID != "id of a" || c.Epoch != 1 {
		t.Errorf("the cell is %+v", c)
	}
}

func failedMoveInChangesNothing(t fixture) {
	t.create("a")
	t.commit(t.acquire("a", "n1"), 1, put("b", "k", "1"))
	t.must(t.d.SetSecret(t.ctx, "a", "key", []byte("one")))
	was := t.look("a")
	stop := errors.New("enough")
	for what, m := range map[string]cluster.Contents{
		"rows": {Rows: func(put func(store.Row) error) error {
			return errors.Join(put(store.Row{Bucket: "b", Key: []byte("x"), Value: []byte("x")}), stop)
		}},
		"verify": {Rows: contentsOf().Rows, Verify: func(func(func(store.Row) error) error) error { return stop }},
	} {
		for cell, seen := range map[string]cluster.Cell{"a": was, "new": {}} {
			m.ID, m.Version = "moved", 7
			if err := t.d.MoveIn(t.ctx, cell, seen, m); !errors.Is(err, stop) {
				t.Errorf("%s of %s: error %v", what, cell, err)
			}
		}
	}
	if c := t.look("a"); !reflect.DeepEqual(c, was) {
		t.Errorf("the cell became %+v, was %+v", c, was)
	}
	if _, found, err := t.d.Look(t.ctx, "new"); found || err != nil {
		t.Errorf("the other cell: found %v, error %v", found, err)
	}
	if rows := t.rows("a"); !reflect.DeepEqual(rows, []store.Row{put("b", "k", "1")}) {
		t.Errorf("rows %v", rows)
	}
	if value, err := t.d.Secret(t.ctx, "a", "key"); err != nil || string(value) != "one" {
		t.Errorf("secret %q, error %v", value, err)
	}
}

func movedOutCellIsLeft(t fixture) {
	t.create("a")
	g := t.acquire("a", "n1")
	t.commit(g, 1, put("b", "k", "1"))
	t.must(t.d.MoveOut(t.ctx, g))
	if c := t.look("a"); !c.Left || !c.Released {
		t.Errorf("the cell is %+v", c)
	}
	t.wants(t.d.Commit(t.ctx, g, change(2)), store.ErrFenced)
	t.wants(t.d.MoveOut(t.ctx, g), store.ErrFenced)
	g = t.acquire("a", "n1")
	if c := t.look("a"); !c.Left {
		t.Errorf("a new owner makes it %+v", c)
	}
	t.must(t.d.Release(t.ctx, g))
	t.must(t.d.MoveIn(t.ctx, "a", t.look("a"), contentsOf()))
	if c := t.look("a"); c.Left {
		t.Errorf("moved in, the cell is %+v", c)
	}
}
