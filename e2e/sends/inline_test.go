package sends

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"postern/cli/consumer"
	"postern/e2e/rig"
	"postern/event"
)

// inBase64 returns an example file in base64.
func inBase64(t *testing.T, name string) string {
	t.Helper()
	content, err := os.ReadFile(filepath.Join("media", "testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	return base64.StdEncoding.EncodeToString(content)
}

// TestSendTakesTheFileOfAStoredMessage with the caption, name and kind of the call.
func TestSendTakesTheFileOfAStoredMessage(t *testing.T) {
	t.Parallel()
	s := rig.NewSendScene(t)
	m := s.Sent(t, 0, s.PostJSON(t, s.Fill("/instance/$name/send/media"), `{"number":"$bob","mediaMessage":{"mediatype":"image","media":"$files/photo.jpg","caption":"one"}}`), `{}`)
	text := s.Sent(t, 0, s.PostJSON(t, s.Fill("/instance/$name/send/text"), `{"number":"$bob","textMessage":{"text":"no file"}}`), `{}`)
	send := func(path, body string) rig.Answer { return s.PostJSON(t, s.Fill("/instance/$name/send/"+path), body) }
	for _, named := range []string{fmt.Sprint(m.ID), fmt.Sprintf("%q", m.KeyID)} {
		again := s.Sent(t, 0, send("media", `{"number":"$anne","mediaMessage":{"mediatype":"document","messageId":`+named+`,"caption":"two","fileName":"two.jpg"}}`), `{}`)
		s.DecryptedAs(t, rig.AnneNumber, again.KeyID, `{"documentWithCaptionMessage":{"message":{"documentMessage":{"fileName":"two.jpg","caption":"two"}}}}`)
	}
	a := s.PostJSON(t, s.Fill(albumPath), fmt.Sprintf(`{"number":"$anne","albumMessage":{"items":[{"mediatype":"image","messageId":%d},{"mediatype":"image","messageId":%d}]}}`, m.ID, m.ID))
	if a.Status != http.StatusOK || strings.Contains(string(a.Body), `"error"`) {
		t.Errorf("an album: %d %.300s", a.Status, a.Body)
	}
	if n := s.Fetched("/photo.jpg"); n != 1 {
		t.Errorf("the URL was fetched %d times", n)
	}
	refused(t, send("media", `{"number":"$anne","mediaMessage":{"mediatype":"image","messageId":9999}}`), http.StatusNotFound, "MESSAGE_NOT_FOUND")
	refused(t, send("media", fmt.Sprintf(`{"number":"$anne","mediaMessage":{"mediatype":"image","messageId":%d}}`, text.ID)), http.StatusUnprocessableEntity, "MESSAGE_WITHOUT_MEDIA")
	refused(t, send("media", fmt.Sprintf(`{"number":"$anne","mediaMessage":{"mediatype":"video","messageId":%d}}`, m.ID)), http.StatusUnprocessableEntity, "INVALID_MEDIA")
	refused(t, send("media", fmt.Sprintf(`{"number":"$anne","mediaMessage":{"mediatype":"image","messageId":%d,"media":"$files/photo.jpg"}}`, m.ID)), http.StatusUnprocessableEntity, "INVALID_MESSAGE")
	var key struct{ Key string }
	s.Call(consumer.Key(s.Sec.GlobalAuthToken), http.MethodPost, "/keys", map[string]any{"name": "k", "instances": []string{rig.SceneName}, "scopes": []string{"send"}}, &key)
	status, answer := s.Raw(consumer.Key(key.Key), http.MethodPost, "/instance/"+rig.SceneName+"/send/media", fmt.Sprintf(`{"number":%q,"mediaMessage":{"mediatype":"image","messageId":%d}}`, rig.AnneNumber, m.ID))
	if status != http.StatusForbidden {
		t.Errorf("a key without media: %d %s", status, answer)
	}
}

// pointer is the part of a message that names its file.
type pointer struct {
	Content struct{ DirectPath, MediaKey string }
}

// TestStoredFileIsUploadedOnlyWhenNeeded: sent as a kind whose files are encrypted alike, it is the file that WhatsApp
// has. Otherwise, and when WhatsApp has lost it, it is uploaded: as the phone has it, or as it is kept here.
func TestStoredFileIsUploadedOnlyWhenNeeded(t *testing.T) {
	t.Parallel()
	c := newCabinet(t)
	m := c.Sent(t, 0, c.PostJSON(t, c.Fill("/instance/$name/send/media"), `{"number":"$bob","mediaMessage":{"mediatype":"image","media":"$files/photo.jpg","caption":"one"}}`), `{}`)
	c.await(m.KeyID, "STORED", "")
	send := func(id int64, kind string, uploads int) (sent pointer) {
		t.Helper()
		before := c.Sandbox.MediaUploaded()
		a := c.PostJSON(t, c.Fill("/instance/$name/send/media"), fmt.Sprintf(`{"number":"$anne","mediaMessage":{"mediatype":%q,"messageId":%d,"caption":"two","fileName":"b.jpg"}}`, kind, id))
		copied := c.Sent(t, 0, a, `{"content":{"caption":"two"}}`)
		if n := c.Sandbox.MediaUploaded() - before; n != uploads {
			t.Errorf("as %s: %d uploads instead of %d", kind, n, uploads)
		}
		got := c.PostJSON(t, c.Fill("/instance/$name/media/data"), fmt.Sprintf(`{"messageId":%d}`, copied.ID))
		if photo := inBase64(t, "photo.jpg"); got.Status != http.StatusOK || !strings.Contains(string(got.Body), photo) {
			t.Errorf("the file of the copy: %d %.100s", got.Status, got.Body)
		}
		if err := json.Unmarshal(a.Body, &sent); err != nil {
			t.Fatal(err)
		}
		return sent
	}
	first := send(m.ID, "image", 0)
	if again := send(m.ID, "image", 0); again != first || first.Content.MediaKey == "" {
		t.Errorf("%+v, then %+v", first, again)
	}
	send(m.ID, "document", 1)
	c.Sandbox.LoseMedia(first.Content.DirectPath)
	if lost := send(m.ID, "image", 1); lost.Content.DirectPath == first.Content.DirectPath {
		t.Errorf("the message names a file that WhatsApp has lost: %+v", lost)
	}
	if status, answer := c.Raw(consumer.Bearer(c.Token), http.MethodDelete, fmt.Sprintf("/instance/shop/messages/%d/media", m.ID), ""); status != http.StatusNoContent {
		t.Fatalf("%d %s", status, answer)
	}
	before := c.Sandbox.MediaUploaded()
	refused(t, c.PostJSON(t, c.Fill("/instance/$name/send/media"), fmt.Sprintf(`{"number":"$anne","mediaMessage":{"mediatype":"image","messageId":%d}}`, m.ID)), http.StatusGone, "MEDIA_GONE")
	if c.Sandbox.MediaUploaded() != before {
		t.Error("something was uploaded")
	}
}

// TestSendTakesAFileInItsBody where it takes a URL, and leaves nothing of it behind.
func TestSendTakesAFileInItsBody(t *testing.T) {
	t.Parallel()
	s := rig.NewSendScene(t, "MEDIA_MAX_INLINE=100000")
	photo, note, sticker := inBase64(t, "photo.jpg"), inBase64(t, "note.ogg"), inBase64(t, "sticker.webp")
	for _, row := range []struct{ path, body, want string }{
		{"media", `"number":"$anne","mediaMessage":{"mediatype":"image","media":"data:image/jpeg;base64,` + photo + `","caption":"one"}`, `{"imageMessage":{"mimetype":"image/jpeg","caption":"one"}}`},
		{"media", `"number":"$anne","mediaMessage":{"mediatype":"document","media":"` + photo + `","fileName":"a.jpg"}`, `{"documentMessage":{"fileName":"a.jpg"}}`},
		{"ptt", `"number":"$anne","audioMessage":{"audio":"data:audio/ogg;base64,` + note + `"}`, `{"audioMessage":{"PTT":true}}`},
		{"sticker", `"number":"$anne","stickerMessage":{"sticker":"` + sticker + `"}`, `{"stickerMessage":{"mimetype":"image/webp"}}`},
	} {
		m := s.Sent(t, 0, s.PostJSON(t, s.Fill("/instance/$name/send/"+row.path), `{`+row.body+`}`), `{}`)
		s.DecryptedAs(t, rig.AnneNumber, m.KeyID, row.want)
	}
	a := s.PostJSON(t, s.Fill(albumPath), `{"number":"$anne","albumMessage":{"items":[{"mediatype":"image","media":"`+photo+`"},{"mediatype":"image","media":"$files/photo.jpg"}]}}`)
	if a.Status != http.StatusOK || strings.Contains(string(a.Body), "error") {
		t.Errorf("an album: %d %.300s", a.Status, a.Body)
	}
	at := time.Now().Add(2 * time.Second).UTC().Format(time.RFC3339)
	a = s.PostJSON(t, s.Fill("/instance/$name/send/media"), fmt.Sprintf(`{"number":"$anne","mediaMessage":{"mediatype":"image","media":%q,"caption":"later"},"options":{"sendAt":%q}}`, photo, at))
	if a.Status != http.StatusAccepted {
		t.Errorf("later: %d %.300s", a.Status, a.Body)
	}
	s.AwaitEvent(t, 0, event.SendMessage, `{"messageType":"imageMessage","content":{"caption":"later"}}`)
	text := `"number":"$anne","mediaMessage":{"mediatype":"image","media":"%s"}`
	for media, want := range map[string]string{
		"data:image/jpeg;base64," + photo[:len(photo)/2] + "*" + photo[len(photo)/2:]: "422 INVALID_MEDIA",
		"data:image/jpeg;base64,":                                                 "422 INVALID_MEDIA",
		"data:image/jpeg," + photo:                                                "422 INVALID_MEDIA",
		base64.StdEncoding.EncodeToString(make([]byte, 100_001)):                  "413 media.max_inline",
		base64.StdEncoding.EncodeToString(bytes.Repeat([]byte("no picture"), 20)): "422 INVALID_MEDIA",
		"https://inline.invalid/0":                                                "422 INVALID_MEDIA",
	} {
		a := s.PostJSON(t, s.Fill("/instance/$name/send/media"), `{`+fmt.Sprintf(text, media)+`}`)
		got := fmt.Sprint(a.Status, " ", string(a.Body))
		for part := range strings.FieldsSeq(want) {
			if !strings.Contains(got, part) {
				t.Errorf("%.60s: %.300s, not %s", media, got, want)
			}
		}
		if len(media) > 200 && strings.Contains(got, media[100:150]) {
			t.Errorf("the answer has the file: %s", got)
		}
	}
	first := s.MustWithKey(s.Token, "inline", s.Fill("/instance/$name/send/media"), map[string]any{"number": rig.AnneNumber, "mediaMessage": map[string]any{"mediatype": "image", "media": photo}})
	again := s.MustWithKey(s.Token, "inline", s.Fill("/instance/$name/send/media"), map[string]any{"number": rig.AnneNumber, "mediaMessage": map[string]any{"mediatype": "image", "media": photo}})
	if first.Status != http.StatusOK || !again.Replayed || again.Body != first.Body {
		t.Errorf("%v %v", first, again)
	}
	left, err := filepath.Glob(filepath.Join(s.Folder, "data", "*", "file-*"))
	if err != nil || len(left) > 0 {
		t.Errorf("left in the spool folder: %v %v", left, err)
	}
}
