package sandbox

import (
	"context"
	"errors"
	"testing"

	"go.mau.fi/whatsmeow"
	"go.mau.fi/whatsmeow/types/events"

	"postern/sandbox/handset"
	"postern/sandbox/network"
)

func TestClientPairsByQRAndLogsIn(t *testing.T) {
	_, p, c := paired(t)
	success := wait(c, 1, every[*events.PairSuccess])
	if success.ID.User != p.Number() || success.LID.User != p.LID().User || success.ID.Device == 0 {
		t.Errorf("paired as %s and %s, the phone is %s and %s", success.ID, success.LID, p.JID(), p.LID())
	}
	if !c.IsLoggedIn() {
		t.Error("not logged in after the pairing")
	}
}

func TestClientPairsByLinkCode(t *testing.T) {
	s := openServer(t, Config{})
	p := addPhone(t, s, "5511911111111")
	c := newClient(t, s, nil)
	c.connect()
	wait(c, 1, every[*events.QR])
	for _, display := range []string{"", "Postern", "Chrome(Linux)", "Chrome ()"} {
		if _, err := c.PairPhone(context.Background(), p.Number(), false, whatsmeow.PairClientChrome, display); err == nil {
			t.Errorf("a client with the name %q gets a code", display)
		}
	}
	code, err := c.PairPhone(context.Background(), p.Number(), false, whatsmeow.PairClientChrome, "Chrome (Linux)")
	if err != nil {
		t.Fatal(err)
	}
	typed, err := s.AutoScan(code)
	if err != nil {
		t.Fatal(err)
	}
	if typed != p {
		t.Errorf("the code was typed on %s, it was asked for on %s", typed.Number(), p.Number())
	}
	wait(c, 1, every[*events.Connected])
}

func TestAutoScanUsesAFreshPhone(t *testing.T) {
	s := openServer(t, Config{})
	first, second := newClient(t, s, nil), newClient(t, s, nil)
	numbers := map[string]bool{}
	for _, c := range []*client{first, second} {
		c.connect()
		p, err := s.AutoScan(wait(c, 1, every[*events.QR]).Codes[0])
		if err != nil {
			t.Fatal(err)
		}
		numbers[p.Number()] = true
		wait(c, 1, every[*events.Connected])
	}
	if len(numbers) != 2 || len(s.Phones()) != 2 {
		t.Errorf("two scans used the phones %v, listed are %d", numbers, len(s.Phones()))
	}
}

func TestCodeOfNoConnectionIsNotFound(t *testing.T) {
	s, p, c := paired(t)
	used := wait(c, 1, every[*events.QR]).Codes[0]
	for name, code := range map[string]string{"used QR": used, "link code": "ABCD-EFGH"} {
		if err := p.Scan(context.Background(), code); !errors.Is(err, network.ErrNoPairing) {
			t.Errorf("%s: %v, want ErrNoPairing", name, err)
		}
		if _, err := s.AutoScan(code); !errors.Is(err, network.ErrNoPairing) {
			t.Errorf("%s: AutoScan: %v, want ErrNoPairing", name, err)
		}
	}
	if n := len(s.Phones()); n != 1 {
		t.Errorf("%d phones: a scan in vain must not add one", n)
	}
}

func TestCodeWithForeignKeysLinksNothing(t *testing.T) {
	s := openServer(t, Config{})
	p := addPhone(t, s, "5511911111111")
	c := newClient(t, s, nil)
	c.connect()
	shown, err := handset.ParseQR(wait(c, 1, every[*events.QR]).Codes[0])
	if err != nil {
		t.Fatal(err)
	}
	identity, noise, secret := shown, shown, shown
	identity.IdentityPub[0] ^= 1
	noise.NoisePub[0] ^= 1
	secret.AdvSecret = make([]byte, 32)
	for name, qr := range map[string]handset.QR{"identity": identity, "noise": noise} {
		if err := p.Scan(context.Background(), qr.String()); !errors.Is(err, network.ErrPairing) {
			t.Errorf("%s changed: %v, want ErrPairing", name, err)
		}
	}
	if err := p.Scan(context.Background(), secret.String()); !errors.Is(err, network.ErrPairing) {
		t.Errorf("the client did not refuse a wrong secret: %v", err)
	}
	if devices := s.DevicesOf(p.LID()); len(devices) != 1 {
		t.Errorf("linked %v", devices)
	}
}
