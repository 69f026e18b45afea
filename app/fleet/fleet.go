// Package fleet shows the instances to batches: what sends, which of them may send to whom
// and from when on, and whom their accounts know.
package fleet

import (
	"context"
	"errors"
	"fmt"

	"postern/batch"
	"postern/event"
	"postern/instance"
	"postern/instance/pace"
	"postern/messages"
	"postern/whatsapp/device"
)

// Fleet is the instances as a batch.Fleet.
type Fleet struct {
	Registry   *instance.Registry
	Supervisor *instance.Supervisor
	Knows      func(id int64, number string) bool
	Pacer      *pace.Pacer
	Benches    bool // instances whose messages do not arrive
}

// Instance implements [batch.Fleet].
func (f Fleet) Instance(id int64) (name string, state event.State, ok bool) {
	rec, err := f.Registry.ByID(id)
	return rec.Name, rec.Status, err == nil
}

// Send sends an item's message. It is stored in the commit of the item's
// result, and so is send.message when it is durable; else that follows the commit.
func (f Fleet) Send(ctx context.Context, id int64, out event.Outgoing) (batch.Receipt, error) {
	sent, err := f.Supervisor.Send(ctx, id, out)
	if errors.Is(err, instance.ErrNotFound) {
		err = fmt.Errorf("%w: %w", event.ErrNotConnected, err) // deleted since it was chosen: nothing left
	}
	if err != nil {
		return batch.Receipt{}, err
	}
	m := sent.Message
	m.InstanceID, m.ExternalAttributes = id, out.Attributes
	if m.ExternalAttributes == nil {
		m.ExternalAttributes = event.Attributes("{}")
	}
	receipt := batch.Receipt{WhatsAppID: m.KeyID}
	if m.KeyRemoteJID != nil {
		receipt.RecipientJID = *m.KeyRemoteJID
	}
	record := f.Registry.Sent(id, out.Content, m)
	receipt.Record, receipt.Committed = record.Store, record.Publish
	return receipt, nil
}

// Contacts finds known and new contacts of an instance's account.
type Contacts struct {
	Registry *instance.Registry
	Messages *messages.Archive
	Devices  *device.Container
}

// Person is pace.Config.Person.
func (c Contacts) Person(jid string) string { return c.Devices.PersonName(jid) }

// IsNew is pace.Config.IsNew. A failed lookup means a new contact.
func (c Contacts) IsNew(id int64, jid string) bool {
	_, names := c.Devices.Person(jid)
	if wrote, err := c.Messages.Wrote(id, names); err == nil && wrote {
		return false
	}
	trusted, err := c.Devices.TrustedBy(id, jid, c.Registry.Now())
	return err != nil || !trusted
}

// Know reports whether a person wrote to the account recently, or gave it a
// privacy token. A failed lookup means a stranger.
func (c Contacts) Know(id int64, number string) bool {
	now := c.Registry.Now()
	_, names := c.Devices.Person(number + "@" + event.UserServer)
	heard, err := c.Messages.Heard(id, names, now.Add(-instance.Acquainted))
	if err == nil && heard {
		return true
	}
	trusted, err := c.Devices.Trusted(id, number, now)
	return err == nil && trusted
}
