package clientversion

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"postern/store"
	"postern/whatsapp"
)

// Client announces the version to WhatsApp and requests the current one.
type Client interface {
	Version() whatsapp.Version
	// SetVersion sets the version of later connections.
	SetVersion(whatsapp.Version)
	// AskVersion requests the current version through the proxy of an instance. It
	// takes at most some seconds.
	AskVersion(ctx context.Context, instance int64) (whatsapp.Version, error)
}

// Config configures a Refresher. Only Network and Logger are optional.
type Config struct {
	Store   *store.Store
	Setting string // see CheckSetting
	Network string // the network, empty for WhatsApp; an answer is used only on its own network
	Client  Client

	// Refused returns the instances whose client version WhatsApp rejected.
	Refused func() []int64
	// Renew is called at the end of a request. found: a newer version is now in
	// use.
	Renew func(found bool)

	Logger *slog.Logger // nil discards
}

// Source is the origin of a version.
type Source string

// Sources.
const (
	Builtin Source = "builtin" // the client library's
	Pinned  Source = "pinned"  // set by the operator
	Stored  Source = "stored"  // from WhatsApp in an earlier run
	Fetched Source = "fetched" // from WhatsApp in this run
)

// Refresher keeps the version up to date. Its methods may be called from any goroutine.
type Refresher struct {
	cfg Config
	log *slog.Logger

	life context.Context // ends with Stop
	end  context.CancelFunc
	work sync.WaitGroup
	wake chan struct{} // size 1: the state changed

	mu      sync.Mutex
	source  Source
	state   state
	stored  state // as in the file
	asking  bool  // a request is running or about to
	through int64 // the instance whose proxy it uses, 0 if a timer started it
	advised time.Time
}

// Open reads the stored state and sets the right version, before anything connects. Its
// errors are those of the store and of CheckSetting. A damaged record is ignored.
func Open(cfg Config) (*Refresher, error) {
	cfg.Logger = cmp.Or(cfg.Logger, slog.New(slog.DiscardHandler))
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
		r.state.Due = time.Time{} // this version has not been rejected yet
	}
	if r.source != Builtin {
		r.log.Info("connections announce a client version other than the built-in one", "version", v.String(), "source", string(r.source))
	}
	return r, nil
}

// Start resumes the pending requests of an earlier run.
func (r *Refresher) Start() {
	if r.cfg.Setting == Auto {
		r.work.Go(r.run)
	}
}

// Stop cancels a request and waits for its end. There are no requests afterwards.
func (r *Refresher) Stop(context.Context) error {
	r.mu.Lock()
	r.end()
	r.mu.Unlock()
	r.work.Wait()
	return nil
}

// Current returns the version in use and its source.
func (r *Refresher) Current() (version string, source Source) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.cfg.Client.Version().String(), r.source
}

// Outdated is called when WhatsApp rejected the version of an instance's client. known:
// connections already announce another one. asked: one is being requested, and
// Config.Renew reports the end. Neither: nothing helps now; the request is made when it
// is allowed again. It never blocks.
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

// Taken is called when WhatsApp accepted a login with a version. It never blocks.
func (r *Refresher) Taken(version string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.state.Version == version && r.state.Taken != version {
		r.state.Taken = version
		r.poke() // to store it
	}
}

// adviseEvery is the least time between two log lines about the setting.
const adviseEvery = 10 * time.Minute

// advise logs that only the operator can help. The caller holds r.mu.
func (r *Refresher) advise() {
	if !r.advised.IsZero() && time.Since(r.advised) < adviseEvery {
		return
	}
	r.advised = time.Now()
	r.log.Error(`WhatsApp rejected our client version as outdated; set whatsapp.version to "auto", or to a newer version, and restart`,
		"version", r.cfg.Client.Version().String(), "setting", r.cfg.Setting)
}

// poke wakes run. The caller holds r.mu.
func (r *Refresher) poke() {
	select {
	case r.wake <- struct{}{}:
	default:
	}
}
