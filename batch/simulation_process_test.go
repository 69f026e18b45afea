package batch

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"sync"
	"testing/synctest"
	"time"

	"github.com/google/uuid"

	"postern/batch/optout"
	"postern/delivery/outbox"
	"postern/instance/pace"
	"postern/store"
)

// The times of the simulated program. They are odd, so that its timers meet
// only when a step makes them.
const (
	simSend     = 30 * time.Second
	simLease    = 61 * time.Second
	simPatience = 15*time.Second + 7*time.Millisecond
	simStop     = 20*time.Second + 3*time.Millisecond
)

// simProcess is one run of the program: an engine on a file, from its start to
// its end or its death.
type simProcess struct {
	net    *simNet
	store  *store.Store
	engine *Engine
	book   *optout.Book
	pacer  *pace.Pacer
	dead   bool // guarded by net.mu

	stopped chan error // what Stop returned; nil: not stopping
	stopBy  time.Time

	*simWriter
}

// simWriter is the known state of a store's writer, and what it is ordered to
// do after a commit.
type simWriter struct {
	path string

	mu      sync.Mutex
	commits int    // changes that were committed
	dieAt   int    // do cut once there are so many; 0: do not
	holdAt  int    // wait once there are so many; 0: do not
	cut     func() // ends the process
	held    chan struct{}
	over    bool                  // what the process still has to write is lost
	noted   map[*simNote]struct{} // writes of the pacer that are in the next commit
	early   bool                  // the process dies with the next of those, before it is in the file
}

// simNote is a write of the pacer.
type simNote struct{ _ byte }

// simLedger is the store as the pacer has it. Its writes are not counted as
// changes of batches, and those that wait for a commit end with the process.
type simLedger struct {
	*store.Store
	w *simWriter
}

func (l simLedger) Update(ctx context.Context, fn func(*store.Tx) error) error {
	return l.Store.Update(ctx, l.w.note(fn))
}

func (l simLedger) Submit(fn func(*store.Tx) error) (*store.Submitted, error) {
	return l.Store.Submit(l.w.note(fn))
}

func (l simLedger) Attach(fn func(*store.Tx) error) (*store.Submitted, error) {
	return l.Store.Attach(l.w.note(fn))
}

func (w *simWriter) note(fn func(*store.Tx) error) func(*store.Tx) error {
	n := new(simNote)
	return func(tx *store.Tx) error {
		w.mu.Lock()
		over, dies := w.over, w.early && !w.over
		w.early = false
		w.noted[n] = struct{}{}
		if dies {
			delete(w.noted, n)
		}
		w.mu.Unlock()
		switch {
		case over:
			return nil
		case dies:
			w.cut()
			return store.ErrClosed
		}
		return fn(tx)
	}
}

// end has nothing written from now on of what waits for a commit.
func (w *simWriter) end() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.over = true
}

func (w *simWriter) ended() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.over
}

// boot opens the file and starts an engine on it.
func boot(net *simNet, path string, how simBoot) (*simProcess, error) {
	w := &simWriter{path: path, noted: map[*simNote]struct{}{}}
	s, err := store.Open(store.Options{
		Path: path, Buckets: append(withOutbox(), pace.Buckets()...), NoSync: true, MinFree: 1, OnCommit: w.committed,
		Fatal: func(error) {}, Now: net.watch.now,
	})
	if err != nil {
		return nil, err
	}
	w.cut = func() {
		w.end()
		closeAtOnce(s)
	}
	if err := net.readBooks(s); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	pacer, err := pace.Open(context.Background(), pace.Config{
		Store: simLedger{s, w}, Now: net.watch.now, Person: numberOf, IsNew: net.isNew, Changed: net.roomMade,
	})
	if err != nil {
		return nil, err
	}
	return start(net, s, pacer, w, how)
}

// simBoot says how a process begins.
type simBoot struct {
	enabled bool                         // its workers are
	random  func(uuid.UUID, int64) int64 // its chance
	life    time.Duration                // of final batches; 0: they are kept
}

// start starts an engine on an open store.
func start(net *simNet, s *store.Store, pacer *pace.Pacer, w *simWriter, how simBoot) (*simProcess, error) {
	p := &simProcess{net: net, store: s, pacer: pacer, simWriter: w}
	box, err := outbox.Open(s)
	if err != nil {
		return nil, err
	}
	if p.book, err = optout.Open(optout.Config{Store: s, Open: MayStillSend}); err != nil {
		return nil, err
	}
	p.engine, err = New(Config{
		Store: s, Outbox: box, OptOuts: p.book, Fleet: p, NewMessageID: net.messageID, Enabled: how.enabled, LetGo: func(id uuid.UUID) { pacer.Release(id.String()) },
		SendTimeout: simSend, Lease: simLease, ShutdownTimeout: simPatience, Retention: how.life,
	})
	if err != nil {
		return nil, err
	}
	p.engine.random, p.engine.newID, p.engine.now = how.random, net.batchID, net.watch.now
	net.change(func() { net.runs = p })
	return p, p.engine.Start(context.Background())
}

// isNew reports whether someone is a new contact.
func (n *simNet) isNew(_ int64, jid string) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return !n.env.knows(numberOf(jid))
}

// roomMade tells the engine that runs that an instance may send sooner than its
// limits said.
func (n *simNet) roomMade(id int64) {
	n.mu.Lock()
	runs, state := n.runs, n.env.instances[id].state
	n.mu.Unlock()
	if runs != nil {
		runs.engine.GateChanged(id, state)
	}
}

func (w *simWriter) committed(calls int, _ time.Duration) {
	w.mu.Lock()
	w.commits += calls - len(w.noted)
	clear(w.noted)
	dies := w.dieAt > 0 && w.commits >= w.dieAt
	holds := w.holdAt > 0 && w.commits >= w.holdAt
	if holds {
		w.holdAt = 0
	}
	w.mu.Unlock()
	if dies {
		w.cut()
	}
	if holds {
		<-w.held
	}
}

// between does a, and b when a has led to so many commits, before anything
// else is committed: the writer is held meanwhile. Without so many it does b at
// the end.
func (w *simWriter) between(a func(), commits int, b func()) {
	w.mu.Lock()
	w.held = make(chan struct{})
	w.holdAt = w.commits + commits
	w.mu.Unlock()
	a()
	synctest.Wait()
	var done sync.WaitGroup
	done.Go(b)
	synctest.Wait()
	w.mu.Lock()
	w.holdAt = 0
	w.mu.Unlock()
	close(w.held)
	done.Wait()
}

// closeAtOnce takes the file away: from its return on, no further commit is
// taken. It runs in the writer, which Close waits for.
func closeAtOnce(s *store.Store) {
	go s.Close()
	over, cancel := context.WithCancel(context.Background())
	cancel()
	for !errors.Is(s.Update(over, func(*store.Tx) error { return nil }), store.ErrClosed) {
		runtime.Gosched()
	}
}

// arm has the process die right after so many more commits; 0: before the next
// write of the pacer.
func (w *simWriter) arm(commits int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if commits == 0 {
		w.early = true
		return
	}
	w.dieAt = w.commits + commits
}

func (w *simWriter) total() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.commits
}

// wholeFile reports what in the file lacks what it needs.
func (p *simProcess) wholeFile() error {
	r, err := store.Check(context.Background(), p.path, append(withOutbox(), pace.Buckets()...))
	if err == nil && len(r.Faults) > 0 {
		err = fmt.Errorf("faults: %q", r.Faults)
	}
	return err
}

// bury ends the process as SIGKILL does: only what was committed is left. Its
// goroutines end, and cannot reach the file any more.
func (p *simProcess) bury() error {
	p.end()
	err := errors.Join(p.store.Close(), p.wholeFile())
	p.net.mu.Lock()
	p.dead = true
	var waiting []*simCall
	for _, c := range p.net.calls {
		if c.by == p && !c.over {
			waiting = append(waiting, c)
		}
	}
	p.net.mu.Unlock()
	for _, c := range waiting {
		select {
		case c.reply <- simReply{}: // the message leaves, its result cannot be stored
		default:
		}
	}
	if stopErr := p.engine.Stop(context.Background()); err == nil {
		err = stopErr
	}
	synctest.Wait()
	return err
}

// simChance makes the engine's choices: from a seed, the batch and how often it
// was sent from. So a life can be lived again, whichever of two goroutines
// comes first.
type simChance struct {
	seed uint64
	net  *simNet

	mu      sync.Mutex
	next    uint64 // number of the batch being created
	numbers map[uuid.UUID]uint64
}

// expect tells the number of a batch that is yet to be created.
func (c *simChance) expect(number int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.next = uint64(number)
}

// known tells that this was the batch.
func (c *simChance) known(id uuid.UUID) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.numbers[id] = c.next
}

func (c *simChance) draw(batch uuid.UUID, n int64) int64 { return c.drawBefore(batch, n, 0) }

// drawBefore returns what draw was so many sends of the batch ago.
func (c *simChance) drawBefore(batch uuid.UUID, n int64, sends int) int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	number, ok := c.numbers[batch]
	if !ok {
		number = c.next
	}
	return rand.New(rand.NewPCG(c.seed, number<<32|uint64(c.net.sentBy(number)-sends)<<8|uint64(n)&0xff)).Int64N(n)
}
