package httpapi

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"postern/event"
	"postern/httpapi/rest"
	"postern/media/link"
	"postern/store"
)

const aPNG = "\x89PNG\r\n\x1a\n and the rest of a picture"

// keepFile stores a message with a file, which the account downloads.
func (r *rig) keepFile(t *testing.T, d *doer, key, messageType, content, about string) (id int64) {
	t.Helper()
	sum := sha256.Sum256([]byte(content))
	fields := map[string]any{"fileSha256": base64.StdEncoding.EncodeToString(sum[:]), "directPath": "/v/" + key, "fileLength": fmt.Sprint(len(content))}
	if err := json.Unmarshal([]byte(about), &fields); err != nil {
		t.Fatal(err)
	}
	raw, err := json.Marshal(fields)
	if err != nil {
		t.Fatal(err)
	}
	if d.files == nil {
		d.files = map[string]string{}
	}
	d.files[key] = content
	m := withFile(key, messageType, string(raw))
	m.MessageTimestamp = 1_772_366_400
	return r.keep(t, m)
}

// ask sends a GET with headers in pairs.
func (r *rig) ask(token, method, path string, headers ...string) *http.Response {
	req := httptest.NewRequest(method, path, nil)
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	for i := 0; i < len(headers); i += 2 {
		req.Header.Add(headers[i], headers[i+1])
	}
	return do(r.h, req)
}

func bodyOf(t *testing.T, res *http.Response) string {
	t.Helper()
	raw, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

// mediaLink makes a link and returns its path.
func (r *rig) mediaLink(t *testing.T, token string, id int64, body string) (path string, l event.MediaLink) {
	t.Helper()
	l = decoded[event.MediaLink](t, r.as(token, "POST", fmt.Sprintf("/instance/a/messages/%d/media/link", id), body))
	u, err := url.Parse(l.URL)
	if err != nil {
		t.Fatal(err)
	}
	return u.EscapedPath(), l
}

func TestFileOfMessageByHeaderRoute(t *testing.T) {
	r, token, d := doing(t)
	id := r.keepFile(t, d, "P1", "imageMessage", aPNG, `{"mimetype":"text/html"}`)
	path := fmt.Sprintf("/instance/a/messages/%d/media", id)
	res := r.ask(token, "GET", path)
	sum := sha256.Sum256([]byte(aPNG))
	etag := `"` + hex.EncodeToString(sum[:]) + `"`
	h := res.Header
	if got := bodyOf(t, res); res.StatusCode != 200 || got != aPNG {
		t.Fatalf("%d %q", res.StatusCode, got)
	}
	for name, want := range map[string]string{
		"Content-Type": "image/png", "Etag": etag, "Content-Length": fmt.Sprint(len(aPNG)), "Accept-Ranges": "bytes",
		"Last-Modified":           time.Unix(1_772_366_400, 0).UTC().Format(http.TimeFormat),
		"Content-Disposition":     fmt.Sprintf(`inline; filename="image-%d.bin"; filename*=UTF-8''image-%d.bin`, id, id),
		"X-Content-Type-Options":  "nosniff",
		"Content-Security-Policy": "default-src 'none'; sandbox", "Referrer-Policy": "no-referrer", "Cache-Control": "private, no-cache",
		"Access-Control-Allow-Origin": "", "X-Robots-Tag": "", "Content-Encoding": "",
	} {
		if h.Get(name) != want {
			t.Errorf("%s: %q, want %q", name, h.Get(name), want)
		}
	}
	head := r.ask(token, "HEAD", path)
	if head.StatusCode != 200 || bodyOf(t, head) != "" || head.Header.Get("Content-Length") != fmt.Sprint(len(aPNG)) || head.Header.Get("Etag") != etag {
		t.Errorf("HEAD: %d %v", head.StatusCode, head.Header)
	}
	if got := r.ask(token, "GET", path+"?download=1").Header.Get("Content-Disposition"); !strings.HasPrefix(got, "attachment;") {
		t.Errorf("download=1: %q", got)
	}
	if len(d.asked) != 1 {
		t.Errorf("fetched %d times", len(d.asked))
	}
	for _, wrong := range []string{"P1", "0", "-1", "01", "+1", "9", "1e0", "99999999999999999999"} {
		wantError(t, r.ask(token, "GET", "/instance/a/messages/"+wrong+"/media"), 404, "MESSAGE_NOT_FOUND")
	}
	wantError(t, r.ask(token, "GET", path+"?x=1"), 400, rest.CodeInvalidQuery)
	wantError(t, r.ask("", "GET", path), 401, rest.CodeUnauthorized)
	text := r.keep(t, received("T1", anne, ""))
	wantError(t, r.ask(token, "GET", fmt.Sprintf("/instance/a/messages/%d/media", text)), 422, "MESSAGE_WITHOUT_MEDIA")
}

func TestConditionsAndRangesOfFile(t *testing.T) {
	r, token, d := doing(t)
	id := r.keepFile(t, d, "P1", "imageMessage", aPNG, `{}`)
	path := fmt.Sprintf("/instance/a/messages/%d/media", id)
	etag := r.ask(token, "HEAD", path).Header.Get("Etag")
	sent := time.Unix(1_772_366_400, 0).UTC().Format(http.TimeFormat)
	n := len(aPNG)
	for _, c := range []struct {
		headers []string
		status  int
		body    string
		rng     string
	}{
		{[]string{"If-None-Match", etag}, 304, "", ""},
		{[]string{"If-None-Match", `"x", W/` + etag}, 304, "", ""},
		{[]string{"If-None-Match", `"x"`}, 200, aPNG, ""},
		{[]string{"If-Modified-Since", sent}, 304, "", ""},
		{[]string{"If-Match", etag}, 200, aPNG, ""},
		{[]string{"If-Match", `"x"`}, 412, "", ""},
		{[]string{"Range", "bytes=1-3"}, 206, aPNG[1:4], fmt.Sprintf("bytes 1-3/%d", n)},
		{[]string{"Range", "bytes=4-"}, 206, aPNG[4:], fmt.Sprintf("bytes 4-%d/%d", n-1, n)},
		{[]string{"Range", "bytes=-4"}, 206, aPNG[n-4:], fmt.Sprintf("bytes %d-%d/%d", n-4, n-1, n)},
		{[]string{"Range", "bytes=-99999"}, 206, aPNG, fmt.Sprintf("bytes 0-%d/%d", n-1, n)},
		{[]string{"Range", "bytes=0-1,3-4"}, 200, aPNG, ""},
		{[]string{"Range", "pages=0-1"}, 200, aPNG, ""},
		{[]string{"Range", "bytes=3-1"}, 200, aPNG, ""},
		{[]string{"Range", fmt.Sprintf("bytes=%d-", n)}, 416, "", fmt.Sprintf("bytes */%d", n)},
		{[]string{"Range", "bytes=-0"}, 416, "", fmt.Sprintf("bytes */%d", n)},
		{[]string{"Range", "bytes=1-3", "If-Range", etag}, 206, aPNG[1:4], fmt.Sprintf("bytes 1-3/%d", n)},
		{[]string{"Range", "bytes=1-3", "If-Range", sent}, 206, aPNG[1:4], fmt.Sprintf("bytes 1-3/%d", n)},
		{[]string{"Range", "bytes=1-3", "If-Range", `"x"`}, 200, aPNG, ""},
		{[]string{"Range", "bytes=9999-", "If-Range", `"x"`}, 200, aPNG, ""},
	} {
		res := r.ask(token, "GET", path, c.headers...)
		got := bodyOf(t, res)
		if res.StatusCode != c.status || res.StatusCode < 400 && got != c.body || res.Header.Get("Content-Range") != c.rng {
			t.Errorf("%q: %d %q %q", c.headers, res.StatusCode, got, res.Header.Get("Content-Range"))
		}
		if want := "private, no-cache"; res.StatusCode < 400 && res.Header.Get("Cache-Control") != want || res.StatusCode >= 400 && res.Header.Get("Cache-Control") != "no-store" {
			t.Errorf("%q: Cache-Control %q", c.headers, res.Header.Get("Cache-Control"))
		}
		if res.Header.Get("Content-Security-Policy") == "" {
			t.Errorf("%q: no policy", c.headers)
		}
	}
}

func TestLinkOpensFileWithoutCredential(t *testing.T) {
	r, token, d := doing(t)
	id := r.keepFile(t, d, "P1", "imageMessage", aPNG, `{"mimetype":"image/png","fileName":"a b.png"}`)
	path, l := r.mediaLink(t, token, id, `{"expiresIn":120}`)
	sum := sha256.Sum256([]byte(aPNG))
	if left := time.Until(l.ExpiresAt.Time); !strings.HasPrefix(l.URL, "http://example.com/media/") || !strings.HasSuffix(l.URL, "/a%20b.png") || left < time.Minute || left > 2*time.Minute ||
		l.Kind != "image" || l.MimeType != "image/png" || l.FileName != "a b.png" || l.Size != int64(len(aPNG)) || l.SHA256 != hex.EncodeToString(sum[:]) {
		t.Fatalf("%+v", l)
	}
	res := r.ask("", "GET", path+"?anything=1")
	if got := bodyOf(t, res); res.StatusCode != 200 || got != aPNG {
		t.Fatalf("%d %q", res.StatusCode, got)
	}
	for name, want := range map[string]string{
		"Cross-Origin-Resource-Policy": "cross-origin", "Access-Control-Allow-Origin": "*", "X-Robots-Tag": "noindex", "X-Content-Type-Options": "nosniff",
		"Content-Security-Policy": "default-src 'none'; sandbox", "Referrer-Policy": "no-referrer",
	} {
		if res.Header.Get(name) != want {
			t.Errorf("%s: %q", name, res.Header.Get(name))
		}
	}
	var age int
	if _, err := fmt.Sscanf(res.Header.Get("Cache-Control"), "private, max-age=%d", &age); err != nil || age < 60 || age > 120 {
		t.Errorf("Cache-Control %q", res.Header.Get("Cache-Control"))
	}
	bare, _, _ := strings.Cut(strings.TrimPrefix(path, "/media/"), "/")
	if len(bare) > 80 {
		t.Errorf("a token of %d characters", len(bare))
	}
	for _, p := range []string{"/media/" + bare, "/media/" + bare + "/other.txt"} {
		if res := r.ask("", "GET", p); res.StatusCode != 200 {
			t.Errorf("%s: %d", p, res.StatusCode)
		}
	}
	long, _ := r.mediaLink(t, token, id, ``)
	if got := r.ask("", "HEAD", long).Header.Get("Cache-Control"); got != "private, max-age=3600" {
		t.Errorf("a week: %q", got)
	}
	for _, seconds := range []string{"59", "31536001", "0", "-1"} {
		wantError(t, r.as(token, "POST", fmt.Sprintf("/instance/a/messages/%d/media/link", id), `{"expiresIn":`+seconds+`}`), 422, rest.CodeExpiresIn)
	}
	if logged := r.text(); strings.Contains(logged, bare) || strings.Contains(logged, "anything") {
		t.Error("the log has a token or a query")
	}
}

// text returns the log.
func (r *rig) text() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.logged.String()
}

func TestInvalidLinksAreAnsweredAlike(t *testing.T) {
	r, token, d := doing(t)
	id := r.keepFile(t, d, "P1", "imageMessage", aPNG, `{}`)
	path, _ := r.mediaLink(t, token, id, ``)
	right := strings.Split(path, "/")[2]
	other, err := link.Open(r.store, []byte(strings.Repeat("o", 32)), func(*store.Tx, int64) error { return nil })
	if err != nil {
		t.Fatal(err)
	}
	foreign, _ := other.New(link.Claim{Instance: 1, Message: id, Expires: time.Now().Add(time.Hour)})
	gone, _ := r.config.Links.New(link.Claim{Instance: 1, Message: 999, Expires: time.Now().Add(time.Hour)})
	goneToo, _ := r.config.Links.New(link.Claim{Instance: 1, Message: 999, Expires: time.Now().Add(-time.Hour)})
	nowhere, _ := r.config.Links.New(link.Claim{Instance: 99, Message: id, Expires: time.Now().Add(time.Hour)})
	expired, _ := r.config.Links.New(link.Claim{Instance: 1, Message: id, Expires: time.Now().Add(-time.Second)})
	flip := func(i int) string {
		raw, _ := base64.RawURLEncoding.DecodeString(right)
		raw[i] ^= 1
		return base64.RawURLEncoding.EncodeToString(raw)
	}
	texts := map[string]bool{}
	wrong := []string{foreign, gone, goneToo, nowhere, "x", right[:len(right)-1], right + "A", strings.Repeat("A", 66), strings.Repeat("A", 5000)}
	for i := range 49 {
		wrong = append(wrong, flip(i))
	}
	for _, w := range wrong {
		res := r.ask("", "GET", "/media/"+w)
		if res.Header.Get("Cache-Control") != "no-store" || res.Header.Get("X-Robots-Tag") != "noindex" || res.Header.Get("Content-Security-Policy") == "" {
			t.Errorf("%.80s: %v", w, res.Header)
		}
		texts[strings.Join(wantError(t, res, 404, rest.CodeNotFound).Messages, "")] = true
	}
	if len(texts) != 1 {
		t.Errorf("texts: %v", texts)
	}
	wantError(t, r.ask("", "GET", "/media/"+expired), 410, "LINK_EXPIRED")
	if res := r.ask("", "GET", path); res.StatusCode != 200 {
		t.Fatalf("the right one: %d", res.StatusCode)
	}
	revoked := decoded[struct {
		InstanceName string     `json:"instanceName"`
		RevokedAt    event.Time `json:"revokedAt"`
	}](t, r.as(token, "POST", "/instance/a/media/revoke-links", ""))
	if revoked.InstanceName != "a" || time.Since(revoked.RevokedAt.Time) > time.Minute {
		t.Errorf("%+v", revoked)
	}
	wantError(t, r.ask("", "GET", path), 404, rest.CodeNotFound)
	wantError(t, r.ask("", "GET", "/media/"+expired), 404, rest.CodeNotFound)
	path, _ = r.mediaLink(t, token, id, ``)
	if res := r.ask("", "GET", path); res.StatusCode != 200 {
		t.Errorf("a new one: %d", res.StatusCode)
	}
}

func TestDeletedFileIsFetchedAgain(t *testing.T) {
	r, token, d := doing(t)
	id := r.keepFile(t, d, "P1", "imageMessage", aPNG, `{}`)
	path := fmt.Sprintf("/instance/a/messages/%d/media", id)
	for range 2 {
		if res := r.as(token, "DELETE", path, ""); res.StatusCode != 204 {
			t.Fatalf("delete: %d", res.StatusCode)
		}
	}
	for range 2 {
		if res := r.ask(token, "GET", path); res.StatusCode != 200 {
			t.Fatal(res.StatusCode)
		}
	}
	if res := r.as(token, "DELETE", path, ""); res.StatusCode != 204 || len(r.spooled()) != 0 {
		t.Errorf("%d, left %v", res.StatusCode, r.spooled())
	}
	if res := r.ask(token, "GET", path); res.StatusCode != 200 || len(d.asked) != 2 {
		t.Errorf("%d, fetched %d times", res.StatusCode, len(d.asked))
	}
	wantError(t, r.as(token, "DELETE", "/instance/a/messages/99/media", ""), 404, "MESSAGE_NOT_FOUND")
}

// slowAccount downloads when it is released.
type slowAccount struct {
	*doer

	mu      sync.Mutex
	calls   int
	release chan error
}

func (s *slowAccount) Download(ctx context.Context, m event.Message, to *os.File, limit int64) error {
	s.mu.Lock()
	s.calls++
	s.mu.Unlock()
	select {
	case err := <-s.release:
		if err != nil {
			return err
		}
	case <-ctx.Done():
		return ctx.Err()
	}
	return s.doer.Download(ctx, m, to, limit)
}

func (s *slowAccount) count() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.calls
}

func TestRequestsShareOneFetch(t *testing.T) {
	r, token, d := doing(t)
	slow := &slowAccount{doer: d, release: make(chan error)}
	r.line.Account = slow
	id := r.keepFile(t, d, "P1", "imageMessage", aPNG, `{}`)
	path := fmt.Sprintf("/instance/a/messages/%d/media", id)
	res := r.ask(token, "GET", path) // waits for a second in this rig
	if wantError(t, res, 503, "MEDIA_PENDING"); res.Header.Get("Retry-After") == "" {
		t.Error("no Retry-After")
	}
	var wait sync.WaitGroup
	for range 8 {
		wait.Go(func() {
			if res := r.ask(token, "GET", path); res.StatusCode != 200 || bodyOf(t, res) != aPNG {
				t.Errorf("%d", res.StatusCode)
			}
		})
	}
	slow.release <- nil
	wait.Wait()
	if slow.count() != 1 {
		t.Errorf("%d fetches", slow.count())
	}
	gone := r.keepFile(t, d, "P2", "imageMessage", aPNG, `{}`)
	path = fmt.Sprintf("/instance/a/messages/%d/media", gone)
	go func() { slow.release <- event.ErrMediaGone }()
	for range 3 {
		wantError(t, r.ask(token, "GET", path), 410, "MEDIA_GONE")
	}
	if slow.count() != 2 {
		t.Errorf("%d fetches after a failure for good", slow.count())
	}
	r.line.online.Store(false)
	if res := r.ask(token, "GET", fmt.Sprintf("/instance/a/messages/%d/media", id)); res.StatusCode != 200 {
		t.Errorf("held, offline: %d", res.StatusCode)
	}
	other := r.keepFile(t, d, "P3", "imageMessage", aPNG, `{}`)
	wantError(t, r.ask(token, "GET", fmt.Sprintf("/instance/a/messages/%d/media", other)), 503, "INSTANCE_NOT_CONNECTED")
}

func TestFileOfOtherHashIsNotServed(t *testing.T) {
	r, token, d := doing(t)
	id := r.keepFile(t, d, "P1", "imageMessage", aPNG, `{}`)
	d.files["P1"] = strings.ToUpper(aPNG)
	wantError(t, r.ask(token, "GET", fmt.Sprintf("/instance/a/messages/%d/media", id)), 422, "INVALID_MEDIA")
	if left := r.spooled(); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
}

func TestContentTypeFollowsFromBytes(t *testing.T) {
	r, token, d := doing(t)
	long := bytes.Repeat([]byte("ä"), 40_000)
	for i, c := range []struct{ content, kind, how string }{
		{"\xff\xd8\xff\xe0 JFIF", "image/jpeg", "inline"},
		{aPNG, "image/png", "inline"},
		{"GIF89a and more", "image/gif", "inline"},
		{"RIFF\x10\x00\x00\x00WEBPVP8 xxxx", "image/webp", "inline"},
		{"\x00\x00\x00\x18ftypisom\x00\x00", "video/mp4", "inline"},
		{"\x00\x00\x00\x18ftyp3gp5\x00\x00", "video/3gpp", "inline"},
		{"OggS\x00 OpusHead", "audio/ogg", "inline"},
		{"ID3\x03\x00", "audio/mpeg", "inline"},
		{"\x00\x00\x00\x18ftypM4A \x00\x00", "audio/mp4", "inline"},
		{"#!AMR\n\x00\x01", "audio/amr", "inline"},
		{"%PDF-1.7 text", "application/pdf", "attachment"},
		{"<html><script>alert(1)</script>", "text/plain; charset=utf-8", "attachment"},
		{`<svg xmlns="http://www.w3.org/2000/svg" onload="x()"/>`, "text/plain; charset=utf-8", "attachment"},
		{string(long), "text/plain; charset=utf-8", "attachment"},
		{"a\tb\r\nc", "text/plain; charset=utf-8", "attachment"},
		{"a\x00b", "application/octet-stream", "attachment"},
		{"a\x1b[2J", "application/octet-stream", "attachment"},
		{"c1 \u0085", "application/octet-stream", "attachment"},
		{string(long[:len(long)-1]), "application/octet-stream", "attachment"},
		{"PK\x03\x04 zip", "application/octet-stream", "attachment"},
		{"\x00\x00\x00\x18ftypheic\x00\x00", "application/octet-stream", "attachment"},
		{"\x1aE\xdf\xa3 webm \x00", "application/octet-stream", "attachment"},
	} {
		id := r.keepFile(t, d, fmt.Sprint("K", i), "documentMessage", c.content, `{"mimetype":"text/html","fileName":"x.html"}`)
		res := r.ask(token, "GET", fmt.Sprintf("/instance/a/messages/%d/media", id))
		how, params, err := mime.ParseMediaType(res.Header.Get("Content-Disposition"))
		if res.Header.Get("Content-Type") != c.kind || how != c.how || err != nil || params["filename"] != "x.html" {
			t.Errorf("%.20q: %s %s %v", c.content, res.Header.Get("Content-Type"), res.Header.Get("Content-Disposition"), err)
		}
	}
}
