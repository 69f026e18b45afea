package clientversion

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"postern/store"
	"postern/whatsapp"
)

// Client is who says the version to WhatsApp, and asks WhatsApp for it.
type Client interface {
	Version() whatsapp.Version
	// SetVersion is for connections made from now on.
	SetVersion(whatsapp.Version)
	// AskVersion asks for the current version, on the way of an instance. It
	// ends in some seconds.
	AskVersion(ctx context.Context, instance int64) (whatsapp.Version, error)
}

// Config is what a Refresher needs. All but Network and Logger is required.
type Config struct {
	Store   *store.Store
	Setting string // see CheckSetting
	Network string // who stands in for WhatsApp; empty: it does. What one said does not count with another
	Client  Client

	// Refused returns the instances that WhatsApp refuses for the version of
	// their client.
	Refused func() []int64
	// Renew is told the end of a question: found says that a newer version is
	// in use from now on.
	Renew func(found bool)

	Logger *slog.Logger // nil discards
}

// Source says where a version comes from.
type Source string

// Sources.
const (
	Builtin Source = "builtin" // the client library's
	Pinned  Source = "pinned"  // the operator set it
	Stored  Source = "stored"  // WhatsApp said it to a former run
	Fetched Source = "fetched" // WhatsApp said it to this run
)

// Refresher is the keeper of the version. Its methods may be called from any
// goroutine.
type Refresher struct {
	cfg Config
	log *slog.Logger

	life context.Context // ends with Stop
	end  context.CancelFunc
	work sync.WaitGroup
	wake chan struct{} // size 1: something was written into what mu guards

	mu      sync.Mutex
	source  Source
	state   state
	stored  state // as it is in the file
	asking  bool  // a question is under way, or about to be
	through int64 // the instance on whose way it goes, 0 when a timer began it
	advised time.Time
}

// Open reads what former runs learned and has the right version used, which the
// caller lets happen before anything connects. Errors are those of the store
// and of CheckSetting. A damaged record is left aside.
func Open(cfg Config) (*Refresher, error) {
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	r := &Refresher{cfg: cfg, log: cfg.Logger.With("component", "client version"), wake: make(chan struct{}, 1)}
	r.life, r.end = context.WithCancel(context.Background())
	if err := CheckSetting(cfg.Setting); err != nil {
		return nil, fmt.Errorf("client version: %w", err)
	}
	var err error
	if r.state, err = load(cfg.Store); err != nil && !errors.Is(err, store.ErrDamaged) {
		return nil, fmt.Errorf("client version: %w", err)
	}
	r.stored = r.state
	if r.state.Network != cfg.Network {
		r.state = state{Network: cfg.Network}
	}
	v := whatsapp.BuiltinVersion()
	r.source = Builtin
	switch cfg.Setting {
	case Auto:
		if stored, err := whatsapp.ParseVersion(r.state.Version); err == nil && v.Less(stored) {
			v, r.source = stored, Stored
		}
	case BuiltinOnly:
	default:
		v, _ = whatsapp.ParseVersion(cfg.Setting)
		r.source = Pinned
	}
	cfg.Client.SetVersion(v)
	if r.state.Refused != v.String() {
		r.state.Due = time.Time{} // nobody has refused this one yet
	}
	if r.source != Builtin {
		r.log.Info("connections are of a version of the client other than the built-in one", "version", v.String(), "source", string(r.source))
	}
	return r, nil
}

// Start takes up the questions that a former run left to ask.
func (r *Refresher) Start() {
	if r.cfg.Setting == Auto {
		r.work.Go(r.run)
	}
}

// Stop calls a question off and waits for its end. Nothing is asked afterwards.
func (r *Refresher) Stop(context.Context) error {
	r.mu.Lock()
	r.end()
	r.mu.Unlock()
	r.work.Wait()
	return nil
}

// Current is the version in use and where it comes from.
func (r *Refresher) Current() (version string, source Source) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.cfg.Client.Version().String(), r.source
}

// Outdated is told that WhatsApp refused an instance's client of a version.
// known: connections are of another one by now. asked: one is being asked for,
// and Config.Renew tells the end. With neither nothing helps now; when a
// question is allowed again, it is asked. It never blocks.
func (r *Refresher) Outdated(instance int64, version string) (known, asked bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	refused, err := whatsapp.ParseVersion(version)
	switch {
	case err == nil && refused != r.cfg.Client.Version():
		return true, false
	case r.cfg.Setting != Auto:
		r.advise()
		return false, false
	case r.life.Err() != nil:
		return false, false
	case r.asking:
		return false, true
	}
	if now := time.Now(); !r.state.mayAsk(now) {
		r.state.askLater(now)
	} else {
		r.asking, r.through = true, instance
	}
	r.poke()
	return false, r.asking
}

// Taken is told that WhatsApp let an instance in with a version. It never blocks.
func (r *Refresher) Taken(version string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.state.Version == version && r.state.Taken != version {
		r.state.Taken = version
		r.poke() // it is stored
	}
}

// adviseEvery is how often the operator is told what to set.
const adviseEvery = 10 * time.Minute

// advise tells the operator that only he can help. The caller holds r.mu.
func (r *Refresher) advise() {
	if !r.advised.IsZero() && time.Since(r.advised) < adviseEvery {
		return
	}
	r.advised = time.Now()
	r.log.Error(`WhatsApp refuses this version of the client; set whatsapp.version to "auto", or to a newer version, and restart`,
		"version", r.cfg.Client.Version().String(), "setting", r.cfg.Setting)
}

// poke wakes run. The caller holds r.mu.
func (r *Refresher) poke() {
	select {
	case r.wake <- struct{}{}:
	default:
	}
}
