package batch

import (
	"context"
	"errors"
	"math/rand/v2"
	"runtime"
	"sync"
	"testing/synctest"
	"time"

	"github.com/google/uuid"

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
	dead   bool // guarded by net.mu

	stopped chan error // what Stop returned; nil: nobody stops
	stopBy  time.Time

	mu      sync.Mutex // what the writer of the store tells
	path    string
	commits int // changes that were committed
	dieAt   int // how many there will ever be; 0: no end is set
	holdAt  int // hold the writer once there are so many; 0: do not
	held    chan struct{}
}

// boot opens the file and starts an engine on it.
func boot(net *simNet, path string, enabled bool, random func(uuid.UUID, int64) int64) (*simProcess, error) {
	p := &simProcess{net: net, path: path}
	var err error
	p.store, err = store.Open(store.Options{
		Path: path, Buckets: Buckets(), NoSync: true, MinFree: 1, OnCommit: p.committed, Fatal: func(error) {},
	})
	if err != nil {
		return nil, err
	}
	p.engine, err = New(Config{
		Store: p.store, Fleet: p, NewMessageID: net.messageID, Enabled: enabled,
		SendTimeout: simSend, Lease: simLease, ShutdownTimeout: simPatience,
	})
	if err != nil {
		return nil, err
	}
	p.engine.random = random
	return p, p.engine.Start(context.Background())
}

func (p *simProcess) committed(calls int, _ time.Duration) {
	p.mu.Lock()
	p.commits += calls
	dies := p.dieAt > 0 && p.commits >= p.dieAt
	holds := p.holdAt > 0 && p.commits >= p.holdAt
	if holds {
		p.holdAt = 0
	}
	p.mu.Unlock()
	if dies {
		p.cut()
	}
	if holds {
		<-p.held
	}
}

// between does a, and b when a has led to so many commits, before anything
// else is committed: the writer is held meanwhile. Without so many it does b at
// the end.
func (p *simProcess) between(a func(), commits int, b func()) {
	p.mu.Lock()
	p.held = make(chan struct{})
	p.holdAt = p.commits + commits
	p.mu.Unlock()
	a()
	synctest.Wait()
	var done sync.WaitGroup
	done.Go(b)
	synctest.Wait()
	p.mu.Lock()
	p.holdAt = 0
	p.mu.Unlock()
	close(p.held)
	done.Wait()
}

// cut takes the file away from the process: from the return on, no further
// commit is taken. It runs in the writer, which Close waits for.
func (p *simProcess) cut() {
	go p.store.Close()
	over, cancel := context.WithCancel(context.Background())
	cancel()
	for !errors.Is(p.store.Update(over, func(*store.Tx) error { return nil }), store.ErrClosed) {
		runtime.Gosched()
	}
}

// arm has the process die right after so many more commits.
func (p *simProcess) arm(commits int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.dieAt = p.commits + commits
}

func (p *simProcess) total() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.commits
}

// bury ends the process as SIGKILL does: only what was committed is left. Its
// goroutines end, and cannot reach the file any more.
func (p *simProcess) bury() error {
	err := p.store.Close()
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

func (c *simChance) draw(batch uuid.UUID, n int64) int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	number, ok := c.numbers[batch]
	if !ok {
		number = c.next
	}
	return rand.New(rand.NewPCG(c.seed, number<<32|uint64(c.net.sentBy(number))<<8|uint64(n)&0xff)).Int64N(n)
}
