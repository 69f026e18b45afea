package config

import (
	"errors"
	"fmt"
	"io/fs"
	"math"
	"net"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"postern/internal/plural"
)

// refused loads a configuration that must be refused, and returns the error's
// text.
func refused(t *testing.T, what, file string, env ...string) string {
	t.Helper()
	_, _, err := Load(writeConfig(t, file), env)
	if err == nil {
		t.Errorf("%s: accepted", what)
		return ""
	}
	return err.Error()
}

// line returns a file that sets one setting.
func line(path, value string) string {
	dot := strings.LastIndexByte(path, '.')
	return fmt.Sprintf("[%s]\n%s = %s\n", path[:dot], path[dot+1:], value)
}

func TestEverySettingHasItsDefault(t *testing.T) {
	want := map[string]string{
		"server.listen": `"127.0.0.1:8084"`, "server.port": "0", "server.base_url": `""`, "server.base_path": `""`, "server.socket": `""`, "server.socket_mode": `"0660"`, "server.shutdown_timeout": `"20s"`, "server.cors_origins": "[]", "server.tls.cert": `""`, "server.tls.domain": "[]", "server.tls.acme_directory": `""`, "server.tls.acme_ca": `""`, "server.tls.key": `""`, "metrics.per_instance": "false",
		"server.max_connections_per_address": "256", "message.batch.max_open": "1000", "message.batch.bench_undelivered": "false", "message.batch.failure_streak": "10", "websocket.max_per_token": "100", "media.max_inline": "16777216", "media.max_uploads": "1000", "server.trusted_proxies": "[]", "authentication.failures_per_minute": "10",
		"store.path": `"data/postern.db"`, "store.keep_before_migration": "true", "store.url": `""`, "store.accept_loss": "false",
		"cluster.cell": `"main"`, "cluster.node": `""`, "cluster.advertise": `""`, "cluster.lease": `"10s"`, "cluster.forward": "true", "log.level": `"info"`, "log.format": `"text"`,
		"authentication.global_auth_token": `""`, "authentication.jwt_secret": `""`, "authentication.jwt_expires_in": "0", "authentication.global_key_opens_instances": "false", "audit.retention": `"2160h"`, "audit.max_entries": "200000", "console.title": `"Postern"`, "console.accent": `""`, "console.logo_file": `""`, "mcp.enabled": "false",
		"webhook.global.url": `""`, "webhook.global.enabled": "false", "webhook.workers": "10", "webhook.queue_size": "1000",
		"webhook.timeout": `"15s"`, "webhook.per_destination": "2", "webhook.deny_private": "false", "webhook.durable_default": "false",
		"webhook.durable_max_bytes": "1073741824", "webhook.log": "true", "webhook.log_bodies": `"failed"`, "webhook.log_retention": `"72h"`,
		"webhook.log_max_entries": "1000000", "webhook.replay_rate": "50",
		"database.save_data_new_message": "true", "database.save_message_update": "true", "database.save_data_contacts": "true",
		"database.message_retention": `"720h"`,
		"websocket.enabled":          "true", "websocket.allowed_origins": "[]", "websocket.allow_empty_origin": "true",
		"websocket.ping_interval": `"25s"`, "websocket.pong_timeout": `"1m"`, "websocket.write_timeout": `"10s"`, "websocket.send_buffer": "256",
		"message.batch.worker_enabled": "true", "message.batch.max_delay_ms": "86400000", "message.batch.max_recipients": "100000",
		"message.batch.shutdown_timeout_ms": "15000", "message.batch.timezone": `"UTC"`, "message.batch.lease": `"1m"`, "message.batch.retention": `"2160h"`,
		"message.scheduled.max": "100000", "message.scheduled.max_bytes": "1073741824",
		"message.processing.workers": "4", "message.processing.queue_size": "100", "message.processing.timeout": `"1m"`,
		"message.send_timeout": `"30s"`, "message.turn_timeout": `"1m"`, "outbox.retention": `"72h"`,
		"media.allow_private": "false", "media.max_bytes": "104857600", "media.timeout": `"1m"`,
		"media.link_ttl": `"168h"`, "media.cache": "268435456", "media.fetch_wait": `"30s"`, "media.store.kind": `"off"`, "media.store.path": `"data/media"`,
		"media.store.max_file": "104857600", "media.store.max_bytes": "10737418240", "media.store.retention": `"72h"`,
		"media.store.s3.endpoint": `""`, "media.store.s3.region": `"us-east-1"`, "media.store.s3.bucket": `""`, "media.store.s3.prefix": `"postern/"`,
		"media.store.s3.access_key": `""`, "media.store.s3.secret_key": `""`, "media.store.s3.path_style": "true",
		"qrcode.limit": "5", "qrcode.light_color": `"#ffffff"`, "qrcode.dark_color": `"#000000"`,
		"whatsapp.auto_reconnect": "true", "whatsapp.startup_reconnect_concurrency": "5", "whatsapp.connect_timeout": "30",
		"whatsapp.reconnect_initial_delay": "2", "whatsapp.reconnect_max_delay": "60", "whatsapp.pairing_timeout": `"3m"`,
		"whatsapp.client_name": `"Postern"`, "whatsapp.client_type": `"DESKTOP"`, "whatsapp.version": `"auto"`,
		"whatsapp.keepalive_interval": `"25s"`, "whatsapp.keepalive_timeout": `"10s"`,
		"whatsapp.appstate_recovery_delay": `"1m"`, "whatsapp.quiet_reconnect": `"6h"`, "whatsapp.undelivered_after": `"1h"`, "whatsapp.phone_attention": `"168h"`, "whatsapp.phone_broken": `"288h"`,
		"whatsapp.keep_logged_out": `"168h"`,
		"whatsapp.proxy":           `""`,
		"whatsapp.endpoint":        `""`, "whatsapp.endpoint_ca": `""`, "whatsapp.endpoint_root_key": `""`,
		"sandbox.enabled": "false", "sandbox.auto_pair": "true", "sandbox.path": `"data/sandbox.db"`,
		"metrics.listen": `""`,
		"backup.dir":     `""`, "backup.every": `"0s"`, "backup.keep": "7", "backup.recipient": "[]",
	}
	table := settings(&Config{})
	for _, s := range table {
		if want[s.path] != s.value.toml() {
			t.Errorf("%s: default %s, want %q", s.path, s.value.toml(), want[s.path])
		}
	}
	if len(table) != len(want) {
		t.Errorf("%d settings, want %d", len(table), len(want))
	}
}

func TestVariableNameIsTheSettingPath(t *testing.T) {
	seen := map[string]string{}
	for _, s := range settings(&Config{}) {
		name := strings.ToUpper(strings.ReplaceAll(s.path, ".", "_"))
		for _, form := range []string{name, name + "_FILE"} {
			if other := seen[form]; other != "" {
				t.Errorf("%s stands for %s and for %s", form, other, s.path)
			}
			seen[form] = s.path
		}
		// A value that nothing accepts shows that the variable arrived there.
		got, _, err := Load(writeConfig(t, ""), []string{name + "=\x01"})
		if err == nil && !slices.ContainsFunc(bound(got), func(b setting) bool {
			return b.path == s.path && strings.Contains(b.value.toml(), `\u0001`)
		}) {
			t.Errorf("%s does not set %s", name, s.path)
		}
		if err != nil && !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestAnEmptyVariableCountsAsUnset(t *testing.T) {
	var env []string
	for _, s := range settings(&Config{}) {
		env = append(env, s.env()+"=", s.fileEnv()+"=")
	}
	c, _, err := Load(writeConfig(t, line("webhook.workers", "3")), env)
	if err != nil {
		t.Fatal(err)
	}
	if c.Webhook.Workers != 3 || c.Server.Listen != "127.0.0.1:8084" {
		t.Errorf("workers %d, listen %q", c.Webhook.Workers, c.Server.Listen)
	}
}

func TestEverySettingRefusesTheWrongType(t *testing.T) {
	for _, s := range settings(&Config{}) {
		wrong := []string{"1.5", "{ a = 1 }", "1979-05-27", "[1]"}
		switch s.value.(type) {
		case *place[string]:
			wrong = append(wrong, "1", "true", `["x"]`)
		case *place[int64]:
			wrong = append(wrong, `"1"`, "true")
		case *place[bool]:
			wrong = append(wrong, `"true"`, `""`, "1")
		case *place[time.Duration]:
			wrong = append(wrong, "15", `"15"`, `"15 s"`, "true", `"soon"`, `"-1s"`)
		case *place[[]string]:
			wrong = append(wrong, `"x"`, "true")
		}
		for _, value := range wrong {
			if text := refused(t, s.path+" = "+value, line(s.path, value)); !strings.Contains(text, "config.toml: "+s.path+": must ") {
				t.Errorf("%s = %s: %s", s.path, value, text)
			}
		}
	}
}

// TestRangesIncludeTheirLimits: the limits are those that
// the documentation has.
func TestRangesIncludeTheirLimits(t *testing.T) {
	tried := 0
	for _, s := range settings(&Config{}) {
		var inside, outside []string
		low, high, _ := strings.Cut(strings.TrimPrefix(s.value.values(), "a duration, "), " to ")
		switch s.value.(type) {
		case *place[int64]:
			low, high := parsed(t, strconv.Atoi, low), parsed(t, strconv.Atoi, high)
			inside = []string{strconv.Itoa(low), strconv.Itoa(high)}
			outside = []string{strconv.Itoa(low - 1), strconv.Itoa(high + 1)}
		case *place[time.Duration]:
			low, unlimited := strings.CutSuffix(low, " or more")
			if unlimited {
				high = time.Duration(math.MaxInt64).String()
			}
			inside, outside = []string{low, high}, []string{(parsed(t, time.ParseDuration, low) - 1).String()}
			if !unlimited {
				outside = append(outside, (parsed(t, time.ParseDuration, high) + 1).String())
			}
		default:
			continue
		}
		tried++
		for _, value := range inside {
			if err := s.value.parse(value); err != nil {
				t.Errorf("%s = %s: %v", s.path, value, err)
			}
		}
		for _, value := range outside {
			text := refused(t, s.env()+"="+value, "", s.env()+"="+value)
			if !strings.Contains(text, "environment "+s.env()+": must be ") {
				t.Errorf("%s=%s: %s", s.env(), value, text)
			}
		}
	}
	if tried < 30 {
		t.Errorf("only %d settings have limits", tried)
	}
}

func parsed[T any](t *testing.T, parse func(string) (T, error), text string) T {
	t.Helper()
	v, err := parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func TestABooleanVariableIsTrueFalseOrEmpty(t *testing.T) {
	for text, want := range map[string]bool{"true": true, "false": false, "": true} {
		c, _, err := Load(writeConfig(t, line("websocket.enabled", "true")), []string{"WEBSOCKET_ENABLED=" + text})
		if err != nil || c.Websocket.Enabled != want {
			t.Errorf("%q: %v", text, err)
		}
	}
	for _, text := range []string{"1", "0", "TRUE", "True", "yes", "no", "on", " true", "t"} {
		refused(t, text, "", "WEBSOCKET_ENABLED="+text)
	}
}

func TestADurationNeedsItsUnitExceptForZero(t *testing.T) {
	for file, want := range map[string]time.Duration{`"90m"`: 90 * time.Minute, `"1h30m"`: 90 * time.Minute, "0": 0, `"0"`: 0, `"0s"`: 0} {
		c, _, err := Load(writeConfig(t, line("database.message_retention", file)), nil)
		if err != nil || c.Database.MessageRetention != want {
			t.Errorf("%s: %v", file, err)
		}
	}
	for _, file := range []string{"720", `"720"`, `"30d"`, `"1 h"`, `"-1h"`, "-1", "0.0"} {
		refused(t, file, line("database.message_retention", file))
	}
	if text := refused(t, "zero", line("webhook.timeout", "0")); !strings.Contains(text, "100ms") {
		t.Errorf("a timeout of nothing: %s", text)
	}
}

func TestMaxBytesIsANumberOfBytes(t *testing.T) {
	c, _, err := Load(writeConfig(t, line("media.max_bytes", "104_857_601")), nil)
	if err != nil || c.Media.MaxBytes != 104857601 {
		t.Error(err)
	}
	for _, value := range []string{"100MiB", "100M", "1e8", "0x10", "1_000", "100 ", "0", "-1", "99999999999999999999"} {
		refused(t, value, "", "MEDIA_MAX_BYTES="+value)
	}
}

func TestIntegerTimesHaveNoUnit(t *testing.T) {
	for _, path := range []string{
		"authentication.jwt_expires_in", "whatsapp.connect_timeout", "whatsapp.reconnect_initial_delay", "whatsapp.reconnect_max_delay",
		"message.batch.max_delay_ms", "message.batch.shutdown_timeout_ms",
	} {
		table := settings(&Config{})
		if err := find(table, path).value.parse("7"); err != nil {
			t.Errorf("%s = 7: %v", path, err)
		}
		if err := find(table, path).value.parse("7s"); err == nil || !strings.Contains(err.Error(), "whole number") {
			t.Errorf("%s = 7s: %v", path, err)
		}
	}
}

func TestAServerPortListensOnAllInterfaces(t *testing.T) {
	var c *Config
	var l net.Listener
	port := 0
	for l == nil {
		free, err := net.Listen("tcp", ":0")
		if err != nil {
			t.Fatal(err)
		}
		port = free.Addr().(*net.TCPAddr).Port
		free.Close()
		c, _, err = Load(writeConfig(t, ""), []string{fmt.Sprintf("SERVER_PORT=%d", port), "SERVER_LISTEN=127.0.0.1:1"})
		if err != nil {
			t.Fatal(err)
		}
		l, err = (&net.ListenConfig{}).Listen(t.Context(), "tcp", c.ListenAddress())
		if err != nil && !errors.Is(err, syscall.EADDRINUSE) { // another process was faster
			t.Fatal(err)
		}
	}
	defer l.Close()
	if addr := l.Addr().(*net.TCPAddr); !addr.IP.IsUnspecified() || addr.Port != port {
		t.Errorf("listens on %v", addr)
	}
	c.Server.Port = 0
	if c.ListenAddress() != "127.0.0.1:1" {
		t.Errorf("without a port: %q", c.ListenAddress())
	}
}

func TestTheJWTSecretHas32BytesOrMore(t *testing.T) {
	for _, secret := range []string{"x", strings.Repeat("x", 31), strings.Repeat("é", 15)} {
		for source, text := range map[string]string{
			"config.toml: authentication.jwt_secret": refused(t, secret, line("authentication.jwt_secret", quote(secret))),
			"environment AUTHENTICATION_JWT_SECRET":  refused(t, secret, "", "AUTHENTICATION_JWT_SECRET="+secret),
		} {
			if !strings.Contains(text, fmt.Sprintf("%s: has %s, needs 32 or more", source, plural.Of(len(secret), "byte"))) {
				t.Errorf("%s: %s", source, text)
			}
		}
	}
	for _, secret := range []string{"abcdefghijklmnopabcdefghijklmnop", "éàèùâêîôûëïüçñöß"} {
		if c, _, err := Load(writeConfig(t, ""), []string{"AUTHENTICATION_JWT_SECRET=" + secret}); err != nil || c.Authentication.JWTSecret != secret {
			t.Error(err)
		}
	}
}

func TestAPIKeyMustFitAHeader(t *testing.T) {
	for _, key := range []string{" key", "key ", "ke\ny", "ke\x00y"} {
		if text := refused(t, key, line("authentication.global_auth_token", quote(key))); strings.Contains(text, "ke") && strings.Contains(text, key) {
			t.Errorf("the error shows it: %s", text)
		}
	}
}

func TestEndpointNeedsPortAuthorityAndKey(t *testing.T) {
	ca, key := "WHATSAPP_ENDPOINT_CA=ca.pem", "WHATSAPP_ENDPOINT_ROOT_KEY="+strings.Repeat("ab", 32)
	for _, url := range []string{"wss://127.0.0.1:8443/ws/chat", "wss://[::1]:8443/", "wss://h.example:1"} {
		if _, _, err := Load(writeConfig(t, ""), []string{"WHATSAPP_ENDPOINT=" + url, ca, key}); err != nil {
			t.Errorf("%s: %v", url, err)
		}
	}
	for _, url := range []string{"ws://h:1/", "https://h:1/", "wss://h/", "wss://:1/", "h:1", "wss://u:p@h:1/", "wss://h:99999/", "wss://h:1/#f"} {
		if text := refused(t, url, "", "WHATSAPP_ENDPOINT="+url, ca, key); strings.Count(text, "\n") != 0 {
			t.Errorf("%s: more than the one fault: %s", url, text)
		}
	}
	for _, bad := range []string{"ab", strings.Repeat("ab", 31), strings.Repeat("ab", 33), strings.Repeat("xy", 32)} {
		refused(t, bad, "", "WHATSAPP_ENDPOINT=wss://h:1/", ca, "WHATSAPP_ENDPOINT_ROOT_KEY="+bad)
	}
	all := []string{"WHATSAPP_ENDPOINT=wss://h:1/", ca, key}
	for left := range all {
		some := slices.Delete(slices.Clone(all), left, left+1)
		if text := refused(t, "a part is missing", "", some...); !strings.Contains(text, "whatsapp.endpoint: must be set together") {
			t.Error(text)
		}
	}
}

func TestWebhookURLWithCredentialIsRefused(t *testing.T) {
	if text := refused(t, "userinfo", "", "WEBHOOK_GLOBAL_URL=https://me:s3cr3t@h.example/"); strings.Contains(text, "s3cr3t") {
		t.Error(text)
	}
}

func TestAURLWithAnImpossiblePortIsRefused(t *testing.T) {
	for _, variable := range []string{"WEBHOOK_GLOBAL_URL=https://h.example", "SERVER_BASE_URL=https://h.example", "WEBSOCKET_ALLOWED_ORIGINS=https://h.example", "WHATSAPP_ENDPOINT=wss://h.example"} {
		for _, port := range []string{":0", ":65536", ":", ":http", ":-1"} {
			refused(t, "port", "", variable+port)
		}
	}
}

func TestAllConfigurationErrorsAreReportedAtOnce(t *testing.T) {
	text := refused(t, "many", "server = 1\n[webhok]\nx = 1\n[webhook]\nworkers = 0\n[websocket]\nping_interval = \"2m\"\n",
		"LOG_LEVEL=loud", "AUTHENTICATION_JWT_SECRET_FILE=/nowhere")
	for _, want := range []string{
		"config.toml: server: must be a table", "config.toml: webhok: unknown key; did you mean webhook?", "config.toml: webhook.workers: must be from 1 to 1000",
		"config.toml: websocket.pong_timeout: must not be below websocket.ping_interval",
		"environment LOG_LEVEL: must be one of debug, info, warn, error", "environment AUTHENTICATION_JWT_SECRET_FILE: open /nowhere",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	if n := strings.Count(text, "\n") + 1; n != 6 {
		t.Errorf("%d faults, want 6:\n%s", n, text)
	}
}

func TestSyntaxErrorShowsNoSecret(t *testing.T) {
	for _, value := range []string{"s3cr3t", `"s3cr3t`, "99999999999999999993", "1_s3cr3t", `"\s3cr3t"`, `"\us3cr3t"`, "2026-11-s3cr3t", `"" s3cr3t`, "0xs3cr3t", "1__3", "verysecret"} {
		text := refused(t, value, "[authentication]\njwt_secret = "+value+"\n")
		if strings.Contains(text, "cr3t") || strings.Contains(text, "verysec") || strings.Contains(text, "9999") || strings.Contains(text, "1__3") {
			t.Errorf("%s: %s", value, text)
		}
		if !strings.Contains(text, "config.toml: line ") {
			t.Errorf("%s: no line in %q", value, text)
		}
	}
	if text := refused(t, "twice", "[log]\nlevel = \"info\"\nlevel = \"warn\"\n"); !strings.Contains(text, "Key 'log.level' has already been defined") {
		t.Error(text)
	}
}

func TestClientVersionIsAutoBuiltinOrANumber(t *testing.T) {
	for _, value := range []string{`""`, `"Auto"`, `"latest"`, `"2.3000"`, `"2.3000.0"`, `"2.3000.4294967296"`, `"3.3000.1"`} {
		if text := refused(t, value, line("whatsapp.version", value)); !strings.Contains(text, "config.toml: whatsapp.version: must be auto, builtin or a version such as 2.3000.") {
			t.Errorf("%s: %s", value, text)
		}
	}
	for _, value := range []string{"auto", "builtin", "2.3000.4294967295"} {
		if c, _, err := Load(writeConfig(t, line("whatsapp.version", strconv.Quote(value))), nil); err != nil || c.WhatsApp.Version != value {
			t.Errorf("%s: %v", value, err)
		}
	}
}

func TestClientTypeIsKnownToWhatsApp(t *testing.T) {
	for _, value := range []string{`"TOASTER"`, `""`, `"DESKTOP "`} {
		if text := refused(t, value, line("whatsapp.client_type", value)); !strings.Contains(text, "config.toml: whatsapp.client_type: must be a device type") {
			t.Errorf("%s: %s", value, text)
		}
	}
	if _, _, err := Load(writeConfig(t, line("whatsapp.client_type", `"chrome"`)), nil); err != nil {
		t.Error(err)
	}
}

func TestAllowedOriginsAreInBrowserForm(t *testing.T) {
	for _, origin := range []string{"app.example.org", "*", "https://", "https://app.example.org/", "https://App.example.org", "https://u@app.example.org", "null"} {
		if text := refused(t, origin, line("websocket.allowed_origins", `["https://good.example", "`+origin+`"]`)); !strings.Contains(text, "websocket.allowed_origins: each must be an origin") {
			t.Errorf("%s: %s", origin, text)
		}
		refused(t, origin, "", "WEBSOCKET_ALLOWED_ORIGINS="+origin)
	}
	c, _, err := Load(writeConfig(t, ""), []string{"WEBSOCKET_ALLOWED_ORIGINS=https://app.example.org, http://localhost:3000,chrome-extension://abc"})
	if err != nil || len(c.Websocket.AllowedOrigins) != 3 {
		t.Error(c, err)
	}
}

func TestSocketSettingsAreValidated(t *testing.T) {
	for _, c := range []struct{ file, want string }{
		{"[server]\nlisten = ''\n", "server.listen: must not be empty without server.socket"},
		{"[server]\nlisten = ''\nsocket = '/s'\n[server.tls]\ncert = 'a'\nkey = 'b'\n", "server.tls.cert: needs server.listen"},
		{line("server.socket", "'@abstract'"), "server.socket: must be the path"},
		{line("server.socket", "'/"+strings.Repeat("x", 100)+"'"), "of at most 100 bytes"},
		{line("server.socket", `"/a\nb"`), "control characters"},
		{line("server.socket_mode", "'0999'"), "server.socket_mode: must be the mode"},
		{line("server.socket_mode", "'07777'"), "must be the mode"},
		{line("server.socket_mode", "'0000'"), "must be the mode"},
		{line("server.socket_mode", "'66'"), "must be the mode"},
		{line("server.socket_mode", "'+660'"), "must be the mode"},
		{line("server.socket_mode", "660"), "must be a string"},
	} {
		if got := refused(t, c.file, c.file); !strings.Contains(got, c.want) {
			t.Errorf("%s: %s", c.file, got)
		}
	}
	for text, mode := range map[string]fs.FileMode{"0660": 0o660, "666": 0o666, "0600": 0o600} {
		c, _, err := Load(writeConfig(t, "[server]\nlisten = ''\nsocket = '/s'\nsocket_mode = '"+text+"'\n"), nil)
		if err != nil || c.SocketMode() != mode || c.ListenAddress() != "" || len(Exposures(c)) != 0 {
			t.Errorf("%s: %v, %v", text, c, err)
		}
	}
	if _, _, err := Load(writeConfig(t, "[server]\nlisten = ''\nport = 1\n"), nil); err != nil {
		t.Errorf("server.port alone: %v", err)
	}
}

func TestTheBasePathIsWordsBetweenSlashes(t *testing.T) {
	for _, wrong := range []string{"postern", "/", "/postern/", "//postern", "/a//b", "/a b", "/a%20b", "/é", "/..", "/a/../b", "/./a", "/a?b", "/a#b", `/a\b`, "/{a}"} {
		if got := refused(t, wrong, line("server.base_path", "'"+wrong+"'")); !strings.Contains(got, "server.base_path: must begin with a slash") {
			t.Errorf("%s: %s", wrong, got)
		}
	}
	for _, right := range []string{"", "/postern", "/tools/Postern-2/v1.0_x"} {
		if _, _, err := Load(writeConfig(t, line("server.base_path", "'"+right+"'")), nil); err != nil {
			t.Error(err)
		}
	}
}

func TestDomainsAreWholeNamesAndNotBesideFiles(t *testing.T) {
	for _, wrong := range []string{"postern", "*.example.org", "Api.example.org", "192.0.2.1", "a..b", ".example.org", "example.org.", "-a.example", "a-.example", "münchen.example", "a b.example", "a.example:443", "a_b.example", strings.Repeat("a", 64) + ".example", strings.Repeat("a.", 127) + "a"} {
		if got := refused(t, wrong, line("server.tls.domain", "['ok.example', '"+wrong+"']")); !strings.Contains(got, "server.tls.domain: each must be a whole name") {
			t.Errorf("%s: %s", wrong, got)
		}
	}
	for _, c := range []struct{ file, want string }{
		{"[server.tls]\ndomain = ['a.example']\ncert = 'a'\nkey = 'b'\n", "server.tls.domain: cannot be set together with server.tls.cert"},
		{"[server.tls]\nacme_ca = 'a'\n", "server.tls.acme_ca: needs server.tls.domain"},
		{"[server]\nlisten = ''\nsocket = '/s'\n[server.tls]\ndomain = ['a.example']\n", "server.tls.domain: needs server.listen"},
		{"[server.tls]\ndomain = ['a.example']\nacme_directory = 'http://ca.example/dir'\n", "server.tls.acme_directory: must be an https URL"},
	} {
		if got := refused(t, c.file, c.file); !strings.Contains(got, c.want) {
			t.Errorf("%s: %s", c.file, got)
		}
	}
	c, _, err := Load(writeConfig(t, "[server]\nlisten = '0.0.0.0:443'\n[server.tls]\ndomain = ['api.example.org', 'xn--mnchen-3ya.example']\n"), nil)
	if err != nil || !c.Secure() || len(Exposures(c)) != 0 {
		t.Errorf("%v, %q", err, Exposures(c))
	}
}
