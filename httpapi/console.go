package httpapi

import (
	"crypto/sha256"

	"github.com/google/uuid"

	"postern/batch"
	"postern/console"
	"postern/delivery"
	"postern/event"
	"postern/instance"
	"postern/samples"
)

// consoleMessage is what /ws/console tells.
type consoleMessage struct {
	Type     string          `json:"type"`
	At       *event.Time     `json:"at,omitempty"`
	Name     string          `json:"name,omitempty"`
	Instance *listedInstance `json:"instance,omitempty"`
	Batch    *batch.View     `json:"batch,omitempty"`
	ID       *uuid.UUID      `json:"id,omitempty"`
	Delivery *deliveryRecord `json:"delivery,omitempty"`
	Changed  int             `json:"changed,omitempty"`
	Figures  *minuteShown    `json:"figures,omitempty"`
}

// ConsoleInstance is an instance as /ws/console tells of it: as GET /instance lists it,
// but without its token. hook is nil when it has no webhook.
func ConsoleInstance(rec instance.Record, hook *instance.Webhook) any {
	return listedInstance{viewOf(rec), nil, hook}
}

// ConsoleDelivery is a delivery as GET /webhook/deliveries lists it.
func ConsoleDelivery(r delivery.Listed) any { return newDeliveryRecord(r) }

// ConsoleFigures is a sample as GET /admin/samples has it.
func ConsoleFigures(s samples.Sample) any { return showMinute(s) }

// openConsole tells what changes, for as long as the client listens.
func (a *api) openConsole(c *call) error {
	if err := wantsUpgrade(c); err != nil {
		return err
	}
	if _, err := c.query(nil); err != nil {
		return err
	}
	if err := a.checkOrigin(c.r); err != nil {
		return err
	}
	return a.Hub.ServeConsole(c.w, c.r, a.viewer(c), Stream{Token: sha256.Sum256([]byte(a.APIKey))})
}

// viewer is what the credential of a request may see of what changes.
func (a *api) viewer(*call) console.Viewer { return console.Operator() }
