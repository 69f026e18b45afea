package cluster

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/uuid"

	"postern/cli/consumer"
	"postern/cluster/postgres/pgtest"
	"postern/e2e/capture"
	"postern/e2e/rig"
	"postern/event"
)

// lease is that of the nodes.
const lease = 3 * time.Second

// network is a database, a simulated WhatsApp, a receiver of webhooks, and the nodes that
// share them.
type network struct {
	t       *testing.T
	url     string
	primary *pgtest.Server
	copy    *pgtest.Server
	copying *pgtest.Proxy // by which the copy follows the primary
	first   *rig.World
	nodes   []*node
	segment *segment // nil: all processes share the network of this machine
}

// node is one program.
type node struct {
	*rig.World
	first         *rig.World // which the webhooks reach
	name, address string
	shift         string // of its clock, see rig.ClockShift
	place         string // its network namespace, empty: that of this process
}

// newNetwork starts a primary and its synchronous standby.
func newNetwork(t *testing.T) *network {
	t.Helper()
	if testing.Short() {
		t.Skip("starts database servers and programs")
	}
	n := &network{t: t, primary: pgtest.Start(t)}
	n.copying = n.primary.StartProxy(t)
	n.copy = n.primary.AddStandbyBy(t, "second", n.copying.Port)
	n.url = pgtest.URL("postgres", n.primary, n.copy)
	return n
}

// node makes a node that is not started.
func (n *network) node(name string, env ...string) *node {
	n.t.Helper()
	w := rig.NewWorldAt(n.t, n.host())
	if n.first == nil {
		n.first = w
	}
	w.Sandbox, w.Hook, w.Sec, w.User, w.Owner = n.first.Sandbox, n.first.Hook, n.first.Sec, n.first.User, n.first.Owner
	made := &node{World: w, first: n.first, name: name, address: rig.FreeAddress(n.t)}
	if n.segment != nil {
		made.place, made.address = n.segment.join(name)
	}
	w.Env = append([]string{"STORE_URL=" + n.url, "CLUSTER_NODE=" + name, "CLUSTER_ADVERTISE=http://" + made.address, "CLUSTER_LEASE=" + lease.String()}, env...)
	n.nodes = append(n.nodes, made)
	return made
}

// launch starts the program of a node.
func (n *node) launch() {
	n.T.Helper()
	n.Output = &capture.Buffer{}
	n.Prepare = func(cmd *exec.Cmd) {
		if n.shift != "" {
			cmd.Env = append(cmd.Env, rig.ClockShift+"="+n.shift)
		}
		if n.place != "" {
			inside(cmd, n.place)
		}
	}
	n.Launch(n.address)
	n.API = consumer.NewClient("http://" + n.address)
}

// ready returns the answer of /ready.
func (n *node) ready() (role, code string, status int) {
	var health struct{ Role, Code string }
	err := n.API.Call(n.T.Context(), consumer.Credential{}, http.MethodGet, "/ready", nil, &health)
	if err == nil {
		return health.Role, health.Code, http.StatusOK
	}
	for _, known := range []string{"STANDBY", "NO_OWNER", "LOADING", "ENGINE_UNREACHABLE", "ENGINE_REFUSED", "ENGINE_READ_ONLY", "ENGINE_NOT_SYNCHRONOUS"} {
		if containsCode(err, known) {
			return "standby", known, http.StatusServiceUnavailable
		}
	}
	return "", "", 0
}

func (n *node) awaitOwner() {
	n.T.Helper()
	n.Await(n.name+" owns the cell", func() bool {
		role, _, status := n.ready()
		return role == "owner" && status == http.StatusOK
	})
}

func (n *node) awaitStandby() {
	n.T.Helper()
	n.Await(n.name+" stands by", func() bool {
		_, code, _ := n.ready()
		return code == "STANDBY"
	})
}

// answered asks every tenth of a second until the node answers a request that needs the
// owner, and returns how long that took.
func (n *node) answered() time.Duration {
	n.T.Helper()
	began := time.Now()
	n.Await(n.name+" answers", func() bool {
		err := n.API.Call(n.T.Context(), consumer.Key(n.Sec.GlobalAuthToken), http.MethodGet, "/instance", nil, nil)
		if err != nil {
			time.Sleep(100 * time.Millisecond)
		}
		return err == nil
	})
	return time.Since(began)
}

// pause stops the program between two instructions, until SIGCONT.
func (n *node) pause() {
	n.T.Helper()
	_ = n.Cmd.Process.Signal(syscall.SIGSTOP)
	n.Await("it is stopped", func() bool {
		stat, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", n.Cmd.Process.Pid))
		return stateOf(string(stat)) == 'T'
	})
}

// stateOf returns the state in the line of /proc/PID/stat, 0 if there is none.
func stateOf(stat string) byte {
	_, after, _ := strings.Cut(stat, ") ")
	if after == "" {
		return 0
	}
	return after[0]
}

// containsCode reports whether an error of the API has a code.
func containsCode(err error, code string) bool { return strings.Contains(err.Error(), `"`+code+`"`) }

// exit waits for the end of the program and returns its status.
func (n *node) exit() int {
	n.T.Helper()
	done := make(chan error, 1)
	go func() { done <- n.Wait() }()
	select {
	case err := <-done:
		if failed, ok := errors.AsType[*exec.ExitError](err); ok {
			return failed.ExitCode()
		}
		return 0
	case <-time.After(time.Minute):
		n.T.Fatalf("%s did not end; it said:\n%s", n.name, n.Output)
	}
	return -1
}

// outboxEvent is what tests look at of an event in the outbox.
type outboxEvent struct {
	Sequence  uint64
	Event     event.Kind
	BatchID   uuid.UUID
	State     string
	Timestamp time.Time
}

// outbox returns the events of the user, in order.
func (n *node) outbox() []outboxEvent {
	n.T.Helper()
	var all []outboxEvent
	for cursor := ""; ; {
		var page struct {
			NextCursor *string
			Records    []outboxEvent
		}
		n.tried("GET /outbox", func() error {
			return n.API.Call(n.T.Context(), consumer.Key(n.Sec.GlobalAuthToken), http.MethodGet, "/outbox?limit=200"+cursor, nil, &page)
		})
		all = append(all, page.Records...)
		if page.NextCursor == nil {
			break
		}
		cursor = "&nextCursor=" + *page.NextCursor
	}
	slices.SortFunc(all, func(a, b outboxEvent) int { return cmp.Compare(a.Sequence, b.Sequence) })
	return all
}

// sequences checks that the events of the user have no hole, and that their times never go
// back, and returns how many there are.
func (n *node) sequences() int {
	n.T.Helper()
	all := n.outbox()
	for i, e := range all {
		if e.Sequence != uint64(i)+1 { //nolint:gosec // not negative
			n.T.Fatalf("event %d of the user has the sequence %d", i+1, e.Sequence)
		}
		if i > 0 && e.Timestamp.Before(all[i-1].Timestamp) {
			n.T.Errorf("event %d has the time %s, and the one before it %s", i+1, e.Timestamp, all[i-1].Timestamp)
		}
	}
	return len(all)
}

// finish waits for the end of a batch, and checks it.
func (n *node) finish(id uuid.UUID, name string) {
	n.T.Helper()
	n.Await("the batch ends", func() bool {
		return strings.HasPrefix(string(n.Batch(id).Status), "COMPLETED") // with or without errors
	})
	n.checkItems(id, name)
}

// checkItems checks the items of a batch as this node has them. The first node knows the
// webhooks.
func (n *node) checkItems(id uuid.UUID, name string) {
	n.T.Helper()
	own := n.first.API
	n.first.API = n.API
	defer func() { n.first.API = own }()
	n.first.CheckItems(id, name)
}

// batch begins a batch, and waits until some of its messages were sent.
func (n *node) batch(name string, sent int) uuid.UUID {
	n.T.Helper()
	recipients := make([]string, 40)
	for i := range recipients {
		recipients[i] = fmt.Sprintf("49151%07d", 1000+i)
	}
	id := n.CreateBatchOf(map[string]any{
		"name": name, "instances": []string{"shop"}, "recipients": recipients, "options": map[string]any{"delay": map[string]any{"minMs": 50, "maxMs": 50}},
		"message": map[string]any{"type": "text", "payload": map[string]any{"text": "for " + name}},
	}).ID
	n.Await("some were sent", func() bool { return n.Batch(id).Counts.Success >= sent })
	return id
}

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

func tokenOf(t *testing.T, n *node, name string) string {
	t.Helper()
	var all []struct {
		Name string
		Auth struct{ Token string }
	}
	n.Call(consumer.Key(n.Sec.GlobalAuthToken), http.MethodGet, "/instance", nil, &all)
	for _, i := range all {
		if i.Name == name {
			return i.Auth.Token
		}
	}
	t.Fatalf("there is no instance %q", name)
	return ""
}
