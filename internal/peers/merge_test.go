package peers

import (
	"errors"
	"io"
	"net"
	"sync"
	"testing"
	"time"
)

func TestOneListenerAcceptsForAll(t *testing.T) {
	listen := func() net.Listener {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		return l
	}
	a, b := listen(), listen()
	m := Merge(a, b)
	if m.Addr() != a.Addr() {
		t.Errorf("it says that it is at %v", m.Addr())
	}
	for _, l := range []net.Listener{a, b, a} {
		out, err := net.Dial("tcp", l.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		in, err := m.Accept()
		if err != nil || in.LocalAddr().String() != l.Addr().String() {
			t.Fatalf("%v, %v", in, err)
		}
		_, _ = out.Close(), in.Close()
	}
	var waiting sync.WaitGroup
	waiting.Go(func() {
		if _, err := m.Accept(); !errors.Is(err, net.ErrClosed) {
			t.Errorf("after the end: %v", err)
		}
	})
	if err := m.Close(); err != nil {
		t.Error(err)
	}
	waiting.Wait()
	if _, err := net.Dial("tcp", b.Addr().String()); err == nil {
		t.Error("the second is open")
	}
}

// limping is a listener that fails, continues, and accepts one connection.
type limping struct {
	net.Listener
	turns chan func() (net.Conn, error)
}

// Accept implements net.Listener.
func (l *limping) Accept() (net.Conn, error) {
	turn, open := <-l.turns
	if !open {
		return nil, net.ErrClosed
	}
	return turn()
}

// Close implements net.Listener.
func (l *limping) Close() error {
	close(l.turns)
	return nil
}

// TestTemporaryErrorIsPassedOn, as when there are no descriptors left.
// What was accepted and accepted by no server is closed.
func TestTemporaryErrorIsPassedOn(t *testing.T) {
	scarce := errors.New("too many open files")
	first, second := net.Pipe()
	l := &limping{turns: make(chan func() (net.Conn, error), 3)}
	l.turns <- func() (net.Conn, error) { return nil, scarce }
	l.turns <- func() (net.Conn, error) { return first, nil }
	quiet := &limping{turns: make(chan func() (net.Conn, error))}
	m := Merge(l, quiet)
	if _, err := m.Accept(); !errors.Is(err, scarce) {
		t.Errorf("%v", err)
	}
	if c, err := m.Accept(); err != nil || c != first {
		t.Errorf("%v, %v", c, err)
	}
	l.turns <- func() (net.Conn, error) { return first, nil }
	for len(l.turns) > 0 {
		time.Sleep(time.Millisecond)
	}
	if err := m.Close(); err != nil {
		t.Error(err)
	}
	_ = second.SetReadDeadline(time.Now().Add(10 * time.Second))
	if _, err := second.Read(make([]byte, 1)); !errors.Is(err, io.EOF) {
		t.Errorf("an unaccepted connection is open: %v", err)
	}
}
