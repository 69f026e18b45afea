package crash

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"postern/cli/consumer"
	"postern/e2e/rig"
	"postern/event"
	"postern/sandbox"
)

// sentText is one send by the API. Its text is that of a message, of an edit,
// or the caption of a picture.
type sentText struct {
	readers []string // the phones that are to read it
	text    string
	asked   posted
	key     string // the Idempotency-Key; empty: none
	status  int    // 0: no answer
	answer  []byte
	changed bool // an edit was asked for later: the stored text may be another
}

// posted is a request that can be sent again.
type posted struct {
	token, path, contentType string
	body                     []byte
}

func (l *account) posting(path string, body map[string]any) posted {
	raw, err := json.Marshal(body)
	if err != nil {
		panic(err)
	}
	return posted{l.token, "/instance/" + l.name + path, "application/json", raw}
}

// deliver sends a request, half of the time under a key and then until there
// is an answer, and keeps both in the ledger.
func (s *siege) deliver(ctx context.Context, rng *rand.Rand, t *sentText) {
	if rng.IntN(2) == 0 {
		t.key = uuid.NewString()
	}
	for {
		t.status, t.answer = s.post(t.key, t.asked)
		again := t.key != "" && (t.status == 0 || t.status == http.StatusConflict)
		if !again || !rest(ctx, rng, 20*time.Millisecond) {
			break
		}
	}
	s.ledger.note(func() { s.ledger.texts = append(s.ledger.texts, t) })
}

// sendTexts sends by the API of one instance: to one person or a group, at
// once or later, with a picture by its URL or in the body, and edits.
func (s *siege) sendTexts(ctx context.Context, rng *rand.Rand, l *account) {
	var last *sentText
	for rest(ctx, rng, 50*time.Millisecond) {
		number := s.numbers[rng.IntN(len(s.numbers))]
		t := &sentText{readers: []string{number}, text: s.ledger.name("text")}
		text := map[string]any{"text": t.text}
		switch rng.IntN(10) {
		case 0, 1:
			t.readers = s.strangers()
			t.asked = l.posting("/send/text", map[string]any{"chat": l.group, "textMessage": text})
		case 2, 3:
			t.readers = s.strangers()
			t.asked = l.posting("/send/text", map[string]any{"chat": l.group, "textMessage": text, "options": map[string]any{"mentionAll": true}})
		case 4:
			t.asked = l.posting("/send/media", map[string]any{"number": number, "mediaMessage": map[string]any{"mediatype": "image", "media": s.files + "/photo.jpg", "caption": t.text}})
		case 5:
			t.asked = l.picture(number, t.text, "")
		case 7:
			t.asked = l.posting("/send/text", map[string]any{"number": number, "textMessage": text, "options": map[string]any{"sendAt": soon(rng), "lateMax": 3_600_000}})
		case 8:
			t.asked = l.picture(number, t.text, soon(rng))
		case 6:
			if last == nil || last.status != http.StatusOK {
				continue
			}
			t.readers = last.readers
			s.ledger.note(func() { last.changed = true })
			t.asked = l.posting("/chat/edit-message", map[string]any{"messageId": keyIDOf(last.answer), "text": t.text})
			last = nil
		default:
			t.asked = l.posting("/send/text", map[string]any{"number": number, "textMessage": text})
			last = t
		}
		s.deliver(ctx, rng, t)
	}
}

func keyIDOf(answer []byte) string {
	var m rig.SentMessage
	_ = json.Unmarshal(answer, &m)
	return m.KeyID
}

// soon returns a time for a scheduled send, which a kill may come before or after.
func soon(rng *rand.Rand) string {
	return time.Now().Add(100*time.Millisecond + time.Duration(rng.IntN(1000))*time.Millisecond).UTC().Format(time.RFC3339Nano)
}

// picture returns a form with a picture, to be sent now or at a time.
func (l *account) picture(number, caption, at string) posted {
	var body bytes.Buffer
	w := multipart.NewWriter(&body)
	for name, value := range map[string]string{"number": number, "mediaType": "image", "caption": caption, "sendAt": at} {
		_ = w.WriteField(name, value)
	}
	part, err := w.CreateFormFile("attachment", "photo.jpg")
	if err == nil {
		_, err = part.Write(examplePhoto())
	}
	if err != nil {
		panic(err)
	}
	_ = w.Close()
	return posted{l.token, "/instance/" + l.name + "/send/media-file", w.FormDataContentType(), body.Bytes()}
}

func examplePhoto() []byte {
	raw, err := os.ReadFile(filepath.Join("media", "testdata", "photo.jpg"))
	if err != nil {
		panic(err)
	}
	return raw
}

// newFiles returns a server of pictures, some of which are slow to come.
func newFiles(t *testing.T) (url string) {
	t.Helper()
	photo := examplePhoto()
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		half := len(photo) / 2
		_, _ = w.Write(photo[:half])
		if rand.IntN(3) == 0 {
			w.(http.Flusher).Flush()
			select {
			case <-time.After(rand.N(40 * time.Millisecond)):
			case <-r.Context().Done():
			}
		}
		_, _ = w.Write(photo[half:])
	}))
	t.Cleanup(srv.Close)
	return srv.URL
}

// furnish gives each account a group with all strangers in it, and the batches
// a file that was uploaded before.
func (s *siege) furnish() {
	control := s.Sandbox.Control()
	for _, l := range s.accounts {
		body := fmt.Sprintf(`{"do":"group-create","subject":"All","participants":["%s"]}`, strings.Join(s.strangers(), `","`))
		rec := httptest.NewRecorder()
		control.ServeHTTP(rec, httptest.NewRequestWithContext(s.T.Context(), http.MethodPost, "/sandbox/phones/"+l.phone.Number()+"/act", strings.NewReader(body)))
		var made struct{ Group string }
		if err := json.Unmarshal(rec.Body.Bytes(), &made); err != nil || made.Group == "" {
			s.T.Fatalf("group: %d %s", rec.Code, rec.Body)
		}
		l.group = made.Group
	}
	l := s.accounts[0]
	var upload struct{ UUID string }
	s.Call(consumer.Bearer(l.token), http.MethodPost, "/instance/"+l.name+"/media/uploads", map[string]any{"mediaType": "image", "media": s.files + "/photo.jpg"}, &upload)
	s.uploadID = upload.UUID
}

func (s *siege) strangers() (all []string) {
	for _, l := range s.accounts {
		all = append(all, l.stranger.Number())
	}
	return all
}

// contentOf returns the message of a batch.
func (s *siege) contentOf(rng *rand.Rand, text string) map[string]any {
	payload := map[string]any{"mediatype": "image", "caption": text}
	switch rng.IntN(8) {
	case 0:
		payload["mediaUploadId"] = s.uploadID
	case 1:
		payload["media"] = s.files + "/photo.jpg"
	default:
		return map[string]any{"type": "text", "payload": map[string]any{"text": text}}
	}
	return map[string]any{"type": "media", "payload": payload}
}

// wordsOf returns what a person reads of a message: its text, its caption, or the
// text that it is changed to.
func wordsOf(r sandbox.Received) string {
	m := r.Message
	for _, words := range []string{
		r.Text, m.GetImageMessage().GetCaption(),
		m.GetEditedMessage().GetMessage().GetProtocolMessage().GetEditedMessage().GetConversation(),
		m.GetEditedMessage().GetMessage().GetProtocolMessage().GetEditedMessage().GetExtendedTextMessage().GetText(),
		m.GetProtocolMessage().GetEditedMessage().GetConversation(),
		m.GetProtocolMessage().GetEditedMessage().GetExtendedTextMessage().GetText(),
	} {
		if words != "" {
			return words
		}
	}
	return ""
}

// noteResult keeps the end of an asynchronous or scheduled send. The same one may be
// delivered again, another may not.
func (s *siege) noteResult(body []byte) {
	var e struct {
		Data struct {
			event.SendResult
			ScheduledID string
			Metadata    struct{ ScheduledID string }
		}
	}
	if s.over.Load() || json.Unmarshal(body, &e) != nil {
		return
	}
	id, result := cmp.Or(e.Data.ProcessID, e.Data.ScheduledID, e.Data.Metadata.ScheduledID), string(e.Data.Status)
	switch {
	case id == "":
		return
	case e.Data.Error != nil:
		result += " " + e.Data.Error.Code
	case e.Data.Metadata.ScheduledID != "":
		result = "sent"
	}
	s.ledger.note(func() {
		if before := s.ledger.ends[id]; before != "" && before != result {
			s.T.Errorf("the asynchronous send %s ended as %q and as %q", id, before, result)
		}
		s.ledger.ends[id] = result
	})
}

// endOf returns what was reported of an asynchronous send; events of instances are not
// sent again after a kill.
func (s *siege) endOf(t *sentText) string {
	var accepted struct{ ProcessID, ScheduledID string }
	err := json.Unmarshal(t.answer, &accepted)
	id := cmp.Or(accepted.ProcessID, accepted.ScheduledID)
	if err != nil || id == "" {
		s.T.Errorf("%s was accepted with %s", t.text, t.answer)
	}
	return s.ledger.ends[id]
}

// checkReplays repeats requests whose answers must be the same as they were.
func (s *siege) checkReplays() {
	left := 20
	for _, t := range s.ledger.texts {
		kept := t.status == http.StatusOK || t.status == http.StatusAccepted || t.status == http.StatusRequestTimeout
		if t.key == "" || !kept || left == 0 {
			continue
		}
		left--
		if status, answer := s.post(t.key, t.asked); status != t.status || !bytes.Equal(answer, t.answer) {
			s.T.Errorf("%s: the repeated request was answered %d %s, and before %d %s", t.text, status, answer, t.status, t.answer)
		}
	}
}

// noFileLeft: a kill leaves files on their way behind, and the next start
// removes them.
func (s *siege) noFileLeft() {
	left, err := filepath.Glob(filepath.Join(s.DataFile()+".media", "*"))
	if err != nil || len(left) > 0 {
		s.T.Errorf("files on their way are left: %v, %v", left, err)
	}
}

func (s *siege) post(key string, p posted) (status int, answer []byte) {
	return s.askAs(p.contentType, key, p.token, http.MethodPost, p.path, io.Reader(bytes.NewReader(p.body)))
}
