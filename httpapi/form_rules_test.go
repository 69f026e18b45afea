package httpapi

import (
	"bytes"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"postern/httpapi/rest"
)

// part is one part of a multipart body; with a file name it is a file.
type part struct{ name, fileName, text string }

func formBody(t *testing.T, parts ...part) (body []byte, contentType string) {
	t.Helper()
	var b bytes.Buffer
	w := multipart.NewWriter(&b)
	for _, p := range parts {
		var err error
		if p.fileName != "" {
			f, ferr := w.CreateFormFile(p.name, p.fileName)
			if ferr != nil {
				t.Fatal(ferr)
			}
			_, err = f.Write([]byte(p.text))
		} else {
			err = w.WriteField(p.name, p.text)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	_ = w.Close()
	return b.Bytes(), w.FormDataContentType()
}

// form sends a form with a token; an empty one means the operator's key.
func (r *rig) form(path, token string, body []byte, contentType string) *http.Response {
	req := httptest.NewRequest(http.MethodPost, path, bytes.NewReader(body))
	if token == "" {
		req.Header.Set("apikey", testKey)
	} else {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	req.Header.Set("Content-Type", contentType)
	return do(r.h, req)
}

// TestEveryFormIsReadStrictly sends all faults of forms to every route that takes one.
func TestEveryFormIsReadStrictly(t *testing.T) {
	r := newRig(t)
	token := r.instance("some-instance")
	png := part{"attachment", "a.png", "\x89PNG\r\n\x1a\n"}
	cases := []struct {
		what   string
		parts  []part
		status int
		code   string
	}{
		{"no file", []part{{name: "number", text: "4915155500003"}}, 400, rest.CodeMissingField},
		{"an unknown field", []part{png, {name: "nummer", text: "1"}}, 400, rest.CodeUnknownField},
		{"a field twice", []part{png, {name: "options", text: "{}"}, {name: "options", text: "{}"}}, 400, rest.CodeDuplicateField},
		{"the file twice", []part{png, png}, 400, rest.CodeDuplicateField},
		{"a field that is too large", []part{png, {name: "options", text: strings.Repeat("x", rest.MaxFormField+1)}}, 413, rest.CodeBodyTooLarge},
		{"a field that is not UTF-8", []part{png, {name: "number", text: "\xff"}, {name: "mediaType", text: "\xff"}, {name: "options", text: "\xff"}}, 400, rest.CodeInvalidType},
		{"an empty file", []part{{"attachment", "a.png", ""}}, 422, "INVALID_MEDIA"},
		{"options that are no object", []part{png, {name: "options", text: "[]"}}, 400, rest.CodeInvalidType},
		{"an unknown option", []part{png, {name: "options", text: `{"dely":1}`}}, 400, rest.CodeUnknownField},
	}
	for _, row := range routes() {
		if len(row.Form) == 0 || row.In != nil || row.File != "" { // those with a File have parts in order, see TestPartsOfACSVComeInOrder
			continue
		}
		token := token
		if row.Auth == rest.GlobalKey {
			token = ""
		}
		for _, c := range cases {
			if !slices.Contains(row.Form, "options") { // what is said of it is said of another field, or of none
				if strings.Contains(c.what, "option") {
					continue
				}
				c.parts = renamed(c.parts, row.Form[0])
			}
			if c.code == "INVALID_MEDIA" && !slices.Contains(row.Codes, c.code) {
				c.code = "INVALID_ARCHIVE"
			}
			body, contentType := formBody(t, c.parts...)
			t.Logf("%s with %s", row.Path, c.what)
			wantError(t, r.form(concrete(row.Path), token, body, contentType), c.status, c.code)
		}
		body, contentType := formBody(t, png)
		wantError(t, r.form(concrete(row.Path), token, body[:len(body)-5], contentType), 400, rest.CodeMalformedForm)
		wantError(t, r.form(concrete(row.Path), token, body, "multipart/form-data"), 415, rest.CodeContentType)
		wantError(t, r.form(concrete(row.Path), token, body, "application/json"), 415, rest.CodeContentType)
	}
}

// TestEmptyFormFieldAndJSONNullAreAbsent: the only remaining reason for a refusal is that the instance is
// not connected.
func TestEmptyFormFieldAndJSONNullAreAbsent(t *testing.T) {
	r := newRig(t)
	token := r.instance("some-instance")
	photo, err := os.ReadFile(filepath.Join("..", "media", "testdata", "photo.jpg"))
	if err != nil {
		t.Fatal(err)
	}
	image := part{"attachment", "photo.jpg", string(photo)}
	for what, c := range map[string]struct {
		fields []part
		status int
		code   string
	}{
		"one recipient of three": {[]part{{name: "number"}, {name: "chat", text: "4915155500003"}, {name: "recipient"}}, 503, "INSTANCE_NOT_CONNECTED"},
		"none of three":          {[]part{{name: "number"}, {name: "chat"}, {name: "recipient"}}, 400, "ONE_RECIPIENT"},
		"every other field empty": {[]part{
			{name: "number", text: "4915155500003"},
			{name: "caption"},
			{name: "fileName"},
			{name: "mimetype"},
			{name: "viewOnce"},
			{name: "options"},
			{name: "delay"},
			{name: "presence"},
			{name: "quotedMessageId"},
			{name: "quotedMessage"},
			{name: "mentionAll"},
			{name: "externalAttributes"},
		}, 503, "INSTANCE_NOT_CONNECTED"},
		"JSON that is null": {[]part{
			{name: "number", text: "4915155500003"}, {name: "options", text: "null"}, {name: "quotedMessage", text: " null\n"}, {name: "externalAttributes", text: "null"},
		}, 503, "INSTANCE_NOT_CONNECTED"},
		"a text of four letters": {[]part{{name: "number", text: "null"}}, 422, "INVALID_RECIPIENT"},
	} {
		t.Log(what)
		body, contentType := formBody(t, append(c.fields, image, part{name: "mediaType", text: "image"})...)
		wantError(t, r.form("/instance/some-instance/send/media-file", token, body, contentType), c.status, c.code)
	}
}

// renamed lists the fields that have another name in forms of sends.
func renamed(parts []part, name string) (all []part) {
	for _, p := range parts {
		if p.name == "mediaType" {
			continue
		}
		if p.name == "number" && p.text == "\xff" {
			continue // the field twice is another fault
		}
		if p.name == "number" || p.name == "options" {
			p.name = name
		}
		all = append(all, p)
	}
	return all
}

func TestFileOfAnotherTypeIsRefused(t *testing.T) {
	r := newRig(t)
	token := r.instance("some-instance")
	file := func(text string, fields ...part) (body []byte, contentType string) {
		return formBody(t, append(fields, part{"attachment", "cat.png", text}, part{name: "number", text: "4915155500003"})...)
	}
	for name, c := range map[string]struct {
		path, text string
		fields     []part
		status     int
		code       string
	}{
		"a page as an image":              {"media-file", "<!doctype html><p>", []part{{name: "mediaType", text: "image"}}, 422, "INVALID_MEDIA"},
		"another type than mimetype says": {"media-file", "\x89PNG\r\n\x1a\nxxxx", []part{{name: "mediaType", text: "image"}, {name: "mimetype", text: "image/jpeg"}}, 422, "INVALID_MEDIA"},
		"no media type":                   {"media-file", "x", nil, 400, rest.CodeMissingField},
		"an empty media type":             {"media-file", "x", []part{{name: "mediaType"}}, 422, "INVALID_MESSAGE"},
		"an unknown media type":           {"media-file", "x", []part{{name: "mediaType", text: "gif"}}, 422, "INVALID_MESSAGE"},
		"a sticker that is no WebP":       {"sticker-file", "\x89PNG\r\n\x1a\nxxxx", nil, 422, "INVALID_MEDIA"},
		"a voice note without ffmpeg":     {"ptt-file", "RIFF\x00\x00\x00\x00WAVEfmt ", nil, 415, "MEDIA_TYPE_UNSUPPORTED"},
		"a voice note that is text":       {"ptt-file", "hello", nil, 422, "INVALID_MEDIA"},
	} {
		t.Run(name, func(t *testing.T) {
			body, contentType := file(c.text, c.fields...)
			wantError(t, r.form("/instance/some-instance/send/"+c.path, token, body, contentType), c.status, c.code)
		})
	}
}

func TestNoFileIsLeftInTheSpoolFolder(t *testing.T) {
	r := newRig(t)
	token := r.instance("some-instance")
	png := part{"attachment", "a.png", "\x89PNG\r\n\x1a\nxxxx"}
	for _, parts := range [][]part{
		{png, {name: "nummer"}},
		{png},
		{png, {name: "mediaType", text: "gif"}},
		{png, {name: "mediaType", text: "video"}, {name: "number", text: "4915155500003"}},
		{png, {name: "mediaType", text: "image"}, {name: "number", text: "4915155500003"}}, // not connected
	} {
		body, contentType := formBody(t, parts...)
		if res := r.form("/instance/some-instance/send/media-file", token, body, contentType); res.StatusCode < 400 {
			t.Errorf("status %d", res.StatusCode)
		}
	}
	body, contentType := formBody(t, png)
	wantError(t, r.form("/instance/some-instance/media/uploads", token, body, contentType), 400, rest.CodeMissingField)
	if left := r.spooled(); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
}
