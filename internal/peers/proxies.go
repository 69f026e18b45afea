package peers

import (
	"errors"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"
)

// Proxies are the networks whose header X-Forwarded-For is believed. The zero Prefix
// stands for all who connect to a Unix socket and have no address.
type Proxies []netip.Prefix

// overSocket is how a list of proxies names those who connect to a Unix socket.
const overSocket = "unix"

// ParseProxies reads IP addresses and networks in CIDR notation, and the word unix.
func ParseProxies(texts []string) (Proxies, error) {
	all := make(Proxies, 0, len(texts))
	for _, text := range texts {
		if text == overSocket {
			all = append(all, netip.Prefix{})
			continue
		}
		network, err := netip.ParsePrefix(text)
		if err != nil {
			var single netip.Addr
			if single, err = netip.ParseAddr(text); err == nil && single.Zone() == "" {
				network, err = single.Prefix(single.BitLen())
			}
		}
		if err != nil || !network.IsValid() {
			return nil, errors.New("each must be an IP address, a network such as 10.0.0.0/8, or unix for server.socket")
		}
		all = append(all, unmapped(network))
	}
	return all, nil
}

// unmapped returns a network of IPv4 addresses that was written as one of IPv6.
func unmapped(n netip.Prefix) netip.Prefix {
	const mapped = 96
	if n.Addr().Is4In6() && n.Bits() >= mapped {
		return netip.PrefixFrom(n.Addr().Unmap(), n.Bits()-mapped)
	}
	return n
}

// Trust reports whether a is one of the proxies. The zero Addr is who connects to a
// Unix socket.
func (p Proxies) Trust(a netip.Addr) bool {
	if !a.IsValid() {
		return slices.Contains(p, netip.Prefix{})
	}
	return slices.ContainsFunc(p, func(n netip.Prefix) bool { return n.Contains(a) })
}

// Name returns an address as text: unix for the zero Addr.
func Name(a netip.Addr) string {
	if !a.IsValid() {
		return overSocket
	}
	return a.String()
}

// Client returns the address that a request comes from. Behind a trusted proxy
// it is the right-most address of X-Forwarded-For that is not a proxy's: what
// stands left of it was written by the client, who may write anything. It is
// the zero Addr when the connection has no IP address.
func (p Proxies) Client(r *http.Request) netip.Addr {
	from := addressOf(r.RemoteAddr)
	if !p.Trust(from) {
		return from
	}
	// Several headers of the name are one list (RFC 9110, 5.3).
	hops := strings.Split(strings.Join(r.Header.Values("X-Forwarded-For"), ","), ",")
	for _, hop := range slices.Backward(hops) {
		a := addressOf(strings.TrimSpace(hop))
		if !a.IsValid() {
			break // not an address; those left of it are untrusted
		}
		if from = a; !p.Trust(a) {
			break
		}
	}
	return from
}

// Secure reports whether a request came to a trusted proxy over https.
func (p Proxies) Secure(r *http.Request) bool {
	return r.Header.Get("X-Forwarded-Proto") == "https" && p.Trust(addressOf(r.RemoteAddr))
}

// addressOf reads an address with or without a port. IPv4 in IPv6 is IPv4, and
// a zone, which is of this machine, is dropped.
func addressOf(text string) netip.Addr {
	if host, _, err := net.SplitHostPort(text); err == nil {
		text = host
	}
	a, err := netip.ParseAddr(strings.TrimSuffix(strings.TrimPrefix(text, "["), "]"))
	if err != nil {
		return netip.Addr{}
	}
	return a.WithZone("").Unmap()
}

// network returns what counts as one address.
func network(a netip.Addr) netip.Prefix {
	const clientPrefixBits = 64
	bits := a.BitLen()
	if a.Is6() {
		bits = clientPrefixBits
	}
	n, err := a.Prefix(bits)
	if err != nil {
		return netip.Prefix{} // no address: all of these together
	}
	return n
}
