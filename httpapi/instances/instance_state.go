package instances

import (
	"net/http"

	"postern/httpapi/rest"
)

// ResetAnswer confirms that the phone was requested to reset the app state.
type ResetAnswer struct {
	InstanceName string `json:"instanceName"`
	Message      string `json:"message" doc:"What happens now, for people." example:"the phone was asked to reset the app state"`
}

// resetAppState requests the phone to reset the state that the account's devices share.
func (a *API) resetAppState(c *rest.Call) error {
	if err := c.NoBody(); err != nil {
		return err
	}
	account, err := a.Supervisor.Account(c.Request.Context(), c.Instance.ID)
	if err != nil {
		return err
	}
	if err := account.ResetAppState(c.Request.Context()); err != nil {
		return err
	}
	return c.Response.JSON(http.StatusOK, ResetAnswer{
		InstanceName: c.Instance.Name,
		Message:      "the phone was asked to reset the app state; it unlinks all devices of the account, and each has to be paired again",
	})
}
