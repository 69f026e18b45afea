package upstream

import (
	"context"
	"fmt"
	"net"
	"slices"

	"postern/config"
	"postern/dispatch"
	"postern/instance"
	"postern/whatsapp"
	"postern/whatsapp/proxy"
)

// Hosts returns those that every instance needs: the one that it is connected to,
// and the one that files come from and go to.
func Hosts() []string { return []string{"web.whatsapp.com", "mmg.whatsapp.net"} }

// Reach connects to one of the hosts as instances with this configuration do
// that have no proxy of their own, speaks TLS and asks nothing. way says what lies
// between, for people. Not with the sandbox of the program itself.
func Reach(ctx context.Context, cfg *config.Config, host string) (way string, err error) {
	endpoint, err := Endpoint(cfg)
	if err != nil {
		return "", err
	}
	if endpoint != nil {
		way = " (whatsapp.endpoint in its place)"
	}
	forAll, _, err := Proxy(cfg)
	if err != nil {
		return way, err
	}
	dial := (&net.Dialer{}).DialContext
	if forAll != "" {
		via, err := proxy.ParseFor(forAll, "doctor")
		if err != nil {
			return way, fmt.Errorf("whatsapp.proxy %w", err)
		}
		way += " through the proxy " + via.String()
		dial = through(via)
	}
	return way, whatsapp.Reach(ctx, endpoint, net.JoinHostPort(host, "443"), dial)
}

// ReachThrough is Reach for instances with their own proxy.
func ReachThrough(ctx context.Context, cfg *config.Config, p instance.SharedProxy) error {
	endpoint, err := Endpoint(cfg)
	if err != nil {
		return err
	}
	host := Hosts()[0]
	if !slices.Contains(p.For, proxy.Socket) {
		host = Hosts()[1]
	}
	return whatsapp.Reach(ctx, endpoint, net.JoinHostPort(host, "443"), through(p.Server))
}

// through dials through a proxy.
func through(via proxy.Server) func(ctx context.Context, network, addr string) (net.Conn, error) {
	return func(ctx context.Context, _, addr string) (net.Conn, error) {
		return proxy.Dialer{Control: dispatch.Guard{}.Control}.Dial(ctx, via, addr)
	}
}
