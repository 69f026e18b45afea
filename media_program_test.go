package main

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

	"postern/event"
)

const mediaLimit = 2 << 20

// TestFilesOnTheirWayThroughTheProgram runs the real program on a server
// without ffmpeg.
func TestFilesOnTheirWayThroughTheProgram(t *testing.T) {
	s := newSendScene(t, "PATH="+t.TempDir(), "MESSAGE_PROCESSING_TIMEOUT=1s", fmt.Sprint("MEDIA_MAX_BYTES=", mediaLimit))
	t.Run("other audio is refused with a word on what is missing", func(t *testing.T) {
		path := s.fill("/instance/$name/send/ptt-file")
		a := s.multipart(t, path, "tone.wav", map[string]string{"number": "$anne"})
		a.refused(t, http.StatusUnsupportedMediaType, "MEDIA_TYPE_UNSUPPORTED")
		for _, want := range []string{"audio/wav", "OGG/Opus", "ffmpeg", "PATH"} {
			if !strings.Contains(string(a.body), want) {
				t.Errorf("%s does not name %s", a.body, want)
			}
		}
		if a := s.multipart(t, path, "note.ogg", map[string]string{"number": "$anne"}); a.status != http.StatusOK {
			t.Errorf("OGG/Opus: %d %s", a.status, a.body)
		}
	})
	t.Run("a form whose file is too large", s.largeForms)
	t.Run("a file for everybody that fails", s.badFilesForEverybody)
	t.Run("a file for everybody leaves no upload", s.filesForEverybodyAreReleased)
	t.Run("a file that WhatsApp forgot", s.forgottenFile)
	t.Run("a kill leaves a file that the next start removes", s.killedUpload)
}

func (s *sendScene) largeForms(t *testing.T) {
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
		a := s.post(t, s.fill("/instance/$name/media/uploads"), form.FormDataContentType(), &body)
		if a.status != want {
			t.Errorf("%d bytes: %d %s", size, a.status, a.body)
		}
		if want == http.StatusRequestEntityTooLarge {
			a.refused(t, want, "BODY_TOO_LARGE")
		}
	}
}

// badFilesForEverybody asks for sends that are accepted before their file is
// looked at.
func (s *sendScene) badFilesForEverybody(t *testing.T) {
	release := make(chan struct{})
	slow := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.(http.Flusher).Flush()
		<-release
	}))
	defer slow.Close()
	defer close(release)
	s.do(t, act("$own", `{"do":"group-create","subject":"All","participants":["$anne"]}`).as("all"))
	for _, row := range []struct{ path, content, code string }{
		{"media", fmt.Sprintf(`"mediaMessage":{"mediatype":"document","media":%q}`, slow.URL), "INVALID_MEDIA"},
		{"ptt", `"audioMessage":{"audio":"$files/tone.wav"}`, "MEDIA_TYPE_UNSUPPORTED"},
	} {
		before := s.received()
		a := s.postJSON(t, s.fill("/instance/$name/send/"+row.path), `{"chat":"$all.group",`+row.content+`,"options":{"mentionAll":true}}`)
		if a.status != http.StatusAccepted {
			t.Fatalf("%d %s", a.status, a.body)
		}
		body := s.awaitEvent(t, before, event.SendMessage,
			`{"status":"failed","mentionAll":true,"externalAttributes":{},"data":"<absent>","error":{"code":"`+row.code+`","message":"*"}}`)
		if err := event.Validate(event.SendMessage, body); err != nil {
			t.Errorf("%v\n%s", err, body)
		}
	}
}

// filesForEverybodyAreReleased: the file of a send that was accepted waits as an
// upload, which nobody asked for and nobody would delete.
func (s *sendScene) filesForEverybodyAreReleased(t *testing.T) {
	uploads := func() int {
		var list struct{ Records []json.RawMessage }
		a := s.request(t, http.MethodGet, s.fill("/instance/$name/media/uploads"), "", nil)
		if err := json.Unmarshal(a.body, &list); err != nil || a.status != http.StatusOK {
			t.Fatalf("%d %s: %v", a.status, a.body, err)
		}
		return len(list.Records)
	}
	own := uploads()
	before := s.received()
	a := s.multipart(t, s.fill("/instance/$name/send/media-file"), "photo.jpg",
		map[string]string{"chat": s.fill("$all.group"), "mediaType": "image", "options": `{"mentionAll":true}`})
	if a.status != http.StatusAccepted {
		t.Fatalf("%d %s", a.status, a.body)
	}
	s.awaitEvent(t, before, event.SendMessage, `{"status":"sent","mentionAll":true}`)
	if n := uploads(); n != own {
		t.Errorf("%d uploads, %d before", n, own)
	}
}

// forgottenFile asks for the file of a message that WhatsApp does not have any
// more, while the phone has it and when it has not.
func (s *sendScene) forgottenFile(t *testing.T) {
	a := s.multipart(t, s.fill("/instance/$name/send/media-file"), "photo.jpg", map[string]string{"number": "$anne", "mediaType": "image"})
	var sent struct {
		KeyID   string
		Content struct{ DirectPath string }
	}
	if err := json.Unmarshal(a.body, &sent); err != nil || sent.Content.DirectPath == "" {
		t.Fatalf("%s: %v", a.body, err)
	}
	data := func() answer {
		return s.postJSON(t, s.fill("/instance/$name/media/data?binary=true"), `{"messageId":"`+sent.KeyID+`"}`)
	}
	s.sandbox.ForgetMedia(sent.Content.DirectPath)
	before := s.received()
	want, err := os.ReadFile(filepath.Join("media", "testdata", "photo.jpg"))
	if err != nil {
		t.Fatal(err)
	}
	if a := data(); a.status != http.StatusOK || !bytes.Equal(a.body, want) {
		t.Errorf("%d, %d bytes of %d", a.status, len(a.body), len(want))
	}
	s.awaitEvent(t, before, event.MediaRetry, `{"messageId":"`+sent.KeyID+`","keyFromMe":true,"hasCiphertext":true}`)
	s.sandbox.LoseMedia(sent.Content.DirectPath)
	data().refused(t, http.StatusGone, "MEDIA_GONE")
}

func (s *sendScene) killedUpload(t *testing.T) {
	spooled := func() []string {
		left, err := filepath.Glob(filepath.Join(s.dataFile()+".media", "*"))
		if err != nil {
			t.Fatal(err)
		}
		return left
	}
	reader, writer := io.Pipe()
	form := multipart.NewWriter(writer)
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.api.base+s.fill("/instance/$name/media/uploads"), reader)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+s.token)
	req.Header.Set("Content-Type", form.FormDataContentType())
	done := make(chan struct{})
	go func() {
		defer close(done)
		if resp, err := s.api.http.Do(req); err == nil {
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
	s.await("the file is on its way", func() bool { return len(spooled()) == 1 })
	s.kill()
	_ = writer.CloseWithError(io.ErrUnexpectedEOF)
	<-done
	if n := len(spooled()); n != 1 {
		t.Fatalf("%d files were left", n)
	}
	s.start()
	if left := spooled(); len(left) > 0 {
		t.Errorf("left after the start: %v", left)
	}
}
