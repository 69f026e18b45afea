package httpapi

import (
	"net/http"

	"postern/instance/pace"
)

// putLimits replaces the limits of an instance. What the body does not name sets
// none.
func (a *api) putLimits(c *call) error {
	var in pace.Limits
	if err := c.decode(&in, maxBody); err != nil {
		return err
	}
	kept, err := a.Supervisor.SetLimits(c.r.Context(), c.instance.ID, in)
	if err != nil {
		return err
	}
	return c.w.json(http.StatusOK, kept)
}

func (a *api) showLimits(c *call) error {
	return c.w.json(http.StatusOK, a.Supervisor.Limits(c.instance.ID))
}
