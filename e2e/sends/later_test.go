package sends

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"postern/e2e/rig"
	"postern/event"
	"postern/sandbox"
)

// soon is an options.sendAt that is due after a time.
func soon(after time.Duration) string {
	return time.Now().Add(after).UTC().Format("2006-01-02T15:04:05.000Z")
}

// accepted returns the id of a send that was accepted.
func accepted(t *testing.T, a rig.Answer) string {
	t.Helper()
	var got struct{ ScheduledID string }
	if err := json.Unmarshal(a.Body, &got); err != nil || a.Status != http.StatusAccepted || got.ScheduledID == "" {
		t.Fatalf("%d %s", a.Status, a.Body)
	}
	return got.ScheduledID
}

// laterText schedules a text to Anne.
func laterText(t *testing.T, s *rig.SendScene, text, options string) string {
	t.Helper()
	return accepted(t, s.PostJSON(t, s.Fill("/instance/$name/send/text"), fmt.Sprintf(`{"number":"$anne","textMessage":{"text":%q},"options":{%s}}`, text, options)))
}

// scheduled returns the number of scheduled sends.
func scheduled(t *testing.T, s *rig.SendScene) int {
	t.Helper()
	var list struct{ TotalRecords int }
	a := s.Request(t, http.MethodGet, s.Fill("/instance/$name/scheduled"), "application/json", nil)
	if err := json.Unmarshal(a.Body, &list); err != nil || a.Status != http.StatusOK {
		t.Fatalf("%d %s", a.Status, a.Body)
	}
	return list.TotalRecords
}

// TestScheduledSendsReachTheOtherPhone schedules a text, a file of the request and one at a URL, and restarts the
// program before their time.
func TestScheduledSendsReachTheOtherPhone(t *testing.T) {
	s := rig.NewSendScene(t)
	from := len(s.Webhooks())
	at := soon(8 * time.Second)
	ids := map[string]string{
		laterText(t, s, "good morning", fmt.Sprintf(`"sendAt":%q,"externalAttributes":{"order":7}`, at)):                                                                                                                    `{"conversation":"good morning"}`,
		accepted(t, s.Multipart(t, s.Fill("/instance/$name/send/media-file"), "photo.jpg", map[string]string{"number": "$anne", "mediaType": "image", "caption": "kept", "sendAt": at})):                                    `{"imageMessage":{"caption":"kept","fileLength":"5905","JPEGThumbnail":"*"}}`,
		accepted(t, s.PostJSON(t, s.Fill("/instance/$name/send/media"), fmt.Sprintf(`{"number":"$anne","mediaMessage":{"mediatype":"image","media":"$files/photo.jpg","caption":"fetched"},"options":{"sendAt":%q}}`, at))): `{"imageMessage":{"caption":"fetched","fileLength":"5905"}}`,
	}
	if n := s.Fetched("/photo.jpg"); n != 0 {
		t.Errorf("the URL was fetched %d times before it was due", n)
	}
	if n := scheduled(t, s); n != 3 {
		t.Errorf("%d are scheduled", n)
	}
	s.Kill()
	s.Start()
	for id, want := range ids {
		body := s.AwaitEvent(t, from, event.SendMessage, fmt.Sprintf(`{"metadata":{"scheduledId":%q},"keyFromMe":true}`, id))
		if err := rig.CheckEvent(event.SendMessage, body); err != nil {
			t.Errorf("%v: %s", err, body)
		}
		var e struct{ Data struct{ KeyID string } }
		if err := json.Unmarshal(body, &e); err != nil {
			t.Fatal(err)
		}
		s.DecryptedAs(t, rig.AnneNumber, e.Data.KeyID, want)
	}
	if n := scheduled(t, s); n != 0 || s.Decrypted(rig.AnneNumber, "good morning") != 1 || s.Fetched("/photo.jpg") != 1 {
		t.Errorf("%d are left, %d arrived, %d fetched", n, s.Decrypted(rig.AnneNumber, "good morning"), s.Fetched("/photo.jpg"))
	}
	s.Stop()
}

// TestKillDuringScheduledSendIsNeverRepeated kills the program between the moment when a phone has decrypted the
// text and its acknowledgement.
func TestKillDuringScheduledSendIsNeverRepeated(t *testing.T) {
	s := rig.NewSendScene(t)
	from := len(s.Webhooks())
	s.Sandbox.SetFaults(sandbox.Faults{AckDelay: time.Hour})
	id := laterText(t, s, "in doubt", fmt.Sprintf(`"sendAt":%q`, soon(time.Second)))
	s.Await("the message on its way", func() bool { return s.Decrypted(rig.AnneNumber, "in doubt") == 1 })
	s.Kill()
	s.Sandbox.SetFaults(sandbox.Faults{})
	s.Start()
	s.AwaitEvent(t, from, event.SendMessage, fmt.Sprintf(`{"scheduledId":%q,"status":"failed","error":{"code":"SEND_RESULT_UNKNOWN"}}`, id))
	s.Online(t)
	after := laterText(t, s, "after it", fmt.Sprintf(`"sendAt":%q`, soon(time.Second)))
	s.AwaitEvent(t, from, event.SendMessage, fmt.Sprintf(`{"metadata":{"scheduledId":%q}}`, after))
	if n := s.Decrypted(rig.AnneNumber, "in doubt"); n != 1 {
		t.Errorf("the message arrived %d times", n)
	}
	s.Stop()
}

// TestOfflineScheduledSendIsReportedTooLate logs the account out before the time of a message.
func TestOfflineScheduledSendIsReportedTooLate(t *testing.T) {
	s := rig.NewSendScene(t)
	from := len(s.Webhooks())
	if a := s.Request(t, http.MethodDelete, s.Fill("/instance/$name/logout"), "application/json", nil); a.Status != http.StatusOK {
		t.Fatalf("%d %s", a.Status, a.Body)
	}
	id := laterText(t, s, "never", fmt.Sprintf(`"sendAt":%q,"lateMax":1500,"externalAttributes":{"order":7}`, soon(time.Second)))
	body := s.AwaitEvent(t, from, event.SendMessage, fmt.Sprintf(`{"scheduledId":%q,"status":"failed","error":{"code":"TOO_LATE"},"externalAttributes":{"order":7}}`, id))
	if err := rig.CheckEvent(event.SendMessage, body); err != nil || strings.Contains(string(body), "processId") {
		t.Errorf("%v: %s", err, body)
	}
	if n := scheduled(t, s); n != 0 {
		t.Errorf("%d are left", n)
	}
	s.Stop()
}
