package whatsapp

import (
	"fmt"
	"sync"
	"testing"
)

// The contact writes while it is written to, so that one side's session is
// moved on by both directions at the same time.
func TestTextsThatCrossAreAllRead(t *testing.T) {
	r := newRig(t)
	r.pair()
	ada := r.contact()
	if _, err := r.send(ada.JID(), "first"); err != nil {
		t.Fatal(err)
	}
	reads(t, ada, "first")
	const texts = 200
	var wait sync.WaitGroup
	wait.Go(func() {
		for i := range texts {
			if _, err := r.send(ada.JID(), fmt.Sprintf("there %d", i)); err != nil {
				t.Error(err)
			}
		}
	})
	wait.Go(func() {
		for i := range texts {
			if _, err := ada.SendText(t.Context(), r.session.self().lid, fmt.Sprintf("back %d.", i)); err != nil {
				t.Error(err)
			}
		}
	})
	wait.Wait()
	for i := range texts {
		reads(t, ada, fmt.Sprintf("there %d", i))
		r.await("the text back", message(fmt.Sprintf("back %d.", i)))
	}
}
