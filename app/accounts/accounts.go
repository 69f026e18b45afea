// Package accounts exports the account of an instance from a data file to a file of its
// own, and imports it into another data file: while the program runs ([Running]), or with
// a file that no program has open. An exported instance is marked as moved, so that no two
// connect with the same keys.
package accounts

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"filippo.io/age"

	"postern/backup/transfer"
	"postern/event"
	"postern/httpapi/tokens"
	"postern/instance"
	"postern/messages"
	"postern/store"
	"postern/whatsapp/device"
)

// Accounts are what a data file has of instances and their devices.
type Accounts struct {
	Store    *store.Store
	Devices  *device.Container
	Messages *messages.Archive
	Registry *instance.Registry
	Version  string // of the program, which exports name
}

// Written counts what an export has.
type Written struct{ Sessions, Contacts, Messages int }

// Write writes the account of an instance, whose device is d; full: with its contacts and
// messages.
func (s Accounts) Write(ctx context.Context, rec instance.Record, d *device.Export, full bool, w io.Writer, to []age.Recipient) (done Written, err error) {
	e, err := s.Registry.Export(rec.ID)
	if err != nil {
		return done, err
	}
	t, err := transfer.NewWriter(w, transfer.Head{Version: s.Version, At: event.At(time.Now()), Name: rec.Name}, to...)
	if err == nil {
		err = errors.Join(t.Instance(e), t.Device(d))
	}
	if err == nil && full {
		err = s.Messages.ExportContacts(rec.ID, func(c messages.Contact) error {
			done.Contacts++
			return errors.Join(context.Cause(ctx), t.Contact(c))
		})
	}
	if err == nil && full {
		err = s.Messages.ExportMessages(rec.ID, func(m messages.Exported) error {
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

// Alone refuses to let an instance connect that came back under another name: both would
// use the same keys.
func (s Accounts) Alone(rec instance.Record) error {
	for _, other := range s.Registry.List() {
		if other.ID == rec.ID || other.OwnerJID != rec.OwnerJID || other.HasMoved() {
			continue
		}
		if same, err := s.Devices.SameDevice(rec.ID, other.ID); err != nil || same {
			return errors.Join(err, fmt.Errorf("%w: %q, to which it came back; delete this one", instance.ErrAccountExists, other.Name))
		}
	}
	return nil
}

// Take stores an account in one commit.
func (s Accounts) Take(ctx context.Context, a *transfer.Account) (rec instance.Record, err error) {
	if err := s.Store.Admit(); err != nil {
		return rec, err
	}
	for _, other := range s.Registry.List() {
		if other.OwnerJID == a.Device.Account() && !other.HasMoved() {
			return rec, fmt.Errorf("%w: %q has the account %s", instance.ErrAccountExists, other.Name, other.OwnerJID)
		}
	}
	err = s.Devices.Receive(a.Device, func() error {
		rec, err = s.Registry.Receive(ctx, &a.Instance, func(tx *store.Tx, id int64) error { return s.Devices.StoreTx(tx, id, a.Device) })
		return err
	})
	return rec, err
}

// Retoken gives an account another name, when there is one, and another token unless
// its own is valid here for that name.
func Retoken(secret []byte, ttl time.Duration, a *transfer.Account, name string) (fresh bool, err error) {
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
