package whatsapp

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync/atomic"
	"time"

	"go.mau.fi/whatsmeow/proto/waCompanionReg"

	"postern/event"
	"postern/whatsapp/device"
	"postern/whatsapp/proxy"
)

// Config configures a Connector. Zero durations and numbers mean the default named at
// the field.
type Config struct {
	Devices  *device.Container // required
	Endpoint *Endpoint         // nil is the real WhatsApp

	// Proxy returns the proxy of an instance for a use, the zero Server for none. It
	// is called before every dial and must not block; after an error nothing is
	// dialled. nil: no proxies.
	Proxy func(instance int64, use proxy.Use) (proxy.Server, error)
	// History returns how much history an instance wants. It is called when the
	// instance is paired and for every piece of history, and must not block. nil:
	// none.
	History func(instance int64) HistoryWish
	// TempDir is the folder for pieces of history being read; empty: the system's.
	TempDir string

	// Proxies dials through proxies.
	Proxies proxy.Dialer

	ClientName string // shown on the phone under linked devices, default "Postern"
	ClientType string // platform shown there, a name of DeviceProps.PlatformType, default "DESKTOP"

	ConnectTimeout    time.Duration // one dial with its handshake, default 30s
	SendTimeout       time.Duration // one send, from its turn to its acknowledgement, default 30s
	TurnTimeout       time.Duration // for a send to wait for its turn, default 60s
	UploadTimeout     time.Duration // one file to WhatsApp, default 5m
	PairingTimeout    time.Duration // one pairing attempt, default 3m
	KeepAliveInterval time.Duration // between pings, give or take a fifth, default 25s
	KeepAliveTimeout  time.Duration // for the answer to a ping, default 10s

	// StateRecoveryDelay is the time between a failed verification of app state and
	// the request for the phone's copy, default 1m.
	StateRecoveryDelay time.Duration

	// QuietReconnect is how long WhatsApp may deliver nothing to a connection that was
	// active before, until the session drops it; 0: no limit. It is for sessions that
	// a supervisor reconnects.
	QuietReconnect time.Duration

	// OnUndecryptable is called for each message that an instance could not decrypt.
	// It must not block. It may be nil.
	OnUndecryptable func(instance int64)

	Media Media // source of the files of media messages; nil: media cannot be sent

	QRLight, QRDark string // "#rrggbb", default "#ffffff" and "#000000"
	QRLimit         int    // codes shown per pairing attempt, default 5; WhatsApp issues 6

	Logger *slog.Logger // nil discards
}

// ReportFunc takes a fact. It returns nil only if the fact is stored, or is of a kind
// that is not stored; after an error, WhatsApp sends the message or receipt again. It
// must not call methods of the reporting session except Online and Paired.
type ReportFunc func(context.Context, event.Fact) error

// Connector opens sessions. Its methods may be called from any goroutine.
type Connector struct {
	cfg   Config
	log   *slog.Logger
	paint palette
	seen  tally

	endpoint *server                 // nil for the real WhatsApp
	network  event.Network           // of all sessions
	version  atomic.Pointer[Version] // never nil
}

// Stats counts events since the connector was created.
type Stats struct {
	Panics    uint64            // panics of event handlers
	Unhandled map[string]uint64 // events of unknown type, by type
	// Unreadable counts messages that could not be decrypted, by outcome.
	Unreadable map[UnreadableOutcome]uint64
	// QuietReconnects counts connections dropped because WhatsApp delivered nothing.
	QuietReconnects uint64
	// Floods counts how often reading was slowed down because stanzas arrived faster
	// than they were handled.
	Floods uint64
	// StaleDevices counts messages that some devices of their recipients may not have got, by chat:
	// person, group or status.
	StaleDevices map[string]uint64
	// Recoveries counts recoveries of app state that did not verify.
	Recoveries map[Recovery]uint64
}

// Stats returns the counters so far.
func (c *Connector) Stats() Stats { return c.seen.snapshot() }

// New validates cfg, sets defaults and sets whatsmeow's process-wide settings (see the
// package comment). It does not use the network.
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

// CheckClientType returns an error if WhatsApp has no device type of that name,
// ignoring case.
func CheckClientType(name string) error {
	if _, known := waCompanionReg.DeviceProps_PlatformType_value[strings.ToUpper(name)]; !known {
		return errors.New("must be a device type of WhatsApp, such as DESKTOP, CHROME or FIREFOX")
	}
	return nil
}

// Open returns the session of an instance without dialling. It reads the device record
// and returns an error if that is damaged. [Session.Disconnect] ends the use of a
// session; Connect may follow.
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
	cfg.Logger = cmp.Or(cfg.Logger, slog.New(slog.DiscardHandler))
	return cfg
}
