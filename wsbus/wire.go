package wsbus

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"sync"
	"time"

	"nhooyr.io/websocket"
)

// Sizes of a connection's buffers. Clients send control frames only, of 14
// bytes mostly. A message that fits into the other buffer leaves in one packet;
// most do.
const (
	readBuffer  = 128
	writeBuffer = 2048
)

// upgrade answers the handshake and takes the connection from the server. Each
// write to it fails after the timeout; flood is called when the client exceeds its
// limit, and must lead to closing the connection. After an error the request is
// answered. The origin was checked by the caller.
func upgrade(w http.ResponseWriter, r *http.Request, timeout time.Duration, flood func()) (*websocket.Conn, net.Conn, error) {
	u := &upgrader{ResponseWriter: w, timeout: timeout, flood: flood}
	conn, err := websocket.Accept(u, r, &websocket.AcceptOptions{
		InsecureSkipVerify: true, CompressionMode: websocket.CompressionDisabled,
	})
	return conn, u.wire, err
}

// upgrader hands the connection to the library with deadlines, and with smaller
// buffers than the server's.
type upgrader struct {
	http.ResponseWriter
	timeout time.Duration
	flood   func()
	wire    net.Conn // set by Hijack
}

// Hijack implements [http.Hijacker].
func (u *upgrader) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	conn, rw, err := http.NewResponseController(u.ResponseWriter).Hijack()
	if err != nil {
		return nil, nil, fmt.Errorf("take over the connection: %w", err)
	}
	// The library keeps what the server has read too much by looking at the
	// reader's buffer, which a smaller one could not hold.
	reader := rw.Reader
	if reader.Buffered() == 0 {
		reader = bufio.NewReaderSize(conn, readBuffer)
	}
	_ = conn.SetDeadline(time.Time{})
	u.wire = &wire{Conn: conn, timeout: u.timeout, flood: u.flood, closed: make(chan struct{})}
	return u.wire, bufio.NewReadWriter(reader, bufio.NewWriterSize(u.wire, writeBuffer)), nil
}

// Limits of what a client may send, in bytes: only pongs, occasional pings and the
// close frame are expected, and each ping costs an answer.
const (
	controlBurst     = 8 << 10
	controlPerSecond = 1 << 10
)

// meter is a leaky bucket of a client's bytes, which drains by controlPerSecond.
// The zero value is empty. It is for one goroutine.
type meter struct {
	level float64
	at    time.Time
}

// over notes n bytes and reports whether they are more than a client may send.
func (m *meter) over(n int, now time.Time) bool {
	m.level = max(0, m.level-controlPerSecond*now.Sub(m.at).Seconds()) + float64(n)
	m.at = now
	return m.level > controlBurst
}

// wire is a connection that limits the time of a write to timeout, and the bytes read
// to those that a client may send.
type wire struct {
	net.Conn
	timeout time.Duration
	flood   func()
	sent    meter

	closing sync.Once
	closed  chan struct{}
}

// Read implements [net.Conn]. Nothing of a flood is read; it stays for the end
// of the connection, so that the close frame can give the client the reason.
func (w *wire) Read(p []byte) (int, error) {
	n, err := w.Conn.Read(p)
	if !w.sent.over(n, time.Now()) {
		return n, err
	}
	w.flood()
	<-w.closed
	return 0, net.ErrClosed
}

// Close implements [net.Conn].
func (w *wire) Close() error {
	w.closing.Do(func() { close(w.closed) })
	return w.Conn.Close()
}

// Write implements [net.Conn].
func (w *wire) Write(p []byte) (int, error) {
	if err := w.SetWriteDeadline(time.Now().Add(w.timeout)); err != nil {
		return 0, err
	}
	return w.Conn.Write(p)
}

// read takes the client's control frames. Data is not expected and ends the
// connection.
func (c *client) read(conn *websocket.Conn) {
	_, _, err := conn.Reader(context.Background())
	if err == nil {
		c.kick(websocket.StatusPolicyViolation, "this socket takes no data")
		return
	}
	c.kick(codeLost, "the connection ended")
}

// flood ends a client that sends more than its control frames need.
func (c *client) flood() { c.kick(websocket.StatusPolicyViolation, "too many control frames") }

// write brings a global client up to date and then sends what is queued.
func (c *client) write(ctx context.Context, conn *websocket.Conn) {
	if !c.catchUp(ctx, conn) {
		return
	}
	for {
		body, ok := c.next()
		if !ok || !c.send(ctx, conn, body) {
			return
		}
	}
}

// send writes one message, filtered for the client. It reports false when the client ends
// with it.
func (c *client) send(ctx context.Context, conn *websocket.Conn, body []byte) bool {
	if c.tells != nil {
		if body = c.tells(body); body == nil {
			return true
		}
	}
	if valid := c.hub.cfg.Valid; valid != nil && !valid() {
		c.kick(websocket.StatusServiceRestart, "another node takes over")
		return false
	}
	err := conn.Write(ctx, websocket.MessageText, body)
	if err == nil {
		return true
	}
	if errors.Is(err, os.ErrDeadlineExceeded) {
		c.kick(CodeSlow, "too slow")
	} else {
		c.kick(codeLost, "the connection ended")
	}
	return false
}

// ping sends a ping at every interval. No goroutine waits between two pings. stop
// waits for the current one, which a closed connection ends.
func (c *client) ping(conn *websocket.Conn) (stop func()) {
	var (
		mu      sync.Mutex // held while a ping is under way
		stopped bool
		timer   *time.Timer
	)
	mu.Lock()
	defer mu.Unlock()
	timer = time.AfterFunc(c.hub.cfg.PingInterval, func() {
		mu.Lock()
		defer mu.Unlock()
		if !stopped {
			c.pingOnce(conn)
			timer.Reset(c.hub.cfg.PingInterval)
		}
	})
	return func() {
		mu.Lock()
		defer mu.Unlock()
		stopped = true
		timer.Stop()
	}
}

// pingOnce ends a client that does not answer. An error before the timeout says
// nothing of the client: either the connection is closed, which its reader
// knows, or a message is being written, which has its own timeout.
func (c *client) pingOnce(conn *websocket.Conn) {
	ctx, cancel := context.WithTimeout(context.Background(), c.hub.cfg.PongTimeout)
	defer cancel()
	if err := conn.Ping(ctx); err != nil && ctx.Err() != nil {
		c.kick(CodeSlow, "no answer to a ping")
	}
}
