package whatsapp

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"go.mau.fi/whatsmeow"
	"go.mau.fi/whatsmeow/appstate"
	waBinary "go.mau.fi/whatsmeow/binary"
	"go.mau.fi/whatsmeow/proto/waWa6"
	wastore "go.mau.fi/whatsmeow/store"
	"go.mau.fi/whatsmeow/types"

	"postern/event"
	"postern/internal/netfault"
)

// ErrPaired is returned by PairCode for an instance that is paired already.
var ErrPaired = errors.New("instance is paired already")

// Session is one instance's connection to WhatsApp. Its methods may be called
// from any goroutine; Connect, PairCode, Logout and Disconnect exclude each
// other. A session that is not needed any more is left disconnected.
type Session struct {
	conn     *Connector
	instance int64
	report   ReportFunc
	lines    lines // to WhatsApp
	log      *slog.Logger

	online     atomic.Bool // between Connected and whatever ends it
	catchingUp atomic.Bool // what waited while the instance was away is being received
	pingLost   atomic.Bool // the last ping was not answered
	silence    silence
	flood      flood
	introduced atomic.Pointer[Version] // what the last connection said it was of

	turns   turns                     // of sends
	leaving atomic.Pointer[departing] // of the send whose turn it is

	dial sync.Mutex // held by Connect, PairCode, Logout and Disconnect

	// gate is held for reading while an event is handled; Disconnect takes it
	// for writing, so that nothing is reported after it returned.
	gate   sync.RWMutex
	closed bool

	// order is held while the connection's state changes and is reported. The
	// library tells from several goroutines; this makes the last report true.
	order sync.Mutex

	background sync.WaitGroup // pairing, the watchdog, abandoned connections

	reading  sync.Mutex // held while a piece of history is read
	changing sync.Mutex // held by changeState, and while a collection is read anew
	mending  mending

	labelling sync.Mutex // held while labels are read and changed; taken before changing

	shared    shared // uploads that many messages use
	reuploads reuploads
	causes    causes // calls whose changes are to be told of

	mu      sync.Mutex
	cli     *whatsmeow.Client // nil until the first dial of an unpaired instance
	life    context.Context   // of the connection
	hangup  context.CancelFunc
	paired  bool
	own     account // our own copy: the library changes its device unguarded
	device  standing
	pairing *pairing
	relogin reloginState
	watch   context.CancelFunc // stops the watchdog
	failed  bool               // this connection was given up by us

	stateRead map[appstate.WAPatchName]bool // collections of app state that were read as a whole since the pairing or the start
}

// account is the identity behind a paired session.
type account struct{ jid, lid types.JID }

func (a account) link() *event.Link {
	if a.jid.IsEmpty() {
		return nil
	}
	l := &event.Link{JID: a.jid.ToNonAD().String()}
	if !a.lid.IsEmpty() {
		l.LID = a.lid.ToNonAD().String()
	}
	return l
}

// Paired reports whether a device record exists.
func (s *Session) Paired() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.paired
}

// Online reports whether the session can send and receive: logged in, on a
// socket that is open now.
func (s *Session) Online() bool {
	if !s.online.Load() {
		return false // also while dialling, when the client's lock is held long
	}
	cli := s.client()
	return cli != nil && cli.IsConnected() && cli.IsLoggedIn()
}

func (s *Session) client() *whatsmeow.Client {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.cli
}

// Connect dials and does the handshake, and returns; the login, or the codes
// of a QR pairing when the instance is not paired, follow as facts. ctx and
// Config.ConnectTimeout bound the dial; a server that accepts the connection
// and then keeps silent is given up after 20 s at most. Connect does nothing when the
// session is online or pairing. Errors wrap [event.ErrNotConnected].
func (s *Session) Connect(ctx context.Context) error {
	s.dial.Lock()
	defer s.dial.Unlock()
	if err := s.WrongNetwork(); err != nil {
		return err
	}
	if s.Online() || s.pairingNow() != nil {
		return nil
	}
	return s.connect(ctx, false)
}

// connect dials. The caller holds s.dial.
func (s *Session) connect(ctx context.Context, byCode bool) error {
	s.release(false)
	life, hangup := context.WithCancel(context.Background())
	cli := s.prepare(life, hangup)
	if !s.Paired() {
		s.startPairing(byCode)
	}
	ctx, cancel := context.WithTimeout(ctx, s.conn.cfg.ConnectTimeout)
	defer cancel()
	stop := context.AfterFunc(ctx, hangup)
	err := s.connectClient(ctx, life, cli)
	if !stop() && err == nil {
		err = context.Cause(ctx) // the context ended after all, and with it the connection
	}
	if err != nil {
		s.drop()
		s.log.Debug("dial failed", "error", err)
		err = netfault.Plain(err)
		if cause := ctx.Err(); cause != nil {
			return fmt.Errorf("%w: dial: %w: %w", event.ErrNotConnected, cause, err)
		}
		return fmt.Errorf("%w: dial: %w", event.ErrNotConnected, err)
	}
	return nil
}

// abandonAfter is how long the library has to notice that a dial is not wanted any
// more.
const abandonAfter = 100 * time.Millisecond

// connectClient dials until ctx ends, which ends life too. The library notices that
// everywhere but while it waits for the server's half of the handshake, for 20 s:
// that client is left to itself then, without a socket, and another one takes its
// place.
func (s *Session) connectClient(ctx, life context.Context, cli *whatsmeow.Client) error {
	dialled := make(chan error, 1)
	go func() { dialled <- cli.ConnectContext(life) }()
	select {
	case err := <-dialled:
		return err
	case <-ctx.Done():
	}
	select {
	case err := <-dialled:
		return err
	case <-time.After(abandonAfter):
	}
	s.mu.Lock()
	s.cli = s.newClient(cli.Store)
	s.mu.Unlock()
	return context.Cause(ctx)
}

// prepare opens the gate for a new connection and returns the client for it:
// the one of the paired device, or a new one with fresh keys.
func (s *Session) prepare(life context.Context, hangup context.CancelFunc) *whatsmeow.Client {
	s.gate.Lock()
	s.closed = false
	s.gate.Unlock()

	s.mu.Lock()
	defer s.mu.Unlock()
	s.life, s.hangup = life, hangup
	s.failed = false
	s.relogin = reloginNone
	if !s.paired {
		s.cli = s.newClient(s.conn.cfg.Devices.New(s.instance))
	}
	s.guard(s.cli.Store)
	return s.cli
}

// Disconnect drops the socket and keeps the device. It waits for the events
// being handled and for the session's own goroutines; nothing is reported
// after it returned. It may be repeated, and Connect may follow. It must not
// be called from within report.
func (s *Session) Disconnect() {
	s.dial.Lock()
	defer s.dial.Unlock()
	s.drop()
}

// drop is Disconnect for callers that hold s.dial.
func (s *Session) drop() { s.release(true) }

// release ends whatever the last connection left behind. With final unset, a
// connection that is lost already is not also marked as wished for: a send
// that waits for its acknowledgement then outlives the redial, and the library
// repeats its frame.
func (s *Session) release(final bool) {
	s.online.Store(false)
	s.catchingUp.Store(false)
	s.silence.ended()
	s.mu.Lock()
	cli, hangup, p := s.cli, s.hangup, s.pairing
	s.life, s.hangup, s.pairing = nil, nil, nil
	s.stopWatch()
	s.mu.Unlock()

	if p != nil {
		p.end()
	}
	if cli != nil && (final || cli.IsConnected()) {
		cli.Disconnect()
	}
	if final {
		s.lines.media.CloseIdleConnections()
	}
	if hangup != nil {
		hangup()
	}
	s.gate.Lock()
	s.closed = true
	s.gate.Unlock()
	s.background.Wait()
}

// Reroute closes what goes another way than the proxies now in force say,
// files on their way included. Whoever changed them calls it; a dial that
// follows takes the right way in any case.
func (s *Session) Reroute() { s.lines.reroute() }

// Logout unlinks the instance at WhatsApp, disconnects and deletes the device
// record. It reports no fact: the caller knows why it happened. When WhatsApp
// cannot be told, the device is kept and the error wraps
// [event.ErrNotConnected]; [Session.Forget] deletes it all the same.
func (s *Session) Logout(ctx context.Context) error {
	s.dial.Lock()
	defer s.dial.Unlock()
	if err := s.WrongNetwork(); err != nil {
		return err
	}
	if !s.Paired() {
		s.drop()
		return nil
	}
	if !s.Online() {
		return fmt.Errorf("%w: logout of instance %d", event.ErrNotConnected, s.instance)
	}
	if err := s.client().Logout(ctx); err != nil {
		return fmt.Errorf("%w: logout of instance %d: %w", event.ErrNotConnected, s.instance, netfault.Plain(err))
	}
	return s.forget(ctx)
}

// Forget disconnects and deletes the device record without telling WhatsApp.
// The phone goes on listing the device until its owner removes it.
func (s *Session) Forget(ctx context.Context) error {
	s.dial.Lock()
	defer s.dial.Unlock()
	return s.forget(ctx)
}

func (s *Session) forget(ctx context.Context) error {
	s.drop()
	s.unpair()
	if err := s.conn.cfg.Devices.Delete(ctx, s.instance); err != nil {
		return fmt.Errorf("whatsapp: delete device of instance %d: %w", s.instance, err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.device = standing{}
	return nil
}

func (s *Session) unpair() {
	s.online.Store(false)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.paired = false
	s.own = account{}
	s.stateRead = nil
	s.stopWatch()
}

func (s *Session) newClient(device *wastore.Device) *whatsmeow.Client {
	received := func(n *waBinary.Node) { s.received(device.LIDs, n) }
	cli := whatsmeow.NewClient(device, clientLog{libraryLog{log: s.log}, received, s.leaves, s.noPlace})
	cli.EnableAutoReconnect = false
	cli.DisableLoginAutoReconnect = true
	cli.SynchronousAck = true
	cli.EnableDecryptedEventBuffer = true
	cli.UseRetryMessageStore = true
	cli.ManualHistorySyncDownload = true
	cli.GetClientPayload = func() *waWa6.ClientPayload { return s.introduce(cli.Store) }
	// Without it a login refused with 413 or 414 crashes the library.
	cli.RefreshCAT = func(context.Context) error { return errNoCAT }
	cli.SetWebsocketHTTPClient(s.lines.socket.client)
	cli.SetPreLoginHTTPClient(s.lines.socket.client)
	cli.SetMediaHTTPClient(s.lines.media.client)
	cli.AddEventHandlerWithSuccessStatus(func(evt any) bool { return s.handle(cli, evt) })
	return cli
}

var errNoCAT = errors.New("access tokens of other products are not supported")
