package instance

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"postern/event"
	"postern/instance/pace"
	"postern/internal/prune"
	"postern/whatsapp/proxy"
)

// Connector opens sessions with WhatsApp. Open does not dial. report takes
// what happens, see Registry.Report; it must not be called after Disconnect
// returned.
type Connector interface {
	Open(ctx context.Context, instance int64, report func(context.Context, event.Fact) error) (Session, error)
	// Probe dials WhatsApp through a proxy, for its uses, and hangs up. Its error
	// is a proxy.Error.
	Probe(ctx context.Context, via proxy.Server, uses []proxy.Use) error
}

// Session is one instance's connection. It never dials by itself.
type Session interface {
	Paired() bool
	Online() bool
	// Connect dials, and begins a pairing by QR when not paired; facts follow.
	Connect(ctx context.Context) error
	// PairCode begins a pairing by code and returns the code.
	PairCode(ctx context.Context, phone string) (string, error)
	// Passkey is what the pairing waits for, nil when that is no passkey.
	Passkey() *event.PasskeyChallenge
	// AssertPasskey and ConfirmPasskey answer it; facts follow. Their errors
	// are event.ErrNoPasskey, event.ErrPasskeyRefused and
	// event.ErrNotConnected.
	AssertPasskey(ctx context.Context, a event.PasskeyAssertion) error
	ConfirmPasskey(ctx context.Context) error
	// Send's errors wrap one of the send errors of package event.
	Send(ctx context.Context, out event.Outgoing) (event.Sent, error)
	// Hold waits until no message is on its way, and keeps those to come from
	// leaving until resume is called. Its errors wrap event.ErrBusy or are the
	// context's.
	Hold(ctx context.Context) (resume func(), err error)
	// Logout unlinks at WhatsApp; it fails with event.ErrNotConnected when
	// WhatsApp cannot be told, and changes nothing then.
	Logout(ctx context.Context) error
	// Forget unlinks on this side only.
	Forget(ctx context.Context) error
	// WrongNetwork is an event.NetworkError when the device belongs to another
	// network than the one that sessions connect to, else nil. Nothing dials then.
	WrongNetwork() error
	// LoggedOut reports whether WhatsApp logged the device out, and it is kept:
	// Recall takes it back, to be tried once more, and reports false when there is
	// none.
	LoggedOut() bool
	Recall(ctx context.Context) (bool, error)
	Disconnect()
	// Reroute closes what does not go over the proxy that Registry.Via names now.
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
	ErrNotStored = errors.New("the message was sent and could not be stored")

	// ErrOutdated: WhatsApp refuses this version of the client, and no newer one
	// is known.
	ErrOutdated = errors.New("WhatsApp refuses this version of the client as outdated, and no newer one was found")

	errMoved    = fmt.Errorf("%w: %w", ErrMoved, event.ErrNotConnected)
	errStopping = fmt.Errorf("%w: the program is stopping", event.ErrNotConnected)
)

// SupervisorConfig is what a Supervisor needs.
type SupervisorConfig struct {
	Registry  *Registry
	Connector Connector

	AutoReconnect      bool          // dial again after a loss and at start
	StartupConcurrency int           // instances that reconnect at once at start
	ConnectTimeout     time.Duration // one dial with its login, and the wait of Connect for a code
	InitialDelay       time.Duration // before the first new try
	MaxDelay           time.Duration // between two tries
	Retention          time.Duration // of stored messages; 0 keeps them

	// PruneDevice removes what an instance's paired device no longer needs, and
	// returns when it is to be called again, zero when there is nothing left. It
	// looks at all that a device has, so it is not called more often than every
	// some hours. nil: nothing is removed.
	PruneDevice func(ctx context.Context, id int64) (next time.Time, err error)

	// DropLoggedOut removes devices that were logged out before a time, and returns
	// when the oldest that is left was. KeepLoggedOut is how long they are kept. nil:
	// nothing is removed.
	DropLoggedOut func(ctx context.Context, before time.Time) (oldest time.Time, err error)
	KeepLoggedOut time.Duration

	// Outdated is told that WhatsApp refused the client of an instance for its
	// version. known: connections are of a newer one by now; asked: one is being
	// looked for, and a call of Renew follows. It is called with locks held: it
	// must not block, nor call back. nil: nothing helps.
	Outdated func(id int64, version string) (known, asked bool)
	// Taken is told with which version WhatsApp let an instance in, as Outdated
	// is. nil: nobody is told.
	Taken func(version string)

	// NewMessageID makes the WhatsApp id of a text that answers a call; needed
	// where the settings of an instance can ask for one.
	NewMessageID func() string

	// OnCode is told each code that waits for a phone, QR text or typed code;
	// the sandbox's phones use it. It must not block. nil: nobody is told.
	OnCode func(id int64, code string)

	// Knows reports whether an instance's account knows the owner of a phone
	// number, so that it may write to them though strangers are forbidden. nil:
	// nobody is known.
	Knows func(id int64, number string) bool
	// FailureStreak is how many refusals of one code in a row, to different
	// people, have batches leave an instance out for an hour; 0: none.
	FailureStreak int

	// Pacer holds sends to the limits of their instance. nil: none are held.
	Pacer *pace.Pacer

	Logger *slog.Logger // nil discards
}

// Supervisor keeps the connections of all instances. Its methods may be called
// from any goroutine.
type Supervisor struct {
	cfg SupervisorConfig
	reg *Registry
	log *slog.Logger

	life context.Context // ends when Stop is called
	end  context.CancelFunc
	work sync.WaitGroup

	calls     context.Context // ends with Interrupt and with life: nobody waits for a phone from then on
	interrupt context.CancelFunc

	mu      sync.Mutex
	keepers map[int64]*keeper
}

// NewSupervisor returns a supervisor that does nothing yet.
func NewSupervisor(cfg SupervisorConfig) *Supervisor {
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	s := &Supervisor{cfg: cfg, reg: cfg.Registry, log: cfg.Logger.With("component", "supervisor"), keepers: map[int64]*keeper{}}
	s.life, s.end = context.WithCancel(context.Background())
	s.calls, s.interrupt = context.WithCancel(s.life)
	return s
}

// Start begins to reconnect the paired instances, some at a time, and to prune
// stored messages and devices. It does not wait for either.
func (s *Supervisor) Start() {
	if s.cfg.AutoReconnect {
		s.restore()
	}
	if s.cfg.Retention > 0 {
		s.spawn(func() { prune.Loop(s.life, s.reg.cfg.Store, s.cfg.Retention, s.pruneMessages, s.notPruned) })
	}
	if s.cfg.DropLoggedOut != nil && s.cfg.KeepLoggedOut > 0 {
		drop := func(before time.Time) (time.Time, error) { return s.cfg.DropLoggedOut(s.life, before) }
		s.spawn(func() { prune.Loop(s.life, s.reg.cfg.Store, s.cfg.KeepLoggedOut, drop, s.notPruned) })
	}
	if s.cfg.PruneDevice != nil {
		s.spawn(func() { prune.Loop(s.life, s.reg.cfg.Store, deviceLife, s.pruneDevices, s.notPruned) })
	}
}

// Interrupt ends the calls of Connect and PairCode that wait, and those to
// come, with an error that wraps event.ErrNotConnected and says that the
// program stops. Everything else goes on until Stop. A program calls it before
// it waits for its requests to end.
func (s *Supervisor) Interrupt() { s.interrupt() }

// patience bounds how long a call waits for WhatsApp: until ConnectTimeout is
// over, with the cause ErrNoCode, or the program stops.
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

// Stop disconnects all instances and waits for everything that the supervisor
// started, until ctx ends. The stored states stay: the next start corrects
// them.
func (s *Supervisor) Stop(ctx context.Context) error {
	s.mu.Lock()
	s.end() // nothing is spawned from here on
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

// spawn runs fn in a goroutine that Stop waits for. It reports false, and does
// nothing, once Stop was called.
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

// keeper returns the keeper of an instance, made on first use.
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
	s.keepers[id] = k
	return k, nil
}

// restore reconnects every paired instance.
func (s *Supervisor) restore() {
	var linked []Record
	for _, rec := range s.reg.List() {
		if rec.OwnerJID != "" && retries(rec.Status) && !rec.HasMoved() && rec.Elsewhere == "" {
			linked = append(linked, rec)
		}
	}
	slots := make(chan struct{}, max(1, s.cfg.StartupConcurrency))
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
			})
		}
	})
}

// retries reports whether an instance that stopped in this state is dialled
// again at the next start. The others wait for somebody to act; a client that
// was outdated may have been replaced by this one.
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
	_ = k.await(ctx, k.settled) // its end frees the slot, whatever it is
}

// resume begins to reconnect an instance, unless a call has changed it since
// the start. It reports whether there is something to wait for.
func (k *keeper) resume() bool {
	if k.take(k.sup.life) != nil {
		return false
	}
	defer k.release()
	rec, err := k.sup.reg.ByID(k.id)
	if err != nil || rec.OwnerJID == "" || !retries(rec.Status) {
		return false
	}
	if k.stayElsewhere() {
		return false
	}
	if !k.session.Paired() && k.session.LoggedOut() { // which could not be told before the program ended
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

// set stores a state that the supervisor itself found. A failure is logged and
// returned.
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

func (s *Supervisor) notPruned(err error) { s.log.Warn("messages not pruned", "error", err) }

func (s *Supervisor) pruneMessages(before time.Time) (oldest time.Time, err error) {
	removed, oldest, err := s.reg.Prune(s.life, before)
	if removed > 0 {
		s.log.Info("old messages removed", "count", removed)
	}
	return oldest, err
}

// What belongs to a device is kept for a week at least. A look at all of it is
// made no more often than deviceGrace.
const (
	deviceLife  = 7 * 24 * time.Hour
	deviceGrace = 8 * time.Hour
)

// pruneDevices goes on with the next device when one fails, which is then tried
// again like the others.
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
