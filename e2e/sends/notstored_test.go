//go:build linux

package sends

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"postern/e2e/rig"
	"postern/event"
	"postern/sandbox"
)

// TestSentMessageThatCannotBeStoredIs406 fills the disk
// between the moment when the phone has decrypted a text and its
// acknowledgement.
func TestSentMessageThatCannotBeStoredIs406(t *testing.T) {
	t.Parallel() // it waits more than it works
	s := rig.NewSendScene(t)
	path, text := s.Fill("/instance/$name/send/text"), rig.TextTo(rig.AnneNumber, "sent, not stored", 0)
	s.Sandbox.SetFaults(sandbox.Faults{AckDelay: 2 * time.Second})
	var first rig.KeyedAnswer
	var err error
	var done sync.WaitGroup
	done.Go(func() { first, err = s.WithKey(s.Token, "k", path, text) })
	s.Await("the text at the phone", func() bool { return s.Decrypted(rig.AnneNumber, "sent, not stored") == 1 })
	lift := s.FileLimit(t, 0)
	done.Wait()
	if err != nil || first.Status != http.StatusNotAcceptable || first.Field("code") != "SENT_BUT_NOT_STORED" || !strings.Contains(first.Body, "was sent, but could not be stored") {
		t.Fatalf("%v, %v", first, err)
	}
	s.Sandbox.SetFaults(sandbox.Faults{})
	refused(t, s.PostJSON(t, path, `{"number":"$bob","textMessage":{"text":"no room"}}`), http.StatusServiceUnavailable, "DISK_FULL")
	lift()

	// The disk had no room for the answer either: what is known by now is that
	// the message may have left, which was in the file before it did.
	for range 2 {
		if a := s.MustWithKey(s.Token, "k", path, text); a.Status != http.StatusRequestTimeout || a.Field("code") != event.SendResultUnknown || !a.Replayed {
			t.Errorf("the retry: %v", a)
		}
	}
	s.Await("sends with room on the disk", func() bool {
		return s.PostJSON(t, path, `{"number":"$bob","textMessage":{"text":"room again"}}`).Status == http.StatusOK
	})
	if n := s.Decrypted(rig.AnneNumber, "sent, not stored"); n != 1 {
		t.Errorf("the phone decrypted the text %d times", n)
	}
	if n := s.Decrypted(rig.BobNumber, "no room"); n != 0 {
		t.Errorf("what was refused was decrypted %d times", n)
	}
	s.Stop()
}

// TestUnstoredAsyncResultWaitsForSpace fills the disk
// at the same moment of a send that was accepted.
func TestUnstoredAsyncResultWaitsForSpace(t *testing.T) {
	t.Parallel() // it waits more than it works
	s := rig.NewSendScene(t)
	s.Do(t, rig.Act("$own", `{"do":"group-create","subject":"All","participants":["$anne","$bob"]}`).As("all"))
	s.Sandbox.SetFaults(sandbox.Faults{AckDelay: 2 * time.Second})
	a := s.PostJSON(t, s.Fill("/instance/$name/send/text"), `{"chat":"$all.group","textMessage":{"text":"to all"},"options":{"mentionAll":true}}`)
	if a.Status != http.StatusAccepted {
		t.Fatalf("%d %s", a.Status, a.Body)
	}
	s.Await("the text at the phone", func() bool { return s.Decrypted(rig.AnneNumber, "to all") == 1 })
	lift := s.FileLimit(t, 0)
	s.Await("the program to find the disk full", func() bool {
		return strings.Contains(s.Output.String(), "waits for disk space")
	})
	if n := s.Seen(string(event.SendMessage)); n != 0 {
		t.Errorf("%d results were reported before they were stored", n)
	}
	lift()
	s.AwaitEvent(t, 0, event.SendMessage, fmt.Sprintf(`{"status":"sent","data":{"remoteJid":%q}}`, s.Vars["all.group"]))
	if n := s.Decrypted(rig.AnneNumber, "to all"); n != 1 {
		t.Errorf("the phone decrypted the text %d times", n)
	}
	s.Stop()
}
