package event

import (
	"errors"
	"strings"
	"testing"
)

func TestNetworkNames(t *testing.T) {
	a, b := [32]byte{0x1a, 0x2b, 0x3c, 0x4d}, [32]byte{0x99}
	for n, want := range map[Network]string{
		WhatsApp: "whatsapp", SandboxNetwork(a): "sandbox 1a2b3c4d", EndpointNetwork(b): "endpoint 99000000",
	} {
		if got := n.String(); got != want {
			t.Errorf("%q is shown as %q, want %q", string(n), got, want)
		}
		if read, err := ParseNetwork(string(n)); err != nil || read != n {
			t.Errorf("%q was read as %q (%v)", string(n), string(read), err)
		}
	}
	for _, bad := range []string{"x", "sandbox", "sandbox:", "endpoint:12", "whatsapp:" + strings.Repeat("00", 32), "sandbox:" + strings.Repeat("A0", 32)} {
		if _, err := ParseNetwork(bad); err == nil {
			t.Errorf("%q was taken for a network", bad)
		}
	}
}

func TestNetworksAreComparedByRootKey(t *testing.T) {
	a, b := [32]byte{1}, [32]byte{2}
	for _, c := range []struct {
		device, program Network
		fits            bool
	}{
		{WhatsApp, WhatsApp, true},
		{SandboxNetwork(a), EndpointNetwork(a), true},
		{SandboxNetwork(a), SandboxNetwork(b), false},
		{EndpointNetwork(a), WhatsApp, false},
		{WhatsApp, EndpointNetwork(a), false},
		{"", SandboxNetwork(a), true},
		{WhatsApp, "", true},
	} {
		err := Between(c.device, c.program)
		if (err == nil) != c.fits {
			t.Errorf("a device of %q on %q: %v", c.device, c.program, err)
		}
		if err == nil {
			continue
		}
		if !errors.Is(err, ErrWrongNetwork) || !errors.Is(err, ErrNotConnected) ||
			!strings.Contains(err.Error(), c.device.String()) || !strings.Contains(err.Error(), c.program.String()) {
			t.Errorf("a device of %q on %q: %v", c.device, c.program, err)
		}
	}
}
