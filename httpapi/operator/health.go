package operator

import (
	"net/http"
	"strconv"

	"postern/httpapi/rest"
)

// Health is the answer of the health checks.
type Health struct {
	Status   string   `json:"status" doc:"ok for a live process; ready, or that it is not ready." example:"ready"`
	Role     string   `json:"role,omitempty" doc:"Only with store.url: what this node is, owner or standby." example:"owner"`
	Reasons  []string `json:"reasons,omitempty" doc:"Why the program cannot do its work."`
	Warnings []string `json:"warnings,omitempty" doc:"Problems that need the operator's attention although the program works."`
}

// health reports only that the process is alive.
func (a *API) health(c *rest.Call) error {
	return c.Response.JSON(http.StatusOK, Health{Status: "ok", Role: a.Role})
}

// ShowReady reports whether the program is ready and, if not, the reasons. It also reports faults of
// the data file that do not prevent it.
func (a *API) ShowReady(c *rest.Call) error {
	var reasons []string
	if a.Ready != nil {
		reasons = a.Ready()
	}
	err := a.Store.Admit()
	if err == nil {
		err = a.Store.Probe(c.Request.Context())
	}
	if err != nil {
		reasons = append(reasons, err.Error())
	}
	if len(reasons) > 0 {
		c.Response.Header().Set("Retry-After", strconv.Itoa(rest.RetryRestart))
		return c.Response.JSON(http.StatusServiceUnavailable, Health{"not ready", a.Role, reasons, a.warnings()})
	}
	return c.Response.JSON(http.StatusOK, Health{Status: "ready", Role: a.Role, Warnings: a.warnings()})
}

func (a *API) warnings() []string {
	all := a.Store.Warnings()
	if a.Warnings != nil {
		all = append(all, a.Warnings()...)
	}
	return all
}

// ShowMetrics answers a scrape. A scoped key that is not for all instances gets the rows of its own
// instances, and no metrics of the program.
func (a *API) ShowMetrics(c *rest.Call) error {
	var opens func(int64) bool
	if c.Key != nil && !c.Key.Everywhere() {
		opens = c.Key.Opens
	}
	a.Metrics(opens).ServeHTTP(c.Response, c.Request)
	return nil
}
