package sandbox

import (
	"context"
	"errors"
	"testing"

	"go.mau.fi/whatsmeow"
	"go.mau.fi/whatsmeow/types/events"

	"postern/sandbox/handset"
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
		if err := p.Scan(context.Background(), code); !errors.Is(err, ErrNoPairing) {
			t.Errorf("%s: %v, want ErrNoPairing", name, err)
		}
		if _, err := s.AutoScan(code); !errors.Is(err, ErrNoPairing) {
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
		if err := p.Scan(context.Background(), qr.String()); !errors.Is(err, ErrPairing) {
			t.Errorf("%s changed: %v, want ErrPairing", name, err)
		}
	}
	if err := p.Scan(context.Background(), secret.String()); !errors.Is(err, ErrPairing) {
		t.Errorf("the client did not refuse a wrong secret: %v", err)
	}
	if devices := s.devicesOf(p.LID()); len(devices) != 1 {
		t.Errorf("linked %v", devices)
	}
}

func TestRecipientDecryptsExactlyWhatWasSent(t *testing.T) {
	s, own, c := paired(t)
	contact, _ := s.Phone("5511922222222")
	sent := c.sendText(contact.JID(), "hello")
	got := receive(t, contact, "hello")
	if got.ID != sent.ID || got.From.User != own.LID().User || got.Count != 1 {
		t.Errorf("received %+v", got)
	}
	if copied := receive(t, own, "hello"); copied.Chat != contact.LID() {
		t.Errorf("the own phone's copy is in the chat %s, want %s", copied.Chat, contact.LID())
	}
	wait(c, 1, func(r *events.Receipt) bool {
		return r.Type == "" && r.MessageIDs[0] == sent.ID && r.Sender.User == contact.LID().User
	})
}

func TestTextOfAPhoneReachesTheClient(t *testing.T) {
	s, own, c := paired(t)
	contact := addPhone(t, s, "5511922222222")
	id := send(t, contact, own, "good morning")
	m := wait(c, 1, isText("good morning"))
	if m.Info.ID != id || m.Info.Sender.User != contact.LID().User || m.Info.SenderAlt.User != contact.Number() ||
		m.Info.PushName != contact.PushName() || m.Info.IsFromMe {
		t.Errorf("message info %+v", m.Info)
	}
	receive(t, own, "good morning")
	send(t, own, contact, "from the phone")
	if m := wait(c, 1, isText("from the phone")); !m.Info.IsFromMe || m.Info.Chat != contact.LID() {
		t.Errorf("own message arrived as %+v", m.Info)
	}
}

func TestContactAnswersEcho(t *testing.T) {
	s, _, c := paired(t)
	contact, _ := s.Phone("5511922222222")
	c.sendText(contact.JID(), "echo are you there")
	wait(c, 1, isText("are you there"))
}

func TestNumbersOnTheNetwork(t *testing.T) {
	_, _, c := paired(t)
	answers, err := c.IsOnWhatsApp(context.Background(), []string{"+5511922222222", "+5511922220000"})
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []bool{true, false} {
		if answers[i].IsIn != want {
			t.Errorf("%s: on the network %v, want %v", answers[i].Query, answers[i].IsIn, want)
		}
	}
}

func TestAddPhoneRefusesWhatIsNotAFreeNumberOrLID(t *testing.T) {
	s := openServer(t, Config{})
	known := addPhone(t, s, "5511911111111")
	for _, test := range []struct {
		number, lid string
		want        error
	}{
		{"5511911111111", "", ErrExists},
		{"5511911110000", "", ErrNumber},
		{"+5511922222222", "", ErrNumber},
		{"0511922222222", "", ErrNumber},
		{"1234", "", ErrNumber},
		{"5511922222222", "abc", ErrLID},
		{"5511922222222", known.LID().User, ErrLID},
	} {
		if _, err := s.AddPhone(PhoneOptions{Number: test.number, LID: test.lid}); !errors.Is(err, test.want) {
			t.Errorf("%q with LID %q: %v, want %v", test.number, test.lid, err, test.want)
		}
	}
}

func TestContactThatIsAddedLaterKeepsItsAccount(t *testing.T) {
	s := openServer(t, Config{})
	contact, _ := s.Phone("5511922222222")
	if n := len(s.Phones()); n != 0 {
		t.Errorf("%d phones are listed, a contact is not one of them", n)
	}
	added, err := s.AddPhone(PhoneOptions{Number: contact.Number(), PushName: "Rui"})
	if err != nil {
		t.Fatal(err)
	}
	if added != contact || contact.PushName() != "Rui" {
		t.Errorf("added %p named %q, the contact was %p", added, added.PushName(), contact)
	}
}

func TestDeviceIdsAreReusedOnlyWhenAllWereGiven(t *testing.T) {
	a := newAccount("5511911111111", "77")
	first, _ := a.freeDevice()
	second, _ := a.freeDevice()
	if first != 1 || second != 2 {
		t.Errorf("first ids %d and %d", first, second)
	}
	a.last, a.devices[1] = maxDevice, &device{}
	if id, ok := a.freeDevice(); !ok || id != 2 {
		t.Errorf("after the last id came %d, %v; 1 is still linked", id, ok)
	}
	for id := range uint16(maxDevice) {
		a.devices[id+1] = &device{}
	}
	if id, ok := a.freeDevice(); ok {
		t.Errorf("id %d was given twice", id)
	}
}
