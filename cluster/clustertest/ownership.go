package clustertest

import (
	"fmt"
	"reflect"
	"sync"
	"time"

	"postern/cluster"
	"postern/store"
)

func cellIsMadeOnce(t fixture) {
	_, found, err := t.d.Look(t.ctx, "a")
	if _, check := t.d.Check(t.ctx); check != nil {
		t.Fatal(check)
	}
	if err == nil && found {
		t.Fatal("there is a cell before it was made")
	}
	t.create("a")
	if c := t.look("a"); !reflect.DeepEqual(c, cluster.Cell{ID: "id of a"}) {
		t.Errorf("the new cell is %+v", c)
	}
	t.wants(t.d.Create(t.ctx, "a", "other"), cluster.ErrExists)
	if c := t.look("a"); c.ID != "id of a" {
		t.Errorf("the ID became %q", c.ID)
	}
}

func onlyOneOfManyAcquires(t fixture) {
	t.create("a")
	for epoch := uint64(1); epoch <= 5; epoch++ {
		seen := t.look("a")
		var all sync.WaitGroup
		var mu sync.Mutex
		var grants []cluster.Grant
		for i := range 6 {
			all.Go(func() {
				g, err := t.d.Acquire(t.ctx, "a", member(fmt.Sprint("n", i)), seen)
				mu.Lock()
				defer mu.Unlock()
				if err == nil {
					grants = append(grants, g)
				} else {
					t.wants(err, cluster.ErrChanged)
				}
			})
		}
		all.Wait()
		if len(grants) != 1 || grants[0].Epoch != epoch {
			t.Fatalf("epoch %d has the grants %+v", epoch, grants)
		}
	}
}

func acquireNeedsTheStateAsSeen(t fixture) {
	t.create("a")
	seen := t.look("a")
	g := t.acquire("a", "n1")
	if want := (cluster.Grant{Cell: "a", ID: "id of a", Epoch: 1}); g != want {
		t.Errorf("grant %+v, want %+v", g, want)
	}
	_, err := t.d.Acquire(t.ctx, "a", member("n2"), seen)
	t.wants(err, cluster.ErrChanged)

	c := t.look("a")
	if !reflect.DeepEqual(c.Owner, member("n1")) || c.Released || time.Since(c.Since).Abs() > time.Minute {
		t.Errorf("the owned cell is %+v", c)
	}
	_, err = t.d.Renew(t.ctx, g)
	t.must(err)
	if t.look("a").Beat == c.Beat {
		t.Errorf("a renewal does not change the beat")
	}
	_, err = t.d.Acquire(t.ctx, "a", member("n2"), c)
	t.wants(err, cluster.ErrChanged)
	if g2 := t.acquire("a", "n2"); g2.Epoch != 2 {
		t.Errorf("the second grant is %+v", g2)
	}
}

func oldGrantIsFenced(t fixture) {
	t.create("a")
	g1 := t.acquire("a", "n1")
	t.commit(g1, 1, put("b", "k", "1"))
	g2 := t.acquire("a", "n2")
	if g2.Version != 1 || !g2.Stamp.Equal(change(1).Stamp) {
		t.Errorf("the grant is %+v, want version and stamp of the commit", g2)
	}
	t.wants(t.d.Commit(t.ctx, g1, change(2, put("b", "k", "old"))), store.ErrFenced)
	_, err := t.d.Renew(t.ctx, g1)
	t.wants(err, store.ErrFenced)
	t.wants(t.d.Release(t.ctx, g1), store.ErrFenced)
	t.commit(g2, 2, put("b", "k", "2"))
	if rows := t.rows("a"); !reflect.DeepEqual(rows, []store.Row{put("b", "k", "2")}) {
		t.Errorf("rows %v", rows)
	}
	if c := t.look("a"); c.Released {
		t.Errorf("an old grant released the cell")
	}
}

func releasedCellIsFreeAtOnce(t fixture) {
	t.create("a")
	g := t.acquire("a", "n1")
	t.commit(g, 1)
	t.must(t.d.Release(t.ctx, g))
	if c := t.look("a"); !c.Released || c.Owner.Name != "n1" || c.Epoch != 1 {
		t.Errorf("the released cell is %+v", c)
	}
	_, err := t.d.Renew(t.ctx, g)
	t.wants(err, store.ErrFenced)
	t.wants(t.d.Commit(t.ctx, g, change(2)), store.ErrFenced)
	if g := t.acquire("a", "n2"); g.Epoch != 2 || g.Version != 1 || t.look("a").Released {
		t.Errorf("the grant is %+v", g)
	}
}
