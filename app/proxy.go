package app

import (
	"errors"
	"fmt"
	"net/url"

	"golang.org/x/net/http/httpproxy"

	"postern/proxy"
)

// proxyForAll is the URL of the proxy for instances that have none of their own.
// Where it is not set, and the instances talk to WhatsApp, the environment of the
// program decides, as it does for other programs.
func (a *App) proxyForAll() (string, error) {
	if a.cfg.WhatsApp.Proxy != "" || a.sandbox != nil || a.cfg.WhatsApp.Endpoint != "" {
		return a.cfg.WhatsApp.Proxy, nil
	}
	whatsapp := &url.URL{Scheme: "https", Host: "web.whatsapp.com"}
	environment := httpproxy.FromEnvironment()
	found, err := environment.ProxyFunc()(whatsapp)
	if found == nil && err == nil && environment.HTTPSProxy != "" {
		// NO_PROXY excludes WhatsApp, or what cannot be read was passed over.
		alone, _ := (&httpproxy.Config{HTTPSProxy: environment.HTTPSProxy}).ProxyFunc()(whatsapp)
		if alone == nil {
			err = errors.New("it is no URL")
		}
	}
	switch {
	case err != nil:
		return "", errors.New("the variable HTTPS_PROXY holds no URL of a proxy; correct it, or set whatsapp.proxy")
	case found == nil:
		return "", nil
	}
	if found.Scheme == "socks5h" {
		found.Scheme = "socks5" // which looks no names up either
	}
	bare := url.URL{Scheme: found.Scheme, User: found.User, Host: found.Host}
	server, err := proxy.Parse(bare.String())
	if err != nil {
		return "", fmt.Errorf("the URL in the variable HTTPS_PROXY %w", err)
	}
	a.log.Info("the environment names a proxy for all instances", "variable", "HTTPS_PROXY", "proxy", server)
	return bare.String(), nil
}
