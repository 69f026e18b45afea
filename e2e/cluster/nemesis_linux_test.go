package cluster

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/uuid"

	"postern/cli/consumer"
	"postern/cluster/postgres/pgtest"
	"postern/e2e/rig"
	"postern/event"
	"postern/httpapi/tokens"
)

// rounds returns ROUNDS, or a few.
func rounds() int {
	if n, err := strconv.Atoi(os.Getenv("ROUNDS")); err == nil && n > 0 {
		return n
	}
	return 4
}

// hours returns HOURS, for which rounds are added.
func hours() time.Duration {
	n, _ := strconv.ParseFloat(os.Getenv("HOURS"), 64)
	return time.Duration(n * float64(time.Hour))
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

// run writes until ctx ends.
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
		time.Sleep(20 * time.Millisecond)
	}
}

func isTaken(err error) bool { return err != nil && containsCode(err, "INSTANCE_EXISTS") }

func (w *writer) count() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.kept)
}

// check looks for each instance that was answered.
func (w *writer) check(at *node) {
	at.T.Helper()
	w.mu.Lock()
	kept := slices.Clone(w.kept)
	w.mu.Unlock()
	has := map[string]bool{}
	at.tried("GET /instance", func() error {
		var instances []struct{ Name string }
		err := at.API.Call(at.T.Context(), consumer.Key(at.Sec.GlobalAuthToken), http.MethodGet, "/instance", nil, &instances)
		for _, i := range instances {
			has[i.Name] = true
		}
		return err
	})
	for _, name := range kept {
		if !has[name] {
			at.T.Errorf("%s was created and is lost", name)
		}
	}
}

// sockets watches how many connections each account has.
type sockets struct {
	mu      sync.Mutex
	longest time.Duration
}

// handshake is how long two connections of an account may live: the sandbox ends the older
// one after its last stanza.
const handshake = 2 * time.Second

func (s *sockets) run(ctx context.Context, n *network) {
	var since time.Time
	for ; ctx.Err() == nil; time.Sleep(10 * time.Millisecond) {
		several := false
		for _, p := range n.first.Sandbox.Phones() {
			several = several || n.first.Sandbox.Connections(p.Number()) > 1
		}
		if !several {
			since = time.Time{}
			continue
		}
		if since.IsZero() {
			since = time.Now()
		}
		s.mu.Lock()
		s.longest = max(s.longest, time.Since(since))
		s.mu.Unlock()
	}
}

// newNemesis starts three nodes.
func newNemesis(t *testing.T, r *rand.Rand) *nemesis {
	t.Helper()
	n := &nemesis{network: newNetwork(t), Rand: r}
	n.segment = newSegment(t)
	for _, name := range []string{"a", "b", "c"} {
		node := n.node(name, "STORE_ACCEPT_LOSS=true") // a promoted copy stands alone for a moment
		var err error
		if node.User, err = tokens.ForUser([]byte(node.Sec.JWTSecret), node.Owner, 48*time.Hour, time.Now()); err != nil {
			t.Fatal(err)
		}
		engine, peer, whatsapp := pgtest.ProxyAt(t, n.host(), n.primary.Address()), pgtest.ProxyAt(t, n.host(), node.address), pgtest.ProxyAt(t, n.host(), hostOf(t, node.Sandbox.Endpoint().URL))
		n.engine, n.peer, n.whatsapp = append(n.engine, engine), append(n.peer, peer), append(n.whatsapp, whatsapp)
		away, err := url.Parse(node.Sandbox.Endpoint().URL)
		if err != nil {
			t.Fatal(err)
		}
		away.Host = whatsapp.Address()
		node.Env = append(node.Env, "WHATSAPP_ENDPOINT="+away.String(), "CLUSTER_ADVERTISE=http://"+peer.Address(), "STORE_URL="+engine.URL("postgres"))
		n.disks = append(n.disks, node.disk())
		node.launch()
	}
	return n
}

func hostOf(t *testing.T, address string) string {
	t.Helper()
	u, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	return u.Host
}

// disk gives the data of a node a small file system of its own, and returns its folder: empty
// if this process may not.
func (n *node) disk() string {
	n.T.Helper()
	folder := filepath.Dir(n.DataFile())
	if err := os.MkdirAll(folder, 0o700); err != nil {
		n.T.Fatal(err)
	}
	if err := syscall.Mount("postern", folder, "tmpfs", 0, "size=192m"); err != nil {
		n.T.Logf("no disk of %s is filled: %v", n.name, err)
		return ""
	}
	n.T.Cleanup(func() {
		n.Kill() // it may have files there
		if err := syscall.Unmount(folder, syscall.MNT_DETACH); err != nil {
			n.T.Error(err)
		}
	})
	return folder
}

// Three nodes, of which each has lines of its own to the database, to WhatsApp and to the
// others, and what can happen to them, by chance. Everything that was answered must be there
// at the end, no phone may have read a message twice or seen a key twice, no account may have
// two connections for longer than a handshake, the events of the user must have no hole, and
// each must have been delivered.
func TestNemesisLosesNothing(t *testing.T) {
	s := seed()
	n := newNemesis(t, rand.New(rand.NewPCG(s, 3)))
	defer func() {
		if t.Failed() {
			n.tell()
		}
	}()
	t.Logf("SEED=%d ROUNDS=%d HOURS=%g", s, rounds(), hours().Hours())
	a := n.nodes[0]
	a.answered()
	a.Pair("shop")
	ctx, stop := context.WithCancel(t.Context())
	w, watched := &writer{n: n.network}, &sockets{}
	var work sync.WaitGroup
	defer work.Wait()
	defer stop()
	work.Go(func() { w.run(ctx, a.Sec.GlobalAuthToken) })
	work.Go(func() { watched.run(ctx, n.network) })

	done := map[string]int{}
	began, batches, events := time.Now(), 0, 0
	for round := 0; (round < rounds() || time.Since(began) < hours()) && !t.Failed(); round++ {
		name := fmt.Sprintf("round %d", round)
		at := n.alive(t)
		batch := at.begin(name)
		batches++
		time.Sleep(n.upTo(time.Second))
		k := n.IntN(len(n.nodes))
		if owner := n.ownerOf(t); owner >= 0 && n.IntN(3) > 0 {
			k = owner // mostly the one that matters
		}
		what := failures[n.IntN(len(failures))]
		if only := os.Getenv("ONLY"); only != "" {
			for !strings.Contains(what.name, only) {
				what = failures[n.IntN(len(failures))]
			}
		}
		done[what.name]++
		t.Logf("%s after %s: %s %s", name, time.Since(began).Round(time.Second), n.nodes[k].name, what.name)
		what.does(n, k)
		n.revive(t)
		at = n.alive(t)
		at.ends(batch)
		n.straighten()
		at = n.alive(t)
		at.checkItems(batch, name)
		w.check(at)
		n.keys()
		events = at.sequences()
		if longest := watched.most(); longest > handshake {
			t.Errorf("an account had two connections for %s", longest)
		}
	}
	stop()
	work.Wait()
	at := n.alive(t)
	w.check(at)
	at.delivered()
	for _, name := range slices.Sorted(maps.Keys(done)) {
		t.Logf("%3d times a node %s", done[name], name)
	}
	t.Logf("SEED=%d: %d rounds in %s: %d instances were created, %d batches and %d events", s, batches, time.Since(began).Round(time.Second), w.count(), batches, events)
	if w.count() < batches {
		t.Error("too few to prove anything")
	}
}

func (s *sockets) most() time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.longest
}

// keys looks whether a phone got two messages with one key. A message that the library repeats
// after a lost connection is the same.
func (n *network) keys() {
	n.t.Helper()
	phones := n.first.Sandbox.Phones()
	for _, number := range recipients() {
		if p, ok := n.first.Sandbox.Phone(number); ok {
			phones = append(phones, p)
		}
	}
	for _, p := range phones {
		h, err := p.Keys()
		if err != nil {
			n.t.Fatal(err)
		}
		if reused := h.Reused(); reused > 0 {
			n.t.Errorf("%d messages for %s have the key of another message", reused, p.Number())
		}
	}
	if len(phones) < len(recipients()) {
		n.t.Errorf("of %d phones %d are known", len(recipients()), len(phones))
	}
}

// delivered waits until no event of the outbox is pending, and looks for each among the
// webhooks that came.
func (n *node) delivered() {
	n.T.Helper()
	n.tried("all events are delivered", func() error {
		var page struct{ Records []struct{ ID uint64 } }
		err := n.API.Call(n.T.Context(), consumer.Key(n.Sec.GlobalAuthToken), http.MethodGet, "/outbox?limit=1&state=pending", nil, &page)
		if err == nil && len(page.Records) > 0 {
			err = errors.New("some are pending")
		}
		return err
	})
	type group struct {
		kind  event.Kind
		batch uuid.UUID
	}
	stored := map[group]int{}
	for _, e := range n.outbox() {
		if e.State != "delivered" {
			n.T.Errorf("event %d of the user is %s", e.Sequence, e.State)
		}
		stored[group{e.Event, e.BatchID}]++
	}
	for g, want := range stored {
		if got := n.first.BodiesWith(g.kind, g.batch.String()); got != want {
			n.T.Errorf("of %d events %s of batch %s, %d came", want, g.kind, g.batch, got)
		}
	}
}

// recipients are those of each batch.
func recipients() []string {
	all := make([]string, 30)
	for i := range all {
		all[i] = fmt.Sprintf("49152%07d", 1000+i)
	}
	return all
}

// begin creates a batch and waits for nothing; it tries until an owner takes it.
func (n *node) begin(name string) uuid.UUID {
	n.T.Helper()
	var b struct{ ID uuid.UUID }
	n.tried("a batch is taken", func() error {
		return n.API.Call(n.T.Context(), consumer.Bearer(n.User), http.MethodPost, "/message/batches", map[string]any{
			"name": name, "instances": []string{"shop"}, "recipients": recipients(), "options": map[string]any{"delay": map[string]any{"minMs": 50, "maxMs": 50}},
			"message": map[string]any{"type": "text", "payload": map[string]any{"text": "for " + name}},
		}, &b)
	})
	return b.ID
}

// tried repeats a call until it succeeds: at a node that was just hit, an owner may be
// missing for a moment.
func (n *node) tried(what string, call func() error) {
	n.T.Helper()
	for began := time.Now(); ; time.Sleep(50 * time.Millisecond) {
		err := call()
		if err == nil {
			return
		}
		n.revive()
		if time.Since(began) > patience {
			n.T.Fatalf("not within %s at %s: %s: %v", patience, n.name, what, err)
		}
	}
}

// patience is for a machine under load.
const patience = 3 * time.Minute

// tell logs what the nodes said last, but for their requests.
func (n *network) tell() {
	for _, at := range n.nodes {
		var said []string
		for line := range strings.Lines(at.Output.String()) {
			if !strings.Contains(line, "msg=request") && !strings.Contains(line, "instance created") {
				said = append(said, line)
			}
		}
		n.t.Logf("%s said at the end:\n%s", at.name, strings.Join(said[max(0, len(said)-40):], ""))
	}
}

// ends waits for the end of a batch.
func (n *node) ends(id uuid.UUID) {
	n.T.Helper()
	n.tried("the batch ends", func() error {
		var b rig.BatchAnswer
		err := n.API.Call(n.T.Context(), consumer.Bearer(n.User), http.MethodGet, "/message/batches/"+id.String(), nil, &b)
		if err == nil && !strings.HasPrefix(string(b.Status), "COMPLETED") {
			err = fmt.Errorf("it is %s with %+v", b.Status, b.Counts)
		}
		return err
	})
}

// straighten ends the nodes with a wrong clock, which start with the right one: an owner whose clock
// is behind would wait as long with what it tries again.
func (n *network) straighten() {
	for _, node := range n.nodes {
		if node.shift != "" {
			node.shift = ""
			node.Kill()
		}
	}
}

// alive waits until a node answers for the owner, and returns it.
func (n *network) alive(t *testing.T) *node {
	t.Helper()
	var found *node
	n.nodes[0].Await("a node answers", func() bool {
		n.revive(t)
		for _, at := range n.nodes {
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			err := at.API.Call(ctx, consumer.Key(at.Sec.GlobalAuthToken), http.MethodGet, "/instance?limit=1", nil, nil)
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

// revive starts the programs that have ended. One that asks for a person is a fault.
func (n *network) revive(t *testing.T) {
	t.Helper()
	for _, at := range n.nodes {
		at.revive()
	}
}

func (n *node) revive() {
	n.T.Helper()
	if !ended(n.Cmd.Process.Pid) {
		return
	}
	if status := n.exit(); status == 78 {
		n.T.Fatalf("%s asks for a person:\n%s", n.name, n.Output)
	}
	n.launch()
}

// ended reports whether a process is gone, or waits for its parent to look at its status.
func ended(pid int) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	return err != nil || stateOf(string(stat)) == 'Z'
}
