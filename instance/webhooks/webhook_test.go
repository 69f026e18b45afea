package webhooks

import (
	"errors"
	"maps"
	"net/url"
	"strings"
	"testing"

	"postern/event"
)

func TestWebhookRules(t *testing.T) {
	r := newRig(t, nil)
	defer r.stop()
	id := r.create()
	if _, err := r.e.Webhook(id); !errors.Is(err, ErrNoWebhook) {
		t.Fatalf("before any PUT: %v", err)
	}
	flags := map[event.Flag]bool{"messagesUpsert": true, "callUpsert": false}
	for _, step := range []struct {
		name    string
		change  WebhookChange
		url     string
		enabled bool
		events  map[event.Flag]bool
	}{
		{"absent enabled is true", WebhookChange{URL: new("http://a"), Events: flags}, "http://a", true, flags},
		{"disabled", WebhookChange{Enabled: new(false)}, "http://a", false, flags},
		{"absent enabled is true on update too", WebhookChange{}, "http://a", true, flags},
		{"absent url and events are kept", WebhookChange{Enabled: new(true)}, "http://a", true, flags},
		{"events replace the flags", WebhookChange{Events: map[event.Flag]bool{"sendMessage": true}}, "http://a", true, map[event.Flag]bool{"sendMessage": true}},
		{"{} removes all flags", WebhookChange{Events: map[event.Flag]bool{}}, "http://a", true, map[event.Flag]bool{}},
		{"the url changes", WebhookChange{URL: new("HTTPS://b/c?d=e")}, "HTTPS://b/c?d=e", true, map[event.Flag]bool{}},
	} {
		got, err := r.e.PutWebhook(bg, id, step.change)
		if err != nil || got.URL != step.url || got.Enabled != step.enabled || got.Events == nil || !maps.Equal(got.Events, step.events) || got.ID != 1 || got.InstanceID != id {
			t.Errorf("%s: %+v, %v", step.name, got, err)
		}
		got.Events["mediaRetry"] = true // the caller's own copy
		if kept, err := r.e.Webhook(id); err != nil || !maps.Equal(kept.Events, step.events) {
			t.Errorf("%s: kept %+v, %v", step.name, kept, err)
		}
	}
	r.reboot()
	if got, err := r.e.Webhook(id); err != nil || got.URL != "HTTPS://b/c?d=e" || got.CreatedAt.IsZero() {
		t.Errorf("after a restart: %+v, %v", got, err)
	}
}

func TestABadWebhookIsRefusedAndChangesNothing(t *testing.T) {
	r := newRig(t, func(_ *Config, c *EditorConfig) {
		c.Rules.CheckURL = func(u *url.URL) error {
			if u.Hostname() == "169.254.169.254" {
				return errors.New("must not be a metadata address")
			}
			return nil
		}
	})
	defer r.stop()
	id := r.create()
	if _, err := r.e.PutWebhook(bg, id, WebhookChange{}); !errors.Is(err, ErrInvalid) {
		t.Errorf("created without a url: %v", err)
	}
	r.hook(id, "http://kept", "sendMessage")
	for name, c := range map[string]struct {
		change WebhookChange
		field  string
	}{
		"unknown flag":    {WebhookChange{URL: new("http://x"), Events: map[event.Flag]bool{"messageUpsert": true}}, "events.messageUpsert"},
		"flag by case":    {WebhookChange{Events: map[event.Flag]bool{"MessagesUpsert": true}}, "events.MessagesUpsert"},
		"event name":      {WebhookChange{Events: map[event.Flag]bool{"messages.upsert": true}}, "events.messages.upsert"},
		"empty flag":      {WebhookChange{Events: map[event.Flag]bool{"": true}}, "events."},
		"scheme":          {WebhookChange{URL: new("ftp://x/")}, "url"},
		"no scheme":       {WebhookChange{URL: new("example.com/x")}, "url"},
		"no host":         {WebhookChange{URL: new("http:///x")}, "url"},
		"port 0":          {WebhookChange{URL: new("http://x:0/")}, "url"},
		"port too large":  {WebhookChange{URL: new("http://x:65536/")}, "url"},
		"empty port":      {WebhookChange{URL: new("http://x:/")}, "url"},
		"port of letters": {WebhookChange{URL: new("http://x:http/")}, "url"},
		"port only":       {WebhookChange{URL: new("http://:80/x")}, "url"},
		"empty":           {WebhookChange{URL: new("")}, "url"},
		"not a url":       {WebhookChange{URL: new("http://x\x00")}, "url"},
		"user":            {WebhookChange{URL: new("http://u@x/")}, "url"},
		"password":        {WebhookChange{URL: new("http://u:p@x/")}, "url"},
		"501 characters":  {WebhookChange{URL: new("http://x/" + strings.Repeat("é", 492))}, "url"},
		"refused address": {WebhookChange{URL: new("http://169.254.169.254/")}, "url"},
	} {
		_, err := r.e.PutWebhook(bg, id, c.change)
		var rule *event.RuleError
		if !errors.Is(err, ErrInvalid) || !errors.As(err, &rule) || rule.Field != c.field {
			t.Errorf("%s: %v", name, err)
		}
	}
	if got, err := r.e.Webhook(id); err != nil || got.URL != "http://kept" || len(got.Events) != 1 {
		t.Errorf("kept: %+v, %v", got, err)
	}
	if _, err := r.e.PutWebhook(bg, 9, WebhookChange{URL: new("http://x")}); !errors.Is(err, ErrNoInstance) {
		t.Errorf("unknown instance: %v", err)
	}
}

func TestAURLHas500CharactersNotBytes(t *testing.T) {
	r := newRig(t, nil)
	defer r.stop()
	long := "http://x/" + strings.Repeat("é", 491)
	if _, err := r.e.PutWebhook(bg, r.create(), WebhookChange{URL: &long}); err != nil {
		t.Error(err)
	}
}

func TestAllFlagsAreKnown(t *testing.T) {
	r := newRig(t, nil)
	defer r.stop()
	all := map[event.Flag]bool{}
	for _, d := range event.Catalogue() {
		if d.Family == event.Instance {
			all[d.Flag] = true
		}
	}
	got, err := r.e.PutWebhook(bg, r.create(), WebhookChange{URL: new("http://x"), Events: all})
	if err != nil || !maps.Equal(got.Events, all) {
		t.Errorf("%d flags, %v", len(got.Events), err)
	}
}
