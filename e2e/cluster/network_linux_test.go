package cluster

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"slices"
	"strings"
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
