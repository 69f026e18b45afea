package instances

import (
	"net/http"

	"postern/httpapi/rest"
	"postern/instance"
)

// putSettings sets the automatic actions of an instance. Fields that the body does not name are off.
func (a *API) putSettings(c *rest.Call) error {
	var in instance.Settings
	if err := c.Decode(&in, rest.MaxBody); err != nil {
		return err
	}
	if err := a.mayAnswerCalls(c, in.RejectCalls); err != nil {
		return err
	}
	s, err := a.Supervisor.PutSettings(c.Request.Context(), c.Instance.ID, in)
	if err != nil {
		return err
	}
	return c.Response.JSON(http.StatusOK, s)
}

// mayAnswerCalls refuses a new reply to callers from a key with recipients. The key
// may keep the current one.
func (a *API) mayAnswerCalls(c *rest.Call, want instance.RejectCalls) error {
	if c.Key == nil || c.Key.Recipients == nil || !want.Enabled || want.Message == "" {
		return nil
	}
	now, err := a.Registry.Settings(c.Instance.ID)
	if err == nil && now.RejectCalls != want {
		err = rest.RecipientNotAllowed("rejectCalls.message goes to any caller, and the key may write only to its recipients")
	}
	return err
}

func (a *API) showSettings(c *rest.Call) error {
	s, err := a.Registry.Settings(c.Instance.ID)
	if err != nil {
		return err
	}
	return c.Response.JSON(http.StatusOK, s)
}
