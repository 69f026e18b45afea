package httpapi

import (
	"net/http"

	"postern/instance"
)

// putSettings sets what an instance does by itself. What the body does not name
// is off.
func (a *api) putSettings(c *call) error {
	var in instance.Settings
	if err := c.decode(&in, maxBody); err != nil {
		return err
	}
	s, err := a.Supervisor.PutSettings(c.r.Context(), c.instance.ID, in)
	if err != nil {
		return err
	}
	return c.w.json(http.StatusOK, s)
}

func (a *api) showSettings(c *call) error {
	s, err := a.Registry.Settings(c.instance.ID)
	if err != nil {
		return err
	}
	return c.w.json(http.StatusOK, s)
}
