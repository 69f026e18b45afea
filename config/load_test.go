package config

import (
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

var update = flag.Bool("update", false, "rewrite generated files")

func writeConfig(t *testing.T, content string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "config.toml")
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestTheEnvironmentWinsOverTheFile(t *testing.T) {
	path := writeConfig(t, "[server]\nlisten = \"127.0.0.1:1\"\n[webhook]\nworkers = 3\ntimeout = \"7s\"\n[webhook.global]\nurl = \"http://f/\"\n")
	c, warnings, err := Load(path, []string{
		"SERVER_LISTEN=127.0.0.1:2", "WEBHOOK_GLOBAL_ENABLED=true", "WEBHOOK_WORKERS=", "MESSAGE_BATCH_TIMEZONE=Europe/Berlin",
		"WEBSOCKET_ALLOWED_ORIGINS=https://a, https://b", "PATH=/bin", "HOME=/root",
	})
	if err != nil || len(warnings) != 0 {
		t.Fatal(err, warnings)
	}
	if c.Server.Listen != "127.0.0.1:2" || c.Webhook.Workers != 3 || c.Webhook.Timeout != 7*time.Second || !c.Webhook.GlobalEnabled ||
		c.Webhook.GlobalURL != "http://f/" || c.Batch.Timezone != "Europe/Berlin" || !slices.Equal(c.Websocket.AllowedOrigins, []string{"https://a", "https://b"}) {
		t.Errorf("%+v", c)
	}
}

func TestInvalidConfigurationNamesFileKeyAndReason(t *testing.T) {
	for name, c := range map[string]struct {
		toml string
		env  []string
		want []string
	}{
		"misspelt key":            {"[server]\nlissten = \"x\"", nil, []string{"config.toml", "server.lissten", "did you mean server.listen"}},
		"unknown section":         {"[sever]\nlisten = \"x\"", nil, []string{"sever", "unknown key"}},
		"key in another case":     {"[server]\nListen = \"127.0.0.1:1\"", nil, []string{"server.Listen", "server.listen"}},
		"same key in two cases":   {"[server]\nlisten = \"127.0.0.1:1\"\nLISTEN = \"127.0.0.1:1\"", nil, []string{"server.LISTEN"}},
		"dots within quotes":      {"\"webhook.workers\" = 3\n[webhook]\nworkers = 4", nil, []string{`config.toml: "webhook.workers": unknown key; a dot within quotes does not separate keys`}},
		"dots in a quoted table":  {"[\"webhook.global\"]\nenabled = true", nil, []string{`"webhook.global": unknown key`}},
		"wrong type":              {"[webhook]\nworkers = \"ten\"", nil, []string{"webhook.workers", "whole number"}},
		"out of range":            {"[webhook]\nworkers = 0", nil, []string{"webhook.workers", "from 1 to"}},
		"duration without unit":   {"[webhook]\ntimeout = 15", nil, []string{"webhook.timeout", "15s"}},
		"two faults at once":      {"[webhook]\nworkers = 0\nqueue_size = -1", nil, []string{"webhook.workers", "webhook.queue_size"}},
		"not TOML":                {"server = = 1", nil, []string{"config.toml"}},
		"environment value":       {"", []string{"WEBHOOK_GLOBAL_ENABLED=yes"}, []string{"WEBHOOK_GLOBAL_ENABLED", "true or false"}},
		"global without url":      {"", []string{"WEBHOOK_GLOBAL_ENABLED=true"}, []string{"webhook.global.url", "required"}},
		"global url scheme":       {"", []string{"WEBHOOK_GLOBAL_URL=ftp://x"}, []string{"WEBHOOK_GLOBAL_URL", "http"}},
		"short secret":            {"", []string{"AUTHENTICATION_JWT_SECRET=short"}, []string{"AUTHENTICATION_JWT_SECRET", "has 5 bytes", "32"}},
		"unknown zone":            {"", []string{"MESSAGE_BATCH_TIMEZONE=Mars/Base"}, []string{"MESSAGE_BATCH_TIMEZONE", "IANA"}},
		"sandbox and an endpoint": {"", []string{"SANDBOX_ENABLED=true", "WHATSAPP_ENDPOINT=wss://h:1/ws"}, []string{"sandbox.enabled"}},
	} {
		_, _, err := Load(writeConfig(t, c.toml), c.env)
		if err == nil {
			t.Errorf("%s: accepted", name)
			continue
		}
		for _, want := range c.want {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %q does not tell %q", name, err, want)
			}
		}
		if strings.Contains(err.Error(), "=short") {
			t.Errorf("%s: the error shows a secret", name)
		}
	}
}

func TestUnknownVariableWithOurPrefixIsAWarning(t *testing.T) {
	_, warnings, err := Load(writeConfig(t, ""), []string{"WEBHOOK_WORKRS=3", "EDITOR=vi", "LOGNAME=x"})
	if err != nil || len(warnings) != 1 || !strings.Contains(warnings[0], "WEBHOOK_WORKERS") {
		t.Errorf("%v, %v", warnings, err)
	}
}

func TestOnlyAMissingNamedFileIsAnError(t *testing.T) {
	t.Chdir(t.TempDir())
	if _, _, err := Load("", nil); err != nil {
		t.Error(err)
	}
	if _, _, err := Load("nowhere.toml", nil); err == nil {
		t.Error("a missing named file was accepted")
	}
}

func TestSecretsAreGeneratedOnceWithMode0600(t *testing.T) {
	c := Default()
	c.Store.Path = filepath.Join(t.TempDir(), "data", "p.db")
	first, made, err := LoadSecrets(c)
	if err != nil || !made || len(first.GlobalAuthToken) < 32 || len(first.JWTSecret) < 32 || first.GlobalAuthToken == first.JWTSecret {
		t.Fatal(first, made, err)
	}
	again, made, err := LoadSecrets(c)
	if err != nil || made || again != first {
		t.Error(again, made, err)
	}
	path := filepath.Join(filepath.Dir(c.Store.Path), secretsFile)
	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Error(info.Mode(), err)
	}
	if info, err := os.Stat(filepath.Dir(path)); err != nil || info.Mode().Perm() != 0o700 {
		t.Error(info.Mode(), err)
	}
	c.Authentication.GlobalAuthToken = strongKey
	if mixed, made, err := LoadSecrets(c); err != nil || made || mixed.GlobalAuthToken != strongKey || mixed.JWTSecret != first.JWTSecret {
		t.Error(mixed, made, err)
	}
	for _, damaged := range []string{
		"", "{", "{}", `{"globalAuthToken":"` + first.GlobalAuthToken + `"}`, `{"jwtSecret":"` + first.JWTSecret + `"}`,
		`{"globalAuthToken":"` + first.GlobalAuthToken + `","jwtSecret":"short"}`,
	} {
		if err := os.WriteFile(path, []byte(damaged), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, _, err := LoadSecrets(c); err == nil || !strings.Contains(err.Error(), path) || strings.Contains(err.Error(), first.JWTSecret) {
			t.Errorf("the damaged file %q: %v", damaged, err)
		}
		if raw, err := os.ReadFile(path); err != nil || string(raw) != damaged {
			t.Errorf("the damaged file %q was replaced: %q, %v", damaged, raw, err)
		}
	}
}

func TestAFaultRepeatsAHundredCharactersAtMost(t *testing.T) {
	long := strings.Repeat("ж", 5000)
	quoted := `"` + long + `"`
	var texts []string
	for _, file := range []string{
		quoted + " = 1", "[" + quoted + "]", "[server]\n" + quoted + " = 1", "[server." + quoted + "]\na = 1", quoted + " = = 1", "a = " + quoted + "x", "webhook = " + quoted,
		"[log]\nlevel = " + quoted, "[server]\nlisten = " + quoted, "[server]\nbase_url = " + quoted, "[webhook.global]\nurl = " + quoted, "[webhook]\ntimeout = " + quoted,
		"[websocket]\nallowed_origins = [" + quoted + "]", "[message.batch]\ntimezone = " + quoted, "[whatsapp]\nclient_type = " + quoted, "[qrcode]\nlight_color = " + quoted,
	} {
		texts = append(texts, refused(t, file[:min(len(file), 40)], file))
	}
	for _, s := range settings(&Config{}) {
		if _, _, err := Load(writeConfig(t, ""), []string{s.env() + "=" + long}); err != nil {
			texts = append(texts, err.Error())
		}
	}
	_, warnings, err := Load(writeConfig(t, ""), []string{"WEBHOOK_" + long + "=1"})
	if err != nil {
		t.Fatal(err)
	}
	texts = append(texts, warnings...)
	for _, text := range texts {
		if n := strings.Count(text, "ж"); n > 100 {
			t.Errorf("%d characters of it in %.200s", n, text)
		}
	}
}
