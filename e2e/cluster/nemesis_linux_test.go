package cluster

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"strconv"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/uuid"

	"postern/cli/consumer"
	"postern/cluster/postgres/pgtest"
)

// rounds returns ROUNDS, or a few.
func rounds() int {
	if n, err := strconv.Atoi(os.Getenv("ROUNDS")); err == nil && n > 0 {
		return n
	}
	return 4
}

// seed returns SEED, or any.
func seed() uint64 {
	if n, err := strconv.ParseUint(os.Getenv("SEED"), 10, 64); err == nil {
		return n
	}
	return rand.Uint64N(1_000_000)
}

// writer creates instances at any node and remembers those that were answered with
// success.
type writer struct {
	n    *network
	mu   sync.Mutex
	kept []string
}

// run writes until ctx ends. Each instance has its own idempotency key.
func (w *writer) run(ctx context.Context, key string) {
	for i := 0; ctx.Err() == nil; i++ {
		name := fmt.Sprintf("kept-%d", i)
		for ctx.Err() == nil {
			at := w.n.nodes[rand.IntN(len(w.n.nodes))]
			call, cancel := context.WithTimeout(ctx, 2*lease)
			err := consumer.NewClient("http://"+at.address).Call(call, consumer.Key(key), http.MethodPost, "/instance", map[string]any{"instanceName": name}, nil)
			cancel()
			if err == nil {
				w.mu.Lock()
				w.kept = append(w.kept, name)
				w.mu.Unlock()
				break
			}
			time.Sleep(50 * time.Millisecond)
			if isTaken(err) { // an attempt whose answer was lost
				break
			}
		}
	}
}

func isTaken(err error) bool { return err != nil && containsCode(err, "INSTANCE_EXISTS") }

// Three nodes, of which each has a connection of its own to the database, and what can
// happen to them, by chance. Everything that was answered must be there at the end, no
// phone may have read a message twice, and the events of the user must have no hole.
func TestNemesisLosesNothing(t *testing.T) {
	n := newNetwork(t)
	s := seed()
	r := rand.New(rand.NewPCG(s, 3))
	t.Logf("SEED=%d ROUNDS=%d", s, rounds())
	var lines []*pgtest.Proxy
	for _, name := range []string{"a", "b", "c"} {
		line := n.primary.StartProxy(t)
		lines = append(lines, line)
		node := n.node(name)
		node.Env[0] = "STORE_URL=" + line.URL("postgres")
		node.launch()
	}
	a := n.nodes[0]
	a.answered()
	a.Pair("shop")
	ctx, stop := context.WithCancel(t.Context())
	w := &writer{n: n}
	var work sync.WaitGroup
	work.Go(func() { w.run(ctx, a.Sec.GlobalAuthToken) })

	ids := map[uuid.UUID]string{}
	for round := range rounds() {
		name := fmt.Sprintf("round %d", round)
		at := n.alive(t)
		ids[at.begin(name)] = name
		time.Sleep(time.Duration(r.IntN(1000)) * time.Millisecond)
		k := r.IntN(len(n.nodes))
		if owner := n.ownerOf(t); owner >= 0 && r.IntN(3) > 0 {
			k = owner // mostly the one that matters
		}
		victim := n.nodes[k]
		switch what := r.IntN(5); what {
		case 0:
			t.Logf("%s: %s is killed", name, victim.name)
			victim.Kill()
		case 1:
			t.Logf("%s: %s is stopped in order", name, victim.name)
			_ = victim.Cmd.Process.Signal(syscall.SIGTERM)
			victim.exit()
		case 2:
			t.Logf("%s: %s is paused", name, victim.name)
			victim.pause()
			time.Sleep(lease + time.Duration(r.IntN(3000))*time.Millisecond)
			_ = victim.Cmd.Process.Signal(syscall.SIGCONT)
		case 3:
			t.Logf("%s: the line of %s goes dark", name, victim.name)
			lines[k].Darken(true)
			time.Sleep(time.Duration(r.IntN(8000)) * time.Millisecond)
			lines[k].Cut() // bytes of its connections are missing
			lines[k].Darken(false)
		case 4:
			t.Logf("%s: the database is paused", name)
			n.primary.Pause()
			time.Sleep(time.Duration(r.IntN(4000)) * time.Millisecond)
			n.primary.Resume()
		}
		n.revive(t)
	}
	stop()
	work.Wait()
	at := n.alive(t)
	for id, name := range ids {
		at.finish(id, name)
	}
	at.sequences()
	var instances []struct{ Name string }
	at.Call(consumer.Key(at.Sec.GlobalAuthToken), http.MethodGet, "/instance", nil, &instances)
	has := map[string]bool{}
	for _, i := range instances {
		has[i.Name] = true
	}
	for _, name := range w.kept {
		if !has[name] {
			t.Errorf("%s was created and is lost", name)
		}
	}
	t.Logf("%d instances were created", len(w.kept))
	if len(w.kept) < rounds() {
		t.Error("too few to prove anything")
	}
}

// begin creates a batch and waits for nothing; it tries until an owner takes it.
func (n *node) begin(name string) uuid.UUID {
	n.T.Helper()
	recipients := make([]string, 30)
	for i := range recipients {
		recipients[i] = fmt.Sprintf("49152%07d", 1000+i)
	}
	var b struct{ ID uuid.UUID }
	n.Await("a batch is taken", func() bool {
		return n.API.Call(n.T.Context(), consumer.Bearer(n.User), http.MethodPost, "/message/batches", map[string]any{
			"name": name, "instances": []string{"shop"}, "recipients": recipients, "options": map[string]any{"delay": map[string]any{"minMs": 50, "maxMs": 50}},
			"message": map[string]any{"type": "text", "payload": map[string]any{"text": "for " + name}},
		}, &b) == nil
	})
	return b.ID
}

// alive waits until a node answers for the owner, and returns it.
func (n *network) alive(t *testing.T) *node {
	t.Helper()
	var found *node
	n.nodes[0].Await("a node answers", func() bool {
		for _, at := range n.nodes {
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			err := at.API.Call(ctx, consumer.Key(at.Sec.GlobalAuthToken), http.MethodGet, "/instance", nil, nil)
			cancel()
			if err == nil {
				found = at
				return true
			}
		}
		return false
	})
	return found
}

// ownerOf returns the index of the node that owns the cell, -1 for none.
func (n *network) ownerOf(t *testing.T) int {
	t.Helper()
	for i, at := range n.nodes {
		if role, _, status := at.ready(); role == "owner" && status == http.StatusOK {
			return i
		}
	}
	return -1
}

// revive starts the programs that have ended.
func (n *network) revive(t *testing.T) {
	t.Helper()
	for _, at := range n.nodes {
		if syscall.Kill(at.Cmd.Process.Pid, 0) != nil || ended(at.Cmd.Process.Pid) {
			_ = at.Wait()
			at.launch()
		}
	}
}

// ended reports whether a process waits for its parent to look at its status.
func ended(pid int) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	return err != nil || stateOf(string(stat)) == 'Z'
}
