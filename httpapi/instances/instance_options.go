package instances

import (
	"fmt"
	"net/http"

	"postern/event"
	"postern/httpapi/rest"
	"postern/instance/webhooks"
)

// globalOptionsRequest is the body that replaces the options of the global webhook. Absent and null fields
// take their defaults.
type globalOptionsRequest struct {
	Durable bool               `json:"durable"`
	Order   *event.Order       `json:"order"`
	MaxAge  *string            `json:"maxAge"`
	Headers map[string]*string `json:"headers"` // null: as if it were not there
	Signing signingRequest     `json:"signing"`
	Media   *event.MediaOption `json:"media"`
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
		Durable: in.Durable, Order: in.Order, MaxAge: in.MaxAge, Headers: given(in.Headers), Signed: in.Signing.Enabled, Media: in.Media,
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

// given omits null fields.
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

func (a *API) putOptions(c *rest.Call) error {
	var in optionsRequest
	if err := c.DecodeKeeping(&in, rest.MaxBody, webhooks.MaxEndpoints+1); err != nil {
		return err
	}
	change, err := in.change()
	if err != nil {
		return err
	}
	change.NoCodes, change.Key = !c.MayPair(), c.ScopedKey()
	o, err := a.Registry.Webhooks().PutOptions(c.KeyContext(), c.Instance.ID, change)
	if err != nil {
		return codesRefused(err)
	}
	return c.Response.JSON(http.StatusOK, o)
}

func (a *API) showOptions(c *rest.Call) error {
	o, err := a.Registry.Webhooks().Options(c.Instance.ID)
	if err != nil {
		return err
	}
	return c.Response.JSON(http.StatusOK, o)
}

// dropOptions may be repeated.
func (a *API) dropOptions(c *rest.Call) error {
	if err := c.NoBody(); err != nil {
		return err
	}
	o, err := a.Registry.Webhooks().DropOptions(c.Request.Context(), c.Instance.ID)
	if err != nil {
		return err
	}
	return c.Response.JSON(http.StatusOK, o)
}

const endpointID = "endpointId"

// rotateSecret replaces the secret of the webhook, or of the endpoint named in the query.
func (a *API) rotateSecret(c *rest.Call) error {
	q, err := c.Query([]string{endpointID})
	if err != nil {
		return err
	}
	if err := c.NoBody(); err != nil {
		return err
	}
	o, err := a.Registry.Webhooks().RotateSecret(c.Request.Context(), c.Instance.ID, q.Get(endpointID))
	if err != nil {
		return err
	}
	return c.Response.JSON(http.StatusOK, o)
}

func (a *API) putGlobalOptions(c *rest.Call) error {
	var in globalOptionsRequest
	if err := c.Decode(&in, rest.MaxBody); err != nil {
		return err
	}
	o, err := a.Registry.Webhooks().PutOptions(c.Request.Context(), webhooks.Global, in.change())
	if err != nil {
		return err
	}
	return c.Response.JSON(http.StatusOK, o.GlobalOptions)
}

func (a *API) showGlobalOptions(c *rest.Call) error {
	o, err := a.Registry.Webhooks().Options(webhooks.Global)
	if err != nil {
		return err
	}
	return c.Response.JSON(http.StatusOK, o.GlobalOptions)
}

func (a *API) dropGlobalOptions(c *rest.Call) error {
	if err := c.NoBody(); err != nil {
		return err
	}
	o, err := a.Registry.Webhooks().DropOptions(c.Request.Context(), webhooks.Global)
	if err != nil {
		return err
	}
	return c.Response.JSON(http.StatusOK, o.GlobalOptions)
}

// rotateGlobalSecret accepts an empty endpointId: there is only one secret.
func (a *API) rotateGlobalSecret(c *rest.Call) error {
	q, err := c.Query([]string{endpointID})
	if err != nil {
		return err
	}
	if q.Get(endpointID) != "" {
		return rest.InvalidQuery(endpointID + " must be left out; the global webhook has no further endpoints")
	}
	if err := c.NoBody(); err != nil {
		return err
	}
	o, err := a.Registry.Webhooks().RotateSecret(c.Request.Context(), webhooks.Global, "")
	if err != nil {
		return err
	}
	return c.Response.JSON(http.StatusOK, o.GlobalOptions)
}
