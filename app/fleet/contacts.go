package app

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"

	"postern/batch"
	"postern/event"
	"postern/instance"
	"postern/instance/pace"
	"postern/messages"
	"postern/whatsapp/device"
)

// startPacer reads the limits of all instances.
func (a *App) startPacer(ctx context.Context) error {
	zone, err := time.LoadLocation(a.cfg.Batch.Timezone)
	if err != nil {
		return fmt.Errorf("message.batch.timezone: %w", err)
	}
	a.pacer, err = pace.Open(ctx, pace.Config{
		Store: a.store, Location: zone, Person: a.known.person, IsNew: a.known.isNew, Changed: a.limitsChanged, Date: a.store.Now, Logger: a.log,
	})
	if err != nil {
		return err
	}
	a.stops.push("limits of instances", func(context.Context) error { return a.pacer.Close() })
	return nil
}

// limitsChanged notifies the batches that an instance may send sooner than
// announced.
func (a *App) limitsChanged(id int64) {
	if rec, err := a.registry.ByID(id); err == nil && a.engine != nil {
		a.engine.GateChanged(id, rec.Status)
	}
}

// keepsStrangers reports whether the limit of new contacts is used up.
func (a *App) keepsStrangers(id int64) bool { return a.pacer != nil && a.pacer.KeepsStrangers(id) }

// letGo releases the reservation of a batch that does not send next.
func (a *App) letGo(id uuid.UUID) { a.pacer.Release(id.String()) }

// contacts finds known and new contacts of an instance's account.
type contacts struct {
	registry *instance.Registry
	messages *messages.Archive
	devices  *device.Container
}

// person is pace.Config.Person.
func (c contacts) person(jid string) string { return c.devices.PersonName(jid) }

// isNew is pace.Config.IsNew. A failed lookup means a new contact.
func (c contacts) isNew(id int64, jid string) bool {
	_, names := c.devices.Person(jid)
	if wrote, err := c.messages.Wrote(id, names); err == nil && wrote {
		return false
	}
	trusted, err := c.devices.TrustedBy(id, jid, c.registry.Now())
	return err != nil || !trusted
}

// limits returns the gate of an instance's limits.
func limits(p *pace.Pacer, q batch.Question) batch.Gate {
	sender := ""
	if q.Batch != uuid.Nil {
		sender = q.Batch.String()
	}
	refused := p.Hold(q.Instance, q.Recipient+"@"+event.UserServer, sender)
	if refused == nil {
		return batch.Gate{After: p.Spaced(q.Instance)}
	}
	return batch.Gate{Until: refused.Until, Strangers: refused.Strangers, Reason: pace.Code, Text: refused.Text()}
}
