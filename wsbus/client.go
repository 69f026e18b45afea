package wsbus

import (
	"context"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"nhooyr.io/websocket"

	"postern/event"
)

// client is one connection.
type client struct {
	cfg     Config
	kinds   []event.Kind // nil: all
	expires time.Time

	queue chan []byte // messages to write; when it is full the client is closed
	end   chan struct{}
	once  sync.Once
	code  websocket.StatusCode // why end was closed; read after it
	why   string
}

func newClient(cfg Config, kinds []event.Kind, expires time.Time) *client {
	return &client{cfg: cfg, kinds: kinds, expires: expires, queue: make(chan []byte, cfg.SendBuffer), end: make(chan struct{})}
}

// offer queues a message that the client wants. It reports false, once, when
// there is no room and the client is closed for it.
func (c *client) offer(kind event.Kind, body []byte) bool {
	if c.kinds != nil && !slices.Contains(c.kinds, kind) {
		return true
	}
	select {
	case <-c.end:
		return true
	default:
	}
	select {
	case c.queue <- body:
		return true
	default:
		c.kick(CodeSlow, "too slow")
		return false
	}
}

// kick ends the connection with a close code. The first one counts.
func (c *client) kick(code websocket.StatusCode, why string) {
	c.once.Do(func() {
		c.code, c.why = code, why
		close(c.end)
	})
}

// serve writes until the client goes or is kicked.
func (c *client) serve(conn *websocket.Conn) {
	var work sync.WaitGroup
	defer work.Wait()
	// The library closes a connection at once when the context of a read ends.
	reading, cut := context.WithCancel(context.Background())
	defer cut()
	ctx, gone := context.WithCancel(reading)
	defer gone()
	work.Go(func() {
		defer gone()
		c.read(reading, conn)
	})
	work.Go(func() { c.ping(ctx, conn) })
	if !c.expires.IsZero() {
		timer := time.AfterFunc(time.Until(c.expires), func() { c.kick(CodeExpired, "token expired") })
		defer timer.Stop()
	}
	if c.write(ctx, conn) {
		// The code reaches a client that still reads; nobody waits long for
		// the others.
		timer := time.AfterFunc(closeGrace, cut)
		defer timer.Stop()
		_ = conn.Close(c.code, c.why)
	}
}

// read takes the client's control frames. Data is not expected and ends the
// connection.
func (c *client) read(ctx context.Context, conn *websocket.Conn) {
	if _, _, err := conn.Reader(ctx); err == nil {
		c.kick(websocket.StatusPolicyViolation, "this socket takes no data")
		<-ctx.Done() // the close frame goes out first
	}
}

// closeGrace is how long a client may take to answer a close frame.
const closeGrace = time.Second

// write sends what is queued. It reports whether the client was kicked and a
// close frame can still be sent.
func (c *client) write(ctx context.Context, conn *websocket.Conn) (kicked bool) {
	for {
		select {
		case <-c.end:
			return true
		case <-ctx.Done():
			return false
		case body := <-c.queue:
			if err := c.writeOne(ctx, conn, body); err != nil {
				return false
			}
		}
	}
}

// writeOne writes one message. A kick does not wait for a client that takes
// none: it cuts the write short, and with it the connection.
func (c *client) writeOne(ctx context.Context, conn *websocket.Conn, body []byte) error {
	ctx, cancel := context.WithTimeout(ctx, c.cfg.WriteTimeout)
	defer cancel()
	written := make(chan struct{})
	var watch sync.WaitGroup
	defer watch.Wait()
	defer close(written)
	watch.Go(func() {
		select {
		case <-c.end:
			grace := time.NewTimer(kickGrace)
			defer grace.Stop()
			select {
			case <-grace.C:
				cancel()
			case <-written:
			}
		case <-written:
		}
	})
	return conn.Write(ctx, websocket.MessageText, body)
}

// kickGrace is how long a write in progress may go on after a kick.
const kickGrace = 100 * time.Millisecond

func (c *client) ping(ctx context.Context, conn *websocket.Conn) {
	tick := time.NewTicker(c.cfg.PingInterval)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
		answer, cancel := context.WithTimeout(ctx, c.cfg.PongTimeout)
		err := conn.Ping(answer)
		cancel()
		if err != nil {
			c.kick(websocket.StatusGoingAway, "no answer to a ping")
			return
		}
	}
}

// sameHost reports whether an origin is a page of the host that is asked.
func sameHost(origin, host string) bool {
	u, err := url.Parse(origin)
	return err == nil && u.Host != "" && strings.EqualFold(u.Host, host)
}
