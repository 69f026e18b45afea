package main

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/google/uuid"

	"postern/event"
)

// batchOf creates a batch for Anne and Bob and waits for its end.
func (s *sendScene) batchOf(t *testing.T, kind, payload string) batchAnswer {
	t.Helper()
	var b batchAnswer
	s.call(bearer(s.user), http.MethodPost, "/message/batches", map[string]any{
		"name": kind, "instances": []string{sceneName}, "recipients": []string{anneNumber, bobNumber},
		"message": map[string]any{"type": kind, "payload": json.RawMessage(s.fill(payload))},
	}, &b)
	s.await("the end of the batch", func() bool {
		b = s.batch(b.ID)
		return b.Status == event.BatchIsCompleted || b.Status == event.BatchIsWithErrors
	})
	return b
}

// sentID is the WhatsApp id of the message to a recipient.
func (s *sendScene) sentID(t *testing.T, id uuid.UUID, recipient string) string {
	t.Helper()
	for _, item := range pages[struct{ NormalizedRecipient, WhatsAppMessageID, Status string }](s.world, s.user, "/message/batches/"+id.String()+"/items") {
		if item.NormalizedRecipient == recipient {
			return item.WhatsAppMessageID
		}
	}
	t.Fatalf("the batch has no item for %s", recipient)
	return ""
}

// TestABatchOfEveryTypeReachesThePhones also counts how often a file that many
// recipients get is fetched: once.
func TestABatchOfEveryTypeReachesThePhones(t *testing.T) {
	s := newSendScene(t)
	var upload struct{ UUID string }
	a := s.multipart(t, s.fill("/instance/$name/media/uploads"), "photo.jpg", map[string]string{"mediaType": "image"})
	if err := json.Unmarshal(a.body, &upload); err != nil || upload.UUID == "" {
		t.Fatalf("%d %s", a.status, a.body)
	}
	s.vars["upload"] = upload.UUID
	for _, row := range []struct {
		name, kind, payload, phone string
		fetches                    string // of this path there must be one
	}{
		{"text", "text", `{"text":"hello"}`, `{"conversation":"hello"}`, ""},
		{"link", "link", `{"link":"https://example.org","title":"A"}`, `{"extendedTextMessage":{"text":"https://example.org","title":"A"}}`, ""},
		{"upload", "media", `{"mediatype":"image","mediaUploadId":"$upload","caption":"a"}`, `{"imageMessage":{"caption":"a","mediaKey":"*"}}`, ""},
		{"url", "media", `{"mediatype":"image","media":"$files/0/photo.jpg"}`, `{"imageMessage":{"mediaKey":"*"}}`, "/0/photo.jpg"},
		{"audio", "audio", `{"audio":"$files/1/note.ogg"}`, `{"audioMessage":{"PTT":true}}`, "/1/note.ogg"},
		{"ptt", "ptt", `{"audio":"$files/2/note.ogg"}`, `{"audioMessage":{"PTT":true}}`, "/2/note.ogg"},
		{"whatsapp-audio", "whatsapp-audio", `{"audio":"$files/3/note.ogg"}`, `{"audioMessage":{"PTT":true}}`, "/3/note.ogg"},
		{"whatsapp_audio", "whatsapp_audio", `{"audio":"$files/4/note.ogg"}`, `{"audioMessage":{"PTT":true}}`, "/4/note.ogg"},
		{"contact", "contact", `{"fullName":"Bob","phoneNumber":"$bob"}`, `{"contactMessage":{"displayName":"Bob"}}`, ""},
		{"location", "location", `{"latitude":1.5,"longitude":2.5}`, `{"locationMessage":{"degreesLatitude":1.5,"degreesLongitude":2.5}}`, ""},
	} {
		t.Run(row.name, func(t *testing.T) {
			b := s.batchOf(t, row.kind, row.payload)
			if b.Counts.Success != 2 {
				t.Fatalf("%+v", b.Counts)
			}
			for _, number := range []string{anneNumber, bobNumber} {
				s.decryptedAs(t, number, s.sentID(t, b.ID, number), row.phone)
			}
			if row.fetches != "" && s.fetched(row.fetches) != 1 {
				t.Errorf("the file was fetched %d times", s.fetched(row.fetches))
			}
		})
	}
	t.Run("a file that cannot be fetched", func(t *testing.T) {
		b := s.batchOf(t, "media", `{"mediatype":"image","media":"$files/nothing.jpg"}`)
		if b.Counts.Failed != 2 || b.Counts.Unknown != 0 {
			t.Errorf("%+v", b.Counts)
		}
	})
	t.Run("an upload that does not exist", func(t *testing.T) {
		err := s.api.call(t.Context(), bearer(s.user), http.MethodPost, "/message/batches", map[string]any{
			"name": "none", "instances": []string{sceneName}, "recipients": []string{anneNumber},
			"message": map[string]any{"type": "media", "payload": map[string]any{"mediatype": "image", "mediaUploadId": uuid.NewString()}},
		}, nil)
		if err == nil || !strings.Contains(err.Error(), "422") || !strings.Contains(err.Error(), "INVALID_MEDIA") {
			t.Errorf("got %v", err)
		}
	})
}
