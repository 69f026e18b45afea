// Package clustertest holds implementations of cluster.Database against its rules.
package clustertest

import (
	"context"
	"errors"
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
