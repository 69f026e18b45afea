package app

import (
	"fmt"
	"net"

	"github.com/coreos/go-systemd/v22/activation"
)

// inherited is the socket that systemd opened for the API before it started the
// program (a unit of the kind .socket), nil when there is none.
func inherited() (net.Listener, error) {
	given, err := activation.Listeners()
	if err != nil || len(given) == 0 {
		return nil, err
	}
	l, tcp := given[0].(*net.TCPListener)
	if len(given) == 1 && tcp {
		return l, nil
	}
	for _, l := range given {
		if l != nil {
			_ = l.Close()
		}
	}
	return nil, fmt.Errorf("systemd passed %d sockets, and one of TCP is served: have one ListenStream= with a port in the .socket unit", len(given))
}
