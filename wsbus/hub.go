package wsbus

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/google/uuid"
	"nhooyr.io/websocket"

	"postern/event"
)

// Close codes of our own.
const (
	CodeExpired websocket.StatusCode = 4001
	CodeRevoked websocket.StatusCode = 4003
	CodeSlow    websocket.StatusCode = 4008
)

// Config is what a Hub needs. Zero durations and sizes mean the defaults.
type Config struct {
	SendBuffer   int           // messages that may wait for one client, default 256
	PingInterval time.Duration // default 25 s
	PongTimeout  time.Duration // for the answer to a ping, default 60 s
	WriteTimeout time.Duration // for one message, default 10 s

	AllowedOrigins   []string // empty: the same host only
	AllowEmptyOrigin bool     // let clients without an Origin header in

	Logger *slog.Logger // nil discards
}

// GlobalClient is a subscription to the batch events of one user.
type GlobalClient struct {
	Owner   uuid.UUID
	Kinds   []event.Kind // nil: all
	Expires time.Time    // of the token; zero: never
}

// InstanceClient is a subscription to the events of one instance.
type InstanceClient struct {
	Instance int64
	Kinds    []event.Kind // nil: all
	Expires  time.Time
}

// Hub holds the connections. Its methods may be called from any goroutine.
type Hub struct {
	cfg  Config
	log  *slog.Logger
	work sync.WaitGroup

	mu        sync.Mutex
	closed    bool
	owners    map[uuid.UUID]map[*client]struct{}
	instances map[int64]map[*client]struct{}
	slow      uint64
}

// New returns a hub without clients.
func New(cfg Config) *Hub {
	cfg.SendBuffer = orDefault(cfg.SendBuffer, 256)
	cfg.PingInterval = orDefault(cfg.PingInterval, 25*time.Second)
	cfg.PongTimeout = orDefault(cfg.PongTimeout, time.Minute)
	cfg.WriteTimeout = orDefault(cfg.WriteTimeout, 10*time.Second)
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	return &Hub{
		cfg: cfg, log: cfg.Logger.With("component", "wsbus"),
		owners: map[uuid.UUID]map[*client]struct{}{}, instances: map[int64]map[*client]struct{}{},
	}
}

func orDefault[T int | time.Duration](v, def T) T {
	if v == 0 {
		return def
	}
	return v
}

// ServeGlobal upgrades the request and serves the client until it goes or is
// closed. The caller has authenticated it and checked its origin.
func (h *Hub) ServeGlobal(w http.ResponseWriter, r *http.Request, c GlobalClient) {
	serve(h, w, r, h.owners, c.Owner, newClient(h.cfg, c.Kinds, c.Expires))
}

// ServeInstance is ServeGlobal for the events of an instance.
func (h *Hub) ServeInstance(w http.ResponseWriter, r *http.Request, c InstanceClient) {
	serve(h, w, r, h.instances, c.Instance, newClient(h.cfg, c.Kinds, c.Expires))
}

func serve[K comparable](h *Hub, w http.ResponseWriter, r *http.Request, group map[K]map[*client]struct{}, key K, c *client) {
	if !join(h, group, key, c) {
		http.Error(w, "the program is stopping", http.StatusServiceUnavailable)
		return
	}
	defer h.work.Done()
	defer leave(h, group, key, c)
	// Origins are checked by the caller, with an error body of its own.
	conn, err := websocket.Accept(w, r, &websocket.AcceptOptions{
		InsecureSkipVerify: true, CompressionMode: websocket.CompressionDisabled,
	})
	if err != nil {
		h.log.Debug("upgrade failed", "error", err)
		return
	}
	c.serve(conn)
}

// join registers c before the upgrade, so that nothing published after the
// client saw the answer is missed.
func join[K comparable](h *Hub, group map[K]map[*client]struct{}, key K, c *client) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed {
		return false
	}
	if group[key] == nil {
		group[key] = map[*client]struct{}{}
	}
	group[key][c] = struct{}{}
	h.work.Add(1)
	return true
}

func leave[K comparable](h *Hub, group map[K]map[*client]struct{}, key K, c *client) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(group[key], c)
	if len(group[key]) == 0 {
		delete(group, key)
	}
}

// PublishBatch sends a batch event to its owner's clients. The sequence is the
// owner's; body is not modified and may be shared.
func (h *Hub) PublishBatch(kind event.Kind, owner uuid.UUID, _ uint64, body []byte) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.publish(h.owners[owner], kind, body)
}

// PublishInstance sends an instance event to that instance's clients.
func (h *Hub) PublishInstance(n event.Notice) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.publish(h.instances[n.InstanceID], n.Kind, n.Body)
}

func (h *Hub) publish(clients map[*client]struct{}, kind event.Kind, body []byte) {
	for c := range clients {
		if !c.offer(kind, body) {
			h.slow++
			h.log.Warn("websocket client closed, it reads too slowly")
		}
	}
}

// RevokeInstance closes the clients of an instance whose token was replaced or
// which was deleted.
func (h *Hub) RevokeInstance(id int64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for c := range h.instances[id] {
		c.kick(CodeRevoked, "token revoked")
	}
}

// Stats is the number of clients, and of those closed for slowness so far.
func (h *Hub) Stats() (clients int, slow uint64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, g := range h.owners {
		clients += len(g)
	}
	for _, g := range h.instances {
		clients += len(g)
	}
	return clients, h.slow
}

// Close refuses new clients, closes all with 1001 and waits for them until ctx
// ends.
func (h *Hub) Close(ctx context.Context) error {
	h.mu.Lock()
	h.closed = true
	for _, g := range h.owners {
		kickAll(g)
	}
	for _, g := range h.instances {
		kickAll(g)
	}
	h.mu.Unlock()
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

func kickAll(clients map[*client]struct{}) {
	for c := range clients {
		c.kick(websocket.StatusGoingAway, "the program is stopping")
	}
}

// OriginAllowed reports whether a handshake with these Origin and Host headers
// may go on.
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
