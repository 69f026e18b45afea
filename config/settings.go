package config

import (
	"math"
	"strings"
	"time"

	"postern/whatsapp"
	"postern/whatsapp/clientversion"
)

// setting is one row of the configuration: a TOML path, which is also the
// environment variable in upper case with _ for every dot, where the value
// goes, its default and its rule.
type setting struct {
	path   string
	doc    string
	value  value
	kind   secrecy
	source string // where the value came from; empty: the default
	faulty bool   // a value was refused, so that another one stands

	inEnvironment bool // the source is a variable, or a file that one names
}

// secrecy says how careful a setting is to be treated.
type secrecy int

const (
	public  secrecy = iota
	private         // may come from a file; printed without what may be a credential
	hidden          // may come from a file; never printed
)

// env is the name of the setting's environment variable.
func (s setting) env() string { return strings.ToUpper(strings.ReplaceAll(s.path, ".", "_")) }

// Default returns the configuration that stands when nothing is set.
func Default() *Config {
	c := &Config{}
	settings(c)
	return c
}

// settings returns the table, bound to c, after writing every default into c.
func settings(c *Config) []setting {
	const (
		s  = time.Second
		ms = time.Millisecond
	)
	return []setting{
		text("server.listen", &c.Server.Listen, "127.0.0.1:8084", orEmpty(checkHostPort), "Address to listen on. Empty, in the file: none, with server.socket."),
		number("server.port", &c.Server.Port, 0, 0, 65535, "When set, listen on all interfaces at this port instead of server.listen."),
		text("server.socket", &c.Server.Socket, "", orEmpty(checkSocket), "Unix socket to listen on too, without TLS: a path of at most 100 bytes, such as /run/postern/postern.sock. A file that a dead program left there is replaced."),
		text("server.socket_mode", &c.Server.SocketMode, "0660", checkMode, "Who may connect to server.socket: the mode of the file, in octal digits."),
		text("server.base_url", &c.Server.BaseURL, "", orEmpty(checkURL), "Public address of this program, for links; server.base_path may be left out."),
		text("server.base_path", &c.Server.BasePath, "", orEmpty(checkBasePath), "Path below which everything is served, such as /postern, behind a reverse proxy that keeps it or strips it."),
		number("server.max_connections_per_address", &c.Server.MaxConnectionsPerAddress, 256, 0, 1_000_000, "Connections that one client address may hold, WebSockets and concurrent requests over HTTP/2 included, and never more than half of all; server.trusted_proxies are exempt. An IPv6 address is its /64. 0 sets no limit."),
		list("server.cors_origins", &c.Server.CORSOrigins, checkOrigin, "Origins whose pages may call the API from a browser, each as browsers send it: https://app.example.org; empty: none. WebSockets have websocket.allowed_origins."),
		list("server.trusted_proxies", &c.Server.TrustedProxies, checkProxy, "Addresses and networks of reverse proxies in front of this program, such as 10.0.0.0/8: only from these does X-Forwarded-For count, its right-most address that is not one of them. unix stands for whoever connects to server.socket."),
		duration("server.shutdown_timeout", &c.Server.ShutdownTimeout, 20*s, s, time.Hour, "How long a stop may take in all."),
		text("server.tls.cert", &c.Server.TLSCert, "", nil, "File with the certificate, and those between it and its authority, in PEM: the API is served by HTTPS then. It is read again when it changes. Empty: HTTP, as behind a reverse proxy."),
		text("server.tls.key", &c.Server.TLSKey, "", nil, "File with the private key of server.tls.cert, in PEM."),

		list("server.tls.domain", &c.Server.TLSDomain, checkDomain, "Names of this program, in place of server.tls.cert: a certificate authority makes the certificates, by ACME, and this program accepts its terms of service. It has to reach server.listen at port 443 of each name. They are kept beside the data file."),
		text("server.tls.acme_directory", &c.Server.TLSAuthority, "", orEmpty(checkDirectory), "Directory of the certificate authority for server.tls.domain, an https URL. Empty: Let's Encrypt."),
		text("server.tls.acme_ca", &c.Server.TLSAuthorityCA, "", nil, "PEM file with the root certificate of that authority's own address. Empty: those of the system."),

		text("store.path", &c.Store.Path, "data/postern.db", notEmpty, "The one data file. Its folder also keeps generated secrets."),
		boolean("store.keep_before_migration", &c.Store.KeepBefore, true, "A copy of a data file of an earlier release, which does not open it any more, is kept beside it until the first orderly stop."),

		text("backup.dir", &c.Backup.Dir, "", nil, "Folder for the backups that the program makes by itself, best on another disk; backup.every says when."),
		duration("backup.every", &c.Backup.Every, 0, 0, 8760*time.Hour, "How often a backup is made into backup.dir, such as 24h, a minute at least; 0 makes none."),
		number("backup.keep", &c.Backup.Keep, 7, 1, 10_000, "Backups that are kept in backup.dir, the newest."),
		list("backup.recipient", &c.Backup.Recipients, checkRecipient, "Public keys of age (age1…) for which these backups are encrypted; empty: they are not."),

		duration("audit.retention", &c.Audit.Retention, 2160*time.Hour, 0, 87600*time.Hour, "How long it is kept who changed what (GET /audit); 0 keeps it for ever."),
		number("audit.max_entries", &c.Audit.MaxEntries, 200_000, 1, 10_000_000, "Records of the audit log that are kept at most, the newest; one actor leaves at most 60 in a minute, and one more with the number of its further changes."),

		text("console.title", &c.Console.Title, "Postern", checkTitle, "What the page of a portal link is called: 1 to 100 characters."),
		text("console.accent", &c.Console.Accent, "", orEmpty(checkColour), "Colour of that page, as #rrggbb; empty: its own."),
		text("console.logo_file", &c.Console.LogoFile, "", nil, "Picture at its head: PNG, JPEG, WebP or SVG, of at most 512 KiB; empty: none."),

		text("metrics.listen", &c.Metrics.Listen, "", orEmpty(checkHostPort), "Address that also serves GET /metrics, without a credential; empty: only behind the GlobalApiKey."),
		boolean("metrics.per_instance", &c.Metrics.PerInstance, false, "Metrics of each instance too, by its name; of the first 2 000."),

		text("log.level", &c.Log.Level, "info", oneOf("debug", "info", "warn", "error"), "debug, info, warn or error."),
		text("log.format", &c.Log.Format, "text", oneOf("text", "json"), "text or json."),

		secret(hidden, text("authentication.global_auth_token", &c.Authentication.GlobalAuthToken, "", checkKey, "The GlobalApiKey, 16 bytes or more. Generated and kept beside the data file when empty.")),
		secret(hidden, text("authentication.jwt_secret", &c.Authentication.JWTSecret, "", orEmpty(checkSecret), "HS256 secret of all tokens, 32 bytes or more, 16 of them different. Generated and kept beside the data file when empty.")),
		boolean("authentication.global_key_opens_instances", &c.Authentication.GlobalKeyOpensInstances, false, "Let the GlobalApiKey open the routes of every instance too, in apikey, as other gateways do."),
		number("authentication.failures_per_minute", &c.Authentication.FailuresPerMinute, 10, 0, 1000, "Wrong credentials that one address may give within a minute before further wrong ones are answered with 429; a right one always passes. An IPv6 address is its /64. 0 sets no limit."),
		number("authentication.jwt_expires_in", &c.Authentication.JWTExpiresIn, 0, 0, 1<<40, "Seconds that an instance token lives; 0 means that it does not expire."),

		secret(private, text("webhook.global.url", &c.Webhook.GlobalURL, "", orEmpty(checkURL), "Receiver of all instance events and of all batch events.")),
		boolean("webhook.global.enabled", &c.Webhook.GlobalEnabled, false, "Whether webhook.global.url is used."),
		number("webhook.workers", &c.Webhook.Workers, 10, 1, 1000, "Deliveries of instance events in flight, and to one destination at most; one without an answer for a second lends its place to others."),
		number("webhook.queue_size", &c.Webhook.QueueSize, 1000, 1, 1_000_000, "Deliveries of instance events that may wait. When there are more, the destination that has most of them loses its newest."),
		duration("webhook.timeout", &c.Webhook.Timeout, 15*s, 100*ms, time.Hour, "Time for one delivery, answer included."),
		number("webhook.per_destination", &c.Webhook.PerDestination, 2, 1, 1000, "Deliveries in flight to one host:port while others wait."),
		boolean("webhook.deny_private", &c.Webhook.DenyPrivate, false, "Refuse receivers at loopback, private and other non-global addresses."),
		boolean("webhook.durable_default", &c.Webhook.DurableDefault, false, "Whether instances that are created from now on deliver their events through the file, and options of a webhook that were deleted."),
		number("webhook.durable_max_bytes", &c.Webhook.DurableMaxBytes, 1<<30, 1<<20, 1<<50, "Bodies of durable events that may wait, in bytes, over all instances and destinations. Beyond it the oldest of the instance that holds most are cancelled."),
		boolean("webhook.log", &c.Webhook.Log, true, "Keep a log of webhook deliveries, for lists, retry and replay."),
		text("webhook.log_bodies", &c.Webhook.LogBodies, "failed", oneOf("failed", "all", "none"), "Of which deliveries the log keeps the body: failed (all that were not delivered), all or none. Only those can be repeated."),
		duration("webhook.log_retention", &c.Webhook.LogRetention, 72*time.Hour, s, 8760*time.Hour, "The log keeps deliveries so long after their end."),
		number("webhook.log_max_entries", &c.Webhook.LogMaxEntries, 1_000_000, 100, 1_000_000_000, "Deliveries that the log keeps at most, those that wait aside; the oldest go first."),
		number("webhook.replay_rate", &c.Webhook.ReplayRate, 50, 1, 10_000, "Deliveries that replays make in a second at most."),

		boolean("database.save_data_new_message", &c.Database.SaveNewMessage, true, "Store messages; needed for messages.upsert."),
		boolean("database.save_message_update", &c.Database.SaveMessageUpdate, true, "Store receipts; needed for messages.update."),
		boolean("database.save_data_contacts", &c.Database.SaveContacts, true, "Store contacts; needed for contacts.upsert and contacts.update."),
		duration("database.message_retention", &c.Database.MessageRetention, 720*time.Hour, 0, math.MaxInt64, "Stored messages older than this are removed; \"0s\" keeps them."),

		boolean("websocket.enabled", &c.Websocket.Enabled, true, "Serve the WebSocket routes."),
		list("websocket.allowed_origins", &c.Websocket.AllowedOrigins, checkOrigin, "Origins that may connect, each as browsers send it: https://app.example.org; empty means the same host only."),
		boolean("websocket.allow_empty_origin", &c.Websocket.AllowEmptyOrigin, true, "Let clients without an Origin header connect."),
		duration("websocket.ping_interval", &c.Websocket.PingInterval, 25*s, s, time.Hour, "Pause between pings."),
		duration("websocket.pong_timeout", &c.Websocket.PongTimeout, 60*s, s, time.Hour, "A client silent for so long is closed."),
		duration("websocket.write_timeout", &c.Websocket.WriteTimeout, 10*s, 100*ms, time.Hour, "Time for one message to be taken."),
		number("websocket.max_per_token", &c.Websocket.MaxPerToken, 100, 0, 1_000_000, "WebSockets that may be open with one token at a time; more are 429. 0 sets no limit."),
		number("websocket.send_buffer", &c.Websocket.SendBuffer, 256, 1, 1_000_000, "Messages that may wait for one client before it is closed."),

		boolean("message.batch.worker_enabled", &c.Batch.WorkerEnabled, true, "Work on batches; false only stores them."),
		number("message.batch.max_delay_ms", &c.Batch.MaxDelayMs, 86_400_000, 0, 1<<40, "Largest options.delay of a batch, in milliseconds."),
		number("message.batch.max_recipients", &c.Batch.MaxRecipients, 100_000, 1, 10_000_000, "Most recipients of one batch."),
		number("message.batch.max_open", &c.Batch.MaxOpen, 1000, 0, 10_000_000, "Unfinished batches that one user may have, drafts among them; more are 429. 0 sets no limit."),
		number("message.batch.failure_streak", &c.Batch.FailureStreak, 10, 0, 1000, "Refusals by WhatsApp in a row, with one code and of different people, after which batches leave an instance out for an hour. 0: never."),
		number("message.batch.shutdown_timeout_ms", &c.Batch.ShutdownTimeoutMs, 15_000, 0, 3_600_000, "Time that a stop gives a send in progress, in milliseconds."),
		text("message.batch.timezone", &c.Batch.Timezone, "UTC", checkZone, "Time zone of schedules that name none."),
		duration("message.batch.lease", &c.Batch.Lease, 60*s, s, 24*time.Hour, "A batch whose worker is silent for so long is taken from it."),
		duration("message.batch.retention", &c.Batch.Retention, 2160*time.Hour, 0, math.MaxInt64, "Batches are removed so long after their end, with their items, attempts and events; \"0s\" keeps them."),

		number("message.processing.workers", &c.Processing.Workers, 4, 1, 1000, "Concurrent asynchronous sends."),
		number("message.processing.queue_size", &c.Processing.QueueSize, 100, 1, 1_000_000, "Asynchronous sends that may wait."),
		duration("message.processing.timeout", &c.Processing.Timeout, 60*s, s, 24*time.Hour, "Time for one asynchronous send."),
		duration("message.send_timeout", &c.Message.SendTimeout, 30*s, s, time.Hour, "Time for one message, from its turn on the instance to WhatsApp's acknowledgement."),
		duration("message.turn_timeout", &c.Message.TurnTimeout, time.Minute, s, time.Hour, "How long a message may wait for its turn, since an instance sends one at a time; then 503 INSTANCE_BUSY, or back to pending in a batch."),

		duration("outbox.retention", &c.Outbox.Retention, 72*time.Hour, 0, math.MaxInt64, "Delivered batch events are kept so long for replay."),

		boolean("media.allow_private", &c.Media.AllowPrivate, false, "Fetch media from private addresses too."),
		number("media.max_bytes", &c.Media.MaxBytes, 104_857_600, 1, 1<<40, "Largest media file, in bytes."),
		number("media.max_uploads", &c.Media.MaxUploads, 1000, 0, 10_000_000, "Uploads of one instance that may wait for their message; more are 429. 0 sets no limit."),
		duration("media.timeout", &c.Media.Timeout, 60*s, s, time.Hour, "Time to fetch one media file."),

		number("qrcode.limit", &c.QRCode.Limit, 5, 1, 6, "QR codes that one pairing shows before it ends."),
		text("qrcode.light_color", &c.QRCode.LightColor, "#ffffff", checkColor, "Background of QR images."),
		text("qrcode.dark_color", &c.QRCode.DarkColor, "#000000", checkColor, "Modules of QR images."),

		boolean("whatsapp.auto_reconnect", &c.WhatsApp.AutoReconnect, true, "Reconnect by itself after a lost connection and at start."),
		number("whatsapp.startup_reconnect_concurrency", &c.WhatsApp.StartupReconnectConcurrency, 5, 1, 1000, "Instances that reconnect at the same time at start."),
		number("whatsapp.connect_timeout", &c.WhatsApp.ConnectTimeout, 30, 1, 3600, "Seconds for one dial and login."),
		number("whatsapp.reconnect_initial_delay", &c.WhatsApp.ReconnectInitialDelay, 2, 1, 3600, "Seconds before the first new try; doubles with each."),
		number("whatsapp.reconnect_max_delay", &c.WhatsApp.ReconnectMaxDelay, 60, 1, 86_400, "Most seconds between two tries."),
		duration("whatsapp.pairing_timeout", &c.WhatsApp.PairingTimeout, 3*time.Minute, 10*s, time.Hour, "Time for a phone to scan a code, and again for each step of a passkey."),
		text("whatsapp.version", &c.WhatsApp.Version, clientversion.Auto, clientversion.CheckSetting, "Version of WhatsApp's client that instances say they are: auto (the built-in one until WhatsApp refuses it, then the one that its site names), builtin, or one such as 2.3000.1045649367."),
		text("whatsapp.client_name", &c.WhatsApp.ClientName, "Postern", notEmpty, "What the phone shows under linked devices."),
		text("whatsapp.client_type", &c.WhatsApp.ClientType, "DESKTOP", whatsapp.CheckClientType, "Kind of device that the phone shows: DESKTOP, CHROME, FIREFOX, SAFARI, EDGE, IPAD and others."),
		duration("whatsapp.keepalive_interval", &c.WhatsApp.KeepaliveInterval, 25*s, s, time.Hour, "Pause between keep-alive pings to WhatsApp."),
		duration("whatsapp.keepalive_timeout", &c.WhatsApp.KeepaliveTimeout, 10*s, s, time.Hour, "Time for WhatsApp to answer a ping."),
		duration("whatsapp.quiet_reconnect", &c.WhatsApp.QuietReconnect, 6*time.Hour, 0, 30*24*time.Hour, "An instance to which WhatsApp delivers nothing for this long, and did before, is connected anew once; 0: never. Not with auto_reconnect = false."),
		duration("whatsapp.keep_logged_out", &c.WhatsApp.KeepLoggedOut, 168*time.Hour, 0, 8760*time.Hour, "How long the keys of an account are kept after WhatsApp logged it out: until then POST /instance/{name}/restart tries it once more. 0 removes them at once."),
		duration("whatsapp.appstate_recovery_delay", &c.WhatsApp.StateRecoveryDelay, time.Minute, s, 24*time.Hour, "Time before the phone is asked for its copy of labels and chat settings that do not verify."),
		secret(private, text("whatsapp.proxy", &c.WhatsApp.Proxy, "", orEmpty(checkDefaultProxy), "Proxy for all instances that have none of their own: http, https or socks5://user:password@host:port, in which {instance} stands for the instance's name. Empty: what the variables HTTPS_PROXY and NO_PROXY say for web.whatsapp.com, unless there is an endpoint or a sandbox.")),
		text("whatsapp.endpoint", &c.WhatsApp.Endpoint, "", orEmpty(checkEndpoint), "Another server that speaks the protocol, wss://host:port/path. Empty means WhatsApp."),
		text("whatsapp.endpoint_ca", &c.WhatsApp.EndpointCA, "", nil, "PEM file with the CA of that server."),
		text("whatsapp.endpoint_root_key", &c.WhatsApp.EndpointRootKey, "", orEmpty(checkHexKey), "Its 32-byte certificate root key in hex."),

		boolean("mcp.enabled", &c.MCP.Enabled, false, "Serve the Model Context Protocol at /mcp, for agent programs with a scoped key. Which pages may call there, websocket.allowed_origins and websocket.allow_empty_origin say."),

		boolean("sandbox.enabled", &c.Sandbox.Enabled, false, "Run the built-in local WhatsApp server and connect every instance to it."),
		boolean("sandbox.auto_pair", &c.Sandbox.AutoPair, true, "A simulated phone scans each QR code by itself."),
		text("sandbox.path", &c.Sandbox.Path, "data/sandbox.db", nil, "Keeps its accounts over a restart, and in the folder with .media at its end their files for 30 days, 1 GiB at most; empty keeps them in memory."),
	}
}
