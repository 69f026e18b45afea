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
	public     secrecy = iota
	private            // may come from a file; printed without what may be a credential
	credential         // may come from a file; printed with its password masked
	hidden             // may come from a file; never printed, and generated when empty
	masked             // may come from a file; never printed
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
		text("server.listen", &c.Server.Listen, "127.0.0.1:8084", orEmpty(checkHostPort), "Address to listen on. An empty value in the file means none; server.socket is required then."),
		number("server.port", &c.Server.Port, 0, 0, 65535, "When set, listen on all interfaces at this port instead of server.listen."),
		text("server.socket", &c.Server.Socket, "", orEmpty(checkSocket), "Unix socket to listen on too, without TLS: a path of at most 100 bytes, such as /run/postern/postern.sock. A stale socket file is replaced."),
		text("server.socket_mode", &c.Server.SocketMode, "0660", checkMode, "Who may connect to server.socket: the mode of the file, in octal digits."),
		text("server.base_url", &c.Server.BaseURL, "", orEmpty(checkURL), "Public address of this program, for links; server.base_path may be left out."),
		text("server.base_path", &c.Server.BasePath, "", orEmpty(checkBasePath), "Path prefix of all routes, such as /postern; a reverse proxy may keep it or strip it."),
		number("server.max_connections_per_address", &c.Server.MaxConnectionsPerAddress, 256, 0, 1_000_000, "Connections that one client address may hold, WebSockets and concurrent requests over HTTP/2 included, and never more than half of all; server.trusted_proxies are exempt. An IPv6 address is its /64. 0 sets no limit."),
		list("server.cors_origins", &c.Server.CORSOrigins, checkOrigin, "Origins whose pages may call the API from a browser, each as browsers send it: https://app.example.org; empty: none. WebSockets have websocket.allowed_origins."),
		list("server.trusted_proxies", &c.Server.TrustedProxies, checkProxy, "Addresses and networks of reverse proxies in front of this program, such as 10.0.0.0/8: only from these does X-Forwarded-For count, its right-most address that is not one of them. unix stands for all clients of server.socket."),
		duration("server.shutdown_timeout", &c.Server.ShutdownTimeout, 20*s, s, time.Hour, "How long a stop may take in all."),
		text("server.tls.cert", &c.Server.TLSCert, "", nil, "PEM file with the certificate and its intermediate certificates, for HTTPS. Reloaded when it changes. Empty: HTTP, as behind a reverse proxy."),
		text("server.tls.key", &c.Server.TLSKey, "", nil, "PEM file with the private key of server.tls.cert."),

		list("server.tls.domain", &c.Server.TLSDomain, checkDomain, "Domain names of this program, instead of server.tls.cert: a certificate authority issues the certificates by ACME, and this program accepts its terms of service. The authority must reach server.listen at port 443 of each name. Certificates are kept beside the data file."),
		text("server.tls.acme_directory", &c.Server.TLSAuthority, "", orEmpty(checkDirectory), "Directory of the certificate authority for server.tls.domain, an https URL. Empty: Let's Encrypt."),
		text("server.tls.acme_ca", &c.Server.TLSAuthorityCA, "", nil, "PEM file with the root certificate for HTTPS to that directory. Empty: the system's."),

		text("store.path", &c.Store.Path, "data/postern.db", notEmpty, "The data file. Its folder also contains generated secrets."),
		boolean("store.keep_before_migration", &c.Store.KeepBefore, true, "Keep a copy of the data file of an earlier release, which cannot open the migrated file, until the first orderly stop."),
		secret(credential, text("store.url", &c.Store.URL, "", orEmpty(CheckDatabaseURL), "PostgreSQL database that holds the data, postgres://user@host1,host2/name: the data file is a copy of it, and another node takes over when this one fails. Empty: the data file alone.")),
		boolean("store.accept_loss", &c.Store.AcceptLoss, false, "Accept a database server that waits for no second copy: its loss loses what was answered."),

		text("cluster.cell", &c.Cluster.Cell, "main", CheckCell, "Name of the data in the database of store.url: 1 to 63 of a-z, 0-9, _ and -."),
		text("cluster.node", &c.Cluster.Node, "", orEmpty(checkNode), "Name of this node in the cell: 1 to 63 of letters, digits, dot, _ and -. Empty: the host name."),
		text("cluster.advertise", &c.Cluster.Advertise, "", orEmpty(checkAdvertise), "Address where other nodes reach this one, http(s)://host:port with server.base_path. Empty: they do not."),
		duration("cluster.lease", &c.Cluster.Lease, 10*s, 3*s, time.Minute, "How long a node owns the cell without renewing; a standby takes over after it. All nodes need the same value."),
		boolean("cluster.forward", &c.Cluster.Forward, true, "Forward requests at a standby to the owner; false answers 503."),

		text("backup.dir", &c.Backup.Dir, "", nil, "Folder for automatic backups, preferably on another disk; see backup.every."),
		duration("backup.every", &c.Backup.Every, 0, 0, 8760*time.Hour, "Interval of automatic backups, such as 24h, at least 1m; 0 disables them."),
		number("backup.keep", &c.Backup.Keep, 7, 1, 10_000, "Number of backups to keep in backup.dir; older ones are deleted."),
		list("backup.recipient", &c.Backup.Recipients, checkRecipient, "age public keys (age1…) to encrypt these backups for; empty: not encrypted."),

		duration("audit.retention", &c.Audit.Retention, 2160*time.Hour, 0, 87600*time.Hour, "How long records of the audit log (GET /audit) are kept; 0 keeps them for ever."),
		number("audit.max_entries", &c.Audit.MaxEntries, 200_000, 1, 10_000_000, "Maximum number of records in the audit log; older ones are deleted. One actor adds at most 60 in a minute, and one with the number of its further changes."),

		text("console.title", &c.Console.Title, "Postern", checkTitle, "Title of the page of a portal link: 1 to 100 characters."),
		text("console.accent", &c.Console.Accent, "", orEmpty(checkColour), "Colour of that page, as #rrggbb; empty: the default."),
		text("console.logo_file", &c.Console.LogoFile, "", nil, "Logo of that page: PNG, JPEG, WebP or SVG, at most 512 KiB; empty: none."),

		text("metrics.listen", &c.Metrics.Listen, "", orEmpty(checkHostPort), "Additional address that serves GET /metrics without a credential; empty: only with the GlobalApiKey."),
		boolean("metrics.per_instance", &c.Metrics.PerInstance, false, "Also export metrics of each instance, by name, for the first 2 000."),

		text("log.level", &c.Log.Level, "info", oneOf("debug", "info", "warn", "error"), "debug, info, warn or error."),
		text("log.format", &c.Log.Format, "text", oneOf("text", "json"), "text or json."),

		secret(hidden, text("authentication.global_auth_token", &c.Authentication.GlobalAuthToken, "", checkKey, "The GlobalApiKey, 16 bytes or more. Generated and kept beside the data file when empty.")),
		secret(hidden, text("authentication.jwt_secret", &c.Authentication.JWTSecret, "", orEmpty(checkSecret), "HS256 secret of all tokens, 32 bytes or more, 16 of them different. Generated and kept beside the data file when empty.")),
		boolean("authentication.global_key_opens_instances", &c.Authentication.GlobalKeyOpensInstances, false, "Let the GlobalApiKey, in the header apikey, access the routes of every instance, as other gateways do."),
		number("authentication.failures_per_minute", &c.Authentication.FailuresPerMinute, 10, 0, 1000, "Wrong credentials from one address within a minute before further ones are answered with 429; valid credentials always pass. An IPv6 address is its /64. 0 sets no limit."),
		number("authentication.jwt_expires_in", &c.Authentication.JWTExpiresIn, 0, 0, 1<<40, "Seconds until an instance token expires; 0: never."),

		secret(private, text("webhook.global.url", &c.Webhook.GlobalURL, "", orEmpty(checkURL), "Receiver of all instance events and of all batch events.")),
		boolean("webhook.global.enabled", &c.Webhook.GlobalEnabled, false, "Whether webhook.global.url is used."),
		number("webhook.workers", &c.Webhook.Workers, 10, 1, 1000, "Deliveries of instance events in flight, and the maximum to one destination; one without an answer for a second frees its place for others."),
		number("webhook.queue_size", &c.Webhook.QueueSize, 1000, 1, 1_000_000, "Size of the queue of instance events. When it is full, the destination that has most of them loses its newest."),
		duration("webhook.timeout", &c.Webhook.Timeout, 15*s, 100*ms, time.Hour, "Time for one delivery, answer included."),
		number("webhook.per_destination", &c.Webhook.PerDestination, 2, 1, 1000, "Deliveries in flight to one host:port while others wait."),
		boolean("webhook.deny_private", &c.Webhook.DenyPrivate, false, "Refuse receivers at loopback, private and other non-global addresses."),
		boolean("webhook.durable_default", &c.Webhook.DurableDefault, false, "Default of durable delivery for new instances, and for webhooks whose options were deleted."),
		number("webhook.durable_max_bytes", &c.Webhook.DurableMaxBytes, 1<<30, 1<<20, 1<<50, "Maximum size of all pending durable events, in bytes, over all instances and destinations. Beyond it the oldest of the instance that holds most are cancelled."),
		boolean("webhook.log", &c.Webhook.Log, true, "Keep a log of webhook deliveries, for lists, retry and replay."),
		text("webhook.log_bodies", &c.Webhook.LogBodies, "failed", oneOf("failed", "all", "none"), "Deliveries whose body the log keeps: failed (all that were not delivered), all or none. Only those can be retried."),
		duration("webhook.log_retention", &c.Webhook.LogRetention, 72*time.Hour, s, 8760*time.Hour, "How long the log keeps a delivery after its end."),
		number("webhook.log_max_entries", &c.Webhook.LogMaxEntries, 1_000_000, 100, 1_000_000_000, "Maximum number of deliveries in the log, not counting pending ones; the oldest are deleted first."),
		number("webhook.replay_rate", &c.Webhook.ReplayRate, 50, 1, 10_000, "Maximum deliveries of replays per second."),

		boolean("database.save_data_new_message", &c.Database.SaveNewMessage, true, "Store messages; needed for messages.upsert."),
		boolean("database.save_message_update", &c.Database.SaveMessageUpdate, true, "Store receipts; needed for messages.update."),
		boolean("database.save_data_contacts", &c.Database.SaveContacts, true, "Store contacts; needed for contacts.upsert and contacts.update."),
		duration("database.message_retention", &c.Database.MessageRetention, 720*time.Hour, 0, math.MaxInt64, "Stored messages older than this are removed; \"0s\" keeps them."),

		boolean("websocket.enabled", &c.Websocket.Enabled, true, "Serve the WebSocket routes."),
		list("websocket.allowed_origins", &c.Websocket.AllowedOrigins, checkOrigin, "Origins that may connect, each as browsers send it: https://app.example.org; empty means the same host only."),
		boolean("websocket.allow_empty_origin", &c.Websocket.AllowEmptyOrigin, true, "Let clients without an Origin header connect."),
		duration("websocket.ping_interval", &c.Websocket.PingInterval, 25*s, s, time.Hour, "Pause between pings."),
		duration("websocket.pong_timeout", &c.Websocket.PongTimeout, 60*s, s, time.Hour, "A client that is silent for this long is disconnected."),
		duration("websocket.write_timeout", &c.Websocket.WriteTimeout, 10*s, 100*ms, time.Hour, "Time to write one message."),
		number("websocket.max_per_token", &c.Websocket.MaxPerToken, 100, 0, 1_000_000, "Maximum open WebSockets per token; more are refused with 429. 0 sets no limit."),
		number("websocket.send_buffer", &c.Websocket.SendBuffer, 256, 1, 1_000_000, "Messages buffered for one client before it is disconnected."),

		boolean("message.batch.worker_enabled", &c.Batch.WorkerEnabled, true, "Run batches; false only stores them."),
		number("message.batch.max_delay_ms", &c.Batch.MaxDelayMs, 86_400_000, 0, 1<<40, "Largest options.delay of a batch, in milliseconds."),
		number("message.batch.max_recipients", &c.Batch.MaxRecipients, 100_000, 1, 10_000_000, "Most recipients of one batch."),
		number("message.batch.max_open", &c.Batch.MaxOpen, 1000, 0, 10_000_000, "Maximum unfinished batches per user, including drafts; more are refused with 429. 0 sets no limit."),
		number("message.batch.failure_streak", &c.Batch.FailureStreak, 10, 0, 1000, "Consecutive refusals by WhatsApp, with one code and for different recipients, after which batches skip an instance for an hour. 0: never."),
		boolean("message.batch.bench_undelivered", &c.Batch.BenchUndelivered, false, "Batches skip an instance while 20 or more messages to single people that fell due in the last hour, and 30 % or more of all of them, have no receipt."),
		number("message.batch.shutdown_timeout_ms", &c.Batch.ShutdownTimeoutMs, 15_000, 0, 3_600_000, "Time for a send in progress to finish at shutdown, in milliseconds."),
		text("message.batch.timezone", &c.Batch.Timezone, "UTC", checkZone, "Default time zone of schedules."),
		duration("message.batch.lease", &c.Batch.Lease, 60*s, s, 24*time.Hour, "A batch whose worker is silent for this long is given to another worker."),
		duration("message.batch.retention", &c.Batch.Retention, 2160*time.Hour, 0, math.MaxInt64, "How long batches are kept after their end, with their items, attempts and events; \"0s\" keeps them for ever."),

		number("message.processing.workers", &c.Processing.Workers, 4, 1, 1000, "Concurrent asynchronous sends."),
		number("message.processing.queue_size", &c.Processing.QueueSize, 100, 1, 1_000_000, "Size of the queue of asynchronous sends."),
		duration("message.processing.timeout", &c.Processing.Timeout, 60*s, s, 24*time.Hour, "Time for one asynchronous send."),
		number("message.scheduled.max", &c.Scheduled.Max, 100_000, 0, 10_000_000, "Maximum scheduled sends per instance; more are refused with 429. 0 sets no limit."),
		number("message.scheduled.max_bytes", &c.Scheduled.MaxBytes, 1<<30, 1<<20, 1<<50, "Maximum size of the files of all scheduled sends, which are in the data file; more are refused with 429."),
		duration("message.send_timeout", &c.Message.SendTimeout, 30*s, s, time.Hour, "Time for one message, from its turn on the instance to WhatsApp's acknowledgement."),
		duration("message.turn_timeout", &c.Message.TurnTimeout, time.Minute, s, time.Hour, "Maximum wait of a message for its turn, since an instance sends one at a time; then 503 INSTANCE_BUSY, or pending again in a batch."),

		duration("outbox.retention", &c.Outbox.Retention, 72*time.Hour, 0, math.MaxInt64, "How long delivered batch events are kept for replay."),

		boolean("media.allow_private", &c.Media.AllowPrivate, false, "Fetch media from private addresses too."),
		number("media.max_bytes", &c.Media.MaxBytes, 104_857_600, 1, 1<<40, "Largest media file, in bytes."),
		number("media.max_inline", &c.Media.MaxInline, 16<<20, 1, 1<<30, "Largest file in the JSON body of a send, in bytes."),
		number("media.max_uploads", &c.Media.MaxUploads, 1000, 0, 10_000_000, "Maximum uploads of one instance without a message; more are refused with 429. 0 sets no limit."),
		duration("media.timeout", &c.Media.Timeout, 60*s, s, time.Hour, "Time to fetch one media file."),
		duration("media.link_ttl", &c.Media.LinkTTL, 168*time.Hour, s, 365*24*time.Hour, "How long a media link is valid that is made without expiresIn."),
		number("media.cache", &c.Media.Cache, 268_435_456, 0, 1<<50, "Bytes of fetched files that are kept for further downloads, in the folder with the name of store.path and .media; the least recently used go first, and a start empties it. 0 keeps none."),
		duration("media.fetch_wait", &c.Media.FetchWait, 30*s, s, 2*time.Minute, "How long a download waits for its file to be fetched from WhatsApp; then 503 MEDIA_PENDING, and the fetch continues."),

		text("media.store.kind", &c.Media.Store.Kind, "off", oneOf("off", "local", "s3"), "Where files of messages are kept: off (nowhere), local (media.store.path) or s3 (media.store.s3.bucket)."),
		text("media.store.path", &c.Media.Store.Path, "data/media", nil, "Folder of the kept files of one data file. Backups and exports have no files; missing ones are fetched from WhatsApp."),
		number("media.store.max_file", &c.Media.Store.MaxFile, 104_857_600, 1, 1<<40, "Largest file that is kept, in bytes."),
		number("media.store.max_bytes", &c.Media.Store.MaxBytes, 10_737_418_240, 0, 1<<60, "Bytes of all kept files; the oldest of the instance that holds most go first. 0 sets no limit."),
		duration("media.store.retention", &c.Media.Store.Retention, 72*time.Hour, 0, math.MaxInt64, "How long a file is kept after it was stored; \"0s\" keeps it as long as its message."),

		text("media.store.s3.endpoint", &c.Media.Store.S3.Endpoint, "", orEmpty(checkS3Endpoint), "Address of the S3 server, such as https://s3.eu-central-1.amazonaws.com or http://127.0.0.1:9000."),
		text("media.store.s3.region", &c.Media.Store.S3.Region, "us-east-1", checkS3Region, "Region of the bucket, which is part of each signature."),
		text("media.store.s3.bucket", &c.Media.Store.S3.Bucket, "", orEmpty(checkBucket), "Bucket of the kept files. Create it beforehand; no file in it needs to be public."),
		text("media.store.s3.prefix", &c.Media.Store.S3.Prefix, "postern/", checkPrefix, "What the key of each object begins with, followed by instance id/message id. Each data file needs a prefix of its own."),
		secret(masked, text("media.store.s3.access_key", &c.Media.Store.S3.AccessKey, "", orEmpty(checkAccessKey), "Access key ID. It needs s3:ListBucket on the bucket, and s3:GetObject, s3:PutObject and s3:DeleteObject on the prefix.")),
		secret(masked, text("media.store.s3.secret_key", &c.Media.Store.S3.SecretKey, "", orEmpty(checkAccessKey), "Secret access key of media.store.s3.access_key.")),
		boolean("media.store.s3.path_style", &c.Media.Store.S3.PathStyle, true, "Whether the bucket is in the path of a request, as most S3 servers want it; false puts it into the host name."),

		number("qrcode.limit", &c.QRCode.Limit, 5, 1, 6, "QR codes of one pairing before it ends."),
		text("qrcode.light_color", &c.QRCode.LightColor, "#ffffff", checkColor, "Background of QR images."),
		text("qrcode.dark_color", &c.QRCode.DarkColor, "#000000", checkColor, "Modules of QR images."),

		boolean("whatsapp.auto_reconnect", &c.WhatsApp.AutoReconnect, true, "Reconnect by itself after a lost connection and at start."),
		number("whatsapp.startup_reconnect_concurrency", &c.WhatsApp.StartupReconnectConcurrency, 5, 1, 1000, "Instances that reconnect at the same time at start."),
		number("whatsapp.connect_timeout", &c.WhatsApp.ConnectTimeout, 30, 1, 3600, "Seconds for one dial and login."),
		number("whatsapp.reconnect_initial_delay", &c.WhatsApp.ReconnectInitialDelay, 2, 1, 3600, "Seconds before the first retry; doubled after each."),
		number("whatsapp.reconnect_max_delay", &c.WhatsApp.ReconnectMaxDelay, 60, 1, 86_400, "Maximum seconds between two retries."),
		duration("whatsapp.pairing_timeout", &c.WhatsApp.PairingTimeout, 3*time.Minute, 10*s, time.Hour, "Time for a phone to scan a code, and again for each step of a passkey."),
		text("whatsapp.version", &c.WhatsApp.Version, clientversion.Auto, clientversion.CheckSetting, "Client version that instances send to WhatsApp: auto (the built-in one until WhatsApp rejects it, then the one from its site), builtin, or a version such as 2.3000.1045649367."),
		text("whatsapp.client_name", &c.WhatsApp.ClientName, "Postern", notEmpty, "Name that the phone shows under linked devices."),
		text("whatsapp.client_type", &c.WhatsApp.ClientType, "DESKTOP", whatsapp.CheckClientType, "Kind of device that the phone shows: DESKTOP, CHROME, FIREFOX, SAFARI, EDGE, IPAD and others."),
		duration("whatsapp.keepalive_interval", &c.WhatsApp.KeepaliveInterval, 25*s, s, time.Hour, "Pause between keep-alive pings to WhatsApp."),
		duration("whatsapp.keepalive_timeout", &c.WhatsApp.KeepaliveTimeout, 10*s, s, time.Hour, "Time for WhatsApp to answer a ping."),
		duration("whatsapp.undelivered_after", &c.WhatsApp.UndeliveredAfter, time.Hour, time.Second, 30*24*time.Hour, "A message to one person that WhatsApp took and that has no receipt this much later counts as undelivered in status and metrics."),
		duration("whatsapp.phone_attention", &c.WhatsApp.PhoneAttention, 168*time.Hour, 0, 8760*time.Hour, "An online instance whose phone gave no sign for this long is the trouble PHONE_NOT_SEEN, with the severity attention; 0: never. WhatsApp unlinks devices after about 14 days."),
		duration("whatsapp.phone_broken", &c.WhatsApp.PhoneBroken, 288*time.Hour, 0, 8760*time.Hour, "The same with the severity broken; 0: never."),
		duration("whatsapp.quiet_reconnect", &c.WhatsApp.QuietReconnect, 6*time.Hour, 0, 30*24*time.Hour, "An instance that receives nothing from WhatsApp for this long, and did before, reconnects once; 0: never. Not with auto_reconnect = false."),
		duration("whatsapp.keep_logged_out", &c.WhatsApp.KeepLoggedOut, 168*time.Hour, 0, 8760*time.Hour, "How long the keys of an account are kept after WhatsApp logged it out: until then POST /instance/{name}/restart tries to connect again. 0 removes them at once."),
		duration("whatsapp.appstate_recovery_delay", &c.WhatsApp.StateRecoveryDelay, time.Minute, s, 24*time.Hour, "Delay before the phone is asked for its copy of labels and chat settings that fail verification."),
		secret(private, text("whatsapp.proxy", &c.WhatsApp.Proxy, "", orEmpty(checkDefaultProxy), "Proxy for all instances that have none of their own: http, https or socks5://user:password@host:port, in which {instance} stands for the instance's name. Empty: HTTPS_PROXY and NO_PROXY apply to web.whatsapp.com, unless an endpoint or the sandbox is used.")),
		text("whatsapp.endpoint", &c.WhatsApp.Endpoint, "", orEmpty(checkEndpoint), "Another server with the same protocol, wss://host:port/path. Empty: WhatsApp."),
		text("whatsapp.endpoint_ca", &c.WhatsApp.EndpointCA, "", nil, "PEM file with the CA certificate of that server."),
		text("whatsapp.endpoint_root_key", &c.WhatsApp.EndpointRootKey, "", orEmpty(checkHexKey), "Its 32-byte certificate root key in hex."),

		boolean("mcp.enabled", &c.MCP.Enabled, false, "Serve the Model Context Protocol at /mcp, for agent programs with a scoped key. websocket.allowed_origins and websocket.allow_empty_origin apply to it."),

		boolean("sandbox.enabled", &c.Sandbox.Enabled, false, "Run the built-in local WhatsApp server and connect every instance to it."),
		boolean("sandbox.auto_pair", &c.Sandbox.AutoPair, true, "Simulated phones scan QR codes automatically."),
		text("sandbox.path", &c.Sandbox.Path, "data/sandbox.db", nil, "Data file of the sandbox. Media files are kept in the folder with .media appended for 30 days, 1 GiB at most. Empty keeps everything in memory."),
	}
}
