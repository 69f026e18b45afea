package peers

import (
	"net/http"
	"net/netip"
	"testing"
)

func TestClientIsTheRightmostUntrustedAddress(t *testing.T) {
	proxies, err := ParseProxies([]string{"10.0.0.0/8", "192.0.2.7", "fd00::/8", "::ffff:172.16.0.0/108"})
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		remote    string
		forwarded []string
		want      string
	}{
		"no proxy":                            {"203.0.113.5:4711", nil, "203.0.113.5"},
		"the header of a stranger":            {"203.0.113.5:4711", []string{"198.51.100.1"}, "203.0.113.5"},
		"a proxy":                             {"10.1.2.3:80", []string{"198.51.100.1"}, "198.51.100.1"},
		"a single address as proxy":           {"192.0.2.7:80", []string{"198.51.100.1"}, "198.51.100.1"},
		"its neighbour":                       {"192.0.2.8:80", []string{"198.51.100.1"}, "192.0.2.8"},
		"what the client wrote before it":     {"10.1.2.3:80", []string{"127.0.0.1, 8.8.8.8, 198.51.100.1"}, "198.51.100.1"},
		"two proxies":                         {"10.1.2.3:80", []string{"8.8.8.8, 198.51.100.1, 10.9.9.9"}, "198.51.100.1"},
		"two headers":                         {"10.1.2.3:80", []string{"8.8.8.8", "198.51.100.1, 10.9.9.9"}, "198.51.100.1"},
		"proxies only":                        {"10.1.2.3:80", []string{"10.7.7.7, 10.8.8.8"}, "10.7.7.7"},
		"a proxy that says nothing":           {"10.1.2.3:80", nil, "10.1.2.3"},
		"an empty header":                     {"10.1.2.3:80", []string{""}, "10.1.2.3"},
		"no address":                          {"10.1.2.3:80", []string{"8.8.8.8, unknown"}, "10.1.2.3"},
		"no address behind a second proxy":    {"10.1.2.3:80", []string{"8.8.8.8, _hidden, 10.9.9.9"}, "10.9.9.9"},
		"an address with a port":              {"10.1.2.3:80", []string{"198.51.100.1:5555"}, "198.51.100.1"},
		"IPv6":                                {"[fd00::1]:80", []string{"2001:db8::1"}, "2001:db8::1"},
		"IPv6 with a port":                    {"[fd00::1]:80", []string{"[2001:db8::1]:99"}, "2001:db8::1"},
		"IPv6 with a zone":                    {"[fe80::1%eth0]:80", nil, "fe80::1"},
		"IPv4 in IPv6":                        {"[::ffff:203.0.113.5]:80", nil, "203.0.113.5"},
		"IPv4 in IPv6 as proxy":               {"[::ffff:10.1.1.1]:80", []string{"::ffff:198.51.100.1"}, "198.51.100.1"},
		"a proxy that was given as IPv6":      {"172.16.3.4:80", []string{"198.51.100.1"}, "198.51.100.1"},
		"a socket of the file system":         {"@", []string{"198.51.100.1"}, "invalid IP"},
		"a hundred thousand commas":           {"10.1.2.3:80", []string{commas(100_000)}, "10.1.2.3"},
		"a number that looks like an address": {"10.1.2.3:80", []string{"3221226219"}, "10.1.2.3"},
	} {
		r := &http.Request{RemoteAddr: c.remote, Header: http.Header{"X-Forwarded-For": c.forwarded}}
		if got := proxies.Client(r).String(); got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
}

func commas(n int) string {
	b := make([]byte, n)
	for i := range b {
		b[i] = ','
	}
	return string(b)
}

func TestOnlyAddressesAndNetworksAreProxies(t *testing.T) {
	for _, text := range []string{"", "proxy.example", "10.0.0.0/33", "10.0.0", "fe80::1%eth0", "10.0.0.1:80", "*"} {
		if p, err := ParseProxies([]string{text}); err == nil {
			t.Errorf("%q: %v", text, p)
		}
	}
}

func TestClientNetworkIs64Bits(t *testing.T) {
	at := func(text string) netip.Prefix { return network(netip.MustParseAddr(text)) }
	if at("2001:db8::1") != at("2001:db8::ffff:1") || at("2001:db8::1") == at("2001:db8:0:1::1") || at("192.0.2.1") == at("192.0.2.2") {
		t.Error(at("2001:db8::1"), at("2001:db8:0:1::1"), at("192.0.2.1"))
	}
}

func TestUnixInTheListTrustsTheSocket(t *testing.T) {
	for _, c := range []struct{ listed, remote, want string }{
		{"10.0.0.0/8", "@", "unix"},
		{"10.0.0.0/8", "", "unix"},
		{"0.0.0.0/0", "@", "unix"},
		{"::/0", "@", "unix"},
		{"unix", "@", "198.51.100.1"},
		{"unix", "", "198.51.100.1"},
		{"unix", "203.0.113.5:4711", "203.0.113.5"},
	} {
		proxies, err := ParseProxies([]string{c.listed})
		if err != nil {
			t.Fatal(err)
		}
		r := &http.Request{RemoteAddr: c.remote, Header: http.Header{"X-Forwarded-For": {"8.8.8.8, 198.51.100.1"}}}
		if got := Name(proxies.Client(r)); got != c.want {
			t.Errorf("%+v: %s", c, got)
		}
	}
	proxies, _ := ParseProxies([]string{"unix"})
	r := &http.Request{RemoteAddr: "@", Header: http.Header{"X-Forwarded-For": {"unknown"}}}
	if got := Name(proxies.Client(r)); got != "unix" {
		t.Errorf("a proxy that does not know: %s", got)
	}
}
