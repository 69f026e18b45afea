package httpapi

import (
	"github.com/google/uuid"

	"postern/batch"
	"postern/console/samples"
	"postern/delivery"
	"postern/event"
	"postern/httpapi/deliveries"
	"postern/httpapi/instances"
	"postern/httpapi/operator"
	"postern/instance"
	"postern/instance/webhooks"
)

// consoleMessage is a message on /ws/console.
type consoleMessage struct {
	Type     string                     `json:"type"`
	At       *event.Time                `json:"at,omitempty"`
	Name     string                     `json:"name,omitempty"`
	Instance *instances.ListedInstance  `json:"instance,omitempty"`
	Batch    *batch.View                `json:"batch,omitempty"`
	ID       *uuid.UUID                 `json:"id,omitempty"`
	Delivery *deliveries.DeliveryRecord `json:"delivery,omitempty"`
	Changed  int                        `json:"changed,omitempty"`
	Figures  *operator.MinuteShown      `json:"figures,omitempty"`
}

// ConsoleInstance returns an instance as /ws/console sends it: as GET /instance lists it, but without its
// token. hook is nil if it has no webhook.
func ConsoleInstance(rec instance.Record, hook *webhooks.Webhook) any {
	return instances.Listed(rec, hook)
}

// ConsoleDelivery returns a delivery as GET /webhook/deliveries lists it.
func ConsoleDelivery(r delivery.Listed) any { return deliveries.NewDeliveryRecord(r) }

// ConsoleFigures returns a sample as GET /admin/samples lists it.
func ConsoleFigures(s samples.Sample) any { return operator.ShowMinute(s) }
