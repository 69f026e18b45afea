package config

import (
	"encoding/json"
	"strings"
	"testing"
)

// TestSettingsAreShownWithSourceWithoutCredentials, each value being JSON.
func TestSettingsAreShownWithSourceWithoutCredentials(t *testing.T) {
	path := writeConfig(t, "[webhook]\nworkers = 3\n[webhook.global]\nurl = \"https://a.example/path-secret?k=query-secret\"\n[store]\npath = \"/nowhere/postern.db\"\n")
	c, _, err := Load(path, []string{
		"SERVER_LISTEN=127.0.0.1:2", "AUTHENTICATION_GLOBAL_AUTH_TOKEN=" + strings.Repeat("key-secret", 4), "WHATSAPP_PROXY=socks5://user-secret:proxy-secret@b.example:1080",
		"WEBSOCKET_ALLOWED_ORIGINS=https://a, https://b", "LOG_LEVLE=debug",
	})
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]Shown{}
	for _, s := range Settings(c) {
		all[s.Name] = s
		if !json.Valid([]byte(s.Value)) || s.Default != "" && !json.Valid([]byte(s.Default)) || s.About == "" || s.Source == "" {
			t.Errorf("%+v", s)
		}
		if strings.Contains(s.Value+s.Default+s.Source, "secret") && s.Source != "generated at the first start, to be kept in /nowhere/secrets.json" {
			t.Errorf("%s shows %s from %s", s.Name, s.Value, s.Source)
		}
	}
	if len(all) != len(settings(&Config{})) {
		t.Errorf("%d settings", len(all))
	}
	for name, want := range map[string][2]string{
		"server.listen":                    {`"127.0.0.1:2"`, "environment SERVER_LISTEN"},
		"webhook.workers":                  {"3", path},
		"webhook.global.url":               {`"https://a.example/********"`, path},
		"whatsapp.proxy":                   {`"socks5://b.example:1080/********"`, "environment WHATSAPP_PROXY"},
		"authentication.global_auth_token": {`"********"`, "set by environment AUTHENTICATION_GLOBAL_AUTH_TOKEN"},
		"authentication.jwt_secret":        {`"********"`, "generated at the first start, to be kept in /nowhere/secrets.json"},
		"websocket.allowed_origins":        {`["https://a", "https://b"]`, "environment WEBSOCKET_ALLOWED_ORIGINS"},
		"websocket.send_buffer":            {"256", "default"},
	} {
		if s := all[name]; s.Value != want[0] || s.Source != want[1] {
			t.Errorf("%s is %s from %s, want %s from %s", name, s.Value, s.Source, want[0], want[1])
		}
	}
	if w := Warnings(c); len(w) != 1 || !strings.Contains(w[0], "LOG_LEVLE") {
		t.Errorf("warnings: %v", w)
	}
	made := Default()
	made.Webhook.Workers = 7
	for _, s := range Settings(made) {
		if s.Name == "webhook.workers" && s.Source != "the program" || s.Name == "log.level" && s.Source != "default" {
			t.Errorf("made without a file: %+v", s)
		}
	}
}
