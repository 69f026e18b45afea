package app

import (
	"context"
	"fmt"
	"net"

	"github.com/coreos/go-systemd/v22/activation"

	"postern/app/unixsocket"
	"postern/config"
	"postern/internal/peers"
)

// Addresses are the program's listeners. They are opened before anything
// else: when one is in use, nothing has happened yet.
type Addresses struct {
	tcp     net.Listener // of the API, nil: there is a socket only
	socket  net.Listener // a Unix socket of the API, nil: there is none
	metrics net.Listener // nil: the metrics have no address of their own
}

// Listen opens the listeners of the API and, if configured, of the metrics. Where
// systemd opened sockets for the program, those are the API's. An
// error names the setting to change, and then none is open.
func Listen(ctx context.Context, cfg *config.Config) (taken Addresses, err error) {
	defer func() {
		if err != nil {
			taken.Close()
			taken = Addresses{}
		}
	}()
	if taken, err = inherited(); err != nil {
		return taken, err
	}
	if taken.tcp == nil && taken.socket == nil {
		if taken, err = own(ctx, cfg); err != nil {
			return taken, err
		}
	}
	if cfg.Metrics.Listen == "" {
		return taken, nil
	}
	if taken.metrics, err = bind(ctx, cfg.Metrics.Listen); err != nil {
		return taken, fmt.Errorf("%w; set metrics.listen to a free address", err)
	}
	return taken, nil
}

// own opens the configured listeners of the API.
func own(ctx context.Context, cfg *config.Config) (taken Addresses, err error) {
	if address := cfg.ListenAddress(); address != "" {
		if taken.tcp, err = bind(ctx, address); err != nil {
			return taken, fmt.Errorf("%w; set server.listen to a free address", err)
		}
	}
	if path := cfg.Server.Socket; path != "" {
		s, err := unixsocket.Listen(ctx, path, cfg.SocketMode())
		if err != nil {
			return taken, fmt.Errorf("server.socket: %w", err)
		}
		taken.socket = s
	}
	return taken, nil
}

// api returns all listeners of the API as one.
func (t Addresses) api() net.Listener {
	switch {
	case t.socket == nil:
		return t.tcp
	case t.tcp == nil:
		return t.socket
	default:
		return peers.Merge(t.tcp, t.socket)
	}
}

// url returns the address of the API: by TCP, else unix: with the path of the socket.
func (t Addresses) url(secure bool, base string) string {
	if t.tcp == nil {
		return "unix:" + t.socket.Addr().String()
	}
	return scheme(secure) + t.tcp.Addr().String() + base
}

func bind(ctx context.Context, address string) (net.Listener, error) {
	return (&net.ListenConfig{}).Listen(ctx, "tcp", address)
}

// Close closes listeners that no server owns; a server closes its own.
func (t Addresses) Close() {
	for _, l := range []net.Listener{t.tcp, t.socket, t.metrics} {
		if l != nil {
			_ = l.Close()
		}
	}
}

// linkBase returns the configured public address of the program, otherwise that of its
// listener. A listener on all interfaces is named by the loopback address.
func (t Addresses) linkBase(cfg *config.Config) string {
	if public := cfg.PublicURL(); public != "" {
		return public
	}
	address := cfg.ListenAddress()
	if t.tcp != nil {
		address = t.tcp.Addr().String()
	}
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return scheme(false) + "127.0.0.1" + cfg.Server.BasePath // a Unix socket only
	}
	if ip := net.ParseIP(host); host == "" || ip != nil && ip.IsUnspecified() {
		host = "127.0.0.1"
	}
	return scheme(cfg.Secure()) + net.JoinHostPort(host, port) + cfg.Server.BasePath
}

func scheme(secure bool) string {
	if secure {
		return "https://"
	}
	return "http://"
}

// inherited returns the sockets that systemd opened for the API before it started the
// program (a unit of the kind .socket): one of TCP, a Unix socket, both or none.
func inherited() (taken Addresses, err error) {
	given, err := activation.Listeners()
	if err != nil {
		return Addresses{}, err
	}
	known := true
	for _, l := range given {
		switch l := l.(type) {
		case *net.TCPListener:
			known = known && taken.tcp == nil
			taken.tcp = l
		case *net.UnixListener:
			known = known && taken.socket == nil
			taken.socket = l
		default:
			known = false
		}
	}
	if known {
		return taken, nil
	}
	for _, l := range given {
		if l != nil {
			_ = l.Close()
		}
	}
	return Addresses{}, config.Faulty(fmt.Errorf("systemd passed %d sockets, but at most one TCP and one Unix socket can be served: use one ListenStream= of each at most in the .socket unit", len(given)))
}
