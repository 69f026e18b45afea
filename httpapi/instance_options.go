package httpapi

import (
	"fmt"
	"net/http"

	"postern/event"
	"postern/instance/webhooks"
)

// globalOptionsRequest is the body that replaces the options of the global
// webhook. What is absent or null takes its default.
type globalOptionsRequest struct {
	Durable bool               `json:"durable"`
	Order   *event.Order       `json:"order"`
	MaxAge  *string            `json:"maxAge"`
	Headers map[string]*string `json:"headers"` // null: as if it were not there
	Signing signingRequest     `json:"signing"`
}

// optionsRequest is the body that replaces the options of an instance's webhook.
type optionsRequest struct {
	globalOptionsRequest

	Filter    filterRequest     `json:"filter"`
	Endpoints []endpointRequest `json:"endpoints"`
}

type signingRequest struct {
	Enabled bool `json:"enabled"`
}

type filterRequest struct {
	Groups      *bool `json:"groups"`
	Status      *bool `json:"status"`
	Newsletters *bool `json:"newsletters"`
	Broadcasts  *bool `json:"broadcasts"`
	FromMe      *bool `json:"fromMe"`
}

type endpointRequest struct {
	ID      string             `json:"id" strict:"required"`
	URL     string             `json:"url" strict:"required"`
	Enabled *bool              `json:"enabled"`
	Events  map[string]*bool   `json:"events"`
	Headers map[string]*string `json:"headers"`
	Signing signingRequest     `json:"signing"`
}

func (in *globalOptionsRequest) change() webhooks.OptionsChange {
	return webhooks.OptionsChange{
		Durable: in.Durable, Order: in.Order, MaxAge: in.MaxAge, Headers: given(in.Headers), Signed: in.Signing.Enabled,
	}
}

func (in *optionsRequest) change() (webhooks.OptionsChange, error) {
	c := in.globalOptionsRequest.change()
	f := in.Filter
	c.Filter = &webhooks.Filter{
		Groups: orTrue(f.Groups), Status: orTrue(f.Status), Newsletters: orTrue(f.Newsletters), Broadcasts: orTrue(f.Broadcasts), FromMe: orTrue(f.FromMe),
	}
	for i, p := range in.Endpoints {
		events, err := flagsIn(fmt.Sprintf("endpoints[%d].", i), p.Events)
		if err != nil {
			return c, err
		}
		c.Endpoints = append(c.Endpoints, webhooks.EndpointChange{
			ID: p.ID, URL: p.URL, Enabled: p.Enabled, Events: events, Headers: given(p.Headers), Signed: p.Signing.Enabled,
		})
	}
	return c, nil
}

// given leaves out what is null.
func given(all map[string]*string) map[string]string {
	values := map[string]string{}
	for name, value := range all {
		if value != nil {
			values[name] = *value
		}
	}
	return values
}

func orTrue(b *bool) bool { return b == nil || *b }

func (a *api) putOptions(c *call) error {
	var in optionsRequest
	if err := c.decodeKeeping(&in, maxBody, webhooks.MaxEndpoints+1); err != nil {
		return err
	}
	change, err := in.change()
	if err != nil {
		return err
	}
	change.NoCodes, change.Key = !c.mayPair(), c.scopedKey()
	o, err := a.Registry.Webhooks().PutOptions(c.whileKey(), c.instance.ID, change)
	if err != nil {
		return codesRefused(err)
	}
	return c.w.json(http.StatusOK, o)
}

func (a *api) showOptions(c *call) error {
	o, err := a.Registry.Webhooks().Options(c.instance.ID)
	if err != nil {
		return err
	}
	return c.w.json(http.StatusOK, o)
}

// dropOptions may be repeated.
func (a *api) dropOptions(c *call) error {
	if err := c.noBody(); err != nil {
		return err
	}
	o, err := a.Registry.Webhooks().DropOptions(c.r.Context(), c.instance.ID)
	if err != nil {
		return err
	}
	return c.w.json(http.StatusOK, o)
}

const endpointID = "endpointId"

// rotateSecret is about the webhook's own secret, or the endpoint's that the
// query names.
func (a *api) rotateSecret(c *call) error {
	q, err := c.query([]string{endpointID})
	if err != nil {
		return err
	}
	if err := c.noBody(); err != nil {
		return err
	}
	o, err := a.Registry.Webhooks().RotateSecret(c.r.Context(), c.instance.ID, q.Get(endpointID))
	if err != nil {
		return err
	}
	return c.w.json(http.StatusOK, o)
}

func (a *api) putGlobalOptions(c *call) error {
	var in globalOptionsRequest
	if err := c.decode(&in, maxBody); err != nil {
		return err
	}
	o, err := a.Registry.Webhooks().PutOptions(c.r.Context(), webhooks.Global, in.change())
	if err != nil {
		return err
	}
	return c.w.json(http.StatusOK, o.GlobalOptions)
}

func (a *api) showGlobalOptions(c *call) error {
	o, err := a.Registry.Webhooks().Options(webhooks.Global)
	if err != nil {
		return err
	}
	return c.w.json(http.StatusOK, o.GlobalOptions)
}

func (a *api) dropGlobalOptions(c *call) error {
	if err := c.noBody(); err != nil {
		return err
	}
	o, err := a.Registry.Webhooks().DropOptions(c.r.Context(), webhooks.Global)
	if err != nil {
		return err
	}
	return c.w.json(http.StatusOK, o.GlobalOptions)
}

// rotateGlobalSecret takes an endpointId that is empty: there is but one secret.
func (a *api) rotateGlobalSecret(c *call) error {
	q, err := c.query([]string{endpointID})
	if err != nil {
		return err
	}
	if q.Get(endpointID) != "" {
		return invalidQuery(endpointID + " must be left out; the global webhook has no further endpoints")
	}
	if err := c.noBody(); err != nil {
		return err
	}
	o, err := a.Registry.Webhooks().RotateSecret(c.r.Context(), webhooks.Global, "")
	if err != nil {
		return err
	}
	return c.w.json(http.StatusOK, o.GlobalOptions)
}
