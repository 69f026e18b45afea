package sockets

import (
	"crypto/sha256"
	"slices"

	"github.com/google/uuid"

	"postern/access"
	"postern/console/feed"
	"postern/httpapi/rest"
)

// openConsole sends changes until the client disconnects.
func (a *API) openConsole(c *rest.Call) error {
	if err := WantsUpgrade(c); err != nil {
		return err
	}
	if _, err := c.Query(nil); err != nil {
		return err
	}
	if err := a.checkOrigin(c); err != nil {
		return err
	}
	stream := Stream{Token: sha256.Sum256([]byte(a.APIKey))}
	if c.Scoped() {
		stream = a.scopedStream(c, subscription{})
	}
	return a.Hub.ServeConsole(c.Response, c.Request, a.viewer(c), stream)
}

// viewer returns what the credential of a request may see of the changes.
func (a *API) viewer(c *rest.Call) feed.Viewer {
	k := c.Key
	if k == nil {
		v := feed.Operator()
		v.Troubles = a.Sees(c)
		return v
	}
	v := feed.Viewer{Troubles: a.Sees(c), Opens: c.Opens(), Instance: func(name string) bool { return a.sees(k, name) }, Webhooks: k.Has(access.Webhook), Figures: k.Has(access.Metrics) && k.Everywhere()}
	if k.Has(access.Batch) {
		v.Batch = func(owner, id uuid.UUID) bool { return owner == k.User && a.MaySee(k, id) }
	}
	if k.Has(access.Deliveries) {
		v.Delivery = func(d feed.Delivery) bool { return k.Everywhere() || !d.Global && a.sees(k, d.Instance) }
	}
	return v
}

// sees reports whether a key is for the instance with a name, which may already be deleted.
func (a *API) sees(k *access.Key, name string) bool {
	rec, err := a.Registry.ByName(name)
	if err == nil {
		return k.Opens(rec.ID)
	}
	return k.Everywhere() || slices.ContainsFunc(k.Instances, func(i access.Instance) bool { return i.Name == name })
}
