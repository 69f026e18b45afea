package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"postern/event"
	"postern/sandbox"
)

// refused checks the status and the code of an answer.
func (a answer) refused(t *testing.T, status int, code string) {
	t.Helper()
	var body struct {
		StatusCode int
		Code       string
		Messages   []string
	}
	if err := json.Unmarshal(a.body, &body); err != nil || a.status != status || body.StatusCode != status || body.Code != code || len(body.Messages) == 0 {
		t.Errorf("got %d %s, want %d %s", a.status, a.body, status, code)
	}
}

// TestASendThatBreaksARuleIsRefusedAndSendsNothing has the rules that need a
// connected instance, or the network, to be broken.
func TestASendThatBreaksARuleIsRefusedAndSendsNothing(t *testing.T) {
	s := newSendScene(t, "MEDIA_ALLOW_PRIVATE=false")
	text := func(options string) string {
		return `{"number":"$anne","textMessage":{"text":"not to be sent"},"options":` + options + `}`
	}
	for name, row := range map[string]struct {
		path, body string
		status     int
		code       string
	}{
		"no recipient":              {"text", `{"textMessage":{"text":"x"}}`, 400, "ONE_RECIPIENT"},
		"two recipients":            {"text", `{"number":"$anne","chat":"$anne","textMessage":{"text":"x"}}`, 400, "ONE_RECIPIENT"},
		"three recipients":          {"text", `{"number":"$anne","chat":"$anne","recipient":"$anne","textMessage":{"text":"x"}}`, 400, "ONE_RECIPIENT"},
		"a malformed recipient":     {"text", `{"number":"12345","textMessage":{"text":"x"}}`, 422, "INVALID_RECIPIENT"},
		"not on WhatsApp":           {"text", `{"number":"4915155500000","textMessage":{"text":"x"}}`, 422, "RECIPIENT_NOT_ON_WHATSAPP"},
		"an empty text":             {"text", `{"number":"$anne","textMessage":{"text":""}}`, 422, "INVALID_MESSAGE"},
		"a text that is too long":   {"text", `{"number":"$anne","textMessage":{"text":"` + strings.Repeat("ä", 65_537) + `"}}`, 422, "INVALID_MESSAGE"},
		"a delay that is too long":  {"text", text(`{"delay":120001}`), 422, "INVALID_MESSAGE"},
		"a delay below zero":        {"text", text(`{"delay":-1}`), 422, "INVALID_MESSAGE"},
		"a voice delay too long":    {"ptt", `{"number":"$anne","audioMessage":{"audio":"https://example.org/a"},"options":{"delay":300001}}`, 422, "INVALID_MESSAGE"},
		"a caption of music":        {"media", `{"number":"$anne","mediaMessage":{"mediatype":"audio","media":"$files/note.ogg","caption":"x"}}`, 422, "INVALID_MESSAGE"},
		"a caption of a video note": {"media", `{"number":"$anne","mediaMessage":{"mediatype":"ptv","media":"$files/clip.mp4","caption":"x"}}`, 422, "INVALID_MESSAGE"},
		"an unknown presence":       {"text", text(`{"presence":"singing"}`), 422, "INVALID_MESSAGE"},
		"an unknown quoted id":      {"text", text(`{"quotedMessageId":4711}`), 422, "QUOTED_MESSAGE_NOT_FOUND"},
		"an unknown quoted key":     {"text", text(`{"quotedMessageId":"3EB0FF"}`), 422, "QUOTED_MESSAGE_NOT_FOUND"},
		"mentionAll for one person": {"text", text(`{"mentionAll":true}`), 422, "INVALID_MESSAGE"},
		"a private address":         {"media", `{"number":"$anne","mediaMessage":{"mediatype":"image","media":"$files/photo.jpg"}}`, 422, "INVALID_MEDIA"},
		"a metadata address":        {"media", `{"number":"$anne","mediaMessage":{"mediatype":"image","media":"http://169.254.169.254/latest"}}`, 422, "INVALID_MEDIA"},
		"a thumbnail at a private":  {"link", `{"number":"$anne","linkMessage":{"link":"https://example.org","thumbnailUrl":"$files/photo.jpg"}}`, 422, "INVALID_MEDIA"},
		"an unknown upload":         {"media", `{"number":"$anne","mediaMessage":{"mediatype":"image","mediaUploadId":"0190b3b0-0000-7000-8000-000000000000"}}`, 422, "INVALID_MEDIA"},
	} {
		t.Run(name, func(t *testing.T) {
			s.postJSON(t, s.fill("/instance/$name/send/")+row.path, row.body).refused(t, row.status, row.code)
		})
	}
	a := s.multipart(t, s.fill("/instance/$name/send/media-file"), "photo.jpg", map[string]string{"number": "$anne", "mediaType": "video"})
	a.refused(t, http.StatusUnprocessableEntity, "INVALID_MEDIA")
	for kind, file := range map[string]string{"audio": "note.ogg", "ptv": "clip.mp4"} {
		a := s.multipart(t, s.fill("/instance/$name/send/media-file"), file, map[string]string{"number": "$anne", "mediaType": kind, "caption": "x"})
		a.refused(t, http.StatusUnprocessableEntity, "INVALID_MESSAGE")
		err := s.api.call(t.Context(), bearer(s.user), http.MethodPost, "/message/batches", map[string]any{
			"name": kind, "instances": []string{sceneName}, "recipients": []string{anneNumber},
			"message": map[string]any{"type": "media", "payload": map[string]any{"mediatype": kind, "media": s.vars["files"] + "/" + file, "caption": "x"}},
		}, nil)
		if err == nil || !strings.Contains(err.Error(), "422") || !strings.Contains(err.Error(), "caption") {
			t.Errorf("a batch of %s with a caption: %v", kind, err)
		}
	}
	if n := s.fetched("/photo.jpg"); n != 0 {
		t.Errorf("the server at a private address was asked %d times", n)
	}
	s.nothingReached(t, anneNumber)
}

// nothingReached sends one last text: what was sent before it came before it.
func (s *sendScene) nothingReached(t *testing.T, number string) {
	t.Helper()
	a := s.postJSON(t, s.fill("/instance/$name/send/text"), `{"number":"`+number+`","textMessage":{"text":"the last one"}}`)
	m := s.sent(t, 0, a, `{}`)
	s.decryptedAs(t, number, m.KeyID, `{"conversation":"the last one"}`)
	phone, _ := s.sandbox.Phone(number)
	if got := phone.Received(); len(got) != 1 {
		t.Errorf("the phone got %d messages", len(got))
	}
}

// TestASendOverABadNetworkTellsWhatIsKnown breaks the network in each way.
func TestASendOverABadNetworkTellsWhatIsKnown(t *testing.T) {
	// Back in time, the library would send a lost message once more.
	s := newSendScene(t, "MESSAGE_SEND_TIMEOUT=1s", "WHATSAPP_RECONNECT_INITIAL_DELAY=4")
	send := func() answer {
		return s.postJSON(t, s.fill("/instance/$name/send/text"), `{"number":"$anne","textMessage":{"text":"hello"}}`)
	}
	s.sent(t, 0, send(), `{}`)
	for _, row := range []struct {
		name   string
		faults sandbox.Faults
		status int
		code   string
	}{
		{"refused by the server", sandbox.Faults{SendError: 463}, 422, "SEND_MESSAGE_FAILED"},
		{"no acknowledgement", sandbox.Faults{AckDelay: time.Hour}, 408, "SEND_RESULT_UNKNOWN"},
		{"connection lost", sandbox.Faults{DropAfter: 1}, 408, "SEND_RESULT_UNKNOWN"},
	} {
		t.Run(row.name, func(t *testing.T) {
			s.online(t)
			s.sandbox.SetFaults(row.faults)
			defer s.sandbox.SetFaults(sandbox.Faults{})
			send().refused(t, row.status, row.code)
		})
	}
	s.online(t)
	s.call(bearer(s.token), http.MethodDelete, s.fill("/instance/$name/logout"), nil, nil)
	send().refused(t, http.StatusServiceUnavailable, "INSTANCE_NOT_CONNECTED")
}

// TestASendToEverybodyIsToldWhenItIsDone goes through a kill: what was on its
// way then ends as unknown, what waited is sent.
func TestASendToEverybodyIsToldWhenItIsDone(t *testing.T) {
	s := newSendScene(t, "MESSAGE_PROCESSING_WORKERS=1", "MESSAGE_PROCESSING_QUEUE_SIZE=1")
	s.do(t, act("$own", `{"do":"group-create","subject":"All","participants":["$anne","$bob"]}`).as("all"))
	everybody := func(text string) answer {
		return s.postJSON(t, s.fill("/instance/$name/send/text"), fmt.Sprintf(
			`{"chat":"$all.group","textMessage":{"text":%q},"options":{"mentionAll":true,"externalAttributes":{"order":9}}}`, text))
	}
	accepted := func(a answer) string {
		var body struct {
			StatusCode                               int
			Status, Message, ProcessID, InstanceName string
		}
		if err := json.Unmarshal(a.body, &body); err != nil || a.status != 202 || body.StatusCode != 202 ||
			body.Status != "processing" || body.Message == "" || body.ProcessID == "" || body.InstanceName != sceneName {
			t.Fatalf("%d %s", a.status, a.body)
		}
		return body.ProcessID
	}
	told := func(process, want string) {
		t.Helper()
		body := s.awaitEvent(t, 0, event.SendMessage, fmt.Sprintf(`{"processId":%q,"mentionAll":true,"externalAttributes":{"order":9},%s}`, process, want))
		if err := event.Validate(event.SendMessage, body); err != nil {
			t.Errorf("%v\n%s", err, body)
		}
		var e struct {
			Data struct{ Data struct{ Timestamp *string } }
		}
		if err := json.Unmarshal(body, &e); err != nil {
			t.Fatalf("the timestamp of a result is no text: %s", body)
		}
		if at := e.Data.Data.Timestamp; at != nil {
			if got, err := time.Parse(time.RFC3339, *at); err != nil || time.Since(got).Abs() > time.Minute {
				t.Errorf("the timestamp %q is not RFC 3339 of now", *at)
			}
		}
	}
	const success = `"status":"sent","error":"<absent>","data":{"messageId":"*","remoteJid":"$all.group","participantCount":3,"timestamp":"*"}`
	told(accepted(everybody("to all")), success)
	s.mentioned(t, "to all")

	s.sandbox.SetFaults(sandbox.Faults{AckDelay: time.Hour})
	onItsWay := accepted(everybody("on its way"))
	s.await("the first is on its way", func() bool { return s.decrypted(anneNumber, "on its way") == 1 })
	waits := accepted(everybody("waits"))
	everybody("too many").refused(t, http.StatusServiceUnavailable, "MESSAGE_PROCESSING_QUEUE_FULL")
	s.kill()
	s.sandbox.SetFaults(sandbox.Faults{})
	s.start()
	told(onItsWay, `"status":"failed","data":"<absent>","error":{"code":"SEND_RESULT_UNKNOWN","message":"*"}`)
	told(waits, success)
	s.mentioned(t, "waits")
	if n := s.decrypted(anneNumber, "on its way"); n != 1 {
		t.Errorf("what was on its way was decrypted %d times", n)
	}
}

// mentioned waits until Anne and Bob were mentioned in a text.
func (s *sendScene) mentioned(t *testing.T, text string) {
	t.Helper()
	for _, number := range []string{anneNumber, bobNumber} {
		phone, _ := s.sandbox.Phone(number)
		r, err := phone.WaitReceived(t.Context(), func(r sandbox.Received) bool { return r.Text == text })
		if err != nil {
			t.Fatal(err)
		}
		if all := r.Message.GetExtendedTextMessage().GetContextInfo().GetMentionedJID(); len(all) != 3 {
			t.Errorf("%s: mentioned are %v", number, all)
		}
	}
}
