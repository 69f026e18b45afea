package peers

import (
	"net/http"
	"net/netip"
)

// A sample of connections shows whether a reverse proxy is in front of the program
// that the configuration does not name.
const forwardedSample = 20

// forwarded counts connections by whether their first request came through a proxy.
type forwarded struct {
	seen int                  // of the sample
	from map[netip.Prefix]int // connections with forwarding headers, at most forwardedSample
	done bool                 // it was reported
}

// forwardingHeaders are those that reverse proxies add.
var forwardingHeaders = [...]string{"X-Forwarded-For", "Forwarded", "X-Real-Ip"}

func isForwarded(h http.Header) bool {
	for _, name := range forwardingHeaders {
		if len(h[name]) > 0 {
			return true
		}
	}
	return false
}

// count adds a connection. It reports true once: when most of a sample came from the
// address of this one, with forwarding headers, and the address is not trusted.
func (f *forwarded) count(c *conn, h http.Header) bool {
	if f.done {
		return false
	}
	f.seen++
	if !c.exempt && isForwarded(h) {
		if f.from == nil {
			f.from = map[netip.Prefix]int{}
		}
		f.from[c.network]++
		if f.from[c.network] > forwardedSample/2 {
			f.done, f.from = true, nil
			return true
		}
	}
	if f.seen == forwardedSample {
		f.seen, f.from = 0, nil
	}
	return false
}

// introduce looks at the first request of a connection.
func (l *Listener) introduce(c *conn, r *http.Request) {
	if !l.table.strangers {
		return
	}
	l.mu.Lock()
	report := !c.met && l.forwarded.count(c, r.Header)
	c.met = true
	l.mu.Unlock()
	if report {
		l.log.Warn("most connections come from one address with forwarding headers; if it is your reverse proxy, name it in server.trusted_proxies, else all its clients share one address and its limits",
			"address", Name(c.network.Addr()))
	}
}
