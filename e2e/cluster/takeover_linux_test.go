package cluster

import (
	"context"
	"net/http"
	"slices"
	"sync"
	"syscall"
	"testing"
	"time"

	"postern/cli/consumer"
	"postern/cluster/postgres/pgtest"
	"postern/e2e/rig"
)

func TestTakeoverOfAKilledOwnerLosesNothing(t *testing.T) {
	t.Parallel()
	n := newNetwork(t)
	a, b := n.node("a"), n.node("b")
	a.launch()
	a.awaitOwner()
	b.launch()
	b.awaitStandby()
	b.Pair("shop") // through the standby
	id := b.batch("killed", 5)

	a.Kill()
	took := b.answered()
	t.Logf("the first answer came %s after the kill, with a lease of %s", took.Round(10*time.Millisecond), lease)
	if took < lease/2 {
		t.Errorf("the standby took the cell after %s", took)
	}
	b.finish(id, "killed")
	if n := b.sequences(); n < 40 {
		t.Errorf("the user has %d events", n)
	}

	a.launch()
	a.awaitStandby()
	second := a.batch("again", 1)
	a.finish(second, "again")
	a.sequences()
}

func TestOrderlyStopHandsTheCellOver(t *testing.T) {
	n := newNetwork(t)
	a, b := n.node("a", "CLUSTER_LEASE=30s"), n.node("b", "CLUSTER_LEASE=30s")
	a.launch()
	a.awaitOwner()
	b.launch()
	b.awaitStandby()
	b.Pair("shop")
	id := b.batch("handed", 5)
	a.Stop()
	took := b.answered()
	t.Logf("the first answer came %s after the exit", took.Round(10*time.Millisecond))
	if took > 15*time.Second { // a second on an idle machine; without the handover it is the lease
		t.Errorf("it took %s", took)
	}
	b.finish(id, "handed")
	b.sequences()
}

func TestPausedOwnerEndsWithoutAnAnswer(t *testing.T) {
	n := newNetwork(t)
	a, b := n.node("a"), n.node("b")
	a.launch()
	a.awaitOwner()
	b.launch()
	b.awaitStandby()
	a.pause()
	late := make(chan error, 21)
	go func() {
		late <- a.API.Call(t.Context(), consumer.Key(a.Sec.GlobalAuthToken), http.MethodPost, "/instance", map[string]any{"instanceName": "late"}, nil)
	}()
	for range cap(late) - 1 { // reads need no commit that would be refused
		go func() {
			late <- a.API.Call(t.Context(), consumer.Key(a.Sec.GlobalAuthToken), http.MethodGet, "/instance", nil, nil)
		}()
	}
	b.awaitOwner()
	_ = a.Cmd.Process.Signal(syscall.SIGCONT)
	for range cap(late) {
		if err := <-late; err == nil {
			t.Error("a former owner answered with success")
		}
	}
	if status := a.exit(); status != 4 {
		t.Errorf("it ended with the status %d and said:\n%s", status, a.Output)
	}
	var instances []struct{ Name string }
	b.Call(consumer.Key(b.Sec.GlobalAuthToken), http.MethodGet, "/instance", nil, &instances)
	if len(instances) != 0 {
		t.Errorf("the new owner has %v", instances)
	}
	a.launch()
	a.awaitStandby()
}

func TestOwnerSurvivesTheLossOfTheDatabasesPrimary(t *testing.T) {
	t.Parallel()
	n := newNetwork(t)
	a := n.node("a", "STORE_ACCEPT_LOSS=true", "CLUSTER_LEASE=20s")
	a.launch()
	a.awaitOwner()
	a.Pair("shop")
	id := a.batch("promoted", 5)
	n.primary.Kill()
	n.copy.Alone(t)
	n.copy.Promote(t)
	a.finish(id, "promoted")
	a.sequences()
	if a.Cmd.ProcessState != nil {
		t.Error("the process ended")
	}
}

// The copy of the database is cut off while clients write, and promoted. Whether the node
// that wrote goes on is not the question here: another one, without a file, says what is left.
func TestPromotedCopyHasWhatWasAnswered(t *testing.T) {
	t.Parallel()
	n := newNetwork(t)
	a := n.node("a", "STORE_ACCEPT_LOSS=true") // the promoted copy stands alone
	a.launch()
	a.awaitOwner()
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	w := &writer{n: n}
	var work sync.WaitGroup
	work.Go(func() { w.run(ctx, a.Sec.GlobalAuthToken) })
	a.Await("some are created", func() bool { return w.count() > 5 })
	n.copying.Darken(true)
	time.Sleep(lease / 2)
	n.primary.Kill()
	n.copying.Cut()
	n.copy.Alone(t)
	n.copy.Promote(t)
	stop()
	work.Wait()
	a.Kill()
	b := n.node("b", "STORE_ACCEPT_LOSS=true")
	b.launch()
	b.awaitOwner()
	w.check(b)
}

// A server shows a change to others when its wait for the second copy is cancelled, and the
// promotion of that copy undoes it. A standby that had applied it could not go on.
func TestStandbyOutlivesWhatAPromotionUndoes(t *testing.T) {
	t.Parallel()
	n := newNetwork(t)
	a, b := n.node("a", "STORE_ACCEPT_LOSS=true"), n.node("b", "STORE_ACCEPT_LOSS=true")
	a.launch()
	a.awaitOwner()
	b.launch()
	b.awaitStandby()
	n.copying.Darken(true)
	waits := func() bool {
		return n.primary.SQL(t, "select count(*) from pg_stat_activity where wait_event = 'SyncRep' and query like '%change_log%'") != "0"
	}
	answer := make(chan error, 1)
	go func() {
		answer <- a.API.Call(t.Context(), consumer.Key(a.Sec.GlobalAuthToken), http.MethodPost, "/instance", map[string]any{"instanceName": "undone"}, nil)
	}()
	a.Await("a commit waits for the copy", waits)
	n.primary.CancelWaits(t)
	time.Sleep(2 * time.Second) // the standby sees it
	a.Kill()
	if err := <-answer; err == nil {
		t.Error("a change without a second copy was answered")
	}
	n.primary.Kill()
	n.copying.Cut()
	n.copy.Alone(t)
	n.copy.Promote(t)
	b.Await("b owns the cell", func() bool {
		if ended(b.Cmd.Process.Pid) {
			t.Fatalf("b ended and said:\n%s", b.Output)
		}
		role, _, status := b.ready()
		return role == "owner" && status == http.StatusOK
	})
	var instances []struct{ Name string }
	b.Call(consumer.Key(b.Sec.GlobalAuthToken), http.MethodGet, "/instance", nil, &instances)
	if len(instances) != 0 {
		t.Errorf("the new owner has %v, which was never answered", instances)
	}
}

// A commit that left the owner and arrives after another node has taken the cell changes
// nothing.
func TestCommitOfAFormerOwnerArrivesLate(t *testing.T) {
	t.Parallel()
	n := newNetwork(t)
	line := n.primary.StartProxy(t)
	a, b := n.node("a"), n.node("b")
	a.Env[0] = "STORE_URL=" + line.URL("postgres")
	a.launch()
	a.awaitOwner()
	b.launch()
	b.awaitStandby()
	a.Call(consumer.Key(a.Sec.GlobalAuthToken), http.MethodPost, "/instance", map[string]any{"instanceName": "before"}, nil)
	release := line.Hold()
	defer release()
	answer := make(chan error, 1)
	go func() {
		answer <- a.API.Call(t.Context(), consumer.Key(a.Sec.GlobalAuthToken), http.MethodPost, "/instance", map[string]any{"instanceName": "late"}, nil)
	}()
	b.awaitOwner()
	b.Call(consumer.Key(b.Sec.GlobalAuthToken), http.MethodPost, "/instance", map[string]any{"instanceName": "kept"}, nil)
	release()
	if err := <-answer; err == nil {
		t.Error("a former owner answered with success")
	}
	time.Sleep(time.Second)
	b.Call(consumer.Key(b.Sec.GlobalAuthToken), http.MethodPost, "/instance", map[string]any{"instanceName": "kept-too"}, nil)
	b.Kill()
	c := n.node("c") // it has no file, and loads what the database holds
	c.launch()
	c.awaitOwner()
	var instances []struct{ Name string }
	c.Call(consumer.Key(c.Sec.GlobalAuthToken), http.MethodGet, "/instance", nil, &instances)
	if len(instances) != 3 || slices.ContainsFunc(instances, func(i struct{ Name string }) bool { return i.Name == "late" }) {
		t.Errorf("the cell has %v", instances)
	}
}

// Clocks of nodes decide nothing, and times in the data do not go back.
func TestNoTakeoverByAWrongClock(t *testing.T) {
	t.Parallel()
	if !rig.CanShiftClock {
		t.Skip("the clock of a process cannot be set off here")
	}
	n := newNetwork(t)
	a, b, c := n.node("a"), n.node("b"), n.node("c")
	b.shift, c.shift = "1h", "-1h"
	a.launch()
	a.awaitOwner()
	for _, other := range []*node{b, c} {
		other.launch()
		other.awaitStandby()
	}
	a.Pair("shop")
	id := a.batch("before", 5)
	time.Sleep(2 * lease)
	for _, other := range []*node{b, c} {
		if _, code, _ := other.ready(); code != "STANDBY" {
			t.Errorf("%s, whose clock is set off by %s, is %s", other.name, other.shift, code)
		}
	}
	b.Stop()
	a.finish(id, "before")
	a.Kill()
	c.awaitOwner() // an hour behind what the former owner wrote
	second := c.batch("after", 1)
	c.finish(second, "after")
	c.sequences()
}

func TestNodesWaitForADatabaseThatIsAway(t *testing.T) {
	t.Parallel()
	n := newNetwork(t)
	n.url = pgtest.URL("postgres", n.primary)
	a := n.node("a")
	a.launch()
	a.awaitOwner()
	a.Pair("shop")
	n.primary.Pause()
	if status := a.exit(); status != 4 {
		t.Errorf("without its database the owner ended with the status %d and said:\n%s", status, a.Output)
	}
	a.launch()
	a.Await("it waits for the database", func() bool {
		_, code, _ := a.ready()
		return code == "ENGINE_UNREACHABLE"
	})
	n.primary.Resume()
	a.awaitOwner()
	a.AwaitOnline("shop", tokenOf(t, a, "shop"))
}
