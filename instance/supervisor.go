package instance

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"postern/event"
	"postern/instance/pace"
	"postern/internal/prune"
	"postern/whatsapp/proxy"
)

// Connector opens sessions with WhatsApp. Open does not dial. report receives facts, see
// Registry.Report; it must not be called after Disconnect has returned.
type Connector interface {
	Open(ctx context.Context, instance int64, report func(context.Context, event.Fact) error) (Session, error)
	// Probe dials WhatsApp through a proxy, for its uses, and hangs up. Its error is a
	// proxy.Error.
	Probe(ctx context.Context, via proxy.Server, uses []proxy.Use) error
}

// Session is one instance's connection. It never dials by itself.
type Session interface {
	Paired() bool
	Online() bool
	// Connect dials, and begins a pairing by QR code if unpaired; facts follow.
	Connect(ctx context.Context) error
	// PairCode begins a pairing by code and returns the code.
	PairCode(ctx context.Context, phone string) (string, error)
	// Passkey returns the challenge that the pairing waits for, nil if none.
	Passkey() *event.PasskeyChallenge
	// AssertPasskey and ConfirmPasskey answer it; facts follow. Errors:
	// event.ErrNoPasskey, event.ErrPasskeyRefused, event.ErrNotConnected.
	AssertPasskey(ctx context.Context, a event.PasskeyAssertion) error
	ConfirmPasskey(ctx context.Context) error
	// Resolve returns the address of the account that a message to a JID reaches, which may be
	// that of another number. It and Send return errors that wrap a send error of package event.
	Resolve(ctx context.Context, jid string) (string, error)
	Send(ctx context.Context, out event.Outgoing) (event.Sent, error)
	// Hold waits until no message is being sent, and blocks further ones until resume is
	// called. Its errors wrap event.ErrBusy or are the context's.
	Hold(ctx context.Context) (resume func(), err error)
	// Logout unlinks at WhatsApp; if WhatsApp cannot be reached it returns
	// event.ErrNotConnected and changes nothing.
	Logout(ctx context.Context) error
	// Forget unlinks on this side only.
	Forget(ctx context.Context) error
	// WrongNetwork returns an event.NetworkError if the device belongs to another network
	// than the program's, else nil. Such a device is never dialled.
	WrongNetwork() error
	// LoggedOut reports whether there is a retained device that WhatsApp logged out.
	// Recall restores it for another try, and returns false if there is none.
	LoggedOut() bool
	Recall(ctx context.Context) (bool, error)
	Disconnect()
	// Reroute closes connections that do not use the proxy that Registry.Via names now.
	Reroute()

	Account
}

// Errors of the supervisor.
var (
	// ErrNoCode: no QR code and no connection came in time.
	ErrNoCode = errors.New("WhatsApp did not answer in time")
	// ErrAlreadyPaired: the instance is linked to a phone; log it out first.
	ErrAlreadyPaired = errors.New("the instance is linked to a phone already; log it out first")
	// ErrNeverPaired: the instance was never linked to a phone.
	ErrNeverPaired = errors.New("the instance is not linked to a phone; connect it first")
	// ErrNotStored: WhatsApp took the message, and it could not be stored.
	ErrNotStored = errors.New("the message was sent but could not be stored")

	// ErrOutdated: WhatsApp rejects this client version, and no newer one is known.
	ErrOutdated = errors.New("WhatsApp rejected our client version as outdated, and no newer one was found")

	errMoved    = fmt.Errorf("%w: %w", ErrMoved, event.ErrNotConnected)
	errStopping = fmt.Errorf("%w: the program is stopping", event.ErrNotConnected)
)

// SupervisorConfig configures a Supervisor.
type SupervisorConfig struct {
	Registry  *Registry
	Connector Connector

	AutoReconnect      bool          // dial again after a loss and at start
	StartupConcurrency int           // concurrent reconnects at start
	ConnectTimeout     time.Duration // limit of one dial with its login, and of Connect's wait for a code
	InitialDelay       time.Duration // before the first retry
	MaxDelay           time.Duration // between two retries

	// Valid reports whether this process still owns the instances, which another one may
	// take over. Nothing is dialled while it does not. An account whose connection is
	// replaced while it does is dialled again. nil: no other process takes them over, and
	// only another client replaces a connection.
	Valid func() bool

	// PruneDevice removes unneeded data of an instance's paired device, and returns when
	// to call it again, zero if there is nothing left. It scans the whole device, so it
	// is called only every few hours. nil: nothing is removed.
	PruneDevice func(ctx context.Context, id int64) (next time.Time, err error)

	// DropLoggedOut removes devices logged out before a time, and returns when the oldest
	// remaining one was logged out. KeepLoggedOut is how long they are retained. nil:
	// nothing is removed.
	DropLoggedOut func(ctx context.Context, before time.Time) (oldest time.Time, err error)
	KeepLoggedOut time.Duration

	// Outdated is called when WhatsApp rejects an instance's client version. known: new
	// connections use a newer one; asked: a newer one is being looked for, and a call of
	// Renew follows. Locks are held: it must not block, nor call back. It may be nil.
	Outdated func(id int64, version string) (known, asked bool)
	// Taken is called with the version that WhatsApp accepted for an instance, under the
	// rules of Outdated. It may be nil.
	Taken func(version string)

	// NewMessageID generates the WhatsApp id of a text that answers a call; required if
	// settings can request one.
	NewMessageID func() string

	// OnCode is called with each code that waits for a phone, QR text or typed code; the
	// sandbox's phones use it. It must not block. It may be nil.
	OnCode func(id int64, code string)

	// Knows reports whether an instance's account knows the owner of a phone number and
	// may write to them while strangers are forbidden. nil: no one is known.
	Knows func(id int64, number string) bool
	// Person returns one name of the person at a JID, which may be either of their addresses.
	// nil: each address is a person.
	Person func(jid string) string
	// FailureStreak is the number of refusals of one code in a row, to different people,
	// after which batches skip an instance for an hour; 0: never.
	FailureStreak int
	// UndeliveredAfter is how long after WhatsApp took it a message without a receipt counts as undelivered.
	UndeliveredAfter time.Duration

	// Pacer enforces the limits of instances. nil: there are none.
	Pacer *pace.Pacer

	Logger *slog.Logger // nil discards
}

// Supervisor manages the connections of all instances. It is safe for concurrent use.
type Supervisor struct {
	cfg SupervisorConfig
	reg *Registry
	log *slog.Logger

	life context.Context // ends with Stop
	end  context.CancelFunc
	work sync.WaitGroup

	calls     context.Context // ends with Interrupt and with life: calls stop waiting for phones
	interrupt context.CancelFunc

	dials *rate.Limiter // of those that follow a pause

	mu      sync.Mutex
	keepers map[int64]*keeper
	queued  map[int64]bool // they wait for their turn to reconnect after the start
}

// NewSupervisor returns a supervisor, to be started with Start.
func NewSupervisor(cfg SupervisorConfig) *Supervisor {
	cfg.Logger = cmp.Or(cfg.Logger, slog.New(slog.DiscardHandler))
	s := &Supervisor{cfg: cfg, reg: cfg.Registry, log: cfg.Logger.With("component", "supervisor"), keepers: map[int64]*keeper{}, queued: map[int64]bool{}, dials: rate.NewLimiter(dialRate, dialRate)}
	s.life, s.end = context.WithCancel(context.Background())
	s.calls, s.interrupt = context.WithCancel(s.life)
	return s
}

// Start begins reconnecting the paired instances, a few at a time, and pruning devices. It
// waits for neither.
func (s *Supervisor) Start() {
	if s.cfg.AutoReconnect {
		s.restore()
	}
	if s.cfg.DropLoggedOut != nil && s.cfg.KeepLoggedOut > 0 {
		drop := func(before time.Time) (time.Time, error) { return s.cfg.DropLoggedOut(s.life, before) }
		s.spawn(func() { prune.Loop(s.life, s.reg.cfg.Store, s.cfg.KeepLoggedOut, drop, s.notPruned) })
	}
	if s.cfg.PruneDevice != nil {
		s.spawn(func() { prune.Loop(s.life, s.reg.cfg.Store, deviceLife, s.pruneDevices, s.notPruned) })
	}
}

// Interrupt ends waiting calls of Connect and PairCode, and future ones, with an error
// that wraps event.ErrNotConnected and says that the program is stopping. Everything else
// continues until Stop. A program calls it before waiting for its requests to end.
func (s *Supervisor) Interrupt() { s.interrupt() }

// patience bounds how long a call waits for WhatsApp: until ConnectTimeout, with the
// cause ErrNoCode, or until the program stops.
func (s *Supervisor) patience(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithTimeoutCause(ctx, s.cfg.ConnectTimeout, ErrNoCode)
	ctx, stop := context.WithCancelCause(ctx)
	unhook := context.AfterFunc(s.calls, func() { stop(errStopping) })
	return ctx, func() {
		unhook()
		stop(nil)
		cancel()
	}
}

// Stop disconnects all instances and waits for everything that the supervisor started,
// until ctx ends. The stored states remain: the next start corrects them.
func (s *Supervisor) Stop(ctx context.Context) error {
	s.mu.Lock()
	s.end() // nothing is spawned afterwards
	s.mu.Unlock()
	done := make(chan struct{})
	go func() {
		defer close(done)
		var closing sync.WaitGroup
		for _, k := range s.all() {
			closing.Go(k.quiet)
		}
		closing.Wait()
		s.work.Wait()
	}()
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("instances still disconnecting: %w", context.Cause(ctx))
	}
}

// spawn runs fn in a goroutine that Stop waits for. After Stop it does nothing and
// returns false.
func (s *Supervisor) spawn(fn func()) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.life.Err() != nil {
		return false
	}
	s.work.Go(fn)
	return true
}

func (s *Supervisor) all() []*keeper {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := make([]*keeper, 0, len(s.keepers))
	for _, k := range s.keepers {
		all = append(all, k)
	}
	return all
}

// keeper returns the keeper of an instance, created on first use.
func (s *Supervisor) keeper(ctx context.Context, id int64) (*keeper, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	rec, err := s.reg.ByID(id)
	if err != nil {
		return nil, err
	}
	if s.life.Err() != nil {
		return nil, errStopping
	}
	if rec.HasMoved() {
		return nil, errMoved
	}
	if k := s.keepers[id]; k != nil {
		return k, nil
	}
	k := &keeper{sup: s, id: id, turn: make(chan struct{}, 1), changed: make(chan struct{}), state: rec.Status, streak: rec.resumed()}
	session, err := s.cfg.Connector.Open(ctx, id, k.report)
	if err != nil {
		return nil, fmt.Errorf("open session of instance %d: %w", id, err)
	}
	k.session = session
	k.auto = k.automation()
	s.keepers[id] = k
	return k, nil
}

// restore reconnects every paired instance.
func (s *Supervisor) restore() {
	var linked []Record
	for _, rec := range s.reg.List() {
		if rec.OwnerJID != "" && s.retries(rec.Status) && !rec.HasMoved() && rec.Elsewhere == "" {
			linked = append(linked, rec)
		}
	}
	slots := make(chan struct{}, s.concurrency(len(linked)))
	s.mu.Lock()
	for _, rec := range linked {
		s.queued[rec.ID] = true
	}
	s.mu.Unlock()
	s.spawn(func() {
		for _, rec := range linked {
			select {
			case slots <- struct{}{}:
			case <-s.life.Done():
				return
			}
			s.spawn(func() {
				defer func() { <-slots }()
				s.restoreOne(rec.ID)
				s.mu.Lock()
				delete(s.queued, rec.ID)
				s.mu.Unlock()
			})
		}
	})
}

// concurrency returns how many of the accounts reconnect at once. Where another process
// may have had them a moment ago, a large fleet must not take long.
func (s *Supervisor) concurrency(accounts int) int {
	n := max(1, s.cfg.StartupConcurrency)
	if s.cfg.Valid == nil {
		return n
	}
	return min(max(n, accounts/40), max(n, 100))
}

// retries reports whether an instance that stopped in this state is dialled again at the
// next start. Other states need a user's action; an outdated client may have been
// replaced by this one.
func (s *Supervisor) retries(state event.State) bool {
	return retries(state) || state == event.StreamReplaced && s.cfg.Valid != nil
}

// retries is Supervisor.retries where no other process may take instances over.
func retries(state event.State) bool {
	switch state {
	case event.LoggedOut, event.TemporaryBan, event.StreamReplaced:
		return false
	default:
		return true
	}
}

func (s *Supervisor) restoreOne(id int64) {
	k, err := s.keeper(s.life, id)
	if err != nil {
		if s.life.Err() == nil {
			s.log.Error("instance not restored; its WhatsApp session cannot be read, log it out and pair it again", "instance_id", id, "error", err)
			_ = s.set(id, event.Fact{Status: event.SessionMissing, Error: "the WhatsApp session cannot be read"})
		}
		return
	}
	if !k.resume() {
		return
	}
	ctx, cancel := context.WithTimeout(s.life, s.cfg.ConnectTimeout)
	defer cancel()
	_ = k.await(ctx, k.settled) // any end frees the slot
}

// resume starts reconnecting an instance unless a call has changed it since the start. It
// reports whether there is anything to wait for.
func (k *keeper) resume() bool {
	if k.take(k.sup.life) != nil {
		return false
	}
	defer k.release()
	rec, err := k.sup.reg.ByID(k.id)
	if err != nil || rec.OwnerJID == "" || !k.sup.retries(rec.Status) {
		return false
	}
	if k.stayElsewhere() {
		return false
	}
	if !k.session.Paired() && k.session.LoggedOut() { // logged out, but not reported before the program ended
		_ = k.sup.checked(k.id, event.Fact{Status: event.LoggedOut}, k.tellLoggedOut(context.WithoutCancel(k.sup.life), ""))
		return false
	}
	if !k.session.Paired() {
		k.set(event.Fact{Status: event.SessionMissing, Error: "the WhatsApp session is gone; pair again"})
		return false
	}
	if !k.session.Online() {
		k.begin(event.Reconnecting, "")
	}
	return true
}

// set stores a state that the supervisor itself found. It logs and returns an error.
func (s *Supervisor) set(id int64, f event.Fact) error {
	return s.checked(id, f, s.reg.Report(context.WithoutCancel(s.life), id, f))
}

// checked logs why a state was not stored.
func (s *Supervisor) checked(id int64, f event.Fact, err error) error {
	if err != nil && s.life.Err() == nil {
		s.log.Warn("connection state not stored", "instance_id", id, "status", string(f.Status), "error", err)
	}
	return err
}

func (s *Supervisor) notPruned(err error) { s.log.Warn("devices not pruned", "error", err) }

// Data of a device is kept for at least a week. A full scan is made at most every
// deviceGrace.
const (
	deviceLife  = 7 * 24 * time.Hour
	deviceGrace = 8 * time.Hour
)

// pruneDevices prunes all devices. If one fails it continues with the next and retries
// the failed one later.
func (s *Supervisor) pruneDevices(time.Time) (oldest time.Time, err error) {
	soonest := time.Now().Add(deviceGrace)
	var next time.Time
	for _, rec := range s.reg.List() {
		due, err := s.cfg.PruneDevice(s.life, rec.ID)
		if err != nil && s.life.Err() == nil {
			s.log.Warn("device not pruned", "instance_id", rec.ID, "error", err)
		}
		if err != nil || !due.IsZero() && due.Before(soonest) {
			due = soonest
		}
		if next.IsZero() || !due.IsZero() && due.Before(next) {
			next = due
		}
	}
	if next.IsZero() {
		return next, nil
	}
	return next.Add(-deviceLife), nil
}
