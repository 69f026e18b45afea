package network

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"github.com/coder/websocket"
	waBinary "go.mau.fi/whatsmeow/binary"
	"go.mau.fi/whatsmeow/proto/waWa6"
	wastore "go.mau.fi/whatsmeow/store"

	"postern/sandbox/network/wire"
)

const (
	handshakeTimeout = 10 * time.Second
	writeTimeout     = 10 * time.Second
	// grace is how long a connection stays open after its last stanza: whatsmeow loses
	// a stanza that is directly followed by the close.
	grace = 300 * time.Millisecond
	// maxUnsent is the largest backlog of a client that does not read; it is then
	// disconnected, and gets its stanzas after the next login.
	maxUnsent = 200_000
)

// conn is one client connection after the handshake.
type conn struct {
	ctx     context.Context // ends with the connection
	cancel  context.CancelCauseFunc
	ws      *websocket.Conn
	reader  *wire.FrameReader
	ciphers *wire.Ciphers // reading belongs to serve, writing to write
	log     *slog.Logger
	noise   [32]byte // the client's static key
	payload *waWa6.ClientPayload
	tasks   sync.WaitGroup

	registered *deviceKeys                // of an unpaired client, set before it is offered to phones
	device     *device                    // of a login; nil while unpaired. The server's mutex guards it, refs and version
	refs       []string                   // shown for a scan; none after the pairing began
	version    wastore.WAVersionContainer // zero until the client has introduced itself
	passkey    *passkeyLink

	mu      sync.Mutex // guards everything below
	unsent  []waBinary.Node
	wake    chan struct{} // capacity 1: data to write
	closing bool          // nothing may be added to unsent
	waiting map[string]chan waBinary.Node
}

var (
	errOverrun = errors.New("the client does not read")
	errGoodbye = errors.New("the session was ended by the server")
	errDropped = errors.New("the connection was dropped on request")
)

// accept upgrades a request and serves the client until either side ends.
func (s *Server) accept(w http.ResponseWriter, r *http.Request) {
	ws, err := websocket.Accept(w, r, &websocket.AcceptOptions{
		// Clients send WhatsApp's site as their origin; any other is a browser's page.
		OriginPatterns:  []string{"web.whatsapp.com"},
		CompressionMode: websocket.CompressionDisabled,
	})
	if err != nil {
		s.log.Debug("request refused", "error", err)
		return
	}
	defer func() { _ = ws.CloseNow() }()
	ws.SetReadLimit(wire.MaxMessage)
	ctx, cancel := context.WithCancelCause(r.Context())
	defer cancel(nil)
	c := &conn{
		ctx: ctx, cancel: cancel, ws: ws, reader: wire.NewFrameReader(wire.WebSocket(ws)),
		log: s.log.With("remote", r.RemoteAddr), wake: make(chan struct{}, 1), waiting: map[string]chan waBinary.Node{},
	}
	if !s.join(c) {
		return
	}
	err = s.session(c)
	c.cancel(err)
	s.leave(c)
	c.finish()
	c.log.Debug("connection ended", "reason", context.Cause(ctx))
}

// session runs a connection from the handshake to its end.
func (s *Server) session(c *conn) error {
	if err := c.handshake(s.authority, s.certificate); err != nil {
		c.log.Info("handshake failed", "error", err)
		return err
	}
	c.tasks.Go(func() {
		if c.pause(s.latency) {
			c.write()
		}
	})
	s.start(c)
	return s.serve(c)
}

func (c *conn) handshake(a *Authority, certificate []byte) error {
	ctx, cancel := context.WithTimeout(c.ctx, handshakeTimeout)
	defer cancel()
	header, err := c.reader.Preamble(ctx)
	if err != nil {
		return err
	}
	r, err := wire.NewResponder(header, a.static)
	if err != nil {
		return err
	}
	frame, err := c.reader.Frame(ctx)
	if err != nil {
		return err
	}
	hello, err := r.Hello(frame, certificate)
	if err != nil {
		return err
	}
	if err := c.writeFrame(ctx, hello); err != nil {
		return err
	}
	if frame, err = c.reader.Frame(ctx); err != nil {
		return err
	}
	c.noise, c.payload, c.ciphers, err = r.Finish(frame)
	return err
}

func (c *conn) writeFrame(ctx context.Context, content []byte) error {
	frame, err := wire.PackFrame(content)
	if err != nil {
		return err
	}
	return c.ws.Write(ctx, websocket.MessageBinary, frame)
}

// serve reads stanzas until the connection ends.
func (s *Server) serve(c *conn) error {
	for {
		frame, err := c.reader.Frame(c.ctx)
		if err != nil {
			return err
		}
		plaintext, err := c.ciphers.Open(frame)
		if err != nil {
			return fmt.Errorf("decrypt frame: %w", err)
		}
		node, err := wire.Decode(plaintext)
		if err != nil {
			return err
		}
		s.handle(c, node)
	}
}

// send queues a stanza without waiting. After goodbye it does nothing.
func (c *conn) send(nodes ...waBinary.Node) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closing {
		return
	}
	if len(c.unsent) > maxUnsent {
		c.closing = true
		c.cancel(errOverrun)
		return
	}
	c.unsent = append(c.unsent, nodes...)
	select {
	case c.wake <- struct{}{}:
	default:
	}
}

// goodbye sends a last stanza and the end of the stream, and closes the connection after the
// grace.
func (c *conn) goodbye(last waBinary.Node) {
	c.send(last, waBinary.Node{Tag: "xmlstreamend"})
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closing {
		return
	}
	c.closing = true
	c.tasks.Go(func() {
		select {
		case <-time.After(grace):
			c.cancel(errGoodbye)
		case <-c.ctx.Done():
		}
	})
}

// drop ends the connection at once; unsent data is lost.
func (c *conn) drop(reason error) {
	c.mu.Lock()
	c.closing, c.unsent = true, nil
	c.mu.Unlock()
	c.cancel(reason)
}

// finish waits for the connection's goroutines; none starts afterwards.
func (c *conn) finish() {
	c.mu.Lock()
	c.closing = true
	c.mu.Unlock()
	c.tasks.Wait()
}

// write sends what is queued, in order.
func (c *conn) write() {
	for {
		select {
		case <-c.wake:
		case <-c.ctx.Done():
			return
		}
		c.mu.Lock()
		nodes := c.unsent
		c.unsent = nil
		c.mu.Unlock()
		for _, n := range nodes {
			if err := c.writeNode(n); err != nil {
				c.cancel(err)
				return
			}
		}
	}
}

func (c *conn) writeNode(n waBinary.Node) error {
	raw, err := wire.Encode(n)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(c.ctx, writeTimeout)
	defer cancel()
	return c.writeFrame(ctx, c.ciphers.Seal(raw))
}

// pause waits for d, and reports whether the connection is still there.
func (c *conn) pause(d time.Duration) bool {
	if d <= 0 {
		return true
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-c.ctx.Done():
		return false
	}
}

// later runs f after d, unless the connection ends first. Only serve's goroutine calls
// it.
func (c *conn) later(d time.Duration, f func()) {
	if d <= 0 {
		f()
		return
	}
	c.tasks.Go(func() {
		if c.pause(d) {
			f()
		}
	})
}

// expect returns a channel for the answer to the request with this id.
func (c *conn) expect(id string) <-chan waBinary.Node {
	answer := make(chan waBinary.Node, 1)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.waiting[id] = answer
	return answer
}

func (c *conn) forget(id string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.waiting, id)
}

// answered passes an answer to its waiter.
func (c *conn) answered(id string, n waBinary.Node) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	answer, ok := c.waiting[id]
	delete(c.waiting, id)
	if ok {
		answer <- n
	}
	return ok
}

// ask sends a request and waits for its answer.
func (c *conn) ask(id string, n waBinary.Node) (waBinary.Node, error) {
	answer := c.expect(id)
	defer c.forget(id)
	n.Attrs["id"] = id
	c.send(n)
	return c.await(answer)
}

func (c *conn) await(answer <-chan waBinary.Node) (waBinary.Node, error) {
	timer := time.NewTimer(pairTimeout)
	defer timer.Stop()
	select {
	case n := <-answer:
		return n, nil
	case <-c.ctx.Done():
		return waBinary.Node{}, fmt.Errorf("the client went away: %w", ErrPairing)
	case <-timer.C:
		return waBinary.Node{}, fmt.Errorf("the client did not answer: %w", ErrPairing)
	}
}
