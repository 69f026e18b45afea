package whatsapp

import (
	"bytes"
	"fmt"
	"maps"
	"os"
	"sync"
	"testing"
	"time"

	waBinary "go.mau.fi/whatsmeow/binary"
	"go.mau.fi/whatsmeow/types"

	"postern/event"
	"postern/sandbox"
)

// cross makes the instance and the contact write to each other at the same time, and
// waits until both sides have decrypted everything. Chats are addressed as each of them
// sees them.
func (r *rig) cross(ada *sandbox.Phone, there, back types.JID, what string, texts int) {
	r.t.Helper()
	var wait sync.WaitGroup
	wait.Go(func() {
		for i := range texts {
			if _, err := r.send(there, fmt.Sprintf("%s there %d", what, i)); err != nil {
				r.t.Error(err)
			}
		}
	})
	wait.Go(func() {
		for i := range texts {
			if _, err := ada.SendText(r.t.Context(), back, fmt.Sprintf("%s back %d.", what, i)); err != nil {
				r.t.Error(err)
			}
		}
	})
	wait.Wait()
	for i := range texts {
		reads(r.t, ada, fmt.Sprintf("%s there %d", what, i))
		r.await("the text back", message(fmt.Sprintf("%s back %d.", what, i)))
	}
}

func (r *rig) group(members ...*sandbox.Phone) types.JID {
	r.t.Helper()
	order := event.NewGroup{Subject: "Bakers"}
	for _, m := range members {
		order.Participants = append(order.Participants, m.JID().String())
	}
	made, err := r.session.Account.Groups.CreateGroup(r.t.Context(), order)
	if err != nil {
		r.t.Fatal(err)
	}
	id, err := types.ParseJID(made.ID)
	if err != nil {
		r.t.Fatal(err)
	}
	return id
}

// The contact writes while it receives, so that both directions advance one side's
// session at the same time.
func TestTextsThatCrossAreAllRead(t *testing.T) {
	r := newRig(t)
	r.pair()
	ada := r.contact()
	if _, err := r.send(ada.JID(), "first"); err != nil {
		t.Fatal(err)
	}
	reads(t, ada, "first")
	r.cross(ada, ada.JID(), r.session.conn.self().LID, "text", 200)
}

func TestCrossingGroupTextsAreAllRead(t *testing.T) {
	r := newRig(t)
	r.pair()
	ada := r.contact()
	group := r.group(ada, r.contact())
	r.cross(ada, group, group, "text", 60)
}

// A text that is requested again is encrypted outside of the library's sends.
func TestRetriesSucceedAmongCrossingTexts(t *testing.T) {
	r := newRig(t)
	r.pair()
	ada := r.contact()
	self, group := r.session.conn.client().Store.LID, r.group(ada)
	for what, chat := range map[string]struct {
		there, back types.JID
		receipt     waBinary.Attrs
	}{
		"direct": {ada.JID(), self.ToNonAD(), waBinary.Attrs{"to": self}},
		"group":  {group, group, waBinary.Attrs{"to": group, "participant": self}},
	} {
		t.Run(what, func(t *testing.T) {
			ids := make([]string, 20)
			for i := range ids {
				sent, err := r.send(chat.there, fmt.Sprintf("%s %d", what, i))
				if err != nil {
					t.Fatal(err)
				}
				ids[i] = sent.Message.KeyID
				reads(t, ada, fmt.Sprintf("%s %d", what, i))
			}
			const times = 8
			var asking sync.WaitGroup
			asking.Go(func() {
				for n := range times {
					for _, id := range ids {
						askAgain(t, ada, chat.receipt, id, 1+n%2)
					}
				}
			})
			r.cross(ada, chat.there, chat.back, what, 60)
			asking.Wait()
			for _, id := range ids {
				for end := time.Now().Add(patience); ada.ReceivedCount(id) < 1+times; time.Sleep(time.Millisecond) {
					if time.Now().After(end) {
						t.Fatalf("a text came %d times, want %d", ada.ReceivedCount(id), 1+times)
					}
				}
			}
		})
	}
}

func askAgain(t *testing.T, p *sandbox.Phone, to waBinary.Attrs, id string, count int) {
	attrs := maps.Clone(to)
	attrs["id"], attrs["type"] = id, "retry"
	err := p.SendNode(t.Context(), waBinary.Node{Tag: "receipt", Attrs: attrs, Content: []waBinary.Node{
		{Tag: "retry", Attrs: waBinary.Attrs{"count": count, "id": id, "v": 1, "t": time.Now().Unix()}},
		{Tag: "registration", Content: []byte{0, 0, 0, 1}},
	}})
	if err != nil {
		t.Error(err)
	}
}

// The process ends when the maximum number of texts has been sent without their
// sessions in the file, which is restored to its state before them.
func TestTextsAreReadAfterACrash(t *testing.T) {
	r := newRig(t)
	r.pair()
	ada := r.contact()
	group := r.group(ada)
	chats := map[string][2]types.JID{"direct": {ada.JID(), r.session.conn.self().LID}, "group": {group, group}}
	for what, chat := range chats {
		r.cross(ada, chat[0], chat[1], what, 3)
	}
	for life := range 3 {
		before := still(t, r.path)
		for i := range 8 {
			text := fmt.Sprintf("life %d text %d", life, i)
			if _, err := r.send(ada.JID(), text); err != nil {
				t.Fatal(err)
			}
			reads(t, ada, text)
		}
		r.stop()
		if err := os.WriteFile(r.path, before, 0o600); err != nil {
			t.Fatal(err)
		}
		r.start()
		r.connect()
		r.state(event.Online)
		for what, chat := range chats {
			r.cross(ada, chat[0], chat[1], fmt.Sprint(what, " after crash ", life), 5)
		}
	}
}

// still is the content of the data file without writers.
func still(t *testing.T, path string) []byte {
	t.Helper()
	var last []byte
	for {
		now, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if bytes.Equal(now, last) {
			return now
		}
		last = now
	}
}
