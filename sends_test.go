package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/protobuf/encoding/protojson"

	"postern/event"
	"postern/sandbox"
)

// sendScene is a scene that is online, and a server with files.
type sendScene struct {
	*scene
	mu   sync.Mutex
	hits map[string]int // requests of the file server by path
}

func newSendScene(t *testing.T, env ...string) *sendScene {
	t.Helper()
	if testing.Short() {
		t.Skip("starts a real process")
	}
	s := &sendScene{hits: map[string]int{}}
	files := httptest.NewServer(http.HandlerFunc(s.file))
	t.Cleanup(files.Close)
	s.scene = newScene(t, append([]string{"MEDIA_ALLOW_PRIVATE=true"}, env...)...)
	s.vars["files"] = files.URL
	s.online(t)
	return s
}

func (s *sendScene) file(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	s.hits[r.URL.Path]++
	s.mu.Unlock()
	http.ServeFile(w, r, filepath.Join("media", "testdata", filepath.Base(r.URL.Path)))
}

func (s *sendScene) fetched(path string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.hits[path]
}

// answer is what a call ended with.
type answer struct {
	status int
	body   []byte
}

// post sends a body of any type with the instance's token.
func (s *sendScene) post(t *testing.T, path, contentType string, body io.Reader) answer {
	t.Helper()
	return s.request(t, http.MethodPost, path, contentType, body)
}

func (s *sendScene) request(t *testing.T, method, path, contentType string, body io.Reader) answer {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, s.api.base+path, body)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+s.token)
	req.Header.Set("Content-Type", contentType)
	resp, err := s.api.http.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	raw, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer{resp.StatusCode, raw}
}

func (s *sendScene) postJSON(t *testing.T, path, body string) answer {
	t.Helper()
	return s.post(t, path, "application/json", strings.NewReader(s.fill(body)))
}

// multipart sends one of the example files with the fields of a form.
func (s *sendScene) multipart(t *testing.T, path, file string, fields map[string]string) answer {
	t.Helper()
	var body bytes.Buffer
	w := multipart.NewWriter(&body)
	for name, value := range fields {
		if err := w.WriteField(name, s.fill(value)); err != nil {
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
	return s.post(t, path, w.FormDataContentType(), &body)
}

// sentMessage is the part of a stored message that the tests look at.
type sentMessage struct {
	ID    int64
	KeyID string
}

// sent checks the answer to a send, and that the webhook has the same object.
func (s *sendScene) sent(t *testing.T, from int, a answer, want string) (m sentMessage) {
	t.Helper()
	if a.status != http.StatusOK {
		t.Fatalf("%d %s", a.status, a.body)
	}
	var got, wanted any
	if err := json.Unmarshal([]byte(s.fill(want)), &wanted); err != nil {
		t.Fatalf("%s: %v", want, err)
	}
	if json.Unmarshal(a.body, &got) != nil || !holds(got, wanted) {
		t.Errorf("the answer is not %s: %s", s.fill(want), a.body)
	}
	if err := json.Unmarshal(a.body, &m); err != nil || m.ID == 0 || m.KeyID == "" {
		t.Fatalf("the answer has no ids: %s", a.body)
	}
	told := s.awaitEvent(t, from, event.SendMessage, fmt.Sprintf(`{"keyId":%q}`, m.KeyID))
	if err := event.Validate(event.SendMessage, told); err != nil {
		t.Errorf("send.message breaks its schema: %v\n%s", err, told)
	}
	var envelope struct{ Data json.RawMessage }
	if err := json.Unmarshal(told, &envelope); err != nil || !bytes.Equal(envelope.Data, bytes.TrimSpace(a.body)) {
		t.Errorf("the answer and send.message differ:\n%s\n%s", a.body, envelope.Data)
	}
	return m
}

// decryptedAs waits until a phone has decrypted the message, and compares it
// as protobuf JSON.
func (s *sendScene) decryptedAs(t *testing.T, number, keyID, want string) {
	t.Helper()
	phone, ok := s.sandbox.Phone(number)
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
	if err := json.Unmarshal([]byte(s.fill(want)), &wanted); err != nil {
		t.Fatalf("%s: %v", want, err)
	}
	if json.Unmarshal(raw, &got) != nil || !holds(got, wanted) {
		t.Errorf("%s decrypted %s, not %s", number, raw, s.fill(want))
	}
}

func (s *sendScene) received() int {
	s.scene.mu.Lock()
	defer s.scene.mu.Unlock()
	return len(s.log)
}

// sendRow is a send to Anne. A row with a file is a form.
type sendRow struct {
	paths  []string // the route and its other names
	body   string   // JSON beside the recipient
	file   string
	fields map[string]string
	answer string // what the stored message holds at least
	phone  string // and what the phone decrypted
}

func sendTable() []sendRow {
	const photo = `{"url":"*","directPath":"*","mediaKey":"*","fileSha256":"*","fileEncSha256":"*","fileLength":"5905","mimetype":"image/jpeg","width":160,"jpegThumbnail":"*","caption":"look"}`
	phonePhoto := `{"imageMessage":` + strings.NewReplacer(`"url"`, `"URL"`, "Sha256", "SHA256", "jpegT", "JPEGT").Replace(photo) + `}`
	const voice = `{"ptt":true,"mimetype":"audio/ogg; codecs=opus","seconds":"*","waveform":"*","fileLength":"7827"}`
	phoneVoice := `{"audioMessage":` + strings.Replace(voice, "ptt", "PTT", 1) + `}`
	return []sendRow{
		{
			paths:  []string{"/instance/$name/send/text", "/message/sendText/$name"},
			body:   `"textMessage":{"text":"good morning ☀"}`,
			answer: `{"messageType":"conversation","content":{"text":"good morning ☀"}}`,
			phone:  `{"conversation":"good morning ☀"}`,
		}, {
			paths:  []string{"/instance/$name/send/link", "/message/sendLink/$name"},
			body:   `"linkMessage":{"link":"https://example.org/a","title":"A","description":"B","thumbnailUrl":"$files/photo.jpg"}`,
			answer: `{"messageType":"extendedTextMessage","content":{"text":"https://example.org/a","matchedText":"https://example.org/a","title":"A","description":"B","jpegThumbnail":"*"}}`,
			phone:  `{"extendedTextMessage":{"text":"https://example.org/a","matchedText":"https://example.org/a","title":"A","description":"B","JPEGThumbnail":"*"}}`,
		}, {
			paths:  []string{"/instance/$name/send/media", "/message/sendMedia/$name"},
			body:   `"mediaMessage":{"mediatype":"image","media":"$files/photo.jpg","caption":"look"}`,
			answer: `{"messageType":"imageMessage","content":` + photo + `}`,
			phone:  phonePhoto,
		}, {
			paths: []string{"/instance/$name/send/media-file", "/message/sendMediaFile/$name"},
			file:  "photo.jpg", fields: map[string]string{"mediaType": "image", "caption": "look"},
			answer: `{"messageType":"imageMessage","content":` + photo + `}`,
			phone:  phonePhoto,
		}, {
			paths:  []string{"/instance/$name/send/ptt", "/instance/$name/send/ppt", "/message/sendWhatsAppAudio/$name"},
			body:   `"audioMessage":{"audio":"$files/note.ogg"}`,
			answer: `{"messageType":"audioMessage","content":` + voice + `}`,
			phone:  phoneVoice,
		}, {
			paths:  []string{"/instance/$name/send/ptt-file", "/instance/$name/send/ppt-file", "/message/sendWhatsAppAudioFile/$name"},
			file:   "note.ogg",
			answer: `{"messageType":"audioMessage","content":` + voice + `}`,
			phone:  phoneVoice,
		}, {
			paths:  []string{"/instance/$name/send/contact", "/message/sendContact/$name"},
			body:   `"contactMessage":[{"fullName":"Bob","phoneNumber":"+49 151 555 00003","organization":"Baker"}]`,
			answer: `{"messageType":"contactMessage","content":{"displayName":"Bob","vcard":"*"}}`,
			phone:  `{"contactMessage":{"displayName":"Bob","vcard":"BEGIN:VCARD\nVERSION:3.0\nN:;Bob;;;\nFN:Bob\nORG:Baker;\nTEL;type=CELL;type=VOICE;waid=4915155500003:+4915155500003\nEND:VCARD"}}`,
		}, {
			paths:  []string{"/instance/$name/send/location", "/message/sendLocation/$name"},
			body:   `"locationMessage":{"latitude":52.5,"longitude":13.25,"name":"Here","address":"Street 1"}`,
			answer: `{"messageType":"locationMessage","content":{"degreesLatitude":52.5,"degreesLongitude":13.25,"name":"Here","address":"Street 1"}}`,
			phone:  `{"locationMessage":{"degreesLatitude":52.5,"degreesLongitude":13.25,"name":"Here","address":"Street 1"}}`,
		}, {
			paths:  []string{"/instance/$name/send/reaction", "/message/sendReaction/$name"},
			body:   `"reactionMessage":{"key":{"remoteJid":"$anne@s.whatsapp.net","id":"3EB0AA","fromMe":false},"reaction":"👍"}`,
			answer: `{"messageType":"reactionMessage","content":{"text":"👍","key":{"id":"3EB0AA","fromMe":false}}}`,
			phone:  `{"reactionMessage":{"text":"👍","key":{"ID":"3EB0AA","fromMe":false}}}`,
		}, {
			paths:  []string{"/instance/$name/send/sticker"},
			body:   `"stickerMessage":{"sticker":"$files/sticker.webp"}`,
			answer: `{"messageType":"stickerMessage","content":{"mimetype":"image/webp","fileLength":"1520"}}`,
			phone:  `{"stickerMessage":{"mimetype":"image/webp","fileLength":"1520","mediaKey":"*"}}`,
		}, {
			paths: []string{"/instance/$name/send/sticker-file"}, file: "sticker.webp",
			answer: `{"messageType":"stickerMessage","content":{"mimetype":"image/webp","fileLength":"1520"}}`,
			phone:  `{"stickerMessage":{"mimetype":"image/webp","fileLength":"1520","mediaKey":"*"}}`,
		}, {
			paths:  []string{"/instance/$name/send/poll"},
			body:   `"pollMessage":{"name":"When?","options":["now","later"],"selectableCount":1}`,
			answer: `{"messageType":"pollCreationMessage","content":{"name":"When?","selectableOptionsCount":1}}`,
			phone:  `{"pollCreationMessage":{"name":"When?","options":[{"optionName":"now"},{"optionName":"later"}],"selectableOptionsCount":1}}`,
		},
	}
}

// TestEverySendReachesTheOtherPhone sends by every route under every name, and
// compares the answer, the webhook, and what the recipient decrypted.
func TestEverySendReachesTheOtherPhone(t *testing.T) {
	s := newSendScene(t)
	for _, row := range sendTable() {
		for _, path := range row.paths {
			t.Run(strings.ReplaceAll(path, "$name", ""), func(t *testing.T) {
				from := s.received()
				var a answer
				if row.file == "" {
					a = s.postJSON(t, s.fill(path), `{"number":"$anne","options":{"externalAttributes":{"order":7}},`+row.body+`}`)
				} else {
					fields := map[string]string{"recipient": "$anne@s.whatsapp.net", "options": `{"externalAttributes":{"order":7}}`}
					maps.Copy(fields, row.fields)
					a = s.multipart(t, s.fill(path), row.file, fields)
				}
				m := s.sent(t, from, a, row.answer)
				s.sent(t, from, a, `{"keyFromMe":true,"keyRemoteJid":"$anne@s.whatsapp.net","keyLid":"$anneLID","instanceId":1,"externalAttributes":{"order":7},"isGroup":false}`)
				s.decryptedAs(t, anneNumber, m.KeyID, row.phone)
			})
		}
	}
}

// TestASendQuotes answers a message that is named in each way.
func TestASendQuotes(t *testing.T) {
	s := newSendScene(t)
	from := s.received()
	first := s.sent(t, from, s.postJSON(t, s.fill("/instance/$name/send/text"), `{"chat":"$anne","textMessage":{"text":"the question"}}`), `{}`)
	for name, option := range map[string]string{
		"by id":     fmt.Sprintf(`"quotedMessageId":%d`, first.ID),
		"by key id": fmt.Sprintf(`"quotedMessageId":%q`, first.KeyID),
		"by object": fmt.Sprintf(`"quotedMessage":{"key":{"remoteJid":"$anne@s.whatsapp.net","id":%q,"fromMe":true},"message":{"conversation":"the question"}}`, first.KeyID),
	} {
		t.Run(name, func(t *testing.T) {
			from := s.received()
			a := s.postJSON(t, s.fill("/instance/$name/send/text"), `{"number":"$anne","textMessage":{"text":"the answer"},"options":{`+option+`}}`)
			m := s.sent(t, from, a, `{"messageType":"extendedTextMessage"}`)
			s.decryptedAs(t, anneNumber, m.KeyID, fmt.Sprintf(`{"extendedTextMessage":{"text":"the answer","contextInfo":{"stanzaID":%q,"participant":"$own@s.whatsapp.net","quotedMessage":{"conversation":"the question"}}}}`, first.KeyID))
		})
	}
}

// TestADelayIsWaitedFor also holds for a send that shows that somebody types.
func TestADelayIsWaitedFor(t *testing.T) {
	s := newSendScene(t)
	began := time.Now()
	from := s.received()
	a := s.postJSON(t, s.fill("/instance/$name/send/text"), `{"number":"$anne","textMessage":{"text":"slowly"},"options":{"presence":"composing","delay":300}}`)
	m := s.sent(t, from, a, `{}`)
	if took := time.Since(began); took < 300*time.Millisecond {
		t.Errorf("the message left after %s", took)
	}
	s.decryptedAs(t, anneNumber, m.KeyID, `{"conversation":"slowly"}`)
	phone, _ := s.sandbox.Phone(anneNumber)
	notices := phone.ChatStates()
	if len(notices) == 0 || notices[0].State != "composing" || notices[0].From.User != s.ownLID() {
		t.Errorf("Anne's phone saw %+v", notices)
	}
	received := phone.Received()
	if last := received[len(received)-1]; len(notices) > 0 && last.At.Sub(notices[0].At) < 250*time.Millisecond {
		t.Errorf("the notice came %s before the message", last.At.Sub(notices[0].At))
	}
}

func (s *sendScene) ownLID() string {
	user, _, _ := strings.Cut(s.vars["shopLID"], "@")
	return user
}
