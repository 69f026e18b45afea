package app

import (
	"log/slog"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"postern/app/certificate/certificatetest"
	"postern/cli/consumer"
	"postern/config"
	"postern/event"
	"postern/internal/loglevel"
)

// hook is a global webhook that counts by event.
type hook struct {
	*httptest.Server
	batches, instances atomic.Int32
}

func newHook(t *testing.T) *hook {
	h := &hook{}
	h.Server = httptest.NewServer(consumer.Receive(http.StatusOK, func(w consumer.Webhook) {
		if strings.HasPrefix(w.Event, "message.batch") {
			h.batches.Add(1)
		} else {
			h.instances.Add(1)
		}
	}))
	t.Cleanup(h.Close)
	return h
}

func comes(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for deadline := time.Now().Add(20 * time.Second); !ok(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("never: " + what)
		}
	}
}

// reloaded returns the configuration of the start with changes, taken over.
func (s *socketRig) reloaded(change func(*config.Config)) error {
	cfg := *s.cfg
	change(&cfg)
	return s.Reload(&cfg)
}

// report sends an event of the first instance.
func (s *socketRig) report() {
	s.t.Helper()
	f := event.Fact{Kind: event.CallUpsert, Data: event.Call{}}
	if err := s.registry.Report(s.t.Context(), 1, f); err != nil {
		s.t.Fatal(err)
	}
}

func TestTheGlobalWebhookChangesWhileTheProgramRuns(t *testing.T) {
	first, second := newHook(t), newHook(t)
	s := configured(t, func(c *config.Config) { c.Webhook.GlobalURL = first.URL }) // known, and not enabled
	s.instance("a")
	s.emit(event.BatchCreated)
	s.report()

	if err := s.reloaded(func(c *config.Config) { c.Webhook.GlobalEnabled = true }); err != nil {
		t.Fatal(err)
	}
	s.emit(event.BatchCreated)
	s.report()
	comes(t, "events of both kinds at the first", func() bool { return first.batches.Load() == 1 && first.instances.Load() >= 1 })

	before := first.instances.Load()
	if err := s.reloaded(func(c *config.Config) { c.Webhook.GlobalEnabled, c.Webhook.GlobalURL = true, second.URL }); err != nil {
		t.Fatal(err)
	}
	s.emit(event.BatchCreated)
	s.report()
	comes(t, "events of both kinds at the second", func() bool { return second.batches.Load() == 1 && second.instances.Load() == 1 })

	if err := s.reloaded(func(*config.Config) {}); err != nil {
		t.Fatal(err)
	}
	s.emit(event.BatchCreated)
	s.report()
	if err := s.Stop(t.Context()); err != nil { // delivers what is due
		t.Fatal(err)
	}
	if first.batches.Load() != 1 || first.instances.Load() != before || second.batches.Load() != 1 || second.instances.Load() != 1 {
		t.Errorf("%d and %d batch events, %d and %d of instances", first.batches.Load(), second.batches.Load(), first.instances.Load()-before, second.instances.Load())
	}
	if strings.Contains(s.log.String(), second.URL+"/") || !strings.Contains(s.log.String(), `changed="webhook.global.url, webhook.global.enabled"`) {
		t.Errorf("the log has %s", s.log.String())
	}
}

// TestPendingDurableEventsFollowTheGlobalWebhook, also when there was none for a
// while.
func TestPendingDurableEventsFollowTheGlobalWebhook(t *testing.T) {
	second := newHook(t)
	s := configured(t, func(c *config.Config) { c.Webhook.GlobalURL, c.Webhook.GlobalEnabled = "http://127.0.0.1:1/", true })
	s.must(s.key, http.MethodPut, "/webhook/options", map[string]any{"durable": true}, nil)
	s.instance("a")
	s.report()
	for _, url := range []string{"", second.URL} {
		if err := s.reloaded(func(c *config.Config) { c.Webhook.GlobalURL, c.Webhook.GlobalEnabled = url, url != "" }); err != nil {
			t.Fatal(err)
		}
	}
	comes(t, "the event that waited", func() bool { return second.instances.Load() >= 1 })
}

func TestReloadKeepsATemporaryLogLevel(t *testing.T) {
	s := newSockets(t)
	s.level = loglevel.New(slog.LevelInfo)
	s.level.Change(slog.LevelDebug, time.Hour)
	if err := s.reloaded(func(c *config.Config) { c.Log.Level = "error" }); err != nil {
		t.Fatal(err)
	}
	if is := s.level.State(); is.Is != slog.LevelDebug || is.Usual != slog.LevelError {
		t.Errorf("%+v", is)
	}
	if is := s.level.Reset(); is.Is != slog.LevelError {
		t.Errorf("%+v", is)
	}
	if err := s.reloaded(func(c *config.Config) { c.Log.Level = "warn" }); err != nil || s.level.Level() != slog.LevelWarn {
		t.Errorf("%+v, %v", s.level.State(), err)
	}
}

func TestReloadServesCertificateOfNewFiles(t *testing.T) {
	a := certificatetest.New(t)
	first := a.Issue(time.Now().Add(time.Hour))
	s := secureSockets(t, a)
	if got := serialOf(t, a.Client(false), s.url); got != first {
		t.Errorf("certificate %d, want %d", got, first)
	}
	a.Folder = t.TempDir()
	second := a.Issue(time.Now().Add(time.Hour))
	if err := s.reloaded(func(c *config.Config) { useFiles(c, a) }); err != nil {
		t.Fatal(err)
	}
	if got := serialOf(t, a.Client(false), s.url); got != second {
		t.Errorf("after the reload certificate %d, want %d", got, second)
	}
	third := a.Issue(time.Now().Add(time.Hour)) // the same files, at once and not in a second
	if err := s.reloaded(func(c *config.Config) { useFiles(c, a) }); err != nil {
		t.Fatal(err)
	}
	if got := serialOf(t, a.Client(false), s.url); got != third {
		t.Errorf("certificate %d, want %d", got, third)
	}
}

// TestReloadWithUnusableCertificateChangesNothing: neither the certificate
// nor what stands beside it.
func TestReloadWithUnusableCertificateChangesNothing(t *testing.T) {
	a := certificatetest.New(t)
	first := a.Issue(time.Now().Add(time.Hour))
	s := secureSockets(t, a)
	s.level = loglevel.New(slog.LevelInfo)
	old := *s.cfg
	a.Folder = t.TempDir()
	a.Write("cert.pem", []byte("half"))
	err := s.reloaded(func(c *config.Config) {
		useFiles(c, a)
		c.Log.Level, c.Webhook.GlobalURL, c.Webhook.GlobalEnabled = "error", "http://127.0.0.1:1/", true
	})
	if err == nil || !strings.Contains(err.Error(), "server.tls.cert") {
		t.Errorf("taken over: %v", err)
	}
	if got := serialOf(t, a.Client(false), s.url); got != first {
		t.Errorf("certificate %d, want %d", got, first)
	}
	s.emit(event.BatchCreated)
	var pending struct{ TotalRecords int }
	s.must(s.key, http.MethodGet, "/outbox?state=pending", nil, &pending)
	if s.level.Level() != slog.LevelInfo || pending.TotalRecords != 0 {
		t.Errorf("level %v, %d batch events pending", s.level.Level(), pending.TotalRecords)
	}
	if err := s.Reload(&old); err != nil || !strings.Contains(s.log.String(), "changed=nothing") {
		t.Errorf("%v; the log has %s", err, s.log.String())
	}
}

func TestReloadNamesSettingsForTheNextStart(t *testing.T) {
	s := newSockets(t)
	err := s.reloaded(func(c *config.Config) {
		c.Server.TLSCert, c.Server.TLSKey = "a.pem", "b.pem" // TLS is not begun while it runs
		c.Store.Path = filepath.Join(t.TempDir(), "other.db")
		c.Authentication.GlobalAuthToken = "a key that must not be seen"
	})
	if err != nil {
		t.Fatal(err)
	}
	log := s.log.String()
	if !strings.Contains(log, `settings="server.tls.cert, server.tls.key, store.path, authentication.global_auth_token"`) || !strings.Contains(log, "changed=nothing") {
		t.Errorf("the log has %s", log)
	}
	if strings.Contains(log, "must not be seen") {
		t.Error("the log shows a secret")
	}
}
