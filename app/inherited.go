package app

import (
	"fmt"
	"net"

	"github.com/coreos/go-systemd/v22/activation"

	"postern/config"
)

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
