package peers

import (
	"errors"
	"net"
	"sync"
)

// Merge returns a listener that accepts what any of the others accepts. Its address is
// that of the first. Close closes all, and waits for its goroutines.
func Merge(all ...net.Listener) net.Listener {
	m := &merged{Listener: all[0], all: all, accepted: make(chan accepted), done: make(chan struct{})}
	for _, l := range all {
		m.work.Go(func() { m.take(l) })
	}
	return m
}

type merged struct {
	net.Listener // the first
	all          []net.Listener
	accepted     chan accepted
	done         chan struct{} // closed by Close
	closing      sync.Once
	work         sync.WaitGroup
}

// accepted is what Accept returned.
type accepted struct {
	conn net.Conn
	err  error
}

// take hands on what one listener accepts. Its errors too: after one that passes it
// continues.
func (m *merged) take(l net.Listener) {
	for {
		conn, err := l.Accept()
		select {
		case m.accepted <- accepted{conn, err}:
		case <-m.done:
			if conn != nil {
				_ = conn.Close()
			}
			return
		}
		if errors.Is(err, net.ErrClosed) {
			return
		}
	}
}

// Accept implements [net.Listener].
func (m *merged) Accept() (net.Conn, error) {
	select {
	case a := <-m.accepted:
		return a.conn, a.err
	case <-m.done:
		return nil, net.ErrClosed
	}
}

// Close implements [net.Listener].
func (m *merged) Close() (err error) {
	m.closing.Do(func() {
		close(m.done)
		for _, l := range m.all {
			err = errors.Join(err, l.Close())
		}
		m.work.Wait()
	})
	return err
}
