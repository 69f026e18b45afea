package crash

import (
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"postern/cli/consumer"
)

// moment is where the program is when it is killed.
type moment string

// The moments. Those with a name of something that passes by are exact: what
// passes is held until the program is dead.
const (
	atAnyTime      moment = "at any time"
	atDelivery     moment = "a delivery arrived and is not answered"
	atInstance     moment = "a delivery of an instance's webhook arrived and is not answered"
	atDurable      moment = "a delivery to a durable endpoint arrived and is not answered"
	onWayOut       moment = "bytes left for the network"
	onWayIn        moment = "the network's bytes are on their way"
	inBody         moment = "half of a creation's body is sent"
	afterBody      moment = "a creation's body is sent, its answer is due"
	inShutdown     moment = "during an orderly stop"
	inStart        moment = "during the start"
	momentPatience        = 500 * time.Millisecond // then any time will do
)

// moments returns a round of them, in any order.
func moments(rng *rand.Rand) []moment {
	all := []moment{
		atAnyTime, atAnyTime, atDelivery, atDelivery, atInstance, atDurable, atDurable, onWayOut, onWayOut, onWayIn, onWayIn, onWayIn,
		inBody, afterBody, inShutdown, inShutdown, inStart,
	}
	rng.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	return all
}

// trap kills the program when something passes a moment for the n-th time.
type trap struct {
	mu   sync.Mutex
	at   moment
	left int
	kill func() // returns when the program is dead
	hits int    // kills so far
}

func (t *trap) set(at moment, n int, kill func()) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.at, t.left, t.kill = at, n, kill
}

// pass counts, and returns after the kill when there is one.
func (t *trap) pass(at moment) {
	t.mu.Lock()
	var kill func()
	if t.at == at {
		if t.left--; t.left == 0 {
			kill = t.kill
			t.hits++
		}
	}
	t.mu.Unlock()
	if kill != nil {
		kill()
	}
}

func (t *trap) armed(at moment) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.at == at
}

// process is one run of the program.
type process struct {
	running *os.Process
	ended   chan struct{} // closed at its end
	state   *os.ProcessState
}

// run starts the program and watches for its end.
func (s *siege) run() *process {
	s.T.Helper()
	s.Launch(s.addr)
	s.lives.Add(1)
	p := &process{running: s.Cmd.Process, ended: make(chan struct{})}
	cmd, wait := s.Cmd, s.Wait
	s.load.Go(func() {
		_ = wait()
		p.state = cmd.ProcessState
		close(p.ended)
	})
	return p
}

func (p *process) kill() {
	_ = p.running.Kill()
	<-p.ended
}

// killed reports whether the program ended by a kill.
func (p *process) killed() bool {
	status, ok := p.state.Sys().(syscall.WaitStatus)
	return ok && status.Signaled() && status.Signal() == syscall.SIGKILL
}

// strike lets the program come to the moment and kills it there.
func (s *siege) strike(p *process, at moment, rng *rand.Rand) {
	patience := time.Duration(rng.Int64N(int64(momentPatience)))
	switch at {
	case inStart:
		patience = time.Duration(rng.Int64N(int64(s.startTakes)))
	case inShutdown:
		s.ready(p)
		s.elapse(p, patience/2)
		_ = p.running.Signal(syscall.SIGTERM)
		most := []time.Duration{20 * time.Millisecond, 500 * time.Millisecond}[rng.IntN(2)]
		patience = time.Duration(rng.Int64N(int64(most)))
	case inBody, afterBody:
		s.trap.set(at, 1, p.kill)
		s.ready(p)
		own := rand.New(rand.NewPCG(rng.Uint64(), 0))
		s.load.Go(func() { s.users[0].createLarge(own) })
		patience = momentPatience
	case atAnyTime:
		s.ready(p)
	case atDelivery, atInstance, atDurable, onWayOut, onWayIn:
		s.trap.set(at, 1+rng.IntN(60), p.kill)
		s.ready(p)
		patience = momentPatience
	}
	s.elapse(p, patience)
	p.kill()
	s.checkWhole()
	s.trap.set("", 0, nil)
}

// elapse waits for the end of the program, at most so long.
func (s *siege) elapse(p *process, most time.Duration) {
	timer := time.NewTimer(most)
	defer timer.Stop()
	select {
	case <-p.ended:
	case <-timer.C:
	}
}

// ready waits until the program answers, or is dead.
func (s *siege) ready(p *process) {
	s.Await("ready", func() bool {
		select {
		case <-p.ended:
			return true
		default:
			return s.API.Call(s.T.Context(), consumer.Credential{}, http.MethodGet, "/ready", nil, nil) == nil
		}
	})
}

// wire is what the program and the sandbox talk through. It tells the trap of
// all that passes.
type wire struct {
	listener net.Listener
	to       string
	trap     *trap
	tasks    sync.WaitGroup
	last     atomic.Int64 // Unix nanoseconds of the last bytes
}

func newWire(t *testing.T, to string, trap *trap) *wire {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	w := &wire{listener: l, to: to, trap: trap}
	w.tasks.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			w.tasks.Go(func() { w.carry(c) })
		}
	})
	t.Cleanup(func() { _ = l.Close(); w.tasks.Wait() })
	return w
}

// carry ends when either side closes, which both do at the end of the test.
func (w *wire) carry(client net.Conn) {
	defer client.Close()
	server, err := net.Dial("tcp", w.to)
	if err != nil {
		return
	}
	defer server.Close()
	w.tasks.Go(func() {
		defer client.Close()
		defer server.Close()
		w.copy(server, func(b []byte) error {
			w.trap.pass(onWayIn)
			_, err := client.Write(b)
			return err
		})
	})
	w.copy(client, func(b []byte) error {
		_, err := server.Write(b)
		w.trap.pass(onWayOut)
		return err
	})
}

func (w *wire) copy(from io.Reader, pass func([]byte) error) {
	buf := make([]byte, 64<<10)
	for {
		n, err := from.Read(buf)
		w.last.Store(time.Now().UnixNano())
		if n > 0 {
			err = errors.Join(err, pass(buf[:n]))
		}
		if err != nil {
			return
		}
	}
}

// site is a receiver of webhooks that can go away and come back at the same
// address.
type site struct {
	addr    string
	handler http.Handler
	server  *http.Server
	served  sync.WaitGroup
}

// open tries for a while: a program that is just being started holds all that
// is open here, the last listener too, until its exec.
func (s *site) open() error {
	l, err := net.Listen("tcp", s.addr)
	for until := time.Now().Add(10 * time.Second); err != nil && time.Now().Before(until); {
		time.Sleep(time.Millisecond)
		l, err = net.Listen("tcp", s.addr)
	}
	if err != nil {
		return fmt.Errorf("receiver: %w", err)
	}
	s.server = &http.Server{Handler: s.handler, ReadHeaderTimeout: time.Minute}
	srv := s.server
	s.served.Go(func() { _ = srv.Serve(l) })
	return nil
}

func (s *site) close() {
	_ = s.server.Close()
	s.served.Wait()
}

// steadyAddress returns a free address below the ports that the system gives to
// outgoing connections: nothing takes it while its owner is down.
func steadyAddress(t *testing.T) string {
	t.Helper()
	for range 100 {
		l, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", 10_000+rand.IntN(20_000)))
		if err == nil {
			defer l.Close()
			return l.Addr().String()
		}
	}
	t.Fatal("no free port")
	return ""
}
