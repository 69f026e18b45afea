//go:build linux

package postgres

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"postern/cluster"
	"postern/cluster/postgres/pgtest"
	"postern/store"
)

// holds compares what the database has with the commits that succeeded.
func (o *owned) holds() {
	o.Helper()
	c, _, err := o.Look(o.ctx, "main")
	o.must(err)
	if c.Version != o.version {
		o.Errorf("the cell is at version %d after %d commits", c.Version, o.version)
	}
	n := uint64(0)
	o.must(o.Rows(o.ctx, "main", func(r store.Row) error {
		if n++; string(r.Key) == "last" && string(r.Value) != fmt.Sprint(o.version) {
			o.Errorf("the last value is %s after %d commits", r.Value, o.version)
		}
		return nil
	}))
	if n != o.version+1 {
		o.Errorf("%d rows after %d commits", n, o.version)
	}
}

func lostConnectionsLoseNoCommit(t *testing.T, server *pgtest.Server) {
	name := server.Database(t)
	proxy := server.StartProxy(t)
	o := own(t, open(t, proxy.URL(name)))
	ctx, stop := context.WithCancel(t.Context())
	var cutter sync.WaitGroup
	var done atomic.Int64
	cuts := 0
	cutter.Go(func() {
		for ctx.Err() == nil {
			// At a random moment of the next commit but one: a connection needs its time.
			for before := done.Load(); done.Load() < before+2 && ctx.Err() == nil; {
				time.Sleep(rand.N(3 * time.Millisecond)) //nolint:gosec // of a test
			}
			if cuts++; cuts%3 == 0 {
				server.In(t, "postgres", "select pg_terminate_backend(pid) from pg_stat_activity where datname = '"+name+"'")
			} else {
				proxy.Cut()
			}
		}
	})
	defer cutter.Wait()
	defer stop()
	for n := range 400 {
		if n%4 == 0 {
			proxy.Lose()
		}
		o.must(o.commit())
		done.Add(1)
	}
	stop()
	cutter.Wait()
	o.holds()
	if cuts < 5 {
		t.Errorf("there were %d cuts only", cuts)
	}
}

func TestCrashesOfTheServerLoseNoCommit(t *testing.T) {
	if testing.Short() {
		t.Skip("starts PostgreSQL servers")
	}
	server := pgtest.Start(t)
	o := own(t, open(t, pgtest.URL(server.Database(t), server)))
	for range 3 {
		done := make(chan error, 1)
		go func() {
			var err error
			for began := time.Now(); err == nil && time.Since(began) < 2*time.Second; {
				err = o.commit()
			}
			done <- err
		}()
		time.Sleep(rand.N(500 * time.Millisecond)) //nolint:gosec // of a test
		server.Kill()
		server.Restart(t)
		o.must(<-done)
	}
	o.holds()
}

// ran is the outcome of a commit that runs beside a test.
type ran struct{ done chan error }

func (o *owned) begin() ran {
	r := ran{make(chan error, 1)}
	c, g := o.next(), o.g
	go func() { r.done <- o.Commit(o.ctx, g, c) }()
	return r
}

// waits fails the test if the commit ends while is waits to become true.
func (r ran) waits(t testing.TB, what string, is func() bool) {
	t.Helper()
	within(t, 30*time.Second, what, func() bool {
		select {
		case err := <-r.done:
			t.Fatalf("the commit ended with %v before: %s", err, what)
		default:
		}
		return is()
	})
}

func (o *owned) ends(r ran) {
	o.Helper()
	select {
	case err := <-r.done:
		o.must(err)
		o.version++
	case <-time.After(30 * time.Second):
		o.Fatal("the commit does not end")
	}
}

const inSync = `select count(*) from pg_stat_activity where wait_event = 'SyncRep'`

func commitWaitsForTheSecondCopy(t *testing.T, primary, second *pgtest.Server) {
	name := primary.Database(t)
	d := open(t, pgtest.URL(name, primary))
	o := own(t, d)
	server, err := d.Check(t.Context())
	o.must(err)
	if len(server.Synchronous) != 1 || server.Synchronous[0] != "second" {
		t.Errorf("the commits wait for %q", server.Synchronous)
	}
	second.Pause()
	defer second.Resume()
	commit := o.begin()
	commit.waits(t, "the server waits for the second copy", func() bool { return primary.SQL(t, inSync) == "1" })

	// A renewal goes on meanwhile.
	for range 5 {
		r, err := o.Renew(t.Context(), o.g)
		o.must(err)
		if len(r.Synchronous) != 1 {
			t.Errorf("a renewal reports %q", r.Synchronous)
		}
	}

	// A cancelled wait is no answer: what asks for the outcome waits as well.
	for range 4 {
		primary.CancelWaits(t)
		commit.waits(t, "the server waits again", func() bool { return primary.SQL(t, inSync) == "1" })
	}
	primary.SQL(t, "select pg_terminate_backend(pid) from pg_stat_activity where wait_event = 'SyncRep'")
	commit.waits(t, "the server waits again", func() bool { return primary.SQL(t, inSync) == "1" })

	// Nor does another owner begin before.
	seen, _, err := o.Look(t.Context(), "main")
	o.must(err)
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	_, err = o.Acquire(ctx, "main", cluster.Member{Name: "n2"}, seen)
	cancel()
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("an acquisition beside the commit returns %v", err)
	}
	second.Resume()
	o.ends(commit)
	o.holds()
}

func promotedCopyHasEveryCommit(t *testing.T, primary, second *pgtest.Server) {
	o := own(t, open(t, pgtest.URL(primary.Database(t), primary, second)))
	done := make(chan error, 1)
	after := make(chan struct{})
	go func() {
		var err error
		for more := 5; err == nil && more > 0; {
			if err = o.commit(); err == nil {
				select {
				case <-after:
					more--
				default:
				}
			}
		}
		done <- err
	}()
	time.Sleep(200 * time.Millisecond)
	primary.Kill()
	second.Alone(t)
	second.Promote(t)
	close(after)
	o.must(<-done)
	o.holds()
	server, err := o.Check(t.Context())
	o.must(err)
	if want := fmt.Sprintf("127.0.0.1:%d", second.Port); server.Primary != want || len(server.Synchronous) != 0 {
		t.Errorf("the primary is %s with %q, want %s alone", server.Primary, server.Synchronous, want)
	}
}

func databaseThatWentBackIsNoticed(t *testing.T, server *pgtest.Server) {
	name := server.Database(t)
	o := own(t, open(t, pgtest.URL(name, server)))
	for range 5 {
		o.must(o.commit())
	}
	server.In(t, name, "update postern.cell set version = 3")
	err := o.commit()
	contains(t, err, "from version 5 to 3")
	if !errors.Is(err, store.ErrDiverged) {
		t.Errorf("a commit returns %v", err)
	}
	if err := o.Barrier(t.Context(), "main"); err != nil {
		t.Errorf("a barrier returns %v before the newer version was seen", err)
	}
	o.show("main", 5)
	if err := o.Barrier(t.Context(), "main"); !errors.Is(err, store.ErrDiverged) {
		t.Errorf("a barrier returns %v", err)
	}
	server.In(t, name, "update postern.cell set version = 5, epoch = 0")
	err = o.commit()
	contains(t, err, "from epoch 1 to 0")
}

func commitEndsInDoubtWithTheContext(t *testing.T, server *pgtest.Server) {
	name := server.Database(t)
	o := own(t, open(t, pgtest.URL(name, server)))
	server.SetSynchronous(t, "nobody")
	ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
	defer cancel()
	err := o.Commit(ctx, o.g, o.next())
	if !errors.Is(err, cluster.ErrInDoubt) || !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a commit without second copy returns %v", err)
	}
	// The program sends no request to cancel, so the server still waits.
	if n := server.SQL(t, inSync); n != "1" {
		t.Errorf("%s sessions wait for the second copy", n)
	}
	server.SetSynchronous(t, "")
	o.acquire("n2")
	if o.version != 1 {
		t.Errorf("the next owner begins at version %d", o.version)
	}
}

func acquireWaitsForACommitThatRuns(t *testing.T, server *pgtest.Server) {
	o := own(t, open(t, pgtest.URL(server.Database(t), server)))
	o.must(o.commit())
	server.SetSynchronous(t, "nobody")
	commit := o.begin()
	commit.waits(t, "it waits for the second copy", func() bool { return server.SQL(t, inSync) == "1" })
	seen, _, err := o.Look(t.Context(), "main")
	o.must(err)
	grant := make(chan cluster.Grant, 1)
	go func() {
		g, err := o.Acquire(o.ctx, "main", cluster.Member{Name: "n2"}, seen)
		if err != nil {
			t.Error(err)
		}
		grant <- g
	}()
	commit.waits(t, "the acquisition waits", func() bool {
		return server.SQL(t, "select count(*) from pg_stat_activity where wait_event_type = 'Lock'") == "1"
	})
	server.SetSynchronous(t, "")
	o.ends(commit)
	if g := <-grant; g.Version != 2 || g.Epoch != 2 {
		t.Errorf("the grant is %+v, want the version of the commit", g)
	}
	if err := o.commit(); !errors.Is(err, store.ErrFenced) {
		t.Errorf("the former owner's commit returns %v", err)
	}
}
