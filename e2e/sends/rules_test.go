package sends

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"postern/cli/consumer"
	"postern/e2e/rig"
	"postern/event"
	"postern/sandbox"
)

// refused checks the status and the code of an answer.
func refused(t *testing.T, a rig.Answer, status int, code string) {
	t.Helper()
	var body struct {
		StatusCode int
		Code       string
		Messages   []string
	}
	if err := json.Unmarshal(a.Body, &body); err != nil || a.Status != status || body.StatusCode != status || body.Code != code || len(body.Messages) == 0 {
		t.Errorf("got %d %s, want %d %s", a.Status, a.Body, status, code)
	}
}

// TestInvalidSendIsRefused has the rules that need a
// connected instance, or the network, to be broken.
func TestInvalidSendIsRefused(t *testing.T) {
	s := rig.NewSendScene(t, "MEDIA_ALLOW_PRIVATE=false")
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
			refused(t, s.PostJSON(t, s.Fill("/instance/$name/send/")+row.path, row.body), row.status, row.code)
		})
	}
	a := s.Multipart(t, s.Fill("/instance/$name/send/media-file"), "photo.jpg", map[string]string{"number": "$anne", "mediaType": "video"})
	refused(t, a, http.StatusUnprocessableEntity, "INVALID_MEDIA")
	if n := s.Fetched("/photo.jpg"); n != 0 {
		t.Errorf("the server at a private address was asked %d times", n)
	}
	nothingReached(t, s, rig.AnneNumber)
}

// nothingReached sends one last text: what was sent before it came before it.
func nothingReached(t *testing.T, s *rig.SendScene, number string) {
	t.Helper()
	a := s.PostJSON(t, s.Fill("/instance/$name/send/text"), `{"number":"`+number+`","textMessage":{"text":"the last one"}}`)
	m := s.Sent(t, 0, a, `{}`)
	s.DecryptedAs(t, number, m.KeyID, `{"conversation":"the last one"}`)
	phone, _ := s.Sandbox.Phone(number)
	if got := phone.Received(); len(got) != 1 {
		t.Errorf("the phone got %d messages", len(got))
	}
}

// TestSendOverBadNetworkReportsTheOutcome breaks the network in each way.
func TestSendOverBadNetworkReportsTheOutcome(t *testing.T) {
	t.Parallel() // it waits more than it works
	// Back in time, the library would send a lost message once more.
	s := rig.NewSendScene(t, "MESSAGE_SEND_TIMEOUT=1s", "WHATSAPP_RECONNECT_INITIAL_DELAY=4")
	send := func() rig.Answer {
		return s.PostJSON(t, s.Fill("/instance/$name/send/text"), `{"number":"$anne","textMessage":{"text":"hello"}}`)
	}
	s.Sent(t, 0, send(), `{}`)
	for _, row := range []struct {
		name   string
		faults sandbox.Faults
		status int
		code   string
	}{
		{"refused by the server", sandbox.Faults{SendError: 479}, 422, "SEND_MESSAGE_FAILED"},
		{"refused for a stranger", sandbox.Faults{SendError: 463}, 422, "REACHOUT_TIMELOCKED"},
		{"no acknowledgement", sandbox.Faults{AckDelay: time.Hour}, 408, "SEND_RESULT_UNKNOWN"},
		{"connection lost", sandbox.Faults{DropAfter: 1}, 408, "SEND_RESULT_UNKNOWN"},
	} {
		t.Run(row.name, func(t *testing.T) {
			s.Online(t)
			s.Sandbox.SetFaults(row.faults)
			defer s.Sandbox.SetFaults(sandbox.Faults{})
			refused(t, send(), row.status, row.code)
		})
	}
	s.Online(t)
	s.Call(consumer.Bearer(s.Token), http.MethodDelete, s.Fill("/instance/$name/logout"), nil, nil)
	refused(t, send(), http.StatusServiceUnavailable, "INSTANCE_NOT_CONNECTED")
}

// TestMentionAllReportsItsResult goes through a kill: what was on its
// way then ends as unknown, what waited is sent.
func TestMentionAllReportsItsResult(t *testing.T) {
	s := rig.NewSendScene(t, "MESSAGE_PROCESSING_WORKERS=1", "MESSAGE_PROCESSING_QUEUE_SIZE=1")
	s.Do(t, rig.Act("$own", `{"do":"group-create","subject":"All","participants":["$anne","$bob"]}`).As("all"))
	everybody := func(text string) rig.Answer {
		return s.PostJSON(t, s.Fill("/instance/$name/send/text"), fmt.Sprintf(
			`{"chat":"$all.group","textMessage":{"text":%q},"options":{"mentionAll":true,"externalAttributes":{"order":9}}}`, text))
	}
	accepted := func(a rig.Answer) string {
		var body struct {
			StatusCode                               int
			Status, Message, ProcessID, InstanceName string
		}
		if err := json.Unmarshal(a.Body, &body); err != nil || a.Status != 202 || body.StatusCode != 202 ||
			body.Status != "processing" || body.Message == "" || body.ProcessID == "" || body.InstanceName != rig.SceneName {
			t.Fatalf("%d %s", a.Status, a.Body)
		}
		return body.ProcessID
	}
	reported := func(process, want string) {
		t.Helper()
		body := s.AwaitEvent(t, 0, event.SendMessage, fmt.Sprintf(`{"processId":%q,"mentionAll":true,"externalAttributes":{"order":9},%s}`, process, want))
		if err := rig.CheckEvent(event.SendMessage, body); err != nil {
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
	reported(accepted(everybody("to all")), success)
	mentioned(t, s, "to all")

	s.Sandbox.SetFaults(sandbox.Faults{AckDelay: time.Hour})
	onItsWay := accepted(everybody("on its way"))
	s.Await("the first is on its way", func() bool { return s.Decrypted(rig.AnneNumber, "on its way") == 1 })
	waits := accepted(everybody("waits"))
	refused(t, everybody("too many"), http.StatusServiceUnavailable, "MESSAGE_PROCESSING_QUEUE_FULL")
	s.Kill()
	s.Sandbox.SetFaults(sandbox.Faults{})
	s.Start()
	reported(onItsWay, `"status":"failed","data":"<absent>","error":{"code":"SEND_RESULT_UNKNOWN","message":"*"}`)
	reported(waits, success)
	mentioned(t, s, "waits")
	if n := s.Decrypted(rig.AnneNumber, "on its way"); n != 1 {
		t.Errorf("what was on its way was decrypted %d times", n)
	}
}

// mentioned waits until Anne and Bob were mentioned in a text.
func mentioned(t *testing.T, s *rig.SendScene, text string) {
	t.Helper()
	for _, number := range []string{rig.AnneNumber, rig.BobNumber} {
		phone, _ := s.Sandbox.Phone(number)
		r, err := phone.WaitReceived(t.Context(), func(r sandbox.Received) bool { return r.Text == text })
		if err != nil {
			t.Fatal(err)
		}
		if all := r.Message.GetExtendedTextMessage().GetContextInfo().GetMentionedJID(); len(all) != 3 {
			t.Errorf("%s: mentioned are %v", number, all)
		}
	}
}
