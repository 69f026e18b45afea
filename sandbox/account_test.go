package sandbox

import (
	"context"
	"errors"
	"testing"

	"postern/sandbox/network"
	"postern/sandbox/phone"
)

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

func TestAddPhoneRejectsTakenNumbersAndLIDs(t *testing.T) {
	s := openServer(t, Config{})
	known := addPhone(t, s, "5511911111111")
	for _, test := range []struct {
		number, lid string
		want        error
	}{
		{"5511911111111", "", network.ErrExists},
		{"5511911110000", "", network.ErrNumber},
		{"+5511922222222", "", network.ErrNumber},
		{"0511922222222", "", network.ErrNumber},
		{"1234", "", network.ErrNumber},
		{"5511922222222", "abc", network.ErrLID},
		{"5511922222222", known.LID().User, network.ErrLID},
	} {
		if _, err := s.AddPhone(phone.Options{Number: test.number, LID: test.lid}); !errors.Is(err, test.want) {
			t.Errorf("%q with LID %q: %v, want %v", test.number, test.lid, err, test.want)
		}
	}
}

func TestContactAddedLaterKeepsItsAccount(t *testing.T) {
	s := openServer(t, Config{})
	contact, _ := s.Phone("5511922222222")
	if n := len(s.Phones()); n != 0 {
		t.Errorf("%d phones are listed, a contact is not one of them", n)
	}
	added, err := s.AddPhone(phone.Options{Number: contact.Number(), PushName: "Rui"})
	if err != nil {
		t.Fatal(err)
	}
	if added != contact || contact.PushName() != "Rui" {
		t.Errorf("added %p named %q, the contact was %p", added, added.PushName(), contact)
	}
}
