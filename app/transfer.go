package app

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"time"

	"filippo.io/age"

	"postern/config"
	"postern/dispatch"
	"postern/event"
	"postern/instance"
	"postern/store"
	"postern/transfer"
	"postern/whatsapp"
	"postern/whatsapp/device"
)

// stopped is a data file that no program serves from, for commands that change it.
type stopped struct {
	store    *store.Store
	devices  *device.Container
	registry *instance.Registry
}

// onStopped calls fn with the data file of a program that is not running.
func onStopped(ctx context.Context, cfg *config.Config, log *slog.Logger, fn func(stopped) error) (err error) {
	whatsapp.Quiet()
	var s stopped
	s.store, err = store.Open(store.Options{Path: cfg.Store.Path, Buckets: Buckets(), Logger: log, DisableOutboxDelivery: !cfg.Webhook.GlobalEnabled})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.store.Close()) }()
	if s.devices, err = device.Open(s.store, log); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.devices.Close(context.WithoutCancel(ctx))) }()
	s.registry, err = instance.Open(ctx, instance.Config{
		Store: s.store, DurableDefault: cfg.Webhook.DurableDefault, Logger: log,
		CheckURL: dispatch.Guard{DenyPrivate: cfg.Webhook.DenyPrivate}.CheckURL, CheckProxy: dispatch.Guard{}.CheckURL,
	})
	if err != nil {
		return err
	}
	defer s.registry.Close()
	return fn(s)
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
func ExportAccount(ctx context.Context, cfg *config.Config, log *slog.Logger, name string, messages bool, w io.Writer, to ...age.Recipient) (done Exported, err error) {
	err = onStopped(ctx, cfg, log, func(s stopped) error {
		rec, err := s.registry.ByName(name)
		if err != nil {
			return fmt.Errorf("instance %q: %w", name, err)
		}
		d, err := s.devices.Export(rec.ID)
		if err != nil {
			return err
		}
		already := rec.HasMoved()
		if err := s.registry.Move(ctx, rec.ID, true); err != nil {
			return err
		}
		if done, err = s.write(ctx, rec, d, messages, w, to); err != nil && !already {
			return errors.Join(err, s.registry.Move(context.WithoutCancel(ctx), rec.ID, false)) // nobody has it
		}
		done.Marked = err == nil && !already
		return err
	})
	return done, err
}

func (s stopped) write(ctx context.Context, rec instance.Record, d *device.Export, messages bool, w io.Writer, to []age.Recipient) (done Exported, err error) {
	e, err := s.registry.Export(rec.ID)
	if err != nil {
		return done, err
	}
	t, err := transfer.NewWriter(w, transfer.Head{Version: version, At: event.At(time.Now()), Name: rec.Name}, to...)
	if err == nil {
		err = errors.Join(t.Instance(e), t.Device(d))
	}
	if err == nil && messages {
		err = s.registry.ExportContacts(rec.ID, func(c instance.Contact) error {
			done.Contacts++
			return errors.Join(context.Cause(ctx), t.Contact(c))
		})
	}
	if err == nil && messages {
		err = s.registry.ExportMessages(rec.ID, func(m instance.ExportedMessage) error {
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

// UndoExport has an exported instance connect here again.
func UndoExport(ctx context.Context, cfg *config.Config, log *slog.Logger, name string) error {
	return onStopped(ctx, cfg, log, func(s stopped) error {
		rec, err := s.registry.ByName(name)
		if err == nil && !rec.HasMoved() {
			err = errors.New("it has not moved")
		}
		if err != nil {
			return fmt.Errorf("instance %q: %w", name, err)
		}
		return s.registry.Move(ctx, rec.ID, false)
	})
}

// ImportAccount stores an exported account in one commit. The program must be stopped.
func ImportAccount(ctx context.Context, cfg *config.Config, log *slog.Logger, a *transfer.Account) (rec instance.Record, err error) {
	err = onStopped(ctx, cfg, log, func(s stopped) error {
		if err := s.store.Admit(); err != nil {
			return err
		}
		for _, other := range s.registry.List() {
			if other.OwnerJID == a.Device.Account() && !other.HasMoved() {
				return fmt.Errorf("instance %q has the account %s already", other.Name, other.OwnerJID)
			}
		}
		rec, err = s.registry.Receive(ctx, &a.Instance, func(tx *store.Tx, id int64) error { return s.devices.StoreTx(tx, id, a.Device) })
		return err
	})
	return rec, err
}
