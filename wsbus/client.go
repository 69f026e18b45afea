package wsbus

import (
	"context"
	"net"
	"slices"
	"strconv"
	"sync"
	"time"

	"nhooyr.io/websocket"

	"postern/event"
)

// Private close codes, and the one for the end of the program.
const (
	CodeExpired websocket.StatusCode = 4001
	CodeRevoked websocket.StatusCode = 4003
	CodeSlow    websocket.StatusCode = 4008

	codeStopping = websocket.StatusGoingAway
	// codeLost is no code: the connection is broken and gets no close frame.
	codeLost websocket.StatusCode = 0
)

// grace is the time between the decision to close a connection and its end: for the
// current message, the close frame and the client's answer to it.
const grace = time.Second

// client is one connection.
type client struct {
	hub    *Hub
	kinds  []event.Kind // nil: all
	token  Token
	holder Token                    // on which token depends; zero: on none
	scoped bool                     // token is none of the instance's own
	tells  func(body []byte) []byte // nil: everything as it is

	counts   bool   // it has since, and gets no event without a number
	past     past   // the stored events; nil for the clients of an instance without
	position uint64 // among those; only its writer changes it, and only until it is live
	known    []Gap  // with since: gaps that the client knows of
	lenient  bool   // other events that are not kept may be left out too

	own Messages // of ServeFeed, which has nothing in queue; nil for the others

	wake chan struct{} // size 1: the state below changed

	mu      sync.Mutex
	expires time.Time // by the clock on the wall; zero: never
	live    bool      // published events are queued
	newest  uint64    // newest sequence known of
	queue   []message // to write, at most cfg.SendBuffer
	wire    net.Conn  // nil until the upgrade
	ended   bool
	resume  bool // the reason of the end is the position to reconnect with
	wasLive bool // with resume: it was live then, and the position is at
	at      uint64
	code    websocket.StatusCode // of its end
	why     string
	hangUp  *time.Timer // closes the connection when the grace period ends
	expirer *time.Timer
}

// message is a published event in a queue; seq is 0 for one that is not stored.
type message struct {
	seq  uint64
	body []byte
}

func newClient(h *Hub, kinds []event.Kind, expires time.Time) *client {
	return &client{hub: h, kinds: kinds, expires: expires.Round(0), wake: make(chan struct{}, 1)}
}

func (c *client) wants(kind event.Kind) bool { return c.kinds == nil || slices.Contains(c.kinds, kind) }

// offer queues a published message that the client wants and has not received
// yet. Without room for it the client is closed. An event that is not stored has
// the sequence 0; a client that counts is sent back for it.
func (c *client) offer(kind event.Kind, seq uint64, body []byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ended {
		return
	}
	c.newest = max(c.newest, seq)
	switch {
	case !c.live && seq != 0: // the store has it
	case seq != 0 && seq <= c.position, !c.wants(kind):
	case seq == 0 && c.counts:
		c.sendBack()
	case len(c.queue) >= c.hub.cfg.SendBuffer:
		c.end(CodeSlow, "too slow")
	default:
		c.queue = append(c.queue, message{seq, body})
		c.nudge()
	}
}

// sendBack closes a client that counts: the next event has no number. The reason is
// its position after the current message. The caller holds mu.
func (c *client) sendBack() {
	c.resume, c.wasLive = true, c.live
	switch {
	case !c.live: // its writer has the position
	case len(c.queue) > 0:
		c.at = c.queue[0].seq - 1 // the queue is not written
	default:
		c.at = max(c.newest, c.position)
	}
	c.close(CodeSlow, "")
}

// reach notes that events up to seq may have been published before the client
// was registered.
func (c *client) reach(seq uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.newest = max(c.newest, seq)
}

// published returns the newest sequence known of while the client is not live.
func (c *client) published() uint64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.newest
}

// goLive starts queueing published events, unless some were published
// that the client has not received.
func (c *client) goLive() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.live = c.live || c.newest <= c.position
	return c.live
}

// next waits for a message to write. It reports false at the client's end; when
// that is the program's end, the queue is written first.
func (c *client) next() (body []byte, ok bool) {
	if c.own != nil {
		return c.nextOwn()
	}
	for {
		c.mu.Lock()
		waiting, ended := len(c.queue) > 0, c.ended
		if waiting {
			body = c.queue[0].body
			c.queue[0] = message{}
			if c.queue = c.queue[1:]; len(c.queue) == 0 {
				c.queue = nil // most clients are idle most of the time
			}
		}
		c.mu.Unlock()
		if waiting || ended {
			return body, waiting
		}
		<-c.wake
	}
}

// nextOwn is next for a client with its own messages, which ends at once.
func (c *client) nextOwn() (body []byte, ok bool) {
	for !c.over() {
		body, err := c.own.Next()
		switch {
		case err != nil:
			c.kick(CodeSlow, "too slow")
		case body != nil:
			return body, true
		default:
			<-c.wake
		}
	}
	return nil, false
}

// kick ends the connection with a close code. The first one counts.
func (c *client) kick(code websocket.StatusCode, why string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.end(code, why)
}

// end is kick for callers that hold mu.
func (c *client) end(code websocket.StatusCode, why string) {
	if c.ended {
		return
	}
	if code == CodeSlow {
		c.hub.slow.Add(1)
	}
	c.close(code, why)
}

// close ends the connection. The caller holds mu and has checked that it has not ended.
func (c *client) close(code websocket.StatusCode, why string) {
	c.ended, c.code, c.why = true, code, why
	if code != codeStopping {
		c.queue = nil
	}
	if c.wire != nil {
		c.hangUp = hangUpLater(c.wire)
	}
	c.nudge()
}

func (c *client) nudge() {
	select {
	case c.wake <- struct{}{}:
	default:
	}
}

func hangUpLater(wire net.Conn) *time.Timer {
	return time.AfterFunc(grace, func() { _ = wire.Close() })
}

func (c *client) over() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.ended
}

// verdict is why the client ended, after its last write.
func (c *client) verdict() (websocket.StatusCode, string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.resume && c.wasLive:
		return c.code, strconv.FormatUint(c.at, 10)
	case c.resume:
		return c.code, strconv.FormatUint(c.position, 10)
	}
	return c.code, c.why
}

// attach gives the client its connection. It may have been kicked before.
func (c *client) attach(wire net.Conn) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.wire = wire
	if c.ended {
		c.hangUp = hangUpLater(wire)
	}
	c.setExpirer()
}

// expireAt changes the expiry of the client's token.
func (c *client) expireAt(t time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.expires = t.Round(0)
	c.setExpirer()
}

// clockWasSet sets the timer of the expiry again.
func (c *client) clockWasSet() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.setExpirer()
}

// setExpirer is for callers that hold mu.
func (c *client) setExpirer() {
	if c.wire == nil {
		return
	}
	if c.expirer != nil {
		c.expirer.Stop()
	}
	if !c.expires.IsZero() {
		c.expirer = time.AfterFunc(c.expires.Sub(c.hub.now()), func() { c.kick(CodeExpired, "token expired") })
	}
}

// detach stops the timers.
func (c *client) detach() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.hangUp != nil {
		c.hangUp.Stop()
	}
	if c.expirer != nil {
		c.expirer.Stop()
	}
}

// serve writes until the client disconnects or is kicked.
func (c *client) serve(conn *websocket.Conn, wire net.Conn) {
	c.attach(wire)
	defer c.detach()
	var reader sync.WaitGroup
	reader.Go(func() { c.read(conn) })
	stopPings := c.ping(conn)
	ctx := context.Background() // the wire has the deadlines
	c.write(ctx, conn)
	code, why := c.verdict()
	if code != codeLost {
		_ = conn.Close(code, why)
	}
	_ = wire.Close()
	_ = conn.CloseNow()
	reader.Wait()
	stopPings()
	if code == CodeSlow && !c.resume {
		c.hub.log.Warn("websocket client closed; it reads too slowly: raise websocket.send_buffer, or let it reconnect with since", "code", int(code), "reason", why)
	} else {
		c.hub.log.Debug("websocket client closed", "code", int(code), "reason", why)
	}
}
