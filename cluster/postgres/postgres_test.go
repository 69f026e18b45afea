//go:build linux

package postgres

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"postern/cluster"
	"postern/cluster/clustertest"
	"postern/cluster/postgres/pgtest"
	"postern/store"
)

// open returns the database at a URL, which is closed at the end of the test.
func open(t testing.TB, url string) *Database {
	t.Helper()
	d, err := Open(url, Options{withoutSync: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(d.Close)
	return d
}

// unsynced is for tests that kill no server.
const unsynced = "fsync = off"

// TestServer runs the tests that leave their server as it was: a start takes seconds.
func TestServer(t *testing.T) {
	if testing.Short() {
		t.Skip("starts PostgreSQL servers")
	}
	server := pgtest.Start(t, unsynced)
	t.Run("DatabaseKeepsTheRules", func(t *testing.T) {
		clustertest.Run(t, func(t *testing.T) cluster.Database { return open(t, pgtest.URL(server.Database(t), server)) })
	})
	for _, test := range []struct {
		name string
		run  func(*testing.T, *pgtest.Server)
	}{
		{"LostConnectionsLoseNoCommit", lostConnectionsLoseNoCommit},
		{"DatabaseThatWentBackIsNoticed", databaseThatWentBackIsNoticed},
		{"CommitEndsInDoubtWithTheContext", commitEndsInDoubtWithTheContext},
		{"AcquireWaitsForACommitThatRuns", acquireWaitsForACommitThatRuns},
		{"ServerThatIsUnfitIsRefused", serverThatIsUnfitIsRefused},
		{"RefusalsSayWhatToDo", refusalsSayWhatToDo},
		{"ServerWithoutRoomRefusesTheCommit", serverWithoutRoomRefusesTheCommit},
		{"ChangeThatNoServerTakesIsRefused", changeThatNoServerTakesIsRefused},
		{"SessionsIgnoreSettingsOfTheRole", sessionsIgnoreSettingsOfTheRole},
		{"CellWithOwnerTakesNoFilling", cellWithOwnerTakesNoFilling},
		{"LargeChangesComeInSteps", largeChangesComeInSteps},
		{"ChangesOfAnHourAgoAreRemoved", changesOfAnHourAgoAreRemoved},
		{"EndedContextEndsAHangingCall", endedContextEndsAHangingCall},
		{"PasswordIsNeverShown", passwordIsNeverShown},
		{"ServerThatBecameReadOnlyIsLeft", serverThatBecameReadOnlyIsLeft},
		{"SilentHostHoldsUpNoCall", silentHostHoldsUpNoCall},
		{"DeadConnectionIsNoticed", deadConnectionIsNoticed},
		{"SlowServerIsReached", slowServerIsReached},
	} {
		t.Run(test.name, func(t *testing.T) { test.run(t, server) })
	}
}

// TestSynchronousPair runs tests of a primary whose commits wait for a copy. The last one ends
// the primary.
func TestSynchronousPair(t *testing.T) {
	if testing.Short() {
		t.Skip("starts PostgreSQL servers")
	}
	primary := pgtest.Start(t)
	second := primary.AddStandby(t, "second")
	for _, test := range []struct {
		name string
		run  func(t *testing.T, primary, second *pgtest.Server)
	}{
		{"StandbyIsReadOnly", standbyIsReadOnly},
		{"CommitWaitsForTheSecondCopy", commitWaitsForTheSecondCopy},
		{"PromotedCopyHasEveryCommit", promotedCopyHasEveryCommit},
	} {
		t.Run(test.name, func(t *testing.T) { test.run(t, primary, second) })
	}
}

// owned is a database with a cell main, owned by n1.
type owned struct {
	testing.TB
	*Database
	ctx     context.Context
	g       cluster.Grant
	version uint64
}

func own(t testing.TB, d *Database) *owned {
	t.Helper()
	// A commit that the server never answers must end with the test.
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	t.Cleanup(cancel)
	o := &owned{TB: t, Database: d, ctx: ctx}
	if _, err := d.Check(o.ctx); err != nil {
		t.Fatal(err)
	}
	if err := d.Create(o.ctx, "main", "id"); err != nil && !errors.Is(err, cluster.ErrExists) {
		t.Fatal(err)
	}
	o.acquire("n1")
	return o
}

func (o *owned) acquire(node string) {
	o.Helper()
	seen, _, err := o.Look(o.ctx, "main")
	if err == nil {
		o.g, err = o.Acquire(o.ctx, "main", cluster.Member{Name: node}, seen)
	}
	if err != nil {
		o.Fatal(err)
	}
	o.version = o.g.Version
}

func (o *owned) next() store.Change {
	return store.Change{Version: o.version + 1, Stamp: time.UnixMilli(int64(o.version)), Rows: []store.Row{
		{Bucket: "b", Key: []byte("last"), Value: fmt.Append(nil, o.version+1)},
		{Bucket: "b", Key: fmt.Append(nil, "key", o.version+1), Value: []byte("value")},
	}}
}

func (o *owned) commit() error {
	err := o.Commit(o.ctx, o.g, o.next())
	if err == nil {
		o.version++
	}
	return err
}

func (o *owned) must(err error) {
	o.Helper()
	if err != nil {
		o.Fatal(err)
	}
}

// within waits for a condition.
func within(t testing.TB, d time.Duration, what string, is func() bool) {
	t.Helper()
	for began := time.Now(); !is(); time.Sleep(5 * time.Millisecond) {
		if time.Since(began) > d {
			t.Fatalf("not within %s: %s", d, what)
		}
	}
}

func TestMain(m *testing.M) {
	for _, name := range []string{"PGPASSWORD", "PGHOST", "PGPASSFILE", "PGSERVICE", "PGOPTIONS"} {
		os.Unsetenv(name)
	}
	os.Exit(m.Run())
}

func contains(t *testing.T, err error, words ...string) {
	t.Helper()
	for _, w := range words {
		if err == nil || !strings.Contains(err.Error(), w) {
			t.Errorf("error %v does not say %q", err, w)
		}
	}
}
