package dispatch

import (
	"encoding/binary"
	"fmt"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/net/idna"

	"postern/internal/netfault"
)

// ErrAddress is wrapped when the guard refuses an address.
var ErrAddress = netfault.ErrAddress

// Guard decides which addresses may be dialled. Link-local addresses and the
// metadata services of cloud providers are always refused, whatever form they
// are written in or embedded in.
type Guard struct {
	DenyPrivate bool // also refuse loopback, private and other non-global addresses
}

// Control is for net.Dialer.Control: it checks the address after the name was resolved,
// so that a name cannot bypass the guard.
func (g Guard) Control(_, address string, _ syscall.RawConn) error {
	ap, err := netip.ParseAddrPort(address)
	if err != nil {
		return fmt.Errorf("%w: %q cannot be read", ErrAddress, address)
	}
	return g.Check(ap.Addr())
}

// Check returns an error wrapping ErrAddress if a may not be dialled.
func (g Guard) Check(a netip.Addr) error {
	a = a.WithZone("").Unmap()
	for _, form := range append(embedded(a), a) {
		if alwaysRefused(form) {
			return fmt.Errorf("%w: %s is a link-local or metadata address", ErrAddress, a)
		}
		if g.DenyPrivate && !global(form) {
			return fmt.Errorf("%w: %s is not a public address", ErrAddress, a)
		}
	}
	return nil
}

// CheckURL refuses a URL whose host is a literal address that is not allowed. It accepts
// names; Control checks what they resolve to.
func (g Guard) CheckURL(u *url.URL) error {
	host := u.Hostname()
	if ascii, err := idna.Lookup.ToASCII(host); err == nil {
		host = ascii // as the transport reads it: other digits and dots are mapped to plain ones
	}
	a, ok := literal(host)
	if !ok {
		return nil
	}
	return g.Check(a)
}

var (
	metadata = []netip.Prefix{
		netip.MustParsePrefix("100.100.100.200/32"), // Alibaba Cloud
		netip.MustParsePrefix("192.0.0.192/32"),     // Oracle Cloud
		netip.MustParsePrefix("168.63.129.16/32"),   // Azure
		netip.MustParsePrefix("fd00:ec2::/32"),      // Amazon: ::254 is metadata, ::23 hands out credentials of pods
		netip.MustParsePrefix("fd20:ce::254/128"),   // Google
		netip.MustParsePrefix("fd00:42::42/128"),    // Scaleway
	}
	notGlobal = []netip.Prefix{
		netip.MustParsePrefix("0.0.0.0/8"), netip.MustParsePrefix("100.64.0.0/10"), netip.MustParsePrefix("192.0.0.0/24"),
		netip.MustParsePrefix("192.0.2.0/24"), netip.MustParsePrefix("198.18.0.0/15"), netip.MustParsePrefix("198.51.100.0/24"),
		netip.MustParsePrefix("203.0.113.0/24"), netip.MustParsePrefix("240.0.0.0/4"), netip.MustParsePrefix("100::/64"),
		netip.MustParsePrefix("100:0:0:1::/64"), netip.MustParsePrefix("2001:db8::/32"), netip.MustParsePrefix("3fff::/20"), netip.MustParsePrefix("fec0::/10"),
		netip.MustParsePrefix("192.88.99.0/24"), netip.MustParsePrefix("64:ff9b:1::/48"), netip.MustParsePrefix("5f00::/16"),
		netip.MustParsePrefix("2001:2::/48"), netip.MustParsePrefix("2001:10::/28"), // benchmarking, and identifiers that are not routed
	}
)

func alwaysRefused(a netip.Addr) bool {
	return a.IsLinkLocalUnicast() || a.IsMulticast() || within(metadata, a)
}

func within(prefixes []netip.Prefix, a netip.Addr) bool {
	return slices.ContainsFunc(prefixes, func(p netip.Prefix) bool { return p.Contains(a) })
}

func global(a netip.Addr) bool {
	return a.IsGlobalUnicast() && !a.IsPrivate() && !within(notGlobal, a)
}

// embedded returns the IPv4 addresses that an IPv6 address stands for in the
// transition mechanisms: NAT64, 6to4, Teredo, ISATAP, IPv4-compatible and
// IPv4-translated.
func embedded(a netip.Addr) []netip.Addr {
	if !a.Is6() {
		return nil
	}
	b := a.As16()
	pick := func(i, j, k, l int) netip.Addr { return netip.AddrFrom4([4]byte{b[i], b[j], b[k], b[l]}) }
	tail := pick(12, 13, 14, 15)
	word := func(i int) uint32 { return binary.BigEndian.Uint32(b[i:]) }
	var forms []netip.Addr
	switch {
	case word(0) == 0x0064ff9b && word(4)>>16 == 1: // local-use NAT64, where the prefix may have several lengths
		forms = append(forms, tail, pick(6, 7, 9, 10), pick(7, 9, 10, 11), pick(9, 10, 11, 12))
	case word(0) == 0x0064ff9b:
		forms = append(forms, tail)
	case word(0)>>16 == 0x2002:
		forms = append(forms, pick(2, 3, 4, 5))
	case word(0) == 0x20010000:
		client := netip.AddrFrom4([4]byte{^b[12], ^b[13], ^b[14], ^b[15]})
		forms = append(forms, pick(4, 5, 6, 7), client)
	case word(0) == 0 && word(4) == 0 && (word(8) == 0 || word(8) == 0xffff0000) && !a.IsLoopback() && !a.IsUnspecified():
		forms = append(forms, tail)
	}
	if word(8)&^0x02000000 == 0x00005efe { // ISATAP, under any prefix
		forms = append(forms, tail)
	}
	return forms
}

// literal parses a host that is an address, in any spelling that some resolver accepts,
// including the old ones with one to four parts in decimal, octal or hex.
func literal(host string) (netip.Addr, bool) {
	if a, err := netip.ParseAddr(host); err == nil {
		return a, true
	}
	parts := strings.Split(strings.TrimSuffix(host, "."), ".")
	if len(parts) > 4 {
		return netip.Addr{}, false
	}
	var value uint64
	for i, part := range parts {
		n, err := strconv.ParseUint(part, 0, 64)
		if err != nil || strings.ContainsAny(part, "_+-bBoO") && !isHex(part) {
			return netip.Addr{}, false
		}
		last := i == len(parts)-1
		if !last && n > 255 || last && n >= 1<<(8*uint(4-i)) {
			return netip.Addr{}, false
		}
		if last {
			value |= n
		} else {
			value |= n << (8 * uint(3-i))
		}
	}
	return netip.AddrFrom4([4]byte(binary.BigEndian.AppendUint32(nil, uint32(value)))), true
}

func isHex(s string) bool { return strings.HasPrefix(s, "0x") || strings.HasPrefix(s, "0X") }
