package config

import (
	"slices"
	"testing"
)

func TestSettingsInWhichTwoConfigurationsDifferAreNamed(t *testing.T) {
	a, b := Default(), Default()
	if got := Changed(a, b); got != nil {
		t.Errorf("two defaults differ in %q", got)
	}
	b.Log.Level, b.Webhook.GlobalURL, b.Server.CORSOrigins, b.Batch.Lease = "debug", "http://x/", []string{"https://a"}, 1
	want := []string{"server.cors_origins", "log.level", "webhook.global.url", "message.batch.lease"}
	if got := Changed(a, b); !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	if a.Log.Level != "info" || b.Log.Level != "debug" {
		t.Error("a configuration was changed by looking at it")
	}
}
