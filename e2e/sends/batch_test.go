package sends

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/google/uuid"

	"postern/cli/consumer"
	"postern/e2e/rig"
	"postern/event"
)

// batchOf creates a batch for Anne and Bob and waits for its end.
func batchOf(t *testing.T, s *rig.SendScene, kind, payload string) rig.BatchAnswer {
	t.Helper()
	var b rig.BatchAnswer
	s.Call(consumer.Bearer(s.User), http.MethodPost, "/message/batches", map[string]any{
		"name": kind, "instances": []string{rig.SceneName}, "recipients": []string{rig.AnneNumber, rig.BobNumber},
		"message": map[string]any{"type": kind, "payload": json.RawMessage(s.Fill(payload))},
	}, &b)
	s.Await("the end of the batch", func() bool {
		b = s.Batch(b.ID)
		return b.Status == event.BatchIsCompleted || b.Status == event.BatchIsWithErrors
	})
	return b
}

// TestABatchOfEveryTypeReachesThePhones also counts how often a file that many
// recipients get is fetched: once.
func TestABatchOfEveryTypeReachesThePhones(t *testing.T) {
	s := rig.NewSendScene(t)
	var upload struct{ UUID string }
	a := s.Multipart(t, s.Fill("/instance/$name/media/uploads"), "photo.jpg", map[string]string{"mediaType": "image"})
	if err := json.Unmarshal(a.Body, &upload); err != nil || upload.UUID == "" {
		t.Fatalf("%d %s", a.Status, a.Body)
	}
	s.Vars["upload"] = upload.UUID
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
		{"poll", "poll", `{"name":"When?","options":["now","later"],"selectableCount":1}`, `{"pollCreationMessage":{"name":"When?","selectableOptionsCount":1}}`, ""},
		{"sticker", "sticker", `{"sticker":"$files/5/sticker.webp"}`, `{"stickerMessage":{"mediaKey":"*"}}`, "/5/sticker.webp"},
		{"location", "location", `{"latitude":1.5,"longitude":2.5}`, `{"locationMessage":{"degreesLatitude":1.5,"degreesLongitude":2.5}}`, ""},
	} {
		t.Run(row.name, func(t *testing.T) {
			b := batchOf(t, s, row.kind, row.payload)
			if b.Counts.Success != 2 {
				t.Fatalf("%+v", b.Counts)
			}
			for _, number := range []string{rig.AnneNumber, rig.BobNumber} {
				s.DecryptedAs(t, number, s.SentID(t, b.ID, number), row.phone)
			}
			if row.fetches != "" && s.Fetched(row.fetches) != 1 {
				t.Errorf("the file was fetched %d times", s.Fetched(row.fetches))
			}
		})
	}
	t.Run("a file that cannot be fetched", func(t *testing.T) {
		b := batchOf(t, s, "media", `{"mediatype":"image","media":"$files/nothing.jpg"}`)
		if b.Counts.Failed != 2 || b.Counts.Unknown != 0 {
			t.Errorf("%+v", b.Counts)
		}
	})
	t.Run("an upload that does not exist", func(t *testing.T) {
		err := s.API.Call(t.Context(), consumer.Bearer(s.User), http.MethodPost, "/message/batches", map[string]any{
			"name": "none", "instances": []string{rig.SceneName}, "recipients": []string{rig.AnneNumber},
			"message": map[string]any{"type": "media", "payload": map[string]any{"mediatype": "image", "mediaUploadId": uuid.NewString()}},
		}, nil)
		if err == nil || !strings.Contains(err.Error(), "422") || !strings.Contains(err.Error(), "INVALID_MEDIA") {
			t.Errorf("got %v", err)
		}
	})
}

// TestACampaignOfSeveralMessagesReachesThePhones forwards a stored message and has
// variables in texts and in a caption.
func TestACampaignOfSeveralMessagesReachesThePhones(t *testing.T) {
	s := rig.NewSendScene(t)
	from := len(s.Webhooks())
	stored := s.Sent(t, from, s.PostJSON(t, s.Fill("/instance/$name/send/text"), `{"number":"$anne","textMessage":{"text":"old news"}}`), `{}`)
	var b rig.BatchAnswer
	s.Call(consumer.Bearer(s.User), http.MethodPost, "/message/batches", map[string]any{
		"name": "spring", "instances": []string{rig.SceneName},
		"recipients": []any{
			map[string]any{"number": rig.AnneNumber, "externalId": "row 1", "variables": map[string]string{"name": "Anne", "due": "3 May\nEND:VCARD"}},
			map[string]any{"number": rig.BobNumber, "variables": map[string]string{"due": "{{name}}"}},
		},
		"message": json.RawMessage(s.Fill(`[
			{"type":"text","payload":{"text":"Hi {{name|there}}, it is due on {{due}}"}},
			{"type":"media","payload":{"mediatype":"image","media":"$files/6/photo.jpg","caption":"for {{name|you}}"}},
			{"type":"contact","payload":{"fullName":"{{due}}","phoneNumber":"$bob"}},
			{"type":"forward","payload":{"messageId":"` + stored.KeyID + `"}}
		]`)),
	}, &b)
	s.Await("the end of the batch", func() bool { return s.Batch(b.ID).Status == event.BatchIsCompleted })
	var items struct {
		Records []struct {
			ID, NormalizedRecipient, ExternalID, RenderedPreview string
			Variables                                            map[string]string
		}
	}
	s.Call(consumer.Bearer(s.User), http.MethodGet, "/message/batches/"+b.ID.String()+"/items", nil, &items)
	for i, want := range []struct{ preview, caption string }{
		{"Hi Anne, it is due on 3 May\nEND:VCARD", "for Anne"},
		{"Hi there, it is due on {{name}}", "for you"},
	} {
		item := items.Records[i]
		if item.RenderedPreview != want.preview || i == 0 && item.ExternalID != "row 1" || item.Variables["due"] == "" {
			t.Errorf("item %d: %+v", i, item)
		}
		var one struct {
			Attempts []struct {
				Parts []struct{ Status, WhatsAppMessageID string }
			}
		}
		s.Call(consumer.Bearer(s.User), http.MethodGet, "/message/batches/"+b.ID.String()+"/items/"+item.ID, nil, &one)
		if len(one.Attempts) != 1 || len(one.Attempts[0].Parts) != 4 {
			t.Fatalf("item %d: %+v", i, one)
		}
		text, _ := json.Marshal(want.preview)
		caption, _ := json.Marshal(want.caption)
		for n, phone := range []string{
			`{"conversation":` + string(text) + `}`,
			`{"imageMessage":{"caption":` + string(caption) + `,"mediaKey":"*"}}`,
			`{"contactMessage":{"vcard":"*"}}`,
			`{"extendedTextMessage":{"text":"old news","contextInfo":{"isForwarded":true}}}`,
		} {
			s.DecryptedAs(t, item.NormalizedRecipient, one.Attempts[0].Parts[n].WhatsAppMessageID, phone)
		}
	}
	var shown struct{ Message []json.RawMessage }
	s.Call(consumer.Bearer(s.User), http.MethodGet, "/message/batches/"+b.ID.String(), nil, &shown)
	if len(shown.Message) != 4 {
		t.Errorf("the batch shows %d messages", len(shown.Message))
	}
}
