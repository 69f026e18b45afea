package whatsapp

import "testing"

// TestSignsOfThePhoneAreItsOwn: what others send is none, and what the account's phone sends is one.
func TestSignsOfThePhoneAreItsOwn(t *testing.T) {
	r := newRigAlone(t)
	phone, other := r.pair(), r.contact()
	r.synced()
	signs := func() (n int) {
		r.mu.Lock()
		defer r.mu.Unlock()
		for _, f := range r.history {
			if !f.PhoneSeen.IsZero() {
				n++
			}
		}
		return n
	}
	before := signs()
	if _, err := other.SendText(t.Context(), phone.JID(), "from another person"); err != nil {
		t.Fatal(err)
	}
	r.await("the message", message("from another person"))
	if n := signs() - before; n != 0 {
		t.Errorf("%d signs with a message of another person", n)
	}
	if _, err := phone.SendText(t.Context(), other.JID(), "from the phone"); err != nil {
		t.Fatal(err)
	}
	f := r.await("the own message", message("from the phone"))
	if f.PhoneSeen.IsZero() {
		t.Error("a message of the phone is no sign")
	}
}
