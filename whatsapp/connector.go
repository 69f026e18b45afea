package whatsapp

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"time"

	"go.mau.fi/whatsmeow/proto/waCompanionReg"
	wastore "go.mau.fi/whatsmeow/store"

	"postern/event"
)

// Devices keeps the device record of each instance: its keys, sessions and
// everything else that whatsmeow wants remembered. Package whatsapp/device
// implements it on the data file.
type Devices interface {
	// New returns an unsaved device for the instance; whatsmeow saves it when
	// it is paired.
	New(instance int64) *wastore.Device
	// Load returns the saved device, or nil when the instance is not paired.
	Load(ctx context.Context, instance int64) (*wastore.Device, error)
	// Delete removes the device of the instance and all that belongs to it.
	// An instance without one is no error.
	Delete(ctx context.Context, instance int64) error
	// Sending calls send, with a context for one SendMessage of the library,
	// and returns its error. In it the store may join writes. leaving is called
	// once, when the library keeps the message for a retry, which it does when
	// it has come to this message and nothing of it has been sent; its error
	// keeps it from being sent.
	Sending(ctx context.Context, leaving func() error, send func(context.Context) error) error
}

// Config says how sessions connect. Zero durations and numbers mean the
// default named at the field.
type Config struct {
	Devices  Devices
	Endpoint *Endpoint // nil is the real WhatsApp

	ClientName string // shown on the phone under linked devices, default "Postern"
	ClientType string // platform shown there: a name of DeviceProps.PlatformType, default "DESKTOP"

	ConnectTimeout    time.Duration // one dial with its handshake, default 30s
	SendTimeout       time.Duration // one send, from its turn to its acknowledgement, default 30s
	TurnTimeout       time.Duration // for a send to wait for its turn, default 60s
	UploadTimeout     time.Duration // one file to WhatsApp, default 5m
	PairingTimeout    time.Duration // one pairing attempt, default 3m
	KeepAliveInterval time.Duration // between pings, give or take a fifth, default 25s
	KeepAliveTimeout  time.Duration // for the answer to a ping, default 10s

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
	http  *http.Client // nil for the real WhatsApp
	paint palette
	seen  tally

	stateRetry time.Duration // see catchUpState
}

// Stats counts what a connector saw since it was made.
type Stats struct {
	Panics    uint64            // handlers that panicked over an event
	Unhandled map[string]uint64 // events that mean nothing to this program, by type
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
	c := &Connector{cfg: cfg, log: cfg.Logger.With("component", "whatsapp"), stateRetry: stateRetry}
	var err error
	if c.paint, err = newPalette(cfg.QRLight, cfg.QRDark); err != nil {
		return nil, fmt.Errorf("whatsapp: %w", err)
	}
	if cfg.Endpoint != nil {
		if c.http, err = cfg.Endpoint.client(); err != nil {
			return nil, fmt.Errorf("whatsapp: endpoint: %w", err)
		}
	}
	if err := CheckClientType(cfg.ClientType); err != nil {
		return nil, fmt.Errorf("whatsapp: client type %w", err)
	}
	platform := waCompanionReg.DeviceProps_PlatformType_value[strings.ToUpper(cfg.ClientType)]
	setProcessWide(cfg, waCompanionReg.DeviceProps_PlatformType(platform), c.log)
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
	device, err := c.cfg.Devices.Load(ctx, instance)
	if err != nil {
		return nil, fmt.Errorf("whatsapp: load device of instance %d: %w", instance, err)
	}
	s := &Session{
		conn:     c,
		instance: instance,
		report:   report,
		log:      c.log.With("instance_id", instance),
	}
	if device != nil && device.ID != nil {
		s.paired = true
		s.own = account{jid: *device.ID, lid: device.LID}
		s.cli = s.newClient(device)
	}
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
