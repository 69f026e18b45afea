package wsbus

import (
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"

	"postern/event"
)

// ErrTooMany reports that the token has its maximum number of clients.
var ErrTooMany = errors.New("too many connections with this token")

// ErrStopping is returned to a client that comes after Close began.
var ErrStopping = errors.New("the websocket hub is stopping")

// Config is what a Hub needs. Zero durations and sizes mean the defaults.
type Config struct {
	Events         Replayer[uuid.UUID] // the stored batch events, by user; ServeGlobal needs it
	InstanceEvents Replayer[int64]     // the stored events of durable instances; their clients need it

	SendBuffer   int           // messages that may wait for one client, default 256
	PingInterval time.Duration // default 25 s
	PongTimeout  time.Duration // for the answer to a ping, default 60 s
	WriteTimeout time.Duration // for one message, default 10 s
	MaxPerToken  int           // clients of one token; 0 sets no limit

	AllowedOrigins   []string // empty: the same host only
	AllowEmptyOrigin bool     // let clients without an Origin header in

	// Valid reports whether this process may still report what happens. Clients of one
	// that may not are closed with 1012. nil: it always may.
	Valid func() bool

	Logger *slog.Logger // nil discards
}

// GlobalClient is a subscription to the batch events of one user.
type GlobalClient struct {
	Owner   uuid.UUID
	Kinds   []event.Kind // nil: all
	Expires time.Time    // of the token; zero: never
	Token   Token        // that it came with
	Holder  Token        // on which its token depends; zero: on none
	Check   func() error // as of an InstanceClient
	// Tells filters the messages of the user: it returns the body to send, or nil to skip
	// the message, like an event of another kind. The goroutine that writes to the client
	// calls it. nil: no filter.
	Tells func(body []byte) []byte
	Since *uint64 // replay the events after this sequence first; 0: all that is kept; nil: none
}

// InstanceClient is a subscription to the events of one instance.
type InstanceClient struct {
	Instance int64
	Durable  bool         // its events are stored and numbered
	Kinds    []event.Kind // nil: all
	Expires  time.Time    // of the token; zero: never
	Token    Token        // that it came with
	Holder   Token        // on which its token depends; zero: on none
	Scoped   bool         // its token is none of the instance's own
	// Since is as in GlobalClient, with Durable only. A client with it gets no event
	// without a number: such an event of its kinds closes it with CodeSlow and its
	// position as the reason.
	Since *uint64
	// Check verifies the token again once the client is registered, so that
	// RevokeInstance does not miss it. An error refuses the client. A nil Check
	// accepts it.
	Check func() error
}

// Messages is the source of one client of ServeFeed. Next is called by one goroutine.
type Messages interface {
	// Next is the next message, nil when there is none before the client is woken
	// again. An error ends the client with CodeSlow: it did not keep up.
	Next() ([]byte, error)
	// Close is called once, when the client has disconnected or was refused.
	Close()
}

// FeedClient is a client with its own messages.
type FeedClient struct {
	// Open starts the messages. wake may be called from any goroutine, and never
	// blocks.
	Open    func(wake func()) Messages
	Expires time.Time // of the credential; zero: never
	Token   Token     // that it came with
	Holder  Token     // on which its token depends; zero: on none
	// Check is that of an InstanceClient.
	Check func() error
}

// Token is the digest of a token.
type Token = [sha256.Size]byte

// Hub holds the connections. Its methods may be called from any goroutine.
type Hub struct {
	cfg  Config
	log  *slog.Logger
	work sync.WaitGroup
	slow atomic.Uint64    // clients closed with CodeSlow
	now  func() time.Time // the clock on the wall: time.Now but for tests

	mu        sync.Mutex
	looks     *time.Timer   // of checkClock, while there are clients
	ahead     time.Duration // of the clock on the wall at the last look; only differences count
	closed    bool
	owners    map[uuid.UUID]map[*client]struct{}
	instances map[int64]map[*client]struct{}
	feeds     map[Token]map[*client]struct{}
	tokens    map[Token]int // clients of each
}

// New returns a hub without clients.
func New(cfg Config) *Hub {
	cfg.SendBuffer = orDefault(cfg.SendBuffer, 256)
	cfg.PingInterval = orDefault(cfg.PingInterval, 25*time.Second)
	cfg.PongTimeout = orDefault(cfg.PongTimeout, time.Minute)
	cfg.WriteTimeout = orDefault(cfg.WriteTimeout, 10*time.Second)
	cfg.Logger = cmp.Or(cfg.Logger, slog.New(slog.DiscardHandler))
	return &Hub{
		cfg: cfg, log: cfg.Logger.With("component", "wsbus"), now: time.Now,
		owners: map[uuid.UUID]map[*client]struct{}{}, instances: map[int64]map[*client]struct{}{},
		feeds: map[Token]map[*client]struct{}{}, tokens: map[Token]int{},
	}
}

func orDefault[T int | time.Duration](v, def T) T {
	if v == 0 {
		return def
	}
	return v
}

// ServeGlobal upgrades the request, with the newest sequence of the user in the
// answer's x-event-sequence, and returns; the client is served until it disconnects
// or is closed. The caller has authenticated it and checked its origin. After an
// error, ErrStopping, ErrTooMany, ErrAhead, ErrGone or one of the store, no answer
// was sent yet.
func (h *Hub) ServeGlobal(w http.ResponseWriter, r *http.Request, g GlobalClient) error {
	c := newClient(h, g.Kinds, g.Expires)
	c.token, c.holder, c.tells = g.Token, g.Holder, g.Tells
	c.past = pastOf[uuid.UUID]{h.cfg.Events, g.Owner, "user"}
	return serve(h, w, r, h.owners, g.Owner, c, func() error {
		if g.Check != nil {
			if err := g.Check(); err != nil {
				return err
			}
		}
		return c.begin(w.Header(), g.Since)
	})
}

// ServeInstance is ServeGlobal for the events of an instance. Unless they are
// durable, they and the answer have no sequence, and the client is live at once. Its errors are those of ServeGlobal and of the client's Check.
func (h *Hub) ServeInstance(w http.ResponseWriter, r *http.Request, i InstanceClient) error {
	c := newClient(h, i.Kinds, i.Expires)
	c.token, c.holder, c.scoped, c.live = i.Token, i.Holder, i.Scoped, !i.Durable
	if i.Durable {
		c.counts = i.Since != nil
		c.past = pastOf[int64]{h.cfg.InstanceEvents, i.Instance, "instance"}
	}
	return serve(h, w, r, h.instances, i.Instance, c, func() error {
		if i.Check != nil {
			if err := i.Check(); err != nil {
				return err
			}
		}
		if !i.Durable {
			return nil
		}
		return c.begin(w.Header(), i.Since)
	})
}

// ServeFeed is ServeGlobal for a client with messages of its own, which begin before the
// handshake is answered. Its errors are ErrStopping, ErrTooMany and those of Check.
func (h *Hub) ServeFeed(w http.ResponseWriter, r *http.Request, f FeedClient) error {
	c := newClient(h, nil, f.Expires)
	c.token, c.holder, c.live = f.Token, f.Holder, true
	return serve(h, w, r, h.feeds, f.Token, c, func() error {
		if f.Check != nil {
			if err := f.Check(); err != nil {
				return err
			}
		}
		c.own = f.Open(c.nudge)
		return nil
	})
}

// serve registers c before its check, so that it misses no event and no revocation
// between the check and the upgrade.
func serve[K comparable](h *Hub, w http.ResponseWriter, r *http.Request, group map[K]map[*client]struct{}, key K, c *client, check func() error) error {
	if err := join(h, group, key, c); err != nil {
		return err
	}
	gone := func() {
		if c.own != nil {
			c.own.Close()
		}
		leave(h, group, key, c)
		h.work.Done()
	}
	if err := check(); err != nil {
		gone()
		return err
	}
	conn, wire, err := upgrade(w, r, h.cfg.WriteTimeout, c.flood)
	if err != nil { // answered already
		gone()
		h.log.Debug("upgrade failed", "error", err)
		return nil
	}
	go func() {
		defer gone()
		c.serve(conn, wire)
	}()
	return nil
}

func join[K comparable](h *Hub, group map[K]map[*client]struct{}, key K, c *client) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed {
		return ErrStopping
	}
	if most := h.cfg.MaxPerToken; most > 0 && h.tokens[c.token] >= most {
		return fmt.Errorf("%w: websocket.max_per_token is %d", ErrTooMany, most)
	}
	if len(h.tokens) == 0 {
		h.ahead = h.aheadNow()
		h.looks = time.AfterFunc(lookEvery, h.checkClock)
	}
	h.tokens[c.token]++
	if group[key] == nil {
		group[key] = map[*client]struct{}{}
	}
	group[key][c] = struct{}{}
	h.work.Add(1)
	return nil
}

func leave[K comparable](h *Hub, group map[K]map[*client]struct{}, key K, c *client) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.tokens[c.token]--; h.tokens[c.token] == 0 {
		delete(h.tokens, c.token)
	}
	if len(h.tokens) == 0 {
		h.looks.Stop()
	}
	delete(group[key], c)
	if len(group[key]) == 0 {
		delete(group, key)
	}
}

// PublishBatch sends a batch event to its owner's clients. It is to be called
// after the event was committed, in the order of the owner's sequence. The body
// is not modified and may be shared.
func (h *Hub) PublishBatch(kind event.Kind, owner uuid.UUID, seq uint64, body []byte) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for c := range h.owners[owner] {
		c.offer(kind, seq, body)
	}
}

// Watched reports whether an instance has clients.
func (h *Hub) Watched(id int64) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.instances[id]) > 0
}

// PublishInstance sends an instance event to that instance's clients. Those with a
// Sequence are to be published after their commit, in that order. One without ends the
// clients that came with since, see InstanceClient.
func (h *Hub) PublishInstance(n event.Notice) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for c := range h.instances[n.InstanceID] {
		c.offer(n.Kind, n.Sequence, n.Body)
	}
}

// RevokeInstance closes the clients of an instance whose token was replaced, but for
// those that came with another one.
func (h *Hub) RevokeInstance(id int64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for c := range h.instances[id] {
		if !c.scoped {
			c.kick(CodeRevoked, "token revoked")
		}
	}
}

// DropInstance closes all clients of an instance that was deleted.
func (h *Hub) DropInstance(id int64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for c := range h.instances[id] {
		c.kick(CodeRevoked, "the instance was deleted")
	}
}

// Revoke closes the clients that came with a token, or with one that depends on it.
func (h *Hub) Revoke(t Token) {
	h.each(func(c *client) {
		if c.token == t || c.holder == t {
			c.kick(CodeRevoked, "token revoked")
		}
	})
}

// Renew has the clients that came with a token end at another time; zero: never.
func (h *Hub) Renew(t Token, expires time.Time) {
	h.each(func(c *client) {
		if c.token == t {
			c.expireAt(expires)
		}
	})
}

func (h *Hub) each(fn func(*client)) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.eachLocked(fn)
}

// eachLocked is each for callers that hold mu.
func (h *Hub) eachLocked(fn func(*client)) {
	for _, g := range h.owners {
		for c := range g {
			fn(c)
		}
	}
	for _, g := range h.instances {
		for c := range g {
			fn(c)
		}
	}
	for _, g := range h.feeds {
		for c := range g {
			fn(c)
		}
	}
}

// Stats returns the number of clients, and of those closed for slowness so far.
func (h *Hub) Stats() (clients int, slow uint64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, g := range h.owners {
		clients += len(g)
	}
	for _, g := range h.instances {
		clients += len(g)
	}
	for _, g := range h.feeds {
		clients += len(g)
	}
	return clients, h.slow.Load()
}

// Close refuses new clients, closes all with 1001 and waits for them until ctx
// ends.
func (h *Hub) Close(ctx context.Context) error {
	h.mu.Lock()
	h.closed = true
	h.mu.Unlock()
	h.each(func(c *client) { c.kick(codeStopping, "the program is stopping") })
	done := make(chan struct{})
	go func() {
		defer close(done)
		h.work.Wait()
	}()
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("websocket clients still closing: %w", context.Cause(ctx))
	}
}

// OriginAllowed reports whether a handshake with these Origin and Host headers
// may continue.
func (h *Hub) OriginAllowed(origin, host string) bool {
	switch {
	case origin == "":
		return h.cfg.AllowEmptyOrigin
	case len(h.cfg.AllowedOrigins) > 0:
		return slices.Contains(h.cfg.AllowedOrigins, origin)
	default:
		return sameHost(origin, host)
	}
}

// sameHost reports whether an origin is a page of the host that is asked.
func sameHost(origin, host string) bool {
	u, err := url.Parse(origin)
	return err == nil && u.Host != "" && strings.EqualFold(u.Host, host)
}
