package httpapi

import (
	"net/http"
	"strconv"
)

type health struct {
	Status  string   `json:"status"`
	Reasons []string `json:"reasons,omitempty"`
}

// health tells that the process is alive, and nothing more.
func (a *api) health(c *call) error { return c.w.json(http.StatusOK, health{Status: "ok"}) }

// ready tells whether the program can do its work, and if not, why.
func (a *api) ready(c *call) error {
	var reasons []string
	if a.Ready != nil {
		reasons = a.Ready()
	}
	if err := a.Store.Admit(); err != nil {
		reasons = append(reasons, err.Error())
	}
	if len(reasons) > 0 {
		c.w.Header().Set("Retry-After", strconv.Itoa(retryRestart))
		return c.w.json(http.StatusServiceUnavailable, health{"not ready", reasons})
	}
	return c.w.json(http.StatusOK, health{Status: "ok"})
}
