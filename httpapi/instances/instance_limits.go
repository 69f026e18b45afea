package instances

import (
	"net/http"

	"postern/httpapi/rest"
	"postern/instance/pace"
)

// putLimits replaces the limits of an instance. A field that the body does not name sets no limit.
func (a *API) putLimits(c *rest.Call) error {
	var in pace.Limits
	if err := c.Decode(&in, rest.MaxBody); err != nil {
		return err
	}
	kept, err := a.Supervisor.SetLimits(c.Request.Context(), c.Instance.ID, in)
	if err != nil {
		return err
	}
	return c.Response.JSON(http.StatusOK, kept)
}

func (a *API) showLimits(c *rest.Call) error {
	return c.Response.JSON(http.StatusOK, a.Supervisor.Limits(c.Instance.ID))
}
