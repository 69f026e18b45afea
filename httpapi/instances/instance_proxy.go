package instances

import (
	"net/http"

	"postern/event"
	"postern/httpapi/rest"
	"postern/instance"
	"postern/whatsapp/proxy"
)

// CodeProxyUnreachable says that the proxy did not lead to WhatsApp.
const CodeProxyUnreachable = "PROXY_UNREACHABLE"

// proxyRequest is the body that sets an instance's proxy.
type proxyRequest struct {
	URL string      `json:"url" strict:"required"`
	For []proxy.Use `json:"for"` // absent or null: everything
}

// ProxyView is a proxy without its password.
type ProxyView struct {
	URL       string      `json:"url" doc:"Its URL, with *** in place of the password." example:"socks5://user:***@proxy.example.org:1080"`
	For       []proxy.Use `json:"for" doc:"What goes through it." example:"socket,media"`
	CreatedAt event.Time  `json:"createdAt"`
	UpdatedAt event.Time  `json:"updatedAt"`
}

// DeletedProxy says whether there was a proxy to delete.
type DeletedProxy struct {
	InstanceName string `json:"instanceName" doc:"The instance's name." example:"$name"`
	Deleted      bool   `json:"deleted" doc:"Whether there was one." example:"true"`
}

// ProxyTrial is the result of a dial through the proxy.
type ProxyTrial struct {
	OK        bool        `json:"ok" doc:"Whether WhatsApp answered through it." example:"true"`
	LatencyMs int64       `json:"latencyMs" doc:"The duration of the attempt, in milliseconds." example:"180" rules:"minimum=0"`
	Step      *proxy.Step `json:"step" doc:"The step that failed; null when none did." example:"auth"`
	Error     *string     `json:"error" doc:"Why it failed; null when it did not." example:"the proxy failed at auth: it requires a user and password"`
}

func viewProxy(p instance.Proxy) ProxyView {
	return ProxyView{URL: p.Server.URL(), For: p.For, CreatedAt: p.CreatedAt, UpdatedAt: p.UpdatedAt}
}

func (a *API) putProxy(c *rest.Call) error {
	var in proxyRequest
	if err := c.Decode(&in, rest.MaxBody); err != nil {
		return err
	}
	p, err := a.Supervisor.SetProxy(c.Request.Context(), c.Instance.ID, instance.ProxyChange{URL: in.URL, For: in.For}, c.RequestID)
	if err != nil {
		return err
	}
	return c.Response.JSON(http.StatusOK, viewProxy(p))
}

func (a *API) showProxy(c *rest.Call) error {
	p, err := a.Registry.Proxy(c.Instance.ID)
	if err != nil {
		return err
	}
	return c.Response.JSON(http.StatusOK, viewProxy(p))
}

// deleteProxy may be repeated: afterwards the instance has no proxy in any case.
func (a *API) deleteProxy(c *rest.Call) error {
	had, err := a.Supervisor.DropProxy(c.Request.Context(), c.Instance.ID, c.RequestID)
	if err != nil {
		return err
	}
	return c.Response.JSON(http.StatusOK, DeletedProxy{InstanceName: c.Instance.Name, Deleted: had})
}

// tryProxy dials through the proxy and changes nothing. A failed dial is not a refusal of the request.
func (a *API) tryProxy(c *rest.Call) error {
	if err := c.NoBody(); err != nil {
		return err
	}
	trial, err := a.Supervisor.TryProxy(c.Request.Context(), c.Instance.ID)
	if err != nil {
		return err
	}
	return c.Response.JSON(http.StatusOK, viewTrial(trial))
}

func viewTrial(trial instance.ProxyTrial) ProxyTrial {
	v := ProxyTrial{OK: trial.Failed == nil, LatencyMs: trial.Latency.Milliseconds()}
	if failed := trial.Failed; failed != nil {
		v.Step, v.Error = &failed.Step, event.OrNull(failed.Error())
	}
	return v
}

// proxyTrials holds the results of the dials through the proxies of all instances.
type proxyTrials struct {
	Proxies []sharedTrial `json:"proxies" doc:"The results, those of most instances first."`
	Untried int           `json:"untried" doc:"How many proxies were not tried, beyond 100." example:"0" rules:"minimum=0"`
}

// sharedTrial is the result of a dial through a proxy that some instances share.
type sharedTrial struct {
	URL       string     `json:"url" doc:"The URL of the proxy, without user and password." example:"socks5://proxy.example.org:1080"`
	Instances []string   `json:"instances" doc:"The instances that have it." example:"$name"`
	Trial     ProxyTrial `json:"trial" doc:"The result."`
}

// maxTrials is the maximum number of proxies that one call dials.
const maxTrials = 100

// tryProxies dials once through each proxy that instances use.
func (a *API) tryProxies(c *rest.Call) error {
	if err := c.NoBody(); err != nil {
		return err
	}
	all := a.Registry.Proxies()
	some := all[:min(len(all), maxTrials)]
	trials, err := a.Supervisor.TryProxies(c.Request.Context(), some)
	if err != nil {
		return err
	}
	answer := proxyTrials{Proxies: make([]sharedTrial, len(some)), Untried: len(all) - len(some)}
	for i, p := range some {
		answer.Proxies[i] = sharedTrial{p.Server.String(), p.Instances, viewTrial(trials[i])}
	}
	return c.Response.JSON(http.StatusOK, answer)
}
