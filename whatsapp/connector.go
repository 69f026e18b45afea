package whatsapp

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync/atomic"
	"time"

	"go.mau.fi/whatsmeow/proto/waCompanionReg"
	wastore "go.mau.fi/whatsmeow/store"

	"postern/event"
	"postern/whatsapp/device"
	"postern/whatsapp/proxy"
)

// Devices keeps the device record of each instance: its keys, sessions and
// everything else that whatsmeow wants remembered. Package whatsapp/device
// implements it on the data file.
type Devices interface {
	// New returns an unsaved device for the instance; whatsmeow saves it when
	// it is paired.
	New(instance int64) *wastore.Device
	// Join names the network that devices connect to. A device that is saved from
	// then on is of it.
	Join(n event.Network)
	// Load returns the saved device, none when the instance was not paired.
	Load(ctx context.Context, instance int64) (device.Saved, error)
	// Recall is Load for a device that its network logged out, to try it once more.
	Recall(ctx context.Context, instance int64) (device.Saved, error)
	// Accepted notes that the network let the device log in.
	Accepted(ctx context.Context, instance int64) error
	// Delete removes the device of the instance and all that belongs to it.
	// An instance without one is no error.
	Delete(ctx context.Context, instance int64) error
	// Request notes that the instance's device asks its phone for something,
	// unless it asked for that kind of thing limit times within the last
	// period: then it may not. TakeBack forgets the last request, which did not
	// leave.
	Request(ctx context.Context, instance int64, kind string, limit int, period time.Duration) (allowed bool, err error)
	TakeBack(ctx context.Context, instance int64, kind string) error
	// Sending calls send, with a context for one SendMessage of the library,
	// and returns its error. In it the store may join writes. leaving is called
	// once, when the library keeps the message for a retry, which it does when
	// it has come to this message and nothing of it has been sent; its error
	// keeps it from being sent.
	Sending(ctx context.Context, leaving func() error, send func(context.Context) error) error

	// Settle returns when what decryptions of the instance wrote inside
	// [device.Riding] is on the disk. After an error it is not.
	Settle(instance int64) error

	// KeepNotice stores a notice under an id until DropNotice, or until the event is
	// told whose fact names it as its Notice, with the call that asked for it, if
	// any; one of that id stays as it is. What is kept belongs to the paired device
	// and goes with it.
	KeepNotice(ctx context.Context, instance int64, id, call string, notice []byte) error
	// Notices returns the ids of those that are kept.
	Notices(instance int64) ([]string, error)
	// Notice returns one that is kept, nil when it is not, and its call.
	Notice(instance int64, id string) (notice []byte, call string, err error)
	DropNotice(ctx context.Context, instance int64, id string) error
}

// Config says how sessions connect. Zero durations and numbers mean the
// default named at the field.
type Config struct {
	Devices  Devices
	Endpoint *Endpoint // nil is the real WhatsApp

	// Proxy returns the proxy that an instance uses for something, the zero
	// Server for none. It is asked before every dial and must not block; after an
	// error nothing is dialled. nil: no instance has one.
	Proxy func(instance int64, use proxy.Use) (proxy.Server, error)
	// History returns how much of the time before its pairing an instance wants
	// to have. It is asked when it is paired, and for every piece, and must not
	// block. nil: none does.
	History func(instance int64) HistoryWish
	// TempDir is where pieces of history are put while they are read; empty: the
	// system's.
	TempDir string

	// Proxies dials them.
	Proxies proxy.Dialer

	ClientName string // shown on the phone under linked devices, default "Postern"
	ClientType string // platform shown there: a name of DeviceProps.PlatformType, default "DESKTOP"

	ConnectTimeout    time.Duration // one dial with its handshake, default 30s
	SendTimeout       time.Duration // one send, from its turn to its acknowledgement, default 30s
	TurnTimeout       time.Duration // for a send to wait for its turn, default 60s
	UploadTimeout     time.Duration // one file to WhatsApp, default 5m
	PairingTimeout    time.Duration // one pairing attempt, default 3m
	KeepAliveInterval time.Duration // between pings, give or take a fifth, default 25s
	KeepAliveTimeout  time.Duration // for the answer to a ping, default 10s

	// StateRecoveryDelay is how long synchronised state that does not verify is
	// left before the phone is asked for its copy, default 1m.
	StateRecoveryDelay time.Duration

	// QuietReconnect is how long WhatsApp may deliver nothing to a connection
	// that got something before, until it is given up; 0: for ever. It is for
	// sessions that somebody dials again.
	QuietReconnect time.Duration

	// OnUndecryptable is told of each message that an instance could not decrypt. It
	// must not block. nil: nobody is.
	OnUndecryptable func(instance int64)

	Media Media // where the files of media messages come from; nil: none can be sent

	QRLight, QRDark string // "#rrggbb", default "#ffffff" and "#000000"
	QRLimit         int    // codes shown per pairing attempt, default 5; WhatsApp hands out 6

	Logger *slog.Logger // nil discards
}

// ReportFunc takes a fact. It returns nil only when the fact is stored, if it
// is of a kind that is stored; an error for a message or receipt makes
// WhatsApp deliver it again. It must not call methods of the session it
// reports about, except Online and Paired.
type ReportFunc func(context.Context, event.Fact) error

// Connector opens sessions. Its methods may be called from any goroutine.
type Connector struct {
	cfg   Config
	log   *slog.Logger
	paint palette
	seen  tally

	endpoint *server                 // nil for the real WhatsApp
	network  event.Network           // that all sessions connect to
	version  atomic.Pointer[Version] // never nil
}

// Stats counts what a connector saw since it was made.
type Stats struct {
	Panics    uint64            // handlers that panicked over an event
	Unhandled map[string]uint64 // events that mean nothing to this program, by type
	// Unreadable counts what was done about messages that could not be decrypted.
	Unreadable map[UnreadableOutcome]uint64
	// QuietReconnects counts connections that were given up for their silence.
	QuietReconnects uint64
	// Floods counts how often a connection was read more slowly, since its stanzas
	// came faster than they were handled.
	Floods uint64
	// Recoveries of synchronised state that did not verify.
	Recoveries map[Recovery]uint64
}

// Stats returns the counters so far.
func (c *Connector) Stats() Stats { return c.seen.snapshot() }

// New validates cfg, fills in defaults and sets whatsmeow's process-wide
// settings (see the package comment). It does not touch the network.
func New(cfg Config) (*Connector, error) {
	if cfg.Devices == nil {
		return nil, errors.New("whatsapp: no device store given")
	}
	cfg = cfg.withDefaults()
	c := &Connector{cfg: cfg, network: cfg.Endpoint.Network(), log: cfg.Logger.With("component", "whatsapp")}
	c.SetVersion(BuiltinVersion())
	var err error
	if c.paint, err = newPalette(cfg.QRLight, cfg.QRDark); err != nil {
		return nil, fmt.Errorf("whatsapp: %w", err)
	}
	if cfg.Endpoint != nil {
		if c.endpoint, err = cfg.Endpoint.open(); err != nil {
			return nil, fmt.Errorf("whatsapp: endpoint: %w", err)
		}
	}
	if err := CheckClientType(cfg.ClientType); err != nil {
		return nil, fmt.Errorf("whatsapp: client type %w", err)
	}
	platform := waCompanionReg.DeviceProps_PlatformType_value[strings.ToUpper(cfg.ClientType)]
	setProcessWide(cfg, waCompanionReg.DeviceProps_PlatformType(platform), c.log)
	cfg.Devices.Join(c.network)
	return c, nil
}

// CheckClientType returns an error when WhatsApp knows no kind of device of
// that name, whatever its case.
func CheckClientType(name string) error {
	if _, known := waCompanionReg.DeviceProps_PlatformType_value[strings.ToUpper(name)]; !known {
		return errors.New("must be a kind of device that WhatsApp knows, such as DESKTOP, CHROME or FIREFOX")
	}
	return nil
}

// Open returns the session of an instance without dialling. It reads the
// device record; a damaged one is an error. The session is used until
// [Session.Disconnect]; it may then be connected again.
func (c *Connector) Open(ctx context.Context, instance int64, report func(context.Context, event.Fact) error) (*Session, error) {
	saved, err := c.cfg.Devices.Load(ctx, instance)
	if err != nil {
		return nil, fmt.Errorf("whatsapp: load device of instance %d: %w", instance, err)
	}
	s := newSession(c, instance, report)
	s.hold(saved, false)
	return s, nil
}

func (cfg Config) withDefaults() Config {
	duration := func(d *time.Duration, def time.Duration) {
		if *d <= 0 {
			*d = def
		}
	}
	duration(&cfg.ConnectTimeout, 30*time.Second)
	duration(&cfg.SendTimeout, 30*time.Second)
	duration(&cfg.TurnTimeout, time.Minute)
	duration(&cfg.UploadTimeout, 5*time.Minute)
	duration(&cfg.PairingTimeout, 3*time.Minute)
	duration(&cfg.KeepAliveInterval, 25*time.Second)
	duration(&cfg.KeepAliveTimeout, 10*time.Second)
	duration(&cfg.StateRecoveryDelay, time.Minute)
	text := func(s *string, def string) {
		if *s == "" {
			*s = def
		}
	}
	text(&cfg.ClientName, "Postern")
	text(&cfg.ClientType, "DESKTOP")
	text(&cfg.QRLight, "#ffffff")
	text(&cfg.QRDark, "#000000")
	if cfg.QRLimit <= 0 {
		cfg.QRLimit = 5
	}
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	return cfg
}
