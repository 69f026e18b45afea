package app

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"

	"postern/config"
)

// TestTheConfigurationInForceIsShownWithoutSecrets: after a reload what it changed, with
// the names of what it could not change.
func TestTheConfigurationInForceIsShownWithoutSecrets(t *testing.T) {
	s := configured(t, func(c *config.Config) {
		c.Webhook.GlobalURL, c.Webhook.GlobalEnabled = "http://127.0.0.1:1/path-secret?k=query-secret", true
		c.Authentication.GlobalAuthToken = "" // the key is the test's
	})
	var raw json.RawMessage
	var is struct {
		Settings []struct {
			Name, Source, About string
			Value, Default      any
		}
		Warnings, Pending []string
	}
	show := func(name string) (value any, source string) {
		t.Helper()
		s.must(s.key, http.MethodGet, "/admin/config", nil, &raw)
		if err := json.Unmarshal(raw, &is); err != nil {
			t.Fatal(err)
		}
		for _, secret := range []string{s.sec.GlobalAuthToken, s.sec.JWTSecret, "path-secret", "query-secret"} {
			if strings.Contains(string(raw), secret) {
				t.Errorf("%s is shown", secret)
			}
		}
		for _, one := range is.Settings {
			if one.Name == name {
				return one.Value, one.Source
			}
		}
		t.Fatalf("%s is not shown", name)
		return nil, ""
	}
	if v, source := show("webhook.workers"); v != float64(s.cfg.Webhook.Workers) || source != "default" {
		t.Errorf("webhook.workers is %v from %s", v, source)
	}
	if v, _ := show("webhook.global.url"); v != "http://127.0.0.1:1/********" {
		t.Errorf("the global webhook is shown as %v", v)
	}
	if len(is.Pending) != 0 {
		t.Errorf("pending: %v", is.Pending)
	}
	if err := s.reloaded(func(c *config.Config) { c.Log.Level, c.Webhook.Workers = "warn", 3 }); err != nil {
		t.Fatal(err)
	}
	if v, _ := show("log.level"); v != "warn" {
		t.Errorf("after a reload log.level is %v", v)
	}
	if v, _ := show("webhook.workers"); v == 3.0 || !slices.Equal(is.Pending, []string{"webhook.workers"}) {
		t.Errorf("after a reload webhook.workers is %v; pending: %v", v, is.Pending)
	}
}

func TestMissingSupportGathererIsReported(t *testing.T) {
	s := newSockets(t)
	err := s.api.Call(t.Context(), s.key, http.MethodGet, "/admin/support", nil, nil)
	if err == nil || !strings.Contains(err.Error(), "postern support") {
		t.Errorf("%v", err)
	}
}
