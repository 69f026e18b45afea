package whatsapp

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"go.mau.fi/whatsmeow"
	waBinary "go.mau.fi/whatsmeow/binary"
	"go.mau.fi/whatsmeow/proto/waWa6"
	wastore "go.mau.fi/whatsmeow/store"

	"postern/event"
	"postern/internal/netfault"
)

// ErrPaired is returned by PairCode for a paired instance.
var ErrPaired = errors.New("instance is paired already")

// Session is one instance's connection to WhatsApp. Its methods may be called from any
// goroutine; Connect, PairCode, Logout and Disconnect exclude each other. A session
// that is no longer used must be disconnected.
type Session struct {
	Account Account // set by Open; it does not change

	connector *Connector
	conn      *connection
	facts     *reporter
	calls     *calls
	lines     lines // to WhatsApp
	sender    *sender
	linker    *linker
	relogin   *relogin
	history   *historySync

	pingLost   atomic.Bool // the last ping was not answered
	silence    silence
	flood      flood
	introduced atomic.Pointer[Version] // the version that the last connection announced

	dial sync.Mutex // held by Connect, PairCode, Logout and Disconnect

	// gate is held for reading while an event is handled. Disconnect takes it for
	// writing, so that nothing is reported after it returned.
	gate   sync.RWMutex
	closed bool

	mu     sync.Mutex
	device standing
}

// Account groups, by theme, the operations on the account of a session. All of them
// require the session to be online.
type Account struct {
	Files    *Files
	Chats    *Chats
	Groups   *Groups
	Channels *Channels
	Labels   *BusinessLabels
	AppState *AppState
	Self     *Self
}

// newSession returns the session of an instance, without a device.
func newSession(c *Connector, instance int64, report ReportFunc) *Session {
	log := c.log.With("instance_id", instance)
	conn := &connection{cfg: &c.cfg, seen: &c.seen, instance: instance, log: log}
	facts := &reporter{report: report, log: log}
	calls := &calls{conn: conn}
	files := &Files{conn: conn}
	state := &AppState{conn: conn, calls: calls, retry: stateRetry}
	return &Session{
		Account: Account{
			Files:    files,
			Chats:    &Chats{calls: calls, state: state},
			Groups:   &Groups{calls: calls, facts: facts},
			Channels: &Channels{calls: calls},
			Labels:   &BusinessLabels{calls: calls, state: state},
			AppState: state,
			Self:     &Self{calls: calls, state: state},
		},

		connector: c,
		conn:      conn,
		facts:     facts,
		calls:     calls,
		lines:     c.newLines(instance),
		sender:    &sender{conn: conn, files: files, facts: facts},
		linker:    &linker{conn: conn, facts: facts, paint: c.paint},
		relogin:   &relogin{conn: conn, facts: facts},
		history:   &historySync{conn: conn, calls: calls, files: files, facts: facts, pause: historyPause},
	}
}

// Paired reports whether a device record exists.
func (s *Session) Paired() bool { return s.conn.isPaired() }

// Online reports whether the session can send and receive: logged in, on an open
// socket.
func (s *Session) Online() bool { return s.conn.isOnline() }

// Connect dials, does the handshake and returns. The login, or the QR codes of an
// unpaired instance, follow as facts. ctx and Config.ConnectTimeout limit the dial; a
// server that accepts the connection and then does not answer is given up after at most
// 20 s. Connect does nothing if the session is online or pairing. Errors wrap
// [event.ErrNotConnected].
func (s *Session) Connect(ctx context.Context) error {
	s.dial.Lock()
	defer s.dial.Unlock()
	if err := s.WrongNetwork(); err != nil {
		return err
	}
	if s.Online() || s.linker.current() != nil {
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
		s.linker.start(byCode)
	}
	ctx, cancel := context.WithTimeout(ctx, s.conn.cfg.ConnectTimeout)
	defer cancel()
	stop := context.AfterFunc(ctx, hangup)
	err := s.connectClient(ctx, life, cli)
	if !stop() && err == nil {
		err = context.Cause(ctx) // ctx ended in the meantime, and the connection with it
	}
	if err != nil {
		s.drop()
		s.conn.log.Debug("dial failed", "error", err)
		err = netfault.Plain(err)
		if cause := ctx.Err(); cause != nil {
			return fmt.Errorf("%w: dial: %w: %w", event.ErrNotConnected, cause, err)
		}
		return fmt.Errorf("%w: dial: %w", event.ErrNotConnected, err)
	}
	return nil
}

// abandonAfter is how long connectClient waits for the library to return from a
// cancelled dial.
const abandonAfter = 100 * time.Millisecond

// connectClient dials until ctx ends, which ends life too. While the library waits for
// the server's half of the handshake, for up to 20 s, it does not notice that.
// connectClient then leaves that client, which has no socket any more, and creates a
// new one.
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
	s.conn.setClient(s.newClient(cli.Store))
	return context.Cause(ctx)
}

// prepare opens the gate for a new connection and returns its client: that of the
// paired device, or a new one with new keys.
func (s *Session) prepare(life context.Context, hangup context.CancelFunc) *whatsmeow.Client {
	s.gate.Lock()
	s.closed = false
	s.gate.Unlock()

	s.relogin.reset()
	cli := s.conn.client()
	if !s.conn.isPaired() {
		cli = s.newClient(s.conn.cfg.Devices.New(s.conn.instance))
	}
	s.guard(cli.Store)
	s.conn.begin(life, cli, hangup)
	return cli
}

// PairCode starts pairing by code, or switches a running QR pairing to it, and returns
// the code to type on the phone, "ABCD-EFGH". It connects if needed, and waits until
// ctx ends. Errors wrap [ErrPaired], [event.ErrRecipient] if phone is no phone number,
// or [event.ErrNotConnected]. The rest of the pairing is reported by facts.
func (s *Session) PairCode(ctx context.Context, phone string) (string, error) {
	to, err := event.ParseRecipient(phone)
	if err != nil {
		return "", err
	}
	switch {
	case !to.IsPhone():
		return "", fmt.Errorf("%w: pairing needs a phone number", event.ErrRecipient)
	case to.User[0] == '0':
		return "", fmt.Errorf("%w: %s", event.ErrRecipient, event.Domestic)
	}
	s.dial.Lock()
	defer s.dial.Unlock()
	if err := s.WrongNetwork(); err != nil {
		return "", err
	}
	if s.conn.isPaired() {
		return "", ErrPaired
	}
	if s.linker.current() == nil {
		if err := s.connect(ctx, true); err != nil {
			return "", err
		}
	}
	p := s.linker.current()
	if p == nil {
		return "", s.linker.ended("the connection was lost")
	}
	return s.linker.requestCode(ctx, p, to.User)
}

// Disconnect closes the socket and keeps the device. It waits for the events being
// handled and for the session's goroutines; nothing is reported after it returned. It
// may be repeated, and Connect may follow. It must not be called from report.
func (s *Session) Disconnect() {
	s.dial.Lock()
	defer s.dial.Unlock()
	s.drop()
}

// drop is Disconnect for callers that hold s.dial.
func (s *Session) drop() { s.release(true) }

// release ends the last connection. If final is false, a connection that is already
// lost is not marked as closed on purpose: a send that waits for its acknowledgement
// then survives the redial, and the library repeats its frame.
func (s *Session) release(final bool) {
	cli, hangup := s.conn.end()
	s.silence.ended()
	s.relogin.stop()
	s.linker.end(nil)
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
	s.conn.background.Wait()
}

// Send sends one message under its caller's id and waits for WhatsApp's
// acknowledgement. A session sends one message at a time. After its files are uploaded
// and its delay has passed, a message waits for its turn for at most
// Config.TurnTimeout, then for its Turn function, and then has Config.SendTimeout.
// Every error wraps exactly one of [event.ErrNotConnected], [event.ErrBusy],
// [event.ErrNotNow], [event.ErrNotOnWhatsApp], [event.ErrSendRefused] and
// [event.ErrOutcomeUnknown]; only after the last one may the message have been sent.
func (s *Session) Send(ctx context.Context, out event.Outgoing) (event.Sent, error) {
	return s.sender.send(ctx, out)
}

// Hold waits until no message is being sent, and blocks further ones until resume is
// called. Its error wraps event.ErrBusy, or is the cause of ctx's end.
func (s *Session) Hold(ctx context.Context) (resume func(), err error) { return s.sender.hold(ctx) }

// Passkey returns the challenge that the pairing waits for, nil if none. The caller
// must not change it.
func (s *Session) Passkey() *event.PasskeyChallenge { return s.linker.challenge() }

// AssertPasskey sends the authenticator's answer to WhatsApp; the rest of the pairing
// is reported by facts. It may be repeated if no further step follows, and then first
// waits some seconds for that step. Errors: [event.ErrNoPasskey],
// [event.ErrPasskeyRefused], or one that wraps [event.ErrNotConnected].
func (s *Session) AssertPasskey(ctx context.Context, a event.PasskeyAssertion) error {
	return s.linker.assert(ctx, a)
}

// ConfirmPasskey confirms that the phone shows the same code. Its errors are those of
// AssertPasskey.
func (s *Session) ConfirmPasskey(ctx context.Context) error { return s.linker.confirm(ctx) }

// Reroute closes the connections, including file transfers, that do not use the proxies
// now in force. It is called after a change of proxies. A later dial uses the right
// proxy in any case.
func (s *Session) Reroute() { s.lines.reroute() }

// Logout unlinks the instance at WhatsApp, disconnects and deletes the device record.
// It reports no fact. If WhatsApp cannot be reached, the device is kept and the error
// wraps [event.ErrNotConnected]; [Session.Forget] deletes it without WhatsApp.
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
		return fmt.Errorf("%w: logout of instance %d", event.ErrNotConnected, s.conn.instance)
	}
	if err := s.conn.client().Logout(ctx); err != nil {
		return fmt.Errorf("%w: logout of instance %d: %w", event.ErrNotConnected, s.conn.instance, netfault.Plain(err))
	}
	return s.forget(ctx)
}

// Forget disconnects and deletes the device record without contacting WhatsApp. The
// phone continues to list the device until its owner removes it.
func (s *Session) Forget(ctx context.Context) error {
	s.dial.Lock()
	defer s.dial.Unlock()
	return s.forget(ctx)
}

func (s *Session) forget(ctx context.Context) error {
	s.drop()
	s.unpair()
	if err := s.conn.cfg.Devices.Delete(ctx, s.conn.instance); err != nil {
		return fmt.Errorf("whatsapp: delete device of instance %d: %w", s.conn.instance, err)
	}
	s.setStanding(standing{})
	return nil
}

func (s *Session) unpair() {
	s.conn.unpair()
	s.Account.AppState.unpaired()
	s.relogin.stop()
}

func (s *Session) newClient(device *wastore.Device) *whatsmeow.Client {
	received := func(n *waBinary.Node) { s.received(device.LIDs, n) }
	cli := whatsmeow.NewClient(device, clientLog{libraryLog{log: s.conn.log}, received, s.sender.leaves, s.noPlace, s.conn.seen.missedDevices})
	cli.EnableAutoReconnect = false
	cli.DisableLoginAutoReconnect = true
	cli.SynchronousAck = true
	cli.EnableDecryptedEventBuffer = true
	cli.UseRetryMessageStore = true
	cli.ManualHistorySyncDownload = true
	cli.GetClientPayload = func() *waWa6.ClientPayload { return s.introduce(cli.Store) }
	// If unset, a login refused with 413 or 414 crashes the library.
	cli.RefreshCAT = func(context.Context) error { return errNoCAT }
	cli.SetWebsocketHTTPClient(s.lines.socket.client)
	cli.SetPreLoginHTTPClient(s.lines.socket.client)
	cli.SetMediaHTTPClient(s.lines.media.client)
	cli.AddEventHandlerWithSuccessStatus(func(evt any) bool { return s.handle(cli, evt) })
	return cli
}

var errNoCAT = errors.New("access tokens of other products are not supported")
