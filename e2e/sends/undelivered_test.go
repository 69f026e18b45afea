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

// undelivered is what the status of an instance reports.
type undelivered struct {
	Hour, Day int
	Share     *float64
}

func undeliveredOf(s *rig.SendScene) undelivered {
	var status struct{ Undelivered undelivered }
	s.Call(consumer.Bearer(s.Token), http.MethodGet, "/instance/"+rig.SceneName+"/connection/status", nil, &status)
	return status.Undelivered
}

// listedFor returns the ids of the messages without a receipt for a duration.
func listedFor(t *testing.T, s *rig.SendScene, duration string) string {
	t.Helper()
	a := s.PostJSON(t, s.Fill("/instance/$name/db/messages"), fmt.Sprintf(`{"filter":{"undeliveredFor":%q}}`, duration))
	var page struct {
		Messages struct{ Records []struct{ KeyID string } }
	}
	if err := json.Unmarshal(a.Body, &page); err != nil || a.Status != http.StatusOK {
		t.Fatalf("%d %s", a.Status, a.Body)
	}
	var ids []string
	for _, m := range page.Messages.Records {
		ids = append(ids, m.KeyID)
	}
	return strings.Join(ids, " ")
}

// TestMessageWithoutAReceiptIsUndelivered until one comes, over a kill; groups, statuses and changes never are.
func TestMessageWithoutAReceiptIsUndelivered(t *testing.T) {
	t.Parallel()
	s := rig.NewSendScene(t, "WHATSAPP_UNDELIVERED_AFTER=1s", "METRICS_PER_INSTANCE=true")
	if is := undeliveredOf(s); is.Hour != 0 || is.Day != 0 || is.Share != nil {
		t.Errorf("before the first message: %+v", is)
	}
	s.Do(t, rig.Act("$own", `{"do":"group-create","subject":"All","participants":["$anne","$bob"]}`).As("all"))
	post := func(path, body string) rig.SentMessage {
		t.Helper()
		return s.Sent(t, 0, s.PostJSON(t, s.Fill("/instance/$name/"+path), s.Fill(body)), `{}`)
	}
	first := post("send/text", `{"number":"$bob","textMessage":{"text":"arrives"}}`)
	s.AwaitEvent(t, 0, event.MessagesUpdate, fmt.Sprintf(`{"messageId":%d,"status":"delivered"}`, first.ID))
	s.Do(t, rig.Act("$anne", `{"do":"offline","seconds":3600}`))
	lost := post("send/text", `{"number":"$anne","textMessage":{"text":"waits"}}`)
	s.Sandbox.SetFaults(sandbox.Faults{WithholdReceipts: true})
	post("send/reaction", `{"number":"$bob","reactionMessage":{"key":{"remoteJid":"$bob@s.whatsapp.net","id":"3EB0AA","fromMe":true},"reaction":"👍"}}`)
	post("send/text", `{"chat":"$all.group","textMessage":{"text":"all"}}`)
	post("send/status", `{"statusMessage":{"text":"today"}}`)
	post("send/text", `{"number":"$own","textMessage":{"text":"a note"}}`)
	post("chat/edit-message", fmt.Sprintf(`{"messageId":%d,"text":"waits longer"}`, lost.ID))
	s.Await("the message to be undelivered", func() bool { return undeliveredOf(s).Hour > 0 })
	check := func(when string) {
		t.Helper()
		time.Sleep(1200 * time.Millisecond)
		if is := undeliveredOf(s); is.Hour != 1 || is.Day != 1 || is.Share == nil || *is.Share != 0.5 {
			t.Errorf("%s: %+v", when, is)
		}
		if got := listedFor(t, s, "1s"); got != lost.KeyID {
			t.Errorf("%s: listed %q, not %s", when, got, lost.KeyID)
		}
	}
	check("one of two")
	s.Kill()
	s.Start()
	s.AwaitOnline(rig.SceneName, s.Token)
	check("after a kill")
	if got := listedFor(t, s, "1h"); got != "" {
		t.Errorf("for an hour: %s", got)
	}
	if v := s.Metric(`postern_instance_undelivered_hour{name="shop"}`); v != 1 {
		t.Errorf("the metric is %v", v)
	}
	s.Sandbox.SetFaults(sandbox.Faults{})
	s.Do(t, rig.Act("$anne", `{"do":"offline"}`))
	s.Await("the receipt", func() bool { return undeliveredOf(s).Hour == 0 })
	if is := undeliveredOf(s); is.Share == nil || *is.Share != 0 {
		t.Errorf("after the receipt: %+v", is)
	}
	for _, filter := range []string{"soon", "-1h", "0s"} {
		refused(t, s.PostJSON(t, s.Fill("/instance/$name/db/messages"), fmt.Sprintf(`{"filter":{"undeliveredFor":%q}}`, filter)), http.StatusBadRequest, "INVALID_QUERY")
	}
}

// TestBatchesSkipAnInstanceWithUndeliveredMessages where the settings ask for it.
func TestBatchesSkipAnInstanceWithUndeliveredMessages(t *testing.T) {
	t.Parallel()
	s := rig.NewSendScene(t, "WHATSAPP_UNDELIVERED_AFTER=1s", "MESSAGE_BATCH_BENCH_UNDELIVERED=true")
	s.Sandbox.SetFaults(sandbox.Faults{WithholdReceipts: true})
	for range 20 {
		if status, answer := send(s.Scene, rig.AnneNumber); status != http.StatusOK {
			t.Fatalf("%d %s", status, answer)
		}
	}
	s.Await("them to be undelivered", func() bool { return undeliveredOf(s).Hour == 20 })
	b := s.CreateBatch("held", []string{rig.SceneName}, []string{rig.BobNumber})
	s.Await("the batch to wait", func() bool { return s.Batch(b.ID).Status == event.BatchWaitingForInstance })
	w := processingOf(s.Scene, b)
	if len(w.Held) != 1 || w.Held[0].Reason != "UNDELIVERED" || !strings.Contains(w.Held[0].Message, "20 messages") {
		t.Errorf("%+v", w)
	}
	if n := len(received(s, rig.BobNumber)); n > 0 {
		t.Errorf("%d messages left", n)
	}
}
