package main

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"strconv"
	"time"
)

// Config is everything that can be set, with the names of the TOML paths. The
// table in settings.go says for each its default, its meaning and its rule.
type Config struct {
	Server struct {
		Listen          string
		Port            int64
		BaseURL         string
		ShutdownTimeout time.Duration
	}
	Metrics struct{ Listen string }
	Store   struct{ Path string }
	Log     struct{ Level, Format string }

	Authentication struct {
		GlobalAuthToken string
		JWTSecret       string
		JWTExpiresIn    int64 // seconds
	}
	Webhook struct {
		GlobalURL      string
		GlobalEnabled  bool
		Workers        int64
		QueueSize      int64
		Timeout        time.Duration
		PerDestination int64
		DenyPrivate    bool
	}
	Database struct {
		SaveNewMessage    bool
		SaveMessageUpdate bool
		SaveContacts      bool
		MessageRetention  time.Duration
	}
	Websocket struct {
		Enabled          bool
		AllowedOrigins   []string
		AllowEmptyOrigin bool
		PingInterval     time.Duration
		PongTimeout      time.Duration
		WriteTimeout     time.Duration
		SendBuffer       int64
	}
	Batch struct {
		WorkerEnabled     bool
		MaxDelayMs        int64
		MaxRecipients     int64
		ShutdownTimeoutMs int64
		Timezone          string
		Lease             time.Duration
	}
	Processing struct {
		Workers   int64
		QueueSize int64
		Timeout   time.Duration
	}
	Message struct{ SendTimeout time.Duration }
	Outbox  struct{ Retention time.Duration }
	Media   struct {
		AllowPrivate bool
		MaxBytes     int64
		Timeout      time.Duration
	}
	QRCode struct {
		Limit                 int64
		LightColor, DarkColor string
	}
	WhatsApp struct {
		AutoReconnect               bool
		StartupReconnectConcurrency int64
		ConnectTimeout              int64 // seconds
		ReconnectInitialDelay       int64 // seconds
		ReconnectMaxDelay           int64 // seconds
		PairingTimeout              time.Duration
		ClientName, ClientType      string
		KeepaliveInterval           time.Duration
		KeepaliveTimeout            time.Duration
		Endpoint                    string
		EndpointCA                  string
		EndpointRootKey             string
	}
	Sandbox struct {
		Enabled  bool
		AutoPair bool
		Path     string
	}
}

// validate checks the rules that concern more than one setting.
func (c *Config) validate() error {
	var errs []error
	if c.Webhook.GlobalEnabled && c.Webhook.GlobalURL == "" {
		errs = append(errs, errors.New("webhook.global.url: required when webhook.global.enabled is true"))
	}
	if n := len(c.Authentication.JWTSecret); n > 0 && n < minSecret {
		errs = append(errs, fmt.Errorf("authentication.jwt_secret: has %d bytes, needs %d or more", n, minSecret))
	}
	if c.WhatsApp.ReconnectMaxDelay < c.WhatsApp.ReconnectInitialDelay {
		errs = append(errs, errors.New("whatsapp.reconnect_max_delay: must not be below whatsapp.reconnect_initial_delay"))
	}
	if c.Websocket.PongTimeout < c.Websocket.PingInterval {
		errs = append(errs, errors.New("websocket.pong_timeout: must not be below websocket.ping_interval"))
	}
	if e := c.WhatsApp; e.Endpoint == "" && (e.EndpointCA != "" || e.EndpointRootKey != "") {
		errs = append(errs, errors.New("whatsapp.endpoint: required when whatsapp.endpoint_ca or whatsapp.endpoint_root_key is set"))
	}
	if c.Sandbox.Enabled && c.WhatsApp.Endpoint != "" {
		errs = append(errs, errors.New("sandbox.enabled: cannot be true together with whatsapp.endpoint; choose one of them"))
	}
	return errors.Join(errs...)
}

// minSecret is the shortest JWT secret: HS256 is as strong as its key is long.
const minSecret = 32

// listenAddress is where the API is served.
func (c *Config) listenAddress() string {
	if c.Server.Port != 0 {
		return net.JoinHostPort("", strconv.FormatInt(c.Server.Port, 10))
	}
	return c.Server.Listen
}

func checkURL(s string) error {
	if s == "" {
		return nil
	}
	u, err := url.Parse(s)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return errors.New("must be an http or https URL")
	}
	return nil
}

func checkHostPort(s string) error {
	_, port, err := net.SplitHostPort(s)
	if err != nil {
		return errors.New("must be host:port")
	}
	if n, err := strconv.ParseUint(port, 10, 16); err != nil || n > 65535 {
		return errors.New("the port must be a number from 0 to 65535")
	}
	return nil
}

func checkZone(s string) error {
	if _, err := time.LoadLocation(s); err != nil || s == "" || s == "Local" {
		return errors.New("must be a time zone of the IANA database, such as Europe/Berlin")
	}
	return nil
}

func checkColor(s string) error {
	if len(s) != 7 || s[0] != '#' {
		return errors.New("must be a colour such as #1a2b3c")
	}
	if _, err := strconv.ParseUint(s[1:], 16, 32); err != nil {
		return errors.New("must be a colour such as #1a2b3c")
	}
	return nil
}

func checkEndpoint(s string) error {
	if s == "" {
		return nil
	}
	u, err := url.Parse(s)
	if err != nil || u.Scheme != "wss" || u.Hostname() == "" || u.Port() == "" {
		return errors.New("must be a wss://host:port/path URL")
	}
	return nil
}

func checkHexKey(s string) error {
	if s == "" {
		return nil
	}
	if _, err := parseRootKey(s); err != nil {
		return err
	}
	return nil
}
