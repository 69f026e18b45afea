package whatsapp

import (
	"context"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"go.mau.fi/whatsmeow"

	"postern/event"
	"postern/whatsapp/translate"
)

// connection is the part of a session that all others use: the client of the library,
// the account behind it, and the goroutines that end with it. It calls no other part.
type connection struct {
	cfg      *Config
	seen     *tally
	instance int64
	log      *slog.Logger

	online     atomic.Bool // from Connected to the loss of the connection
	catchingUp atomic.Bool // events queued while offline are being received

	background sync.WaitGroup // pairing, the watchdog, abandoned connections

	mu      sync.Mutex
	cli     *whatsmeow.Client // nil until the first dial of an unpaired instance
	life    context.Context   // nil when disconnected
	hangup  context.CancelFunc
	paired  bool
	own     translate.Account // our own copy: the library changes its device unguarded
	dropped bool              // given up by giveUp
}

// isOnline reports whether the account can be used: logged in, on an open socket.
func (c *connection) isOnline() bool {
	if !c.online.Load() {
		return false // also while dialling, when the client's lock is held long
	}
	cli := c.client()
	return cli != nil && cli.IsConnected() && cli.IsLoggedIn()
}

func (c *connection) isPaired() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.paired
}

func (c *connection) client() *whatsmeow.Client {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.cli
}

// self returns the account's identity, empty when unpaired.
func (c *connection) self() translate.Account {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.own
}

// lifetime returns the context that ends with the connection, nil when there is none.
func (c *connection) lifetime() context.Context {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.life
}

// setClient replaces the client; unlike begin it starts no connection.
func (c *connection) setClient(cli *whatsmeow.Client) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.cli = cli
}

// begin starts a connection of cli.
func (c *connection) begin(life context.Context, cli *whatsmeow.Client, hangup context.CancelFunc) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.cli, c.life, c.hangup, c.dropped = cli, life, hangup, false
}

// end ends the connection and returns what the caller must close. Both may be nil.
func (c *connection) end() (*whatsmeow.Client, context.CancelFunc) {
	c.online.Store(false)
	c.catchingUp.Store(false)
	c.mu.Lock()
	defer c.mu.Unlock()
	hangup := c.hangup
	c.life, c.hangup = nil, nil
	return c.cli, hangup
}

// giveUp marks the connection as given up. first is false if it already was.
func (c *connection) giveUp() (cli *whatsmeow.Client, first bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	first = !c.dropped
	c.dropped = true
	return c.cli, first
}

func (c *connection) isGivenUp() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.dropped
}

func (c *connection) pair(own translate.Account) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.paired, c.own = true, own
}

func (c *connection) unpair() {
	c.online.Store(false)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.paired, c.own = false, translate.Account{}
}

// translator returns a translator of the events of cli.
func (c *connection) translator(cli *whatsmeow.Client) translate.Translator {
	return translate.Translator{Other: translate.AddressBook(cli.Store), Own: c.self(), Now: time.Now(), Offline: c.catchingUp.Load()}
}

// historyWish returns how much history the instance wants.
func (c *connection) historyWish() HistoryWish {
	if c.cfg.History == nil {
		return HistoryWish{}
	}
	return c.cfg.History(c.instance)
}

// reporter reports facts about one instance.
type reporter struct {
	report ReportFunc
	log    *slog.Logger

	// order is held while the state of the connection changes and is reported. The
	// library sends events from several goroutines; the lock makes the last report
	// the current state.
	order sync.Mutex
}

// change reports a change that WhatsApp does not send again. A failure is only logged.
func (r *reporter) change(f event.Fact) {
	if err := r.report(context.Background(), f); err != nil {
		r.log.Warn("fact not stored", "event", string(f.Kind), "status", string(f.Status), "error", err)
	}
}
