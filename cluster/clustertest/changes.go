package clustertest

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"reflect"
	"slices"
	"time"

	"postern/cluster"
	"postern/store"
)

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
