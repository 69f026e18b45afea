package app

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"

	"postern/config"
	"postern/dispatch"
	"postern/instance"
	"postern/instance/webhooks"
	"postern/migrate"
	"postern/store"
	"postern/whatsapp"
	"postern/whatsapp/device"
)

// ImportOptions returns what a plan needs from this installation: its rules, and what
// its data file already has, which is only read. Errors are those of
// store.ScanFile: the program must be stopped.
func ImportOptions(cfg *config.Config) (o migrate.Options, err error) {
	whatsapp.Quiet()
	o.Rules = instance.Rules{
		Rules:      webhooks.Rules{CheckURL: dispatch.Guard{DenyPrivate: cfg.Webhook.DenyPrivate}.CheckURL},
		CheckProxy: dispatch.Guard{}.CheckURL,
	}
	path := cfg.Store.Path
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		return o, nil
	}
	if o.Taken, err = instance.Names(path, Buckets()); err == nil {
		o.Devices, err = device.DevicesIn(path, Buckets())
	}
	return o, err
}

// Import stores each account of a plan in one commit, and calls done with it after
// that. It ends at the first that cannot be stored, and with ctx; those before it
// stay. The data file must not be in use.
func Import(ctx context.Context, cfg *config.Config, p *migrate.Plan, log *slog.Logger, done func(*migrate.Account)) (err error) {
	if err := p.Unchanged(ctx); err != nil {
		return err
	}
	return onStopped(ctx, cfg, log, func(s accounts) error {
		if err := s.store.Admit(); err != nil {
			return err
		}
		return p.Each(ctx, func(a *migrate.Account) error { return importOne(ctx, p, a, s.registry, s.devices, done) })
	})
}

func importOne(ctx context.Context, p *migrate.Plan, a *migrate.Account, registry *instance.Registry, devices *device.Container, done func(*migrate.Account)) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if err := p.Unchanged(ctx); err != nil {
		return err
	}
	_, err := registry.Import(ctx, &a.Import, func(tx *store.Tx, id int64) error { return devices.StoreTx(tx, id, a.Device) })
	if err != nil {
		return fmt.Errorf("the account %s: %w", a.Device.JID(), err)
	}
	devices.Learn(a.Device)
	done(a)
	return nil
}
