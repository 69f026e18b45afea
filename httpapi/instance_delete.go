package httpapi

import "net/http"

type deletedInstance struct {
	InstanceName string `json:"instanceName"`
	Deleted      bool   `json:"deleted"`
	Forced       bool   `json:"forced"`
	Message      string `json:"message"`
}

// deleteInstance removes an instance and all that is stored of it. Without
// force, one with stored messages or with an unfinished batch stays.
func (a *api) deleteInstance(c *call) error {
	force, err := c.flag("force")
	if err != nil {
		return err
	}
	if !force {
		used, err := a.Engine.InUse(c.instance.ID)
		if err != nil {
			return err
		}
		if used {
			return refuse(http.StatusConflict, codeInstanceInUse, "an unfinished batch uses the instance; stop the batch, or delete with force=true")
		}
	}
	if err := a.Supervisor.Delete(c.r.Context(), c.instance.ID, force); err != nil {
		return err
	}
	a.revoke(c.instance.ID)
	return c.w.json(http.StatusOK, deletedInstance{
		InstanceName: c.instance.Name, Deleted: true, Forced: force, Message: "the instance and everything stored of it were deleted",
	})
}
