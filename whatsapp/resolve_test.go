package whatsapp

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"go.mau.fi/whatsmeow"
	"go.mau.fi/whatsmeow/types"

	"postern/event"
	"postern/store"
)

// spellings returns a number as people write it, and the number of the account that answers.
func spellings(n int) (asked, registered string) {
	return fmt.Sprintf("551198765%04d", n), fmt.Sprintf("55118765%04d", n)
}

func phoneJID(number string) types.JID { return types.NewJID(number, types.DefaultUserServer) }

func TestMessageGoesToTheAccountThatAnswers(t *testing.T) {
	for name, noLID := range map[string]bool{"LID": false, "number alone": true} {
		t.Run(name, func(t *testing.T) {
			r := newRigAlone(t)
			r.pair()
			asked, registered := spellings(1)
			phone, err := r.net.Register(asked, registered, noLID)
			if err != nil {
				t.Fatal(err)
			}
			sent, err := r.send(phoneJID(asked), "hello")
			if err != nil {
				t.Fatal(err)
			}
			reads(t, phone, "hello")
			reads(t, phone, "hello")
			m := sent.Message
			if *m.KeyRemoteJID != registered+"@s.whatsapp.net" {
				t.Errorf("keyRemoteJid is %s", *m.KeyRemoteJID)
			}
			if !noLID && (m.KeyLID == nil || *m.KeyLID != phone.LID().String()) {
				t.Errorf("keyLid is %v", m.KeyLID)
			}
		})
	}
}

// TestAnswerIsKeptOverRestarts changes what a look-up would answer: the number is not looked up again.
func TestAnswerIsKeptOverRestarts(t *testing.T) {
	r := newRigAlone(t)
	r.pair()
	asked, registered := spellings(2)
	phone, err := r.net.Register(asked, registered, false)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := r.send(phoneJID(asked), "first"); err != nil {
		t.Fatal(err)
	}
	_, other := spellings(3)
	if _, err := r.net.Register(asked, other, false); err != nil {
		t.Fatal(err)
	}
	r.restart()
	r.connect()
	r.state(event.Online)
	if _, err := r.send(phoneJID(asked), "second"); err != nil {
		t.Fatal(err)
	}
	reads(t, phone, "second")
}

func TestNumberNotOnWhatsAppIsAskedAgain(t *testing.T) {
	r := newRigAlone(t)
	r.pair()
	asked, registered := "5511987650000", "551187650001" // the number that is asked has no account
	if _, err := r.send(phoneJID(asked), "x"); err == nil {
		t.Fatal("a number without an account got a message")
	}
	asked, _ = spellings(4)
	if _, err := r.net.Register(asked, registered, false); err != nil {
		t.Fatal(err)
	}
	if _, err := r.send(phoneJID(asked), "now there"); err != nil {
		t.Fatal(err)
	}
	var kept int
	err := r.store.View(func(tx *store.Tx) error {
		return tx.Scan("number_answer", store.Range{}, func(k, _ []byte) (bool, error) {
			kept++
			if string(k) != asked {
				t.Errorf("an answer for %s is kept", k)
			}
			return true, nil
		})
	})
	if err != nil || kept != 1 {
		t.Errorf("%d answers are kept: %v", kept, err)
	}
}

// TestMessageToTheAskedNumberReachesNoDevice sends without a look-up: the network has no device of that number.
func TestMessageToTheAskedNumberReachesNoDevice(t *testing.T) {
	r := newRigAlone(t)
	r.pair()
	asked, registered := spellings(5)
	phone, err := r.net.Register(asked, registered, false)
	if err != nil {
		t.Fatal(err)
	}
	out := event.Outgoing{ID: NewMessageID(), To: phoneJID(asked).String(), Content: event.Content{Text: &event.TextContent{Text: "lost"}}}
	_, err = r.session.Send(t.Context(), out)
	t.Logf("sent to %s without a look-up: %v", asked, err)
	if _, err := r.send(phoneJID(asked), "after it"); err != nil {
		t.Fatal(err)
	}
	reads(t, phone, "after it")
	for _, m := range phone.Received() {
		if m.Text == "lost" {
			t.Error("a message to a number without devices arrived")
		}
	}
}

func TestSendWaitsForTheLookUpOfAGroup(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var g groupsMet
		cli := new(whatsmeow.Client)
		group := types.NewJID("120363000000000001", types.GroupServer)
		failed := errors.New("no answer")
		answers := make(chan error)
		var asked, went atomic.Int32
		for range 4 {
			go func() {
				g.meet(t.Context(), cli, group, func() error { asked.Add(1); return <-answers })
				went.Add(1)
			}()
		}
		hurried, cancel := context.WithCancel(t.Context())
		cancel()
		for _, step := range []struct {
			answer      error
			asked, went int32
		}{{failed, 2, 1}, {failed, 3, 2}, {nil, 3, 4}} {
			synctest.Wait()
			g.meet(hurried, cli, group, func() error { t.Error("asked by two at once"); return nil })
			answers <- step.answer
			synctest.Wait()
			if asked.Load() != step.asked || went.Load() != step.went {
				t.Errorf("after %v, %d asked and %d went on; want %+v", step.answer, asked.Load(), went.Load(), step)
			}
		}
		g.meet(t.Context(), cli, group, func() error { t.Error("a group that was met is asked for"); return nil })
	})
}
