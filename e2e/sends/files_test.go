package sends

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"postern/e2e/rig"
	"postern/event"
)

const mediaLimit = 2 << 20

// TestFilesOnTheirWayThroughTheProgram runs the real program on a server
// without ffmpeg.
func TestFilesOnTheirWayThroughTheProgram(t *testing.T) {
	s := rig.NewSendScene(t, "PATH="+t.TempDir(), "MESSAGE_PROCESSING_TIMEOUT=1s", fmt.Sprint("MEDIA_MAX_BYTES=", mediaLimit))
	t.Run("other audio is refused with a word on what is missing", func(t *testing.T) {
		path := s.Fill("/instance/$name/send/ptt-file")
		a := s.Multipart(t, path, "tone.wav", map[string]string{"number": "$anne"})
		refused(t, a, http.StatusUnsupportedMediaType, "MEDIA_TYPE_UNSUPPORTED")
		for _, want := range []string{"audio/wav", "OGG/Opus", "ffmpeg", "PATH"} {
			if !strings.Contains(string(a.Body), want) {
				t.Errorf("%s does not name %s", a.Body, want)
			}
		}
		if a := s.Multipart(t, path, "note.ogg", map[string]string{"number": "$anne"}); a.Status != http.StatusOK {
			t.Errorf("OGG/Opus: %d %s", a.Status, a.Body)
		}
	})
	t.Run("a form whose file is too large", func(t *testing.T) { largeForms(t, s) })
	t.Run("a file for everybody that fails", func(t *testing.T) { badFilesForEverybody(t, s) })
	t.Run("a file for everybody leaves no upload", func(t *testing.T) { filesForEverybodyAreReleased(t, s) })
	t.Run("a file that WhatsApp forgot", func(t *testing.T) { forgottenFile(t, s) })
	t.Run("a kill leaves a file that the next start removes", func(t *testing.T) { killedUpload(t, s) })
}

func largeForms(t *testing.T, s *rig.SendScene) {
	for size, want := range map[int]int{mediaLimit: http.StatusCreated, mediaLimit + 1: 413, 3 * mediaLimit: 413} {
		var body bytes.Buffer
		form := multipart.NewWriter(&body)
		part, err := form.CreateFormFile("attachment", "a.bin")
		if err != nil {
			t.Fatal(err)
		}
		if _, err := part.Write(make([]byte, size)); err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(form.WriteField("mediaType", "document"), form.Close()); err != nil {
			t.Fatal(err)
		}
		a := s.Post(t, s.Fill("/instance/$name/media/uploads"), form.FormDataContentType(), &body)
		if a.Status != want {
			t.Errorf("%d bytes: %d %s", size, a.Status, a.Body)
		}
		if want == http.StatusRequestEntityTooLarge {
			refused(t, a, want, "BODY_TOO_LARGE")
		}
	}
}

// badFilesForEverybody asks for sends that are accepted before their file is
// looked at.
func badFilesForEverybody(t *testing.T, s *rig.SendScene) {
	release := make(chan struct{})
	slow := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.(http.Flusher).Flush()
		<-release
	}))
	defer slow.Close()
	defer close(release)
	s.Do(t, rig.Act("$own", `{"do":"group-create","subject":"All","participants":["$anne"]}`).As("all"))
	for _, row := range []struct{ path, content, code string }{
		{"media", fmt.Sprintf(`"mediaMessage":{"mediatype":"document","media":%q}`, slow.URL), "INVALID_MEDIA"},
		{"ptt", `"audioMessage":{"audio":"$files/tone.wav"}`, "MEDIA_TYPE_UNSUPPORTED"},
	} {
		before := len(s.Webhooks())
		a := s.PostJSON(t, s.Fill("/instance/$name/send/"+row.path), `{"chat":"$all.group",`+row.content+`,"options":{"mentionAll":true}}`)
		if a.Status != http.StatusAccepted {
			t.Fatalf("%d %s", a.Status, a.Body)
		}
		body := s.AwaitEvent(t, before, event.SendMessage,
			`{"status":"failed","mentionAll":true,"externalAttributes":{},"data":"<absent>","error":{"code":"`+row.code+`","message":"*"}}`)
		if err := rig.CheckEvent(event.SendMessage, body); err != nil {
			t.Errorf("%v\n%s", err, body)
		}
	}
}

// filesForEverybodyAreReleased: the file of a send that was accepted waits as an
// upload, which no caller asked for or would delete.
func filesForEverybodyAreReleased(t *testing.T, s *rig.SendScene) {
	uploads := func() int {
		var list struct{ Records []json.RawMessage }
		a := s.Request(t, http.MethodGet, s.Fill("/instance/$name/media/uploads"), "", nil)
		if err := json.Unmarshal(a.Body, &list); err != nil || a.Status != http.StatusOK {
			t.Fatalf("%d %s: %v", a.Status, a.Body, err)
		}
		return len(list.Records)
	}
	own := uploads()
	before := len(s.Webhooks())
	a := s.Multipart(t, s.Fill("/instance/$name/send/media-file"), "photo.jpg",
		map[string]string{"chat": s.Fill("$all.group"), "mediaType": "image", "options": `{"mentionAll":true}`})
	if a.Status != http.StatusAccepted {
		t.Fatalf("%d %s", a.Status, a.Body)
	}
	s.AwaitEvent(t, before, event.SendMessage, `{"status":"sent","mentionAll":true}`)
	if n := uploads(); n != own {
		t.Errorf("%d uploads, %d before", n, own)
	}
}

// forgottenFile asks for the file of a message that WhatsApp does not have any
// more, while the phone has it and when it has not.
func forgottenFile(t *testing.T, s *rig.SendScene) {
	a := s.Multipart(t, s.Fill("/instance/$name/send/media-file"), "photo.jpg", map[string]string{"number": "$anne", "mediaType": "image"})
	var sent struct {
		KeyID   string
		Content struct{ DirectPath string }
	}
	if err := json.Unmarshal(a.Body, &sent); err != nil || sent.Content.DirectPath == "" {
		t.Fatalf("%s: %v", a.Body, err)
	}
	data := func() rig.Answer {
		return s.PostJSON(t, s.Fill("/instance/$name/media/data?binary=true"), `{"messageId":"`+sent.KeyID+`"}`)
	}
	s.Sandbox.ForgetMedia(sent.Content.DirectPath)
	before := len(s.Webhooks())
	want, err := os.ReadFile(filepath.Join("media", "testdata", "photo.jpg"))
	if err != nil {
		t.Fatal(err)
	}
	if a := data(); a.Status != http.StatusOK || !bytes.Equal(a.Body, want) {
		t.Errorf("%d, %d bytes of %d", a.Status, len(a.Body), len(want))
	}
	s.AwaitEvent(t, before, event.MediaRetry, `{"messageId":"`+sent.KeyID+`","keyFromMe":true,"hasCiphertext":true}`)
	s.Sandbox.LoseMedia(sent.Content.DirectPath)
	refused(t, data(), http.StatusGone, "MEDIA_GONE")
}

func killedUpload(t *testing.T, s *rig.SendScene) {
	spooled := func() []string {
		left, err := filepath.Glob(filepath.Join(s.DataFile()+".media", "*"))
		if err != nil {
			t.Fatal(err)
		}
		return left
	}
	reader, writer := io.Pipe()
	form := multipart.NewWriter(writer)
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.API.Base+s.Fill("/instance/$name/media/uploads"), reader)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+s.Token)
	req.Header.Set("Content-Type", form.FormDataContentType())
	done := make(chan struct{})
	go func() {
		defer close(done)
		if resp, err := s.API.HTTP.Do(req); err == nil {
			_ = resp.Body.Close()
		}
	}()
	part, err := form.CreateFormFile("attachment", "a.bin")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := part.Write(make([]byte, 1<<20)); err != nil {
		t.Fatal(err)
	}
	s.Await("the file is on its way", func() bool { return len(spooled()) == 1 })
	s.Kill()
	_ = writer.CloseWithError(io.ErrUnexpectedEOF)
	<-done
	if n := len(spooled()); n != 1 {
		t.Fatalf("%d files were left", n)
	}
	s.Start()
	if left := spooled(); len(left) > 0 {
		t.Errorf("left after the start: %v", left)
	}
}
