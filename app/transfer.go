package app

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"time"

	"filippo.io/age"

	"postern/backup/transfer"
	"postern/config"
	"postern/dispatch"
	"postern/event"
	"postern/httpapi/tokens"
	"postern/instance"
	"postern/instance/webhooks"
	"postern/messages"
	"postern/store"
	"postern/whatsapp"
	"postern/whatsapp/device"
)

// accounts are what a data file has of instances and their devices.
type accounts struct {
	store    *store.Store
	devices  *device.Container
	messages *messages.Archive
	registry *instance.Registry
}

// onStopped calls fn with the data file of a program that is not running.
func onStopped(ctx context.Context, cfg *config.Config, log *slog.Logger, fn func(accounts) error) (err error) {
	whatsapp.Quiet()
	var s accounts
	s.store, err = store.Open(store.Options{Path: cfg.Store.Path, Buckets: Buckets(), Logger: log, Program: version, KeepBefore: cfg.Store.KeepBefore})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.store.Close()) }()
	if s.devices, err = device.Open(s.store, log); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.devices.Close(context.WithoutCancel(ctx))) }()
	if s.messages, err = messages.Open(ctx, messages.Config{Store: s.store, Owner: instance.There, Logger: log}); err != nil {
		return err
	}
	defer s.messages.Close()
	s.registry, err = instance.Open(ctx, instance.Config{
		Store: s.store, Messages: s.messages, Logger: log,
		Webhooks: webhooks.New(webhooks.Config{Store: s.store, DurableDefault: cfg.Webhook.DurableDefault}),
		CheckURL: dispatch.Guard{DenyPrivate: cfg.Webhook.DenyPrivate}.CheckURL, CheckProxy: dispatch.Guard{}.CheckURL,
	})
	if err != nil {
		return err
	}
	return fn(s)
}

// onExisting is onStopped with a data file that is there: none is made.
func onExisting(ctx context.Context, cfg *config.Config, log *slog.Logger, fn func(accounts) error) error {
	if _, err := os.Stat(cfg.Store.Path); errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%w (%w)", store.ErrMissing, err)
	}
	return onStopped(ctx, cfg, log, fn)
}

// Exported is what an export wrote.
type Exported struct {
	Sessions, Contacts, Messages int
	// Marked tells that the instance is marked as moved since this export: who loses what
	// was written takes the mark back by UndoExport. One that had moved before stays so.
	Marked bool
}

// ExportAccount writes the account of an instance, and marks the instance as moved: it
// never connects here again. The program must be stopped. It is marked before anything
// is written, so that no kill leaves two that both connect.
func ExportAccount(ctx context.Context, cfg *config.Config, log *slog.Logger, name string, full bool, w io.Writer, to ...age.Recipient) (done Exported, err error) {
	err = onExisting(ctx, cfg, log, func(s accounts) error {
		rec, err := s.registry.ByName(name)
		if err != nil {
			return fmt.Errorf("instance %q: %w", name, err)
		}
		d, err := s.devices.Export(ctx, rec.ID)
		if err != nil {
			return err
		}
		already := rec.HasMoved()
		if err := s.registry.Move(ctx, rec.ID, ""); err != nil {
			return err
		}
		if done, err = s.write(ctx, rec, d, full, w, to); err != nil && !already {
			return errors.Join(err, s.registry.MoveBack(context.WithoutCancel(ctx), rec.ID, "")) // no client has it
		}
		done.Marked = err == nil && !already
		return err
	})
	return done, err
}

// write writes the account of an instance, whose device d is.
func (s accounts) write(ctx context.Context, rec instance.Record, d *device.Export, full bool, w io.Writer, to []age.Recipient) (done Exported, err error) {
	e, err := s.registry.Export(rec.ID)
	if err != nil {
		return done, err
	}
	t, err := transfer.NewWriter(w, transfer.Head{Version: version, At: event.At(time.Now()), Name: rec.Name}, to...)
	if err == nil {
		err = errors.Join(t.Instance(e), t.Device(d))
	}
	if err == nil && full {
		err = s.messages.ExportContacts(rec.ID, func(c messages.Contact) error {
			done.Contacts++
			return errors.Join(context.Cause(ctx), t.Contact(c))
		})
	}
	if err == nil && full {
		err = s.messages.ExportMessages(rec.ID, func(m messages.Exported) error {
			done.Messages++
			return errors.Join(context.Cause(ctx), t.Message(m))
		})
	}
	if err == nil {
		err = t.Close()
	}
	done.Sessions = len(d.Sessions)
	return done, err
}

// UndoExport has an exported instance connect here again. The program must be stopped.
func UndoExport(ctx context.Context, cfg *config.Config, log *slog.Logger, name string) error {
	return onExisting(ctx, cfg, log, func(s accounts) error {
		rec, err := s.registry.ByName(name)
		if err == nil {
			err = s.alone(rec)
		}
		if err == nil {
			err = s.registry.MoveBack(ctx, rec.ID, "")
		}
		if err != nil {
			return fmt.Errorf("instance %q: %w", name, err)
		}
		return nil
	})
}

// alone refuses to let an instance connect that came back under another name: both
// would use the same keys.
func (s accounts) alone(rec instance.Record) error {
	for _, other := range s.registry.List() {
		if other.ID == rec.ID || other.OwnerJID != rec.OwnerJID || other.HasMoved() {
			continue
		}
		if same, err := s.devices.SameDevice(rec.ID, other.ID); err != nil || same {
			return errors.Join(err, fmt.Errorf("%w: %q, to which it came back; delete this one", instance.ErrAccountExists, other.Name))
		}
	}
	return nil
}

// ImportAccount stores an exported account in one commit, with another token unless its
// own is good here under its name, which is another one when name says so. fresh tells
// that it has another. The program must be stopped.
func ImportAccount(ctx context.Context, cfg *config.Config, log *slog.Logger, a *transfer.Account, name string) (rec instance.Record, fresh bool, err error) {
	secret, err := config.JWTSecret(cfg)
	if err != nil {
		return rec, false, err
	}
	if fresh, err = retoken([]byte(secret), seconds(cfg.Authentication.JWTExpiresIn), a, name); err != nil {
		return rec, false, err
	}
	err = onStopped(ctx, cfg, log, func(s accounts) error {
		rec, err = s.take(ctx, a)
		return err
	})
	return rec, fresh, err
}

// take stores an account in one commit.
func (s accounts) take(ctx context.Context, a *transfer.Account) (rec instance.Record, err error) {
	if err := s.store.Admit(); err != nil {
		return rec, err
	}
	for _, other := range s.registry.List() {
		if other.OwnerJID == a.Device.Account() && !other.HasMoved() {
			return rec, fmt.Errorf("%w: %q has the account %s", instance.ErrAccountExists, other.Name, other.OwnerJID)
		}
	}
	err = s.devices.Receive(a.Device, func() error {
		rec, err = s.registry.Receive(ctx, &a.Instance, func(tx *store.Tx, id int64) error { return s.devices.StoreTx(tx, id, a.Device) })
		return err
	})
	return rec, err
}

// retoken gives an account another name, when there is one, and another token unless
// its own is valid here for that name.
func retoken(secret []byte, ttl time.Duration, a *transfer.Account, name string) (fresh bool, err error) {
	in := &a.Instance
	had, token, err := a.Credential()
	if err != nil {
		return false, err
	}
	if in.Name = name; name == "" {
		in.Name = had
	}
	claims, err := tokens.NewReader(secret, time.Now).Read(token)
	if err == nil {
		if of, err := claims.Instance(); err == nil && of == in.Name {
			return false, nil
		}
	}
	in.Token, err = tokens.ForInstance(secret, in.Name, ttl, time.Now())
	return true, err
}
