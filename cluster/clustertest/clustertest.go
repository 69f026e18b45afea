// Package clustertest holds implementations of cluster.Database against its rules.
package clustertest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"reflect"
	"slices"
	"sync"
	"testing"
	"time"

	"postern/cluster"
	"postern/store"
)

// Run runs the tests, each with a database of its own that has no cell. open calls
// [cluster.Database.Close] at the end of the test.
func Run(t *testing.T, open func(t *testing.T) cluster.Database) {
	for _, test := range []struct {
		name string
		run  func(fixture)
	}{
		{"CellIsMadeOnce", cellIsMadeOnce},
		{"OnlyOneOfManyAcquires", onlyOneOfManyAcquires},
		{"AcquireNeedsTheStateAsSeen", acquireNeedsTheStateAsSeen},
		{"OldGrantIsFenced", oldGrantIsFenced},
		{"ReleasedCellIsFreeAtOnce", releasedCellIsFreeAtOnce},
		{"VersionsFollowEachOther", versionsFollowEachOther},
		{"BytesStayAsTheyAre", bytesStayAsTheyAre},
		{"ChangesLeadToTheRows", changesLeadToTheRows},
		{"ChangesComeInSteps", changesComeInSteps},
		{"CellsAreApart", cellsAreApart},
		{"PruneKeepsWhatNodesNeed", pruneKeepsWhatNodesNeed},
		{"FilledRowsAreThere", filledRowsAreThere},
		{"MovedInCellIsWhole", movedInCellIsWhole},
		{"MoveInNeedsTheStateAsSeen", moveInNeedsTheStateAsSeen},
		{"FailedMoveInChangesNothing", failedMoveInChangesNothing},
		{"MovedOutCellIsLeft", movedOutCellIsLeft},
		{"NameBelongsToOneProcess", nameBelongsToOneProcess},
		{"MembersAreReported", membersAreReported},
		{"SecretsAreKept", secretsAreKept},
		{"DroppedCellLeavesNothing", droppedCellLeavesNothing},
		{"CallsEndWithTheContext", callsEndWithTheContext},
	} {
		t.Run(test.name, func(t *testing.T) {
			d := open(t)
			ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
			defer cancel()
			test.run(fixture{t, d, ctx})
		})
	}
}

type fixture struct {
	*testing.T
	d   cluster.Database
	ctx context.Context
}

func (f fixture) must(err error) {
	f.Helper()
	if err != nil {
		f.Fatal(err)
	}
}

func (f fixture) wants(err, want error) {
	f.Helper()
	if !errors.Is(err, want) {
		f.Errorf("error %v, want one that wraps %q", err, want)
	}
}

func (f fixture) create(cell string) {
	f.Helper()
	_, err := f.d.Check(f.ctx)
	f.must(err)
	f.must(f.d.Create(f.ctx, cell, "id of "+cell))
}

func (f fixture) look(cell string) cluster.Cell {
	f.Helper()
	c, found, err := f.d.Look(f.ctx, cell)
	f.must(err)
	if !found {
		f.Fatalf("there is no cell %s", cell)
	}
	return c
}

func (f fixture) acquire(cell, node string) cluster.Grant {
	f.Helper()
	g, err := f.d.Acquire(f.ctx, cell, member(node), f.look(cell))
	f.must(err)
	return g
}

func (f fixture) commit(g cluster.Grant, version uint64, rows ...store.Row) {
	f.Helper()
	f.must(f.d.Commit(f.ctx, g, change(version, rows...)))
}

func (f fixture) rows(cell string) []store.Row {
	f.Helper()
	var all []store.Row
	f.must(f.d.Rows(f.ctx, cell, func(r store.Row) error {
		all = append(all, r)
		return nil
	}))
	return all
}

func member(name string) cluster.Member {
	return cluster.Member{
		Name: name, Run: "run of " + name, Address: "http://" + name, Program: "1.0", Role: "owner", Version: 3, Lease: 10 * time.Second,
		Digests: map[string]string{"auth.key": "12ab"},
	}
}

func change(version uint64, rows ...store.Row) store.Change {
	return store.Change{Version: version, Stamp: time.UnixMilli(1_700_000_000_000 + int64(version)).UTC(), Rows: rows}
}

func put(bucket, key, value string) store.Row {
	return store.Row{Bucket: bucket, Key: []byte(key), Value: []byte(value)}
}

// keysOf returns what rows are about.
func keysOf(rows []store.Row) (keys []string) {
	for _, r := range rows {
		keys = append(keys, r.Bucket+" "+string(r.Key))
	}
	return keys
}

func gone(bucket, key string) store.Row { return store.Row{Bucket: bucket, Key: []byte(key)} }

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

func versionsFollowEachOther(t fixture) {
	t.create("a")
	g := t.acquire("a", "n1")
	t.wants(t.d.Commit(t.ctx, g, change(2, put("b", "k", "2"))), store.ErrDiverged)
	t.commit(g, 1, put("b", "k", "1"))
	other := change(1, put("b", "k", "other"))
	other.Stamp = other.Stamp.Add(time.Second)
	t.wants(t.d.Commit(t.ctx, g, other), store.ErrDiverged)
	t.wants(t.d.Commit(t.ctx, g, change(3)), store.ErrDiverged)
	if c := t.look("a"); c.Version != 1 || !c.Stamp.Equal(change(1).Stamp) {
		t.Errorf("the cell is %+v", c)
	}
	if rows := t.rows("a"); !reflect.DeepEqual(rows, []store.Row{put("b", "k", "1")}) {
		t.Errorf("rows %v", rows)
	}
	t.must(t.d.Barrier(t.ctx, "a"))
}

func bytesStayAsTheyAre(t fixture) {
	t.create("a")
	g := t.acquire("a", "n1")
	large := bytes.Repeat([]byte("0123456789abcdef"), 1<<16)
	rows := []store.Row{
		put("a bücket", "\x00\xff", "\x00"), put("b", "\x00", "zero"), put("b", "k", string(large)), put("b", `"{},\`, `"{},\`), put("c", "null", "NULL"), put("d", "deleted", "x"),
	}
	t.commit(g, 1, rows...)
	t.commit(g, 2, gone("d", "deleted"), gone("d", "never there"))
	want := []store.Row{rows[0], rows[1], rows[3], rows[2], rows[4]}
	if got := t.rows("a"); !reflect.DeepEqual(got, want) {
		t.Errorf("the rows are others: %q", keysOf(got))
	}
	changes, complete, err := t.d.Changes(t.ctx, "a", 0, 10)
	t.must(err)
	if !complete || !reflect.DeepEqual(changes, []store.Change{change(1, rows...), change(2, gone("d", "deleted"), gone("d", "never there"))}) {
		t.Errorf("complete %v, and %d changes are others", complete, len(changes))
	}
}

// contents are the rows that changes lead to.
type contents map[string]store.Row

func (c contents) apply(change store.Change) {
	for _, r := range change.Rows {
		name := r.Bucket + "\x00" + string(r.Key)
		if r.Value == nil {
			delete(c, name)
		} else {
			c[name] = r
		}
	}
}

func (c contents) sorted() []store.Row {
	return slices.SortedFunc(maps.Values(c), func(a, b store.Row) int {
		if a.Bucket != b.Bucket {
			return bytes.Compare([]byte(a.Bucket), []byte(b.Bucket))
		}
		return bytes.Compare(a.Key, b.Key)
	})
}

// randomChange changes rows of few keys, each at most once.
func randomChange(r *rand.Rand, version uint64) store.Change {
	c := change(version)
	seen := map[string]bool{}
	for range r.IntN(12) {
		row := put(fmt.Sprint("bucket", r.IntN(3)), fmt.Sprint("key", r.IntN(40)), fmt.Sprint("value ", version, " ", r.Uint64()))
		if name := row.Bucket + string(row.Key); !seen[name] {
			seen[name] = true
			if r.IntN(3) == 0 {
				row.Value = nil
			}
			c.Rows = append(c.Rows, row)
		}
	}
	return c
}

func changesLeadToTheRows(t fixture) {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 0)) //nolint:gosec // of a test
	t.create("a")
	var g cluster.Grant
	followed, follower := contents{}, uint64(0)
	for version := uint64(1); version <= 200; version++ {
		if version%50 == 1 {
			g = t.acquire("a", fmt.Sprint("n", version))
		}
		t.must(t.d.Commit(t.ctx, g, randomChange(r, version)))
		if r.IntN(10) != 0 && version != 200 {
			continue
		}
		changes, complete, err := t.d.Changes(t.ctx, "a", follower, 1000)
		t.must(err)
		if !complete || uint64(len(changes)) != version-follower {
			t.Fatalf("complete %v, %d changes after %d at %d", complete, len(changes), follower, version)
		}
		for _, c := range changes {
			if follower++; c.Version != follower {
				t.Fatalf("version %d comes after %d", c.Version, follower-1)
			}
			followed.apply(c)
		}
		if got, want := t.rows("a"), followed.sorted(); !reflect.DeepEqual(got, want) {
			t.Fatalf("version %d has the rows %q, and changes lead to %q", version, keysOf(got), keysOf(want))
		}
	}
}

func changesComeInSteps(t fixture) {
	t.create("a")
	g := t.acquire("a", "n1")
	for version := uint64(1); version <= 7; version++ {
		t.commit(g, version, put("b", "k", fmt.Sprint(version)))
	}
	for _, want := range []struct {
		after    uint64
		limit    int
		versions []uint64
	}{
		{0, 3, []uint64{1, 2, 3}},
		{3, 3, []uint64{4, 5, 6}},
		{6, 3, []uint64{7}},
		{7, 3, nil},
	} {
		changes, complete, err := t.d.Changes(t.ctx, "a", want.after, want.limit)
		t.must(err)
		var versions []uint64
		for _, c := range changes {
			versions = append(versions, c.Version)
		}
		if !complete || !slices.Equal(versions, want.versions) {
			t.Errorf("after %d: complete %v, versions %v", want.after, complete, versions)
		}
	}
}

func cellsAreApart(t fixture) {
	t.create("a")
	t.create("b")
	ga, gb := t.acquire("a", "n1"), t.acquire("b", "n1")
	t.commit(ga, 1, put("x", "k", "a"))
	t.commit(gb, 1, put("x", "k", "b"))
	t.commit(ga, 2, gone("x", "k"))
	if rows := t.rows("b"); !reflect.DeepEqual(rows, []store.Row{put("x", "k", "b")}) {
		t.Errorf("rows of the other cell: %v", rows)
	}
	if rows := t.rows("a"); len(rows) != 0 {
		t.Errorf("rows %v", rows)
	}
	t.must(t.d.Drop(t.ctx, "a"))
	if c := t.look("b"); c.Version != 1 || len(t.rows("b")) != 1 {
		t.Errorf("the other cell is %+v", c)
	}
}

func pruneKeepsWhatNodesNeed(t fixture) {
	t.create("a")
	g := t.acquire("a", "n1")
	for version := uint64(1); version <= 20; version++ {
		t.commit(g, version, put("b", "k", fmt.Sprint(version)))
	}
	standby := member("n2")
	standby.Version = 12
	t.must(t.d.Join(t.ctx, "a", standby))
	prune := func(keep, removed int, oldest uint64) {
		t.Helper()
		n, err := t.d.Prune(t.ctx, "a", keep)
		t.must(err)
		if n != removed {
			t.Errorf("%d changes were removed, want %d", n, removed)
		}
		changes, complete, err := t.d.Changes(t.ctx, "a", oldest-1, 100)
		t.must(err)
		if !complete || len(changes) != 20-int(oldest)+1 {
			t.Errorf("complete %v, %d changes are kept from %d on", complete, len(changes), oldest)
		}
		if _, complete, err = t.d.Changes(t.ctx, "a", oldest-2, 100); err != nil || complete {
			t.Errorf("complete %v, error %v for what was removed", complete, err)
		}
	}
	prune(15, 5, 6)
	prune(3, 7, 13)
	standby.Version = 20
	t.must(t.d.Join(t.ctx, "a", standby))
	prune(3, 5, 18)
	if rows := t.rows("a"); !reflect.DeepEqual(rows, []store.Row{put("b", "k", "20")}) {
		t.Errorf("rows %v", rows)
	}
}

func filledRowsAreThere(t fixture) {
	t.create("a")
	var want []store.Row
	for i := range 2500 {
		want = append(want, put("b", fmt.Sprintf("%06d", i), fmt.Sprint("value ", i)))
	}
	t.must(t.d.Fill(t.ctx, "a", want[:1000]))
	t.must(t.d.Fill(t.ctx, "a", want[1000:]))
	if got := t.rows("a"); !reflect.DeepEqual(got, want) {
		t.Errorf("of %d there are %d", len(want), len(got))
	}
	g := t.acquire("a", "n1")
	if g.Version != 0 || !g.Stamp.IsZero() {
		t.Errorf("the grant is %+v", g)
	}
	t.commit(g, 1, put("b", "000000", "new"))

	stop := errors.New("enough")
	n := 0
	err := t.d.Rows(t.ctx, "a", func(store.Row) error {
		if n++; n == 3 {
			return stop
		}
		return nil
	})
	if !errors.Is(err, stop) || n != 3 {
		t.Errorf("error %v after row %d", err, n)
	}
	if got := t.rows("a"); len(got) != len(want) || string(got[0].Value) != "new" {
		t.Errorf("after a stop there are %d of %d", len(got), len(want))
	}
}

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

func nameBelongsToOneProcess(t fixture) {
	t.create("a")
	first, second := member("n1"), member("n1")
	second.Run = "another"
	t.must(t.d.Join(t.ctx, "a", first))
	t.must(t.d.Join(t.ctx, "a", first))
	err := t.d.Join(t.ctx, "a", second)
	t.wants(err, cluster.ErrNameTaken)
	if err != nil && !bytes.Contains([]byte(err.Error()), []byte(first.Address)) {
		t.Errorf("the error does not name the address: %v", err)
	}
	t.must(t.d.Leave(t.ctx, "a", "n1", second.Run))
	t.wants(t.d.Join(t.ctx, "a", second), cluster.ErrNameTaken)
	t.must(t.d.Leave(t.ctx, "a", "n1", first.Run))
	t.must(t.d.Join(t.ctx, "a", second))

	dead := member("n2")
	dead.Lease = time.Millisecond
	t.must(t.d.Join(t.ctx, "a", dead))
	second.Name = "n2"
	for began := time.Now(); ; {
		err := t.d.Join(t.ctx, "a", second)
		if err == nil {
			break
		}
		t.wants(err, cluster.ErrNameTaken)
		if time.Since(began) > 10*time.Second {
			t.Fatal("the registration of a dead process stays")
		}
	}
}

func membersAreReported(t fixture) {
	t.create("a")
	t.create("b")
	n1, n2 := member("n1"), member("n2")
	n2.Digests, n2.Role, n2.Version, n2.Full = nil, "standby", 1<<40, true
	t.must(t.d.Join(t.ctx, "a", n2))
	t.must(t.d.Join(t.ctx, "a", n1))
	t.must(t.d.Join(t.ctx, "b", member("n3")))
	all, err := t.d.Members(t.ctx, "a")
	t.must(err)
	for i := range all {
		if time.Since(all[i].Seen).Abs() > time.Minute {
			t.Errorf("%s was seen %s", all[i].Name, all[i].Seen)
		}
		all[i].Seen = time.Time{}
	}
	if !reflect.DeepEqual(all, []cluster.Member{n1, n2}) {
		t.Errorf("members %+v", all)
	}
}

func secretsAreKept(t fixture) {
	t.create("a")
	t.create("b")
	value, err := t.d.Secret(t.ctx, "a", "key")
	t.must(err)
	if value != nil {
		t.Errorf("a secret %q before one was set", value)
	}
	t.must(t.d.SetSecret(t.ctx, "a", "key", []byte("one")))
	t.must(t.d.SetSecret(t.ctx, "a", "key", []byte("two\x00")))
	t.must(t.d.SetSecret(t.ctx, "b", "key", []byte("three")))
	if value, err = t.d.Secret(t.ctx, "a", "key"); err != nil || string(value) != "two\x00" {
		t.Errorf("secret %q, error %v", value, err)
	}
}

func droppedCellLeavesNothing(t fixture) {
	t.create("a")
	g := t.acquire("a", "n1")
	t.commit(g, 1, put("b", "k", "1"))
	t.must(t.d.Join(t.ctx, "a", member("n1")))
	t.must(t.d.SetSecret(t.ctx, "a", "key", []byte("one")))
	t.must(t.d.Drop(t.ctx, "a"))
	if _, found, err := t.d.Look(t.ctx, "a"); found || err != nil {
		t.Errorf("found %v, error %v", found, err)
	}
	if err := t.d.Commit(t.ctx, g, change(2)); err == nil {
		t.Errorf("a commit to a cell that is gone succeeds")
	}
	t.create("a")
	members, err := t.d.Members(t.ctx, "a")
	t.must(err)
	secret, err := t.d.Secret(t.ctx, "a", "key")
	t.must(err)
	changes, complete, err := t.d.Changes(t.ctx, "a", 0, 10)
	t.must(err)
	if rows := t.rows("a"); len(rows)+len(members)+len(secret)+len(changes) != 0 || !complete {
		t.Errorf("left: %v, %v, %q, %v", rows, members, secret, changes)
	}
	if c := t.look("a"); c.Epoch != 0 || c.Version != 0 || c.Owner.Name != "" {
		t.Errorf("the new cell is %+v", c)
	}
}

func callsEndWithTheContext(t fixture) {
	t.create("a")
	g := t.acquire("a", "n1")
	ended, cancel := context.WithCancel(t.ctx)
	cancel()
	if _, err := t.d.Renew(ended, g); !errors.Is(err, context.Canceled) || !errors.Is(err, cluster.ErrUnreachable) {
		t.Errorf("a renewal returned %v", err)
	}
	if _, _, err := t.d.Look(ended, "a"); !errors.Is(err, context.Canceled) || !errors.Is(err, cluster.ErrUnreachable) {
		t.Errorf("a look returned %v", err)
	}
	t.commit(g, 1)
}
