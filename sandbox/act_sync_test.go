package sandbox

import (
	"errors"
	"fmt"
	"net/http"
	"testing"

	"go.mau.fi/whatsmeow"
	"go.mau.fi/whatsmeow/proto/waMmsRetry"
	"go.mau.fi/whatsmeow/types"
	"go.mau.fi/whatsmeow/types/events"
)

func TestHistoryInlineAndByDownload(t *testing.T) {
	s, p, c := synced(t, Config{})
	var download string
	for i, blob := range []bool{false, true} {
		mustDo(t, s, p, "history-sync", fields{"conversations": 3, "messages": 20, "progress": 40 + i, "chunkOrder": 2, "blob": blob})
		e := wait(c, i+1, every[*events.HistorySync])
		chats := e.Data.GetConversations()
		if len(chats) != 3 || len(chats[2].GetMessages()) != 20 || len(e.Data.GetPushnames()) != 3 {
			t.Fatalf("%d conversations", len(chats))
		}
		if e.Data.GetSyncType().String() != "RECENT" || e.Data.GetProgress() != uint32(40+i) || e.Data.GetChunkOrder() != 2 {
			t.Errorf("history %s %d %d", e.Data.GetSyncType(), e.Data.GetProgress(), e.Data.GetChunkOrder())
		}
		chat, _ := types.ParseJID(chats[2].GetID())
		parsed, err := c.ParseWebMessage(chat, chats[2].GetMessages()[19].GetMessage())
		if err != nil || parsed.Message.GetConversation() != "message 20 of the past" {
			t.Errorf("last message %v, %v", parsed, err)
		}
		if inline := e.Notification.InitialHistBootstrapInlinePayload != nil; inline == blob {
			t.Errorf("inline %v with blob %v", inline, blob)
		}
		download = e.Notification.GetDirectPath()
	}
	eventually(t, "the client deletes the download", func() bool {
		_, there := s.Media(download)
		return download != "" && !there
	})
}

func TestLongHistoryIsACompleteFile(t *testing.T) {
	s, p, c := synced(t, Config{})
	mustDo(t, s, p, "history-sync", fields{"syncType": "FULL", "conversations": 50, "messages": 1000})
	e := wait(c, 1, every[*events.HistorySync])
	messages := 0
	for _, chat := range e.Data.GetConversations() {
		messages += len(chat.GetMessages())
	}
	if messages != 50_000 || e.Notification.GetDirectPath() == "" || e.Data.GetSyncType().String() != "FULL" {
		t.Errorf("%d messages of %s", messages, e.Data.GetSyncType())
	}
}

func TestMediaRetryAnswers(t *testing.T) {
	s, p, c := synced(t, Config{})
	group, _ := types.ParseJID(someGroup)
	mustDo(t, s, p, "media-retry", fields{"chat": someGroup, "id": "M1", "participant": otherNumber, "error": 2})
	failed := wait(c, 1, func(e *events.MediaRetry) bool { return e.MessageID == "M1" })
	if failed.ChatID != group || failed.SenderID != otherJID || failed.FromMe || !recent(failed.Timestamp) {
		t.Errorf("event %+v", failed)
	}
	if _, err := whatsmeow.DecryptMediaRetryNotification(failed, make([]byte, 32)); !errors.Is(err, whatsmeow.ErrMediaNotAvailableOnPhone) {
		t.Errorf("error %v", err)
	}
	key := make([]byte, 32)
	mustDo(t, s, p, "media-retry", fields{"chat": otherNumber, "id": "M2", "fromMe": true, "mediaKey": key, "directPath": "/v/new"})
	done := wait(c, 1, func(e *events.MediaRetry) bool { return e.MessageID == "M2" })
	result, err := whatsmeow.DecryptMediaRetryNotification(done, key)
	if err != nil || result.GetDirectPath() != "/v/new" || result.GetResult() != waMmsRetry.MediaRetryNotification_SUCCESS || !done.FromMe {
		t.Errorf("result %v, %v", result, err)
	}
}

func TestSyncActsRefuseBadFieldsByName(t *testing.T) {
	tests := []struct {
		do     string
		fields fields
		names  string
	}{
		{"archive", fields{}, "chat"},
		{"contact", fields{"to": otherNumber}, "fullName"},
		{"mute", fields{"chat": otherNumber, "minutes": -1}, "minutes"},
		{"star", fields{"chat": otherNumber}, "id"},
		{"star", fields{"chat": otherNumber, "id": "1", "participant": "x"}, "participant"},
		{"label-edit", fields{"label": "1", "name": "x", "color": 256}, "color"},
		{"label-edit", fields{"label": "1"}, "name"},
		{"label-chat", fields{"chat": otherNumber}, "label"},
		{"label-message", fields{"chat": otherNumber, "id": "1"}, "label"},
		{"push-name-setting", fields{}, "name"},
		{"app-state", fields{"collection": "x"}, "collection"},
		{"app-state", fields{"index": []string{"label_edit"}}, "index"},
		{"app-state", fields{"value": fields{"x": 1}}, "value"},
		{"app-state-error", fields{"collection": "x"}, "collection"},
		{"app-state-error", fields{"kind": "x"}, "kind"},
		{"app-state-conflict", fields{"times": -1}, "times"},
		{"app-state-conflict", fields{"times": maxConflicts + 1}, "times"},
		{"history-sync", fields{"syncType": "x"}, "syncType"},
		{"history-sync", fields{"conversations": -1}, "conversations"},
		{"history-sync", fields{"conversations": 2, "messages": maxHistory}, "messages"},
		{"history-sync", fields{"progress": 101}, "progress"},
		{"media-retry", fields{"chat": otherNumber, "id": "1", "mediaKey": "x"}, "mediaKey"},
		{"media-retry", fields{"chat": otherNumber, "id": "1", "error": -1}, "error"},
	}
	s := openServer(t, Config{})
	p := addPhone(t, s, "5511911111111")
	for _, tt := range tests {
		t.Run(fmt.Sprintf("%s %v", tt.do, tt.fields), func(t *testing.T) {
			var r refused
			err := do(t, s, p, tt.do, tt.fields)
			if !errors.As(err, &r) || r.status != http.StatusUnprocessableEntity || len(r.text) < len(tt.names) || r.text[:len(tt.names)] != tt.names {
				t.Errorf("error %v, want a 422 that begins with %s", err, tt.names)
			}
		})
	}
}
