package whatsapp

import (
	"testing"

	"postern/event"
)

// TestMissedDevicesAreCounted links another device to the recipient between two messages: the sender has the
// list of devices from before.
func TestMissedDevicesAreCounted(t *testing.T) {
	r := newRigAlone(t)
	r.pair()
	to := r.neighbour(2)
	phone := to.pair()
	if _, err := r.send(phone.JID(), "to one device"); err != nil {
		t.Fatal(err)
	}
	if n := r.conn.Stats().StaleDevices[chatPerson]; n != 0 {
		t.Fatalf("%d messages missed devices", n)
	}
	code := r.neighbour(3)
	code.connect()
	if err := phone.Scan(t.Context(), code.state(event.QRCodeState).Data.(event.QRCode).Code); err != nil {
		t.Fatal(err)
	}
	if _, err := r.send(phone.JID(), "to two"); err != nil {
		t.Fatal(err)
	}
	r.eventually("counted", func() bool { return r.conn.Stats().StaleDevices[chatPerson] == 1 })
}
