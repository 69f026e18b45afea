package httpapi

import (
	"github.com/google/uuid"

	"postern/batch"
	"postern/console/samples"
	"postern/console/trouble"
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
	At       *event.Time                `json:"at,omitempty" doc:"With hello: the server's time." example:"$time"`
	Name     string                     `json:"name,omitempty" doc:"With instance and instanceDeleted: the name of the instance." example:"$name"`
	Instance *instances.ListedInstance  `json:"instance,omitempty" doc:"The instance as GET /instance lists it, without its token."`
	Batch    *batch.View                `json:"batch,omitempty" doc:"The batch as GET /admin/batches lists it."`
	ID       *uuid.UUID                 `json:"id,omitempty" doc:"With batchDeleted: the id of the batch." example:"$uuid"`
	Delivery *deliveries.DeliveryRecord `json:"delivery,omitempty" doc:"The delivery as GET /webhook/deliveries lists it."`
	Changed  int                        `json:"changed,omitempty"`
	Figures  *operator.MinuteShown      `json:"figures,omitempty" doc:"The sample of the current minute, every five seconds."`
	Items    []trouble.Item             `json:"items,omitempty" doc:"With troubles: what GET /troubles answers; after hello, and when it changed."`
}

// ConsoleInstance returns an instance as /ws/console sends it: as GET /instance lists it, but without its
// token. hook is nil if it has no webhook.
func ConsoleInstance(rec instance.Record, hook *webhooks.Webhook, f instances.Facts) any {
	return instances.Listed(rec, hook, f)
}

// ConsoleDelivery returns a delivery as GET /webhook/deliveries lists it.
func ConsoleDelivery(r delivery.Listed) any { return deliveries.NewDeliveryRecord(r) }

// ConsoleFigures returns a sample as GET /admin/samples lists it.
func ConsoleFigures(s samples.Sample) any { return operator.ShowMinute(s) }
