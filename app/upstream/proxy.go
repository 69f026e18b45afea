package upstream

import (
	"errors"
	"fmt"
	"net/url"

	"golang.org/x/net/http/httpproxy"

	"postern/config"
	"postern/whatsapp/proxy"
)

// Proxy returns the URL of the proxy for instances without one of their own. Where
// whatsapp.proxy is not set, and the instances talk to WhatsApp, the environment of the
// program decides, as it does for other programs; named is what it names then.
func Proxy(cfg *config.Config) (proxyURL string, named proxy.Server, err error) {
	if cfg.WhatsApp.Proxy != "" || cfg.Sandbox.Enabled || cfg.WhatsApp.Endpoint != "" {
		return cfg.WhatsApp.Proxy, named, nil
	}
	whatsapp := &url.URL{Scheme: "https", Host: "web.whatsapp.com"}
	environment := httpproxy.FromEnvironment()
	found, err := environment.ProxyFunc()(whatsapp)
	if found == nil && err == nil && environment.HTTPSProxy != "" {
		// NO_PROXY excludes WhatsApp, or an unreadable value was skipped.
		alone, _ := (&httpproxy.Config{HTTPSProxy: environment.HTTPSProxy}).ProxyFunc()(whatsapp)
		if alone == nil {
			err = errors.New("it is not a URL")
		}
	}
	switch {
	case err != nil:
		return "", named, errors.New("the variable HTTPS_PROXY is not a proxy URL; correct it, or set whatsapp.proxy")
	case found == nil:
		return "", named, nil
	}
	if found.Scheme == "socks5h" {
		found.Scheme = "socks5" // which looks no names up either
	}
	bare := url.URL{Scheme: found.Scheme, User: found.User, Host: found.Host}
	if named, err = proxy.Parse(bare.String()); err != nil {
		return "", proxy.Server{}, fmt.Errorf("the URL in the variable HTTPS_PROXY %w", err)
	}
	return bare.String(), named, nil
}
