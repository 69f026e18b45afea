//go:build linux

package main

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"postern/event"
	"postern/sandbox"
)

// TestAMessageThatWasSentAndCannotBeStoredIs406AndNeverSentAgain fills the disk
// between the moment when the phone has decrypted a text and its
// acknowledgement.
func TestAMessageThatWasSentAndCannotBeStoredIs406AndNeverSentAgain(t *testing.T) {
	s := newSendScene(t)
	path, text := s.fill("/instance/$name/send/text"), textTo(anneNumber, "sent, not stored", 0)
	s.sandbox.SetFaults(sandbox.Faults{AckDelay: 2 * time.Second})
	var first keyedAnswer
	var err error
	var done sync.WaitGroup
	done.Go(func() { first, err = s.withKey(s.token, "k", path, text) })
	s.await("the text at the phone", func() bool { return s.decrypted(anneNumber, "sent, not stored") == 1 })
	lift := s.fileLimit(t, 0)
	done.Wait()
	if err != nil || first.status != http.StatusNotAcceptable || first.field("code") != "SENT_BUT_NOT_STORED" || !strings.Contains(first.body, "was sent, but could not be stored") {
		t.Fatalf("%v, %v", first, err)
	}
	s.sandbox.SetFaults(sandbox.Faults{})
	s.postJSON(t, path, `{"number":"$bob","textMessage":{"text":"no room"}}`).refused(t, http.StatusServiceUnavailable, "DISK_FULL")
	lift()

	// The disk had no room for the answer either: what is known by now is that
	// the message may have left, which was in the file before it did.
	for range 2 {
		if a := s.mustWithKey(s.token, "k", path, text); a.status != http.StatusRequestTimeout || a.field("code") != event.SendResultUnknown || !a.replayed {
			t.Errorf("the retry: %v", a)
		}
	}
	s.await("sends with room on the disk", func() bool {
		return s.postJSON(t, path, `{"number":"$bob","textMessage":{"text":"room again"}}`).status == http.StatusOK
	})
	if n := s.decrypted(anneNumber, "sent, not stored"); n != 1 {
		t.Errorf("the phone decrypted the text %d times", n)
	}
	if n := s.decrypted(bobNumber, "no room"); n != 0 {
		t.Errorf("what was refused was decrypted %d times", n)
	}
	s.stop()
}

// TestAnAsynchronousSendThatCannotBeStoredIsToldOnceThereIsRoom fills the disk
// at the same moment of a send that was accepted.
func TestAnAsynchronousSendThatCannotBeStoredIsToldOnceThereIsRoom(t *testing.T) {
	s := newSendScene(t)
	s.do(t, act("$own", `{"do":"group-create","subject":"All","participants":["$anne","$bob"]}`).as("all"))
	s.sandbox.SetFaults(sandbox.Faults{AckDelay: 2 * time.Second})
	a := s.postJSON(t, s.fill("/instance/$name/send/text"), `{"chat":"$all.group","textMessage":{"text":"to all"},"options":{"mentionAll":true}}`)
	if a.status != http.StatusAccepted {
		t.Fatalf("%d %s", a.status, a.body)
	}
	s.await("the text at the phone", func() bool { return s.decrypted(anneNumber, "to all") == 1 })
	lift := s.fileLimit(t, 0)
	s.await("the program to find the disk full", func() bool {
		return strings.Contains(s.output.String(), "waits for room on the disk")
	})
	if n := s.seen(string(event.SendMessage)); n != 0 {
		t.Errorf("%d results were told before they were stored", n)
	}
	lift()
	s.awaitEvent(t, 0, event.SendMessage, fmt.Sprintf(`{"status":"sent","data":{"remoteJid":%q}}`, s.vars["all.group"]))
	if n := s.decrypted(anneNumber, "to all"); n != 1 {
		t.Errorf("the phone decrypted the text %d times", n)
	}
	s.stop()
}
