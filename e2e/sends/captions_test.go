package sends

import (
	"encoding/json"
	"fmt"
	"net/http"
	"testing"

	"github.com/google/uuid"

	"postern/cli/consumer"
	"postern/e2e/rig"
)

// captioned returns what the recipient reads of a file with a caption and a name, by kind.
func captioned() map[string]struct{ file, want string } {
	return map[string]struct{ file, want string }{
		"image":    {"photo.jpg", `{"imageMessage":{"caption":"our words"}}`},
		"video":    {"clip.mp4", `{"videoMessage":{"caption":"our words"}}`},
		"document": {"photo.jpg", `{"documentWithCaptionMessage":{"message":{"documentMessage":{"caption":"our words","fileName":"our.name"}}}}`},
		"audio":    {"note.ogg", `{"audioMessage":{"mimetype":"audio/ogg; codecs=opus"}}`},
		"ptv":      {"clip.mp4", `{"ptvMessage":{"caption":"our words"}}`},
	}
}

// TestCaptionsGoWithEveryKind sends a caption and a file name with every kind of file,
// by URL, in the body and in a batch.
func TestCaptionsGoWithEveryKind(t *testing.T) {
	s := rig.NewSendScene(t)
	for kind, row := range captioned() {
		t.Run(kind, func(t *testing.T) {
			from := len(s.Webhooks())
			media := fmt.Sprintf(`{"mediatype":%q,"media":"$files/%s","caption":"our words","fileName":"our.name"}`, kind, row.file)
			a := s.PostJSON(t, s.Fill("/instance/$name/send/media"), `{"number":"$anne","mediaMessage":`+media+`}`)
			s.DecryptedAs(t, rig.AnneNumber, s.Sent(t, from, a, `{}`).KeyID, row.want)

			from = len(s.Webhooks())
			a = s.Multipart(t, s.Fill("/instance/$name/send/media-file"), row.file, map[string]string{
				"number": "$anne", "mediaType": kind, "caption": "our words", "fileName": "our.name",
			})
			s.DecryptedAs(t, rig.AnneNumber, s.Sent(t, from, a, `{}`).KeyID, row.want)

			var made struct{ ID uuid.UUID }
			s.Call(consumer.Bearer(s.User), http.MethodPost, "/message/batches", map[string]any{
				"name": kind, "instances": []string{rig.SceneName}, "recipients": []string{rig.AnneNumber},
				"options": map[string]any{"delay": map[string]int{"minMs": 0, "maxMs": 0}},
				"message": map[string]any{"type": "media", "payload": json.RawMessage(s.Fill(media))},
			}, &made)
			s.Await("the end of the batch", func() bool { return s.Batch(made.ID).Status == "COMPLETED" })
			s.DecryptedAs(t, rig.AnneNumber, s.SentID(t, made.ID, rig.AnneNumber), row.want)
		})
	}
}
