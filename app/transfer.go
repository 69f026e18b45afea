package app

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"

	"filippo.io/age"

	"postern/app/accounts"
	"postern/backup/transfer"
	"postern/config"
	"postern/dispatch"
	"postern/instance"
	"postern/instance/webhooks"
	"postern/messages"
	"postern/migrate"
	"postern/store"
	"postern/whatsapp"
	"postern/whatsapp/device"
)

// onStopped calls fn with the data file of a program that is not running.
func onStopped(ctx context.Context, cfg *config.Config, log *slog.Logger, fn func(accounts.Accounts) error) (err error) {
	whatsapp.Quiet()
	s := accounts.Accounts{Version: version}
	s.Store, err = store.Open(store.Options{Path: cfg.Store.Path, Buckets: Buckets(), Logger: log, Program: version, KeepBefore: cfg.Store.KeepBefore})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Store.Close()) }()
	if s.Devices, err = device.Open(s.Store, log); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Devices.Close(context.WithoutCancel(ctx))) }()
	if s.Messages, err = messages.Open(ctx, messages.Config{Store: s.Store, Owner: instance.There, Logger: log}); err != nil {
		return err
	}
	defer s.Messages.Close()
	s.Registry, err = instance.Open(ctx, instance.Config{
		Store: s.Store, Messages: s.Messages, Logger: log,
		Webhooks: webhooks.New(webhooks.Config{Store: s.Store, DurableDefault: cfg.Webhook.DurableDefault}),
		CheckURL: dispatch.Guard{DenyPrivate: cfg.Webhook.DenyPrivate}.CheckURL, CheckProxy: dispatch.Guard{}.CheckURL,
	})
	if err != nil {
		return err
	}
	return fn(s)
}

// onExisting is onStopped with a data file that is there: none is made.
func onExisting(ctx context.Context, cfg *config.Config, log *slog.Logger, fn func(accounts.Accounts) error) error {
	if _, err := os.Stat(cfg.Store.Path); errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%w (%w)", store.ErrMissing, err)
	}
	return onStopped(ctx, cfg, log, fn)
}

// Exported is what an export wrote.
type Exported struct {
	accounts.Written

	// Marked tells that the instance is marked as moved since this export: who loses what
	// was written takes the mark back by UndoExport. One that had moved before stays so.
	Marked bool
}

// ExportAccount writes the account of an instance, and marks the instance as moved: it
// never connects here again. The program must be stopped. It is marked before anything
// is written, so that no kill leaves two that both connect.
func ExportAccount(ctx context.Context, cfg *config.Config, log *slog.Logger, name string, full bool, w io.Writer, to ...age.Recipient) (done Exported, err error) {
	err = onExisting(ctx, cfg, log, func(s accounts.Accounts) error {
		rec, err := s.Registry.ByName(name)
		if err != nil {
			return fmt.Errorf("instance %q: %w", name, err)
		}
		d, err := s.Devices.Export(ctx, rec.ID)
		if err != nil {
			return err
		}
		already := rec.HasMoved()
		if err := s.Registry.Move(ctx, rec.ID, ""); err != nil {
			return err
		}
		if done.Written, err = s.Write(ctx, rec, d, full, w, to); err != nil && !already {
			return errors.Join(err, s.Registry.MoveBack(context.WithoutCancel(ctx), rec.ID, "")) // no client has it
		}
		done.Marked = err == nil && !already
		return err
	})
	return done, err
}

// UndoExport has an exported instance connect here again. The program must be stopped.
func UndoExport(ctx context.Context, cfg *config.Config, log *slog.Logger, name string) error {
	return onExisting(ctx, cfg, log, func(s accounts.Accounts) error {
		rec, err := s.Registry.ByName(name)
		if err == nil {
			err = s.Alone(rec)
		}
		if err == nil {
			err = s.Registry.MoveBack(ctx, rec.ID, "")
		}
		if err != nil {
			return fmt.Errorf("instance %q: %w", name, err)
		}
		return nil
	})
}

// ImportAccount stores an exported account in one commit, with another token unless its
// own is good here under its name, which is another one when name says so. fresh tells
// that it has another. The program must be stopped.
func ImportAccount(ctx context.Context, cfg *config.Config, log *slog.Logger, a *transfer.Account, name string) (rec instance.Record, fresh bool, err error) {
	secret, err := config.JWTSecret(cfg)
	if err != nil {
		return rec, false, err
	}
	if fresh, err = accounts.Retoken([]byte(secret), seconds(cfg.Authentication.JWTExpiresIn), a, name); err != nil {
		return rec, false, err
	}
	err = onStopped(ctx, cfg, log, func(s accounts.Accounts) error {
		rec, err = s.Take(ctx, a)
		return err
	})
	return rec, fresh, err
}

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
	return onStopped(ctx, cfg, log, func(s accounts.Accounts) error {
		if err := s.Store.Admit(); err != nil {
			return err
		}
		return p.Each(ctx, func(a *migrate.Account) error { return importOne(ctx, p, a, s.Registry, s.Devices, done) })
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
