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
	if err := a.mayAnswerCalls(c, in.RejectCalls); err != nil {
		return err
	}
	s, err := a.Supervisor.PutSettings(c.r.Context(), c.instance.ID, in)
	if err != nil {
		return err
	}
	return c.w.json(http.StatusOK, s)
}

// mayAnswerCalls refuses a new reply to callers from a key with recipients. The key
// may keep the current one.
func (a *api) mayAnswerCalls(c *call, want instance.RejectCalls) error {
	if c.key == nil || c.key.Recipients == nil || !want.Enabled || want.Message == "" {
		return nil
	}
	now, err := a.Registry.Settings(c.instance.ID)
	if err == nil && now.RejectCalls != want {
		err = errRecipientNotAllowed("rejectCalls.message goes to any caller, and the key may write only to its recipients")
	}
	return err
}

func (a *api) showSettings(c *call) error {
	s, err := a.Registry.Settings(c.instance.ID)
	if err != nil {
		return err
	}
	return c.w.json(http.StatusOK, s)
}
