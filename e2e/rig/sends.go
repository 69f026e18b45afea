package rig

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/google/uuid"
	"google.golang.org/protobuf/encoding/protojson"

	"postern/event"
	"postern/sandbox"
)

// SendScene is a scene that is online, and a server with files.
type SendScene struct {
	*Scene
	filesMu sync.Mutex
	hits    map[string]int // requests of the file server by path
}

// NewSendScene is NewScene with the instance online and a host of files.
func NewSendScene(t *testing.T, env ...string) *SendScene {
	t.Helper()
	return SendSceneIn(t, NewWorld(t), env...)
}

// SendSceneIn is NewSendScene in a world whose program was not started yet.
func SendSceneIn(t *testing.T, w *World, env ...string) *SendScene {
	t.Helper()
	if testing.Short() {
		t.Skip("starts a real process")
	}
	s := &SendScene{hits: map[string]int{}}
	files := httptest.NewServer(http.HandlerFunc(s.file))
	t.Cleanup(files.Close)
	s.Scene = newScene(t, w, append([]string{"MEDIA_ALLOW_PRIVATE=true"}, env...)...)
	s.Vars["files"] = files.URL
	s.Online(t)
	return s
}

func (s *SendScene) file(w http.ResponseWriter, r *http.Request) {
	s.filesMu.Lock()
	s.hits[r.URL.Path]++
	s.filesMu.Unlock()
	http.ServeFile(w, r, filepath.Join("media", "testdata", filepath.Base(r.URL.Path)))
}

// Fetched counts how often a file was asked for.
func (s *SendScene) Fetched(path string) int {
	s.filesMu.Lock()
	defer s.filesMu.Unlock()
	return s.hits[path]
}

// Answer is what a call ended with.
type Answer struct {
	Status int
	Header http.Header
	Body   []byte
}

// Post sends a body of any type with the instance's token.
func (s *SendScene) Post(t *testing.T, path, contentType string, body io.Reader) Answer {
	t.Helper()
	return s.Request(t, http.MethodPost, path, contentType, body)
}

// Request calls the program with the token of the instance.
func (s *SendScene) Request(t *testing.T, method, path, contentType string, body io.Reader) Answer {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, s.API.Base+path, body)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+s.Token)
	req.Header.Set("Content-Type", contentType)
	resp, err := s.API.HTTP.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	raw, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return Answer{resp.StatusCode, resp.Header, raw}
}

// PostJSON sends a body of JSON with the token of the instance.
func (s *SendScene) PostJSON(t *testing.T, path, body string) Answer {
	t.Helper()
	return s.Post(t, path, "application/json", strings.NewReader(s.Fill(body)))
}

// Multipart sends one of the example files with the fields of a form.
func (s *SendScene) Multipart(t *testing.T, path, file string, fields map[string]string) Answer {
	t.Helper()
	var body bytes.Buffer
	w := multipart.NewWriter(&body)
	for name, value := range fields {
		if err := w.WriteField(name, s.Fill(value)); err != nil {
			t.Fatal(err)
		}
	}
	part, err := w.CreateFormFile("attachment", file)
	if err != nil {
		t.Fatal(err)
	}
	content, err := os.ReadFile(filepath.Join("media", "testdata", file))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := part.Write(content); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return s.Post(t, path, w.FormDataContentType(), &body)
}

// SentMessage is the part of a stored message that the tests look at.
type SentMessage struct {
	ID    int64
	KeyID string
}

// Sent checks the answer to a send, and that the webhook has the same object.
func (s *SendScene) Sent(t *testing.T, from int, a Answer, want string) (m SentMessage) {
	t.Helper()
	if a.Status != http.StatusOK {
		t.Fatalf("%d %s", a.Status, a.Body)
	}
	var got, wanted any
	if err := json.Unmarshal([]byte(s.Fill(want)), &wanted); err != nil {
		t.Fatalf("%s: %v", want, err)
	}
	if json.Unmarshal(a.Body, &got) != nil || !Holds(got, wanted) {
		t.Errorf("the answer is not %s: %s", s.Fill(want), a.Body)
	}
	if err := json.Unmarshal(a.Body, &m); err != nil || m.ID == 0 || m.KeyID == "" {
		t.Fatalf("the answer has no ids: %s", a.Body)
	}
	reported := s.AwaitEvent(t, from, event.SendMessage, fmt.Sprintf(`{"keyId":%q}`, m.KeyID))
	if err := CheckEvent(event.SendMessage, reported); err != nil {
		t.Errorf("send.message breaks its schema: %v\n%s", err, reported)
	}
	var envelope struct{ Data json.RawMessage }
	if err := json.Unmarshal(reported, &envelope); err != nil || !bytes.Equal(envelope.Data, bytes.TrimSpace(a.Body)) {
		t.Errorf("the answer and send.message differ:\n%s\n%s", a.Body, envelope.Data)
	}
	return m
}

// DecryptedAs waits until a phone has decrypted the message, and compares it
// as protobuf JSON.
func (s *SendScene) DecryptedAs(t *testing.T, number, keyID, want string) {
	t.Helper()
	phone, ok := s.Sandbox.Phone(number)
	if !ok {
		t.Fatalf("the sandbox has no phone %s", number)
	}
	r, err := phone.WaitReceived(t.Context(), func(r sandbox.Received) bool { return r.ID == keyID })
	if err != nil {
		t.Fatal(err)
	}
	raw, err := protojson.Marshal(r.Message)
	if err != nil {
		t.Fatal(err)
	}
	var got, wanted any
	if err := json.Unmarshal([]byte(s.Fill(want)), &wanted); err != nil {
		t.Fatalf("%s: %v", want, err)
	}
	if json.Unmarshal(raw, &got) != nil || !Holds(got, wanted) {
		t.Errorf("%s decrypted %s, not %s", number, raw, s.Fill(want))
	}
}

// OwnLID returns the hidden number of the instance's account.
func (s *SendScene) OwnLID() string {
	user, _, _ := strings.Cut(s.Vars["shopLID"], "@")
	return user
}

// SentID returns the WhatsApp id of the message to a recipient.
func (s *SendScene) SentID(t *testing.T, id uuid.UUID, recipient string) string {
	t.Helper()
	for _, item := range Pages[struct{ NormalizedRecipient, WhatsAppMessageID, Status string }](s.World, s.User, "/message/batches/"+id.String()+"/items") {
		if item.NormalizedRecipient == recipient {
			return item.WhatsAppMessageID
		}
	}
	t.Fatalf("the batch has no item for %s", recipient)
	return ""
}
