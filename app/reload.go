package app

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	"postern/app/certificate"
	"postern/config"
)

// reload is the state that App.Reload keeps between calls.
type reload struct {
	mu sync.Mutex
	in *config.Config // force, nil while it is the one of the start
}

// Reload applies the settings that can change while the program runs: the
// level of the log, the files of the certificate, which are read again in any case,
// and the global webhook. The log says what changed, and which changes wait for
// the next start. It fails when the certificate cannot be used; then nothing has
// changed. cfg is valid, and is not changed afterwards.
func (a *App) Reload(cfg *config.Config) error {
	a.reload.mu.Lock()
	defer a.reload.mu.Unlock()
	before := cmp.Or(a.reload.in, a.cfg)
	if cfg.GlobalWebhook() != before.GlobalWebhook() && !a.leads() {
		return errors.New("webhook.global: this node does not own its cell; restart it, and it has the new value when it does")
	}
	secure := a.certFiles != nil && cfg.Server.TLSCert != ""
	if secure {
		if time.Now().Before(a.certFiles.Expires()) { // else an expired one is no loss
			if err := certificate.Check(cfg.Server.TLSCert); err != nil {
				return fmt.Errorf("server.tls.cert: %w", err)
			}
		}
		read, err := certificate.Open(cfg, a.log)
		if err != nil {
			return err
		}
		a.certFiles.Replace(read)
	}
	if err := a.setLevel(cfg.Log.Level); err != nil {
		return err
	}
	if to := cfg.GlobalWebhook(); to != before.GlobalWebhook() {
		a.setGlobalWebhook(to)
	}
	a.reload.in = cfg
	a.logReloaded(before, cfg, secure)
	return nil
}

// setLevel changes the usual level of the log; one that was asked for over the API
// lasts its time.
func (a *App) setLevel(text string) error {
	var level slog.Level
	if err := level.UnmarshalText([]byte(text)); err != nil {
		return fmt.Errorf("log.level: %w", err)
	}
	if a.level != nil {
		a.level.SetUsual(level)
	}
	return nil
}

// setGlobalWebhook sends all events there from now on, none when it is empty. Batch
// events are pending only as long as someone will deliver them.
func (a *App) setGlobalWebhook(url string) {
	if url == "" {
		a.outbox.SetDelivery(false)
	}
	a.ledger.SetGlobalURL(url)
	a.registry.Webhooks().SetGlobalURL(context.Background(), url)
	a.relay.SetURL(url)
	if url != "" {
		a.outbox.SetDelivery(true)
	}
}

// logReloaded logs the names of changed settings, and no values, which may be secret.
func (a *App) logReloaded(before, now *config.Config, secure bool) {
	var changed []string
	for _, path := range config.Changed(before, now) {
		if reloads(path, secure) {
			changed = append(changed, path)
		}
	}
	waiting := slices.DeleteFunc(config.Changed(a.cfg, now), func(path string) bool { return reloads(path, secure) })
	level := slog.LevelInfo
	if a.level != nil { // it is the answer to who asked for it
		level = max(level, a.level.Level())
	}
	a.log.Log(context.Background(), level, "reloaded the configuration", "changed", orNothing(changed))
	if len(waiting) > 0 {
		a.log.Log(context.Background(), max(level, slog.LevelWarn), "other settings changed too; they count from the next start on", "settings", strings.Join(waiting, ", "))
	}
}

// reloads reports whether a setting can change while the program runs. TLS is neither
// begun nor ended.
func reloads(path string, secure bool) bool {
	switch path {
	case "log.level", "webhook.global.url", "webhook.global.enabled":
		return true
	case "server.tls.cert", "server.tls.key":
		return secure
	default:
		return false
	}
}

func orNothing(paths []string) string {
	if len(paths) == 0 {
		return "nothing"
	}
	return strings.Join(paths, ", ")
}
