package httpapi

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"mime"
	"os"
	"strconv"
	"strings"
	"testing"

	"postern/event"
	"postern/httpapi/rest"
	"postern/httpapi/sends"
)

// Download writes the key id of the message as its file.
func (d *doer) Download(_ context.Context, m event.Message, to *os.File, limit int64) error {
	content, ok := d.files[m.KeyID]
	if !ok {
		content = "file of " + m.KeyID
	}
	if _, err := to.WriteString(content); err != nil {
		return err
	}
	return d.note("download %s, at most %d", m.KeyID, limit)
}

func withFile(id, messageType, content string) event.Message {
	m := received(id, anne, "")
	m.MessageType, m.Content = messageType, []byte(content)
	return m
}

func TestMessageFileComesRawOrInJSON(t *testing.T) {
	r, token, d := doing(t)
	r.keep(t, withFile("D1", "documentMessage", `{"mimetype":"application/pdf","fileName":"Übersicht.pdf","caption":"the list"}`))
	raw := r.as(token, "POST", "/instance/a/media/data?binary=true", `{"messageId":"D1"}`)
	got, _ := io.ReadAll(raw.Body)
	_, params, err := mime.ParseMediaType(raw.Header.Get("Content-Disposition"))
	if raw.StatusCode != 200 || string(got) != "file of D1" || raw.Header.Get("Content-Type") != "application/pdf" ||
		raw.Header.Get("Content-Length") != "10" || err != nil || params["filename"] != "Übersicht.pdf" || raw.Header.Get("X-Content-Type-Options") != "nosniff" {
		t.Errorf("%d %q %v %v", raw.StatusCode, got, raw.Header, err)
	}
	want := sends.FileAnswer{
		Kind: "document", FileName: "Übersicht.pdf", MimeType: "application/pdf", Caption: "the list", Size: sends.FileSize{FileLength: 10},
		Base64: base64.StdEncoding.EncodeToString([]byte("file of D1")),
	}
	for _, path := range []string{"/instance/a/media/data", "/instance/a/media/data?binary=false", "/chat/mediaData/a"} {
		for _, body := range []string{
			`{"messageId":1}`, `{"id":1}`, `{"id":"1"}`, `{"id":"D1"}`, `{"keyId":"D1"}`,
			`{"keyId":"D1","messageType":"documentMessage","content":{"mimetype":"application/pdf","fileName":"Übersicht.pdf","caption":"the list"}}`,
		} {
			res := r.as(token, "POST", path, body)
			length := res.Header.Get("Content-Length")
			raw, err := io.ReadAll(res.Body)
			var got sends.FileAnswer
			if err != nil || json.Unmarshal(raw, &got) != nil || got != want || length != strconv.Itoa(len(raw)) {
				t.Errorf("%s %s: %d %s (%s bytes), %v", path, body, res.StatusCode, raw, length, err)
			}
		}
	}
	if d.asked[0] != fmt.Sprint("download D1, at most ", defaultMaxMedia) {
		t.Errorf("asked %q", d.asked)
	}
	if left := r.spooled(); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
}

// TestUnnamedFileIsNamedAfterItsKind: the request has the content from an event, and no keyId.
func TestUnnamedFileIsNamedAfterItsKind(t *testing.T) {
	r, token, _ := doing(t)
	for body, want := range map[string]string{
		`{"messageType":"imageMessage","content":{"mimetype":"image/jpeg"}}`:                "image.jpg",
		`{"messageType":"audioMessage","content":{"mimetype":"audio/ogg","ptt":true}}`:      "voice.ogg",
		`{"messageType":"documentMessage","content":{}}`:                                    "document",
		`{"keyId":"K9","messageType":"imageMessage","content":{"mimetype":"image/jpeg"}}`:   "K9.jpg",
		`{"messageType":"documentMessage","content":{"mimetype":"a/b","fileName":"x.bin"}}`: "x.bin",
	} {
		if got := decoded[sends.FileAnswer](t, r.as(token, "POST", "/instance/a/media/data", body)); got.FileName != want {
			t.Errorf("%s: named %q, want %q", body, got.FileName, want)
		}
	}
}

func TestForeignTextBreaksNoHeader(t *testing.T) {
	r, token, _ := doing(t)
	for i, c := range []struct{ content, kind, name string }{
		{`{"mimetype":"text/html\r\nX-Evil: 1","fileName":"a\r\nX-Evil: 1\".txt"}`, "application/octet-stream", "aX-Evil: 1\".txt"},
		{`{"mimetype":"","fileName":""}`, "application/octet-stream", "K1"},
		{`{"mimetype":"audio/ogg; codecs=opus","fileName":"../../x"}`, "audio/ogg; codecs=opus", "x"},
	} {
		id := r.keep(t, withFile(fmt.Sprint("K", i), "documentMessage", c.content))
		res := r.as(token, "POST", "/instance/a/media/data?binary=true", fmt.Sprintf(`{"messageId":%d}`, id))
		_, params, err := mime.ParseMediaType(res.Header.Get("Content-Disposition"))
		if res.StatusCode != 200 || res.Header.Get("X-Evil") != "" || strings.ContainsAny(res.Header.Get("Content-Disposition"), "\r\n") ||
			res.Header.Get("Content-Type") != c.kind || err != nil || params["filename"] != c.name {
			t.Errorf("%s: %d %q %v", c.content, res.StatusCode, res.Header, err)
		}
		got := decoded[sends.FileAnswer](t, r.as(token, "POST", "/instance/a/media/data", fmt.Sprintf(`{"messageId":%d}`, id)))
		if raw, err := base64.StdEncoding.DecodeString(got.Base64); err != nil || string(raw) != fmt.Sprint("file of K", i) {
			t.Errorf("%s: %q", c.content, raw)
		}
	}
}

func TestMissingFileHasAReasonAndLeavesNothing(t *testing.T) {
	r, token, d := doing(t)
	r.keep(t, withFile("F1", "imageMessage", `{"mimetype":"image/jpeg"}`))
	r.keep(t, received("T1", anne, ""))
	for _, c := range []struct {
		path, body string
		err        error
		status     int
		code       string
	}{
		{"data", `{}`, nil, 400, rest.CodeMissingField},
		{"data", `{"messageId":1,"keyId":"F1"}`, nil, 400, rest.CodeMissingField},
		{"data", `{"id":1,"messageId":1}`, nil, 400, rest.CodeMissingField},
		{"data", `{"id":1,"messageType":"imageMessage","content":{}}`, nil, 400, rest.CodeMissingField},
		{"data", `{"messageType":"imageMessage"}`, nil, 400, rest.CodeMissingField},
		{"data", `{"content":{},"keyId":"F1"}`, nil, 400, rest.CodeMissingField},
		{"data", `{"messageType":"conversation","content":{"text":"x"}}`, nil, 422, "MESSAGE_WITHOUT_MEDIA"},
		{"data", `{"messageId":true}`, nil, 400, rest.CodeInvalidType},
		{"data?binary=1", `{"messageId":1}`, nil, 400, rest.CodeInvalidQuery},
		{"data?raw=true", `{"messageId":1}`, nil, 400, rest.CodeInvalidQuery},
		{"data", `{"messageId":9}`, nil, 404, "MESSAGE_NOT_FOUND"},
		{"data", `{"messageId":"T1"}`, nil, 422, "MESSAGE_WITHOUT_MEDIA"},
		{"data", `{"messageId":"F1"}`, event.ErrMediaGone, 410, "MEDIA_GONE"},
		{"data", `{"messageId":"F1"}`, event.ErrMedia, 422, "INVALID_MEDIA"},
		{"data", `{"messageId":"F1"}`, event.ErrNoAnswer, 408, "WHATSAPP_TIMEOUT"},
		{"data", `{"messageId":"F1"}`, event.ErrNoMedia, 422, "MESSAGE_WITHOUT_MEDIA"},
	} {
		d.err = c.err
		t.Log(c.path, c.body, c.err)
		wantError(t, r.as(token, "POST", "/instance/a/media/"+c.path, c.body), c.status, c.code)
	}
	r.line.online.Store(false)
	wantError(t, r.as(token, "POST", "/instance/a/media/data", `{"messageId":"F1"}`), 503, "INSTANCE_NOT_CONNECTED")
	if left := r.spooled(); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
}
