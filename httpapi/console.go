package httpapi

import (
	"crypto/sha256"
	"slices"

	"github.com/google/uuid"

	"postern/access"
	"postern/batch"
	"postern/console/feed"
	"postern/console/samples"
	"postern/delivery"
	"postern/event"
	"postern/instance"
	"postern/instance/webhooks"
)

// consoleMessage is a message on /ws/console.
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

// ConsoleInstance is an instance as /ws/console sends it: as GET /instance lists it,
// but without its token. hook is nil when it has no webhook.
func ConsoleInstance(rec instance.Record, hook *webhooks.Webhook) any {
	return listedInstance{viewOf(rec), nil, hook}
}

// ConsoleDelivery is a delivery as GET /webhook/deliveries lists it.
func ConsoleDelivery(r delivery.Listed) any { return newDeliveryRecord(r) }

// ConsoleFigures is a sample as GET /admin/samples has it.
func ConsoleFigures(s samples.Sample) any { return showMinute(s) }

// openConsole sends changes until the client disconnects.
func (a *api) openConsole(c *call) error {
	if err := wantsUpgrade(c); err != nil {
		return err
	}
	if _, err := c.query(nil); err != nil {
		return err
	}
	if err := a.checkOrigin(c); err != nil {
		return err
	}
	stream := Stream{Token: sha256.Sum256([]byte(a.APIKey))}
	if c.scoped() {
		stream = a.scopedStream(c, subscription{})
	}
	return a.Hub.ServeConsole(c.w, c.r, a.viewer(c), stream)
}

// viewer is what the credential of a request may see of what changes.
func (a *api) viewer(c *call) feed.Viewer {
	k := c.key
	if k == nil {
		return feed.Operator()
	}
	v := feed.Viewer{Opens: c.opens(), Instance: func(name string) bool { return a.sees(k, name) }, Webhooks: k.Has(access.Webhook), Figures: k.Has(access.Metrics) && k.Everywhere()}
	if k.Has(access.Batch) {
		v.Batch = func(owner, id uuid.UUID) bool { return owner == k.User && a.maySee(k, id) }
	}
	if k.Has(access.Deliveries) {
		v.Delivery = func(d feed.Delivery) bool { return k.Everywhere() || !d.Global && a.sees(k, d.Instance) }
	}
	return v
}

// sees reports whether a key is for the instance of a name, which may be gone already.
func (a *api) sees(k *access.Key, name string) bool {
	rec, err := a.Registry.ByName(name)
	if err == nil {
		return k.Opens(rec.ID)
	}
	return k.Everywhere() || slices.ContainsFunc(k.Instances, func(i access.Instance) bool { return i.Name == name })
}
