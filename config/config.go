package config

import (
	"io/fs"
	"net"
	"strconv"
	"strings"
	"time"
)

// Config has all settings, with the names of the TOML paths. The
// table in settings.go has the default, the meaning and the rule of each.
type Config struct {
	Server struct {
		Listen          string
		Port            int64
		BaseURL         string
		BasePath        string
		Socket          string
		SocketMode      string // octal digits
		TLSCert, TLSKey string
		TLSDomain       []string
		TLSAuthority    string // of TLSDomain
		TLSAuthorityCA  string
		TrustedProxies  []string
		CORSOrigins     []string
		ShutdownTimeout time.Duration

		MaxConnectionsPerAddress int64
	}
	Console struct {
		Title, Accent, LogoFile string
	}
	Audit struct {
		Retention  time.Duration // 0: for ever
		MaxEntries int64
	}
	Metrics struct {
		Listen      string
		PerInstance bool
	}
	Backup struct {
		Dir        string
		Every      time.Duration
		Keep       int64
		Recipients []string
	}
	Store struct {
		Path       string
		KeepBefore bool
		URL        string // of a PostgreSQL database; empty: the file stands alone
		AcceptLoss bool
	}
	Cluster struct {
		Cell, Node, Advertise string
		Lease                 time.Duration
		Forward               bool
	}
	Log struct{ Level, Format string }

	Authentication struct {
		GlobalAuthToken         string
		JWTSecret               string
		JWTExpiresIn            int64 // seconds
		FailuresPerMinute       int64
		GlobalKeyOpensInstances bool
	}
	Webhook struct {
		GlobalURL      string
		GlobalEnabled  bool
		Workers        int64
		QueueSize      int64
		Timeout        time.Duration
		PerDestination int64
		DenyPrivate    bool
		DurableDefault bool

		DurableMaxBytes int64
		Log             bool
		LogBodies       string
		LogRetention    time.Duration
		LogMaxEntries   int64
		ReplayRate      int64
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
		MaxPerToken      int64
	}
	Batch struct {
		WorkerEnabled     bool
		MaxDelayMs        int64
		MaxRecipients     int64
		MaxOpen           int64
		FailureStreak     int64
		BenchUndelivered  bool
		ShutdownTimeoutMs int64
		Timezone          string
		Lease             time.Duration
		Retention         time.Duration
	}
	Processing struct {
		Workers   int64
		QueueSize int64
		Timeout   time.Duration
	}
	Scheduled struct {
		Max      int64
		MaxBytes int64
	}
	Message struct {
		SendTimeout time.Duration
		TurnTimeout time.Duration
	}
	Outbox struct{ Retention time.Duration }
	Media  struct {
		AllowPrivate bool
		MaxBytes     int64
		MaxUploads   int64
		MaxInline    int64
		Timeout      time.Duration
		LinkTTL      time.Duration
		Cache        int64
		FetchWait    time.Duration
		Store        struct {
			Kind, Path        string
			MaxFile, MaxBytes int64
			Retention         time.Duration

			S3 struct {
				Endpoint, Region, Bucket, Prefix, AccessKey, SecretKey string
				PathStyle                                              bool
			}
		}
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
		Version                     string // auto, builtin or a version
		ClientName, ClientType      string
		KeepaliveInterval           time.Duration
		KeepaliveTimeout            time.Duration
		UndeliveredAfter            time.Duration
		PhoneAttention              time.Duration
		PhoneBroken                 time.Duration
		QuietReconnect              time.Duration
		KeepLoggedOut               time.Duration
		StateRecoveryDelay          time.Duration
		Proxy                       string
		Endpoint                    string
		EndpointCA                  string
		EndpointRootKey             string
	}
	MCP     struct{ Enabled bool }
	Sandbox struct {
		Enabled  bool
		AutoPair bool
		Path     string
	}

	loaded loaded // what Load knows besides
}

// loaded is the source of a configuration.
type loaded struct {
	sources  map[string]string // by path, of settings that are not the default
	warnings []string
}

// rule is a condition on more than one setting.
type rule struct {
	broken bool
	text   string
	keys   []string // the first is the one to change
}

// rules returns the rules about more than one setting.
func (c *Config) rules() []rule {
	e := c.WhatsApp
	all := e.Endpoint != "" && e.EndpointCA != "" && e.EndpointRootKey != ""
	none := e.Endpoint == "" && e.EndpointCA == "" && e.EndpointRootKey == ""
	sec := Secrets{c.Authentication.GlobalAuthToken, c.Authentication.JWTSecret}
	return append(append(c.clusterRules(), c.mediaRules()...), []rule{
		{
			sec.JWTSecret != "" && sec.same(),
			sameSecrets,
			[]string{"authentication.jwt_secret", "authentication.global_auth_token"},
		},
		{
			c.Webhook.GlobalEnabled && c.Webhook.GlobalURL == "",
			"required when webhook.global.enabled is true",
			[]string{"webhook.global.url", "webhook.global.enabled"},
		},
		{
			e.ReconnectMaxDelay < e.ReconnectInitialDelay,
			"must not be below whatsapp.reconnect_initial_delay",
			[]string{"whatsapp.reconnect_max_delay", "whatsapp.reconnect_initial_delay"},
		},
		{
			c.Websocket.PongTimeout < c.Websocket.PingInterval,
			"must not be below websocket.ping_interval",
			[]string{"websocket.pong_timeout", "websocket.ping_interval"},
		},
		{
			!all && !none,
			"must be set together with whatsapp.endpoint_ca and whatsapp.endpoint_root_key",
			[]string{"whatsapp.endpoint", "whatsapp.endpoint_ca", "whatsapp.endpoint_root_key"},
		},
		{
			(c.Server.TLSCert == "") != (c.Server.TLSKey == ""),
			"must be set together with server.tls.key",
			[]string{"server.tls.cert", "server.tls.key"},
		},
		{
			c.ListenAddress() == "" && c.Server.Socket == "",
			"must not be empty without server.socket: there is no other listener",
			[]string{"server.listen", "server.socket"},
		},
		{
			c.ListenAddress() == "" && c.Server.TLSCert != "",
			"needs server.listen: server.socket is served without TLS",
			[]string{"server.tls.cert", "server.listen"},
		},
		{
			c.Backup.Every > 0 && c.Backup.Dir == "",
			"required when backup.every is not 0",
			[]string{"backup.dir", "backup.every"},
		},
		{
			c.Backup.Every > 0 && c.Backup.Every < time.Minute,
			"must be 1m or more, or 0 for none",
			[]string{"backup.every"},
		},
		{
			c.ListenAddress() == "" && len(c.Server.TLSDomain) > 0,
			"needs server.listen: server.socket is served without TLS",
			[]string{"server.tls.domain", "server.listen"},
		},
		{
			c.Server.TLSCert != "" && len(c.Server.TLSDomain) > 0,
			"cannot be set together with server.tls.cert; choose one of them",
			[]string{"server.tls.domain", "server.tls.cert"},
		},
		{
			c.Server.TLSAuthorityCA != "" && len(c.Server.TLSDomain) == 0,
			"needs server.tls.domain",
			[]string{"server.tls.acme_ca", "server.tls.domain"},
		},
		{
			c.Sandbox.Enabled && e.Endpoint != "",
			"cannot be true together with whatsapp.endpoint; choose one of them",
			[]string{"sandbox.enabled", "whatsapp.endpoint"},
		},
	}...)
}

// Secure reports whether the API is served with TLS at its address.
func (c *Config) Secure() bool { return c.Server.TLSCert != "" || len(c.Server.TLSDomain) > 0 }

// PublicURL is server.base_url with server.base_path at its end, and without a slash
// at the end; empty if it is unknown.
func (c *Config) PublicURL() string {
	base := strings.TrimSuffix(c.Server.BaseURL, "/")
	if base == "" || strings.HasSuffix(base, c.Server.BasePath) {
		return base
	}
	return base + c.Server.BasePath
}

// SocketMode returns server.socket_mode as bits.
func (c *Config) SocketMode() fs.FileMode {
	mode, err := strconv.ParseUint(c.Server.SocketMode, 8, 32)
	if err != nil {
		return 0o600 // validated before; cannot happen
	}
	return fs.FileMode(mode).Perm()
}

// GlobalWebhook returns the URL of the global webhook, empty when it is disabled.
func (c *Config) GlobalWebhook() string {
	if !c.Webhook.GlobalEnabled {
		return ""
	}
	return c.Webhook.GlobalURL
}

// ListenAddress returns the TCP address of the API, empty for none.
func (c *Config) ListenAddress() string {
	if c.Server.Port != 0 {
		return net.JoinHostPort("", strconv.FormatInt(c.Server.Port, 10))
	}
	return c.Server.Listen
}
