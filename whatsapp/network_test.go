package whatsapp

import (
	"errors"
	"testing"

	"postern/event"
	"postern/store"
)

// rows counts the records of all devices in the file.
func (r *rig) rows() (n int) {
	r.t.Helper()
	err := r.store.View(func(tx *store.Tx) error {
		return tx.Scan("device", store.Range{}, func(_, _ []byte) (bool, error) {
			n++
			return true, nil
		})
	})
	if err != nil {
		r.t.Fatal(err)
	}
	return n
}

// reboot stops and starts the program.
func (r *rig) reboot() {
	r.t.Helper()
	r.stop()
	r.start()
}

func TestRefusedDeviceIsTriedOnceMore(t *testing.T) {
	r := newRig(t)
	own := r.pair()
	before := r.rows()
	r.session.Disconnect()
	r.net.RefuseLogin(own.Number(), 401)
	r.connect()
	r.state(event.LoggedOut)
	r.untilAside()
	if r.session.Paired() || !r.session.LoggedOut() || r.rows() < before {
		t.Errorf("paired %t, kept %t, %d records of %d", r.session.Paired(), r.session.LoggedOut(), r.rows(), before)
	}

	r.reboot() // the network has erred, and nothing is lost
	if r.session.Paired() || !r.session.LoggedOut() {
		t.Errorf("after a start: paired %t, kept %t", r.session.Paired(), r.session.LoggedOut())
	}
	if again, err := r.session.Recall(t.Context()); err != nil || !again {
		t.Fatal(again, err)
	}
	r.connect()
	r.state(event.Online)
	if _, err := r.send(r.contact().JID(), "back again"); err != nil {
		t.Error(err)
	}
	r.reboot()
	if !r.session.Paired() || r.session.LoggedOut() {
		t.Errorf("after the login and a start: paired %t, kept %t", r.session.Paired(), r.session.LoggedOut())
	}
}

// untilAside waits until the device is put aside, which follows the report of its
// logout.
func (r *rig) untilAside() {
	r.t.Helper()
	r.eventually("the device is put aside", func() bool {
		standings, err := r.conn.cfg.Devices.Standings()
		return err == nil && standings[1].Aside
	})
}

func TestSecondRefusalKeepsDeviceAside(t *testing.T) {
	r := newRig(t)
	own := r.pair()
	r.net.Unlink(own.Number())
	r.state(event.LoggedOut)
	r.untilAside()
	for range 2 {
		if again, err := r.session.Recall(t.Context()); err != nil || !again {
			t.Fatal(again, err)
		}
		r.connect()
		r.state(event.LoggedOut)
		r.untilAside()
	}
	r.reboot()
	if r.session.Paired() || !r.session.LoggedOut() || r.rows() < 800 {
		t.Errorf("paired %t, kept %t, %d records", r.session.Paired(), r.session.LoggedOut(), r.rows())
	}
	r.pair()
}

func TestForeignDeviceIsNeverDialled(t *testing.T) {
	r := newRig(t)
	r.pair()
	r.reboot()
	before := r.rows()
	r.conn.network = event.EndpointNetwork([32]byte{7}) // as if started elsewhere
	session, err := r.conn.Open(t.Context(), 1, r.report)
	if err != nil {
		t.Fatal(err)
	}
	for name, err := range map[string]error{
		"Connect":      session.Connect(t.Context()),
		"Logout":       session.Logout(t.Context()),
		"WrongNetwork": session.WrongNetwork(),
	} {
		if !errors.Is(err, event.ErrWrongNetwork) || !errors.Is(err, event.ErrNotConnected) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := session.PairCode(t.Context(), "4915112345678"); !errors.Is(err, event.ErrWrongNetwork) {
		t.Errorf("PairCode: %v", err)
	}
	if r.rows() != before || !session.Paired() {
		t.Errorf("%d records of %d; paired %t", r.rows(), before, session.Paired())
	}
	if err := session.Forget(t.Context()); err != nil || session.WrongNetwork() != nil || session.Paired() || r.rows() != 0 {
		t.Errorf("forgotten: %v, %v, %d records", err, session.WrongNetwork(), r.rows())
	}
}

// TestUnfinishedPairingKeepsLoggedOutDevice shows a code for a logged-out account and
// stops before a scan: the account can still be tried once more.
func TestUnfinishedPairingKeepsLoggedOutDevice(t *testing.T) {
	r := newRig(t)
	own := r.pair()
	before := r.rows()
	r.session.Disconnect()
	r.net.RefuseLogin(own.Number(), 401)
	r.connect()
	r.state(event.LoggedOut)
	eventually(t, "the session is done with it", r.session.LoggedOut)
	r.untilAside()
	r.connect()
	r.state(event.QRCodeState)
	r.reboot()
	if r.session.Paired() || !r.session.LoggedOut() || r.rows() < before {
		t.Fatalf("paired %t, kept %t, %d records of %d", r.session.Paired(), r.session.LoggedOut(), r.rows(), before)
	}
	if again, err := r.session.Recall(t.Context()); err != nil || !again {
		t.Fatal(again, err)
	}
	r.connect()
	r.state(event.Online)
}
