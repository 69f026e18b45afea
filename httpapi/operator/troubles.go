package operator

import (
	"net/http"
	"time"

	"github.com/google/uuid"

	"postern/access"
	"postern/console/trouble"
	"postern/event"
	"postern/httpapi/rest"
)

// Troubles is what is wrong.
type Troubles struct {
	At    event.Time     `json:"at" doc:"When the answer was made." example:"$time"`
	Items []trouble.Item `json:"items" doc:"What is wrong: broken before attention, then the oldest first; up to 200."`
}

func (a *API) showTroubles(c *rest.Call) error {
	if _, err := c.Query(nil); err != nil {
		return err
	}
	a.Troubles.Seen()
	items := a.Troubles.Items(a.Sees(c))
	if c.Response.Tagged(trouble.ETag(items)) {
		c.Response.WriteHeader(http.StatusNotModified)
		return nil
	}
	return c.Response.JSON(http.StatusOK, Troubles{event.At(time.Now()), items})
}

// SeesKind reports whether the credential of a call may see a kind of trouble of its instances.
func (a *API) SeesKind(c *rest.Call, k trouble.Kind) bool {
	return c.Key == nil || trouble.TypeOf(k) == trouble.Instance || trouble.TypeOf(k) == trouble.Receiver && c.Key.Has(access.Deliveries)
}

// Sees returns what the credential of a call may see of troubles.
func (a *API) Sees(c *rest.Call) trouble.Viewer {
	k := c.Key
	if k == nil {
		return trouble.Everything()
	}
	v := trouble.Viewer{Instance: k.Opens, Deliveries: k.Has(access.Deliveries), Global: k.Has(access.Deliveries) && k.Everywhere()}
	if !k.Has(access.Read) {
		v.Instance = nil
	}
	if k.Has(access.Batch) {
		v.Batch = func(owner, id uuid.UUID) bool { return owner == k.User && a.MaySee(k, id) }
	}
	return v
}
