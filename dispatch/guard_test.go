package dispatch

import (
	"fmt"
	"net/netip"
	"net/url"
	"strings"
	"testing"
)

// spellings returns the ways to write an IPv4 address that some resolver, parser or
// network translates to it.
func spellings(v4 string) []string {
	a := netip.MustParseAddr(v4).As4()
	hex := fmt.Sprintf("%02x%02x:%02x%02x", a[0], a[1], a[2], a[3])
	inverted := fmt.Sprintf("%02x%02x:%02x%02x", ^a[0], ^a[1], ^a[2], ^a[3])
	n := uint32(a[0])<<24 | uint32(a[1])<<16 | uint32(a[2])<<8 | uint32(a[3])
	return []string{
		v4, fmt.Sprint(n), fmt.Sprintf("%#x", n), fmt.Sprintf("0%o", n), strings.ToUpper(fmt.Sprintf("%#x", n)),
		fmt.Sprintf("%#x.%#x.%#x.%#x", a[0], a[1], a[2], a[3]), fmt.Sprintf("0%o.0%o.0%o.0%o", a[0], a[1], a[2], a[3]),
		fmt.Sprintf("%d.%d", a[0], n&0xffffff), fmt.Sprintf("%d.%d.%d", a[0], a[1], n&0xffff), fmt.Sprintf("%d.%#x", a[0], n&0xffffff),
		v4 + ".", "::ffff:" + v4, "::ffff:" + hex, "0:0:0:0:0:ffff:" + hex, "::" + v4, "64:ff9b::" + v4, "64:ff9b::" + hex,
		"64:ff9b:1::" + hex, fmt.Sprintf("64:ff9b:1:%02x%02x:%02x:%02x00::", a[0], a[1], a[2], a[3]), "2002:" + hex + "::", "2002:" + hex + ":1:2:3:4:5",
		"2001:0:" + hex + "::1", "2001::" + inverted, "2001:0:1234:5678:0:0:" + inverted, "fe80::5efe:" + hex, "2a00::5efe:" + hex, "2a00::0200:5efe:" + hex,
		"2002:102:304::5efe:" + hex, "::ffff:0:" + hex, fmt.Sprintf("64:ff9b:1:%x:%x:%x::", a[0], a[1], uint16(a[2])<<8|uint16(a[3])),
		fmt.Sprintf("64:ff9b:1:0:%x:%x:%x00::", a[0], uint16(a[1])<<8|uint16(a[2]), a[3]),
	}
}

func TestLinkLocalIsRefusedInEverySpelling(t *testing.T) {
	n := 0
	for _, v4 := range []string{"169.254.169.254", "169.254.0.1", "169.254.255.255", "100.100.100.200", "192.0.0.192", "168.63.129.16", "224.0.0.1"} {
		for _, s := range spellings(v4) {
			n++
			if a, ok := literal(s); !ok {
				t.Errorf("%s (of %s) is not read as an address", s, v4)
			} else if err := (Guard{}).Check(a); err == nil {
				t.Errorf("%s (of %s) is allowed", s, v4)
			}
		}
	}
	for _, s := range []string{"fe80::1", "fe80::1%eth0", "febf::1", "ff02::1", "fd00:ec2::254", "fd00:ec2::23", "fd20:ce::254", "fd00:42::42"} {
		n++
		if a, ok := literal(s); !ok || (Guard{}).Check(a) == nil {
			t.Errorf("%s is allowed", s)
		}
	}
	t.Logf("%d spellings", n)
}

func TestPrivateAddressesAreRefusedInEverySpelling(t *testing.T) {
	n := 0
	for _, v4 := range []string{"127.0.0.1", "127.255.255.254", "10.0.0.1", "172.16.0.1", "172.31.255.255", "192.168.1.1", "100.64.0.1", "0.0.0.0", "198.18.0.1", "255.255.255.255"} {
		for _, s := range spellings(v4) {
			a, ok := literal(s)
			if !ok {
				t.Errorf("%s (of %s) is not read as an address", s, v4)
				continue
			}
			n++
			if (Guard{DenyPrivate: true}).Check(a) == nil {
				t.Errorf("%s (of %s) is allowed", s, v4)
			}
		}
	}
	for _, s := range []string{"::1", "::", "fc00::1", "fdff::1", "2001:db8::1", "fec0::1", "100::1", "100:0:0:1::1", "3fff::1", "5f00::1", "2001:2::1", "2001:10::1", "192.0.0.1", "192.0.2.1", "192.88.99.1", "198.51.100.1", "203.0.113.1", "240.0.0.1"} {
		n++
		if a, ok := literal(s); !ok || (Guard{DenyPrivate: true}).Check(a) == nil {
			t.Errorf("%s is allowed", s)
		}
	}
	t.Logf("%d spellings", n)
}

func TestPublicAddressesAndNamesPass(t *testing.T) {
	for _, s := range []string{"1.1.1.1", "8.8.8.8", "172.32.0.1", "2606:4700::1111", "64:ff9b::1.1.1.1", "2002:101:101::", "169.253.1.1"} {
		a, ok := literal(s)
		if !ok {
			t.Errorf("%s is not read as an address", s)
		} else if err := (Guard{DenyPrivate: true}).Check(a); err != nil {
			t.Errorf("%s: %v", s, err)
		}
	}
	if err := (Guard{}).Check(netip.MustParseAddr("127.0.0.1")); err != nil {
		t.Errorf("loopback without the setting: %v", err)
	}
	for _, host := range []string{"example.com", "1.2.3.4.5", "0x", "10.example", "256.1.1.1", "1_0.1.1.1", "+1.1.1.1", "-1", "a.b", ""} {
		u := &url.URL{Scheme: "http", Host: host}
		if err := (Guard{DenyPrivate: true}).CheckURL(u); err != nil {
			t.Errorf("%q is taken for an address: %v", host, err)
		}
	}
}

func FuzzLiteralAgreesWithItself(f *testing.F) {
	f.Add("0x7f.1")
	f.Add("::ffff:10.0.0.1")
	f.Fuzz(func(t *testing.T, host string) {
		a, ok := literal(host)
		if !ok {
			return
		}
		if again, ok := literal(a.String()); !ok || again != a {
			t.Errorf("%q is %v, which is %v", host, a, again)
		}
	})
}
