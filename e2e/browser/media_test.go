package browser_test

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"html"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"postern/cli/consumer"
	"postern/e2e/browser"
	"postern/e2e/rig"
	"postern/event"
)

// hostileFile is a document of a stranger.
type hostileFile struct {
	name, declared, content string
	length                  int64 // declared; 0: the right one
}

// hostileFiles have a script that asks the address at beacon.
func hostileFiles(beacon string) []hostileFile {
	run := "fetch('" + beacon + "/ran');new Image().src='" + beacon + "/ran';document.title='ran'"
	page := "<!DOCTYPE html><html><body><script>" + run + "</script><img src=x onerror=\"" + run + "\"></body></html>"
	svg := `<svg xmlns="http://www.w3.org/2000/svg" onload="` + run + `"><script>` + run + `</script></svg>`
	gif := "GIF89a/*" + strings.Repeat("\x00", 8) + "*/=1;" + run + "//"
	scripted := "%PDF-1.7\n1 0 obj<</Type/Catalog/OpenAction<</S/JavaScript/JS(app.launchURL\\('" + beacon + "/ran'\\))>>/Pages 2 0 R>>endobj\n2 0 obj<</Type/Pages/Kids[]/Count 0>>endobj\ntrailer<</Root 1 0 R>>"
	return []hostileFile{
		{"picture.jpg", "image/jpeg", page, 0},
		{"page.html", "text/html", page, 0},
		{"drawing.svg", "image/svg+xml", svg, 0},
		{"script.js", "text/javascript", run, 0},
		{"style.css", "text/css", "body{background:url(" + beacon + "/ran)}", 0},
		{"polyglot.gif", "text/javascript", gif, 0},
		{"polyglot.pdf", "text/html", "%PDF-1.7\n" + page, 0},
		{"polyglot.jpg", "text/html", "\xff\xd8\xff\xe0\x00\x10JFIF\x00" + page, 0},
		{"page.xhtml", "application/xhtml+xml", `<?xml version="1.0"?><html xmlns="http://www.w3.org/1999/xhtml"><script>` + run + `</script></html>`, 0},
		{"utf7.txt", "text/html; charset=utf-7", "+ADw-script+AD4-" + run + "+ADw-/script+AD4-", 0},
		{"utf16.html", "text/html", "\xff\xfe<\x00s\x00c\x00r\x00i\x00p\x00t\x00>\x00", 0},
		{"../../../escaped-by-slashes.txt", "text/html", page, 0},
		{`..\..\escaped-by-backslashes.txt`, "text/html", page, 0},
		{"split\r\nSet-Cookie: stolen=1\r\n\r\n<script>" + run + "</script>.html", "text/html\r\nX-Split: 1", page, 0},
		{"invoice\u202egnp.exe", "application/octet-stream", "MZ\x00\x00" + page, 0},
		{strings.Repeat("long ", 800) + ".html", "text/html", page, 0},
		{`"; filename="other.html`, "text/html", page, 0},
		{"CON.html", "text/html", page, 0},
		{"scripted.pdf", "application/pdf", scripted, 0},
		{"sound.ogg", "text/html", "OggS\x00" + page, 0},
		{"film.mp4", "text/html", "\x00\x00\x00\x18ftypisom\x00\x00" + page, 0},
		{"sticker.webp", "image/svg+xml", "RIFF\x10\x00\x00\x00WEBPVP8 " + svg, 0},
		{"music.mp3", "text/html", "ID3\x03\x00" + page, 0},
		{"shorter.html", "text/html", page, 10},
		{"longer.html", "text/html", page, 1 << 40},
		{"negative.html", "text/html", page, -1},
	}
}

// splitName asks for a file under names that might split a header or lead elsewhere.
func splitName(t *testing.T, link string) {
	t.Helper()
	base := link[:strings.LastIndex(link, "/")]
	for _, name := range []string{"%0d%0aSet-Cookie:%20stolen=1", "..%2f..%2f..%2fetc%2fpasswd", "..%5c..%5cx.html", "%3Cscript%3E.html", "%00.html", strings.Repeat("a", 4096), "%e2%80%aegnp.html"} {
		res, err := http.Get(base + "/" + name) //nolint:noctx // a test
		if err != nil {
			t.Fatal(err)
		}
		_ = res.Body.Close()
		if kind := res.Header.Get("Content-Type"); res.Header.Get("Set-Cookie") != "" || strings.Contains(kind, "html") || res.Header.Get("X-Content-Type-Options") != "nosniff" {
			t.Errorf("%.60q: %d %s %v", name, res.StatusCode, kind, res.Header)
		}
	}
}

// TestFilesOfStrangersRunNothing opens hostile files by their links, in Chromium: as pages, in
// frames, and as whatever a page of another origin can embed.
func TestFilesOfStrangersRunNothing(t *testing.T) {
	b := browser.Open(t)
	s := rig.NewSendScene(t, "MEDIA_STORE_KIND=local")
	var mu sync.Mutex
	ran := map[string]bool{}
	var page string
	beacon := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		if r.URL.Path == "/page" {
			w.Header().Set("Content-Type", "text/html")
			fmt.Fprint(w, page)
			return
		}
		ran[r.URL.Path+"?"+r.URL.RawQuery] = true
	}))
	t.Cleanup(beacon.Close)
	s.Call(consumer.Key(s.Sec.GlobalAuthToken), "PUT", "/webhook/options", json.RawMessage(`{"media":"link"}`), nil)
	tab := b.Page()
	for i, f := range hostileFiles(beacon.URL) {
		key := fmt.Sprint("HOSTILE", i)
		act, err := json.Marshal(map[string]any{"do": "media", "to": rig.OwnNumber, "kind": "document", "fileName": f.name, "mimetype": f.declared, "data": base64.StdEncoding.EncodeToString([]byte(f.content)), "id": key, "length": f.length})
		if err != nil {
			t.Fatal(err)
		}
		s.Do(t, rig.Act("$anne", string(act)))
		body := s.AwaitEvent(t, 0, event.MessagesUpsert, fmt.Sprintf(`{"keyId":%q}`, key))
		var e struct {
			Data struct{ Media event.MediaLink }
		}
		if err := json.Unmarshal(body, &e); err != nil || e.Data.Media.URL == "" {
			t.Fatalf("%v %s", err, body)
		}
		link := e.Data.Media.URL
		res, err := http.Get(link) //nolint:noctx // a test
		if err != nil {
			t.Fatal(err)
		}
		_ = res.Body.Close()
		if f.length != 0 && res.StatusCode == http.StatusUnprocessableEntity {
			continue // the client library verifies the length
		}
		how, kind := res.Header.Get("Content-Disposition"), res.Header.Get("Content-Type")
		if res.StatusCode != 200 || res.Header.Get("Set-Cookie") != "" || res.Header.Get("X-Split") != "" || strings.ContainsAny(e.Data.Media.FileName, "/\\\r\n\"\u202e") || len(e.Data.Media.FileName) > 200 ||
			strings.Contains(kind, "html") || strings.Contains(kind, "svg") || strings.Contains(kind, "script") {
			t.Errorf("%.60q: %d %s %s, named %.60q", f.name, res.StatusCode, kind, how, e.Data.Media.FileName)
		}
		quoted := html.EscapeString(link)
		mu.Lock()
		page = strings.ReplaceAll(`<!DOCTYPE html><title>embeds</title><iframe src="LINK"></iframe><object data="LINK"></object><embed src="LINK"><img src="LINK"><script src="LINK"></script><link rel="stylesheet" href="LINK">`+
			`<script>globalThis.got = fetch("LINK").then((r) => r.blob()).then((b) => b.size)</script>`, "LINK", quoted)
		mu.Unlock()
		tab.Go(beacon.URL + "/page?" + fmt.Sprint(i))
		if size := string(tab.Run("globalThis.got")); size != fmt.Sprint(len(f.content)) {
			t.Errorf("%.40q: a page of another origin reads %s of %d bytes", f.name, size, len(f.content))
		}
		splitName(t, link)
		if strings.HasPrefix(how, "inline") { // others are downloads, and open no page
			tab.Go(link)
		}
		if title := tab.Text("document.title"); title == "ran" {
			t.Errorf("%.40q: its script has the title", f.name)
		}
	}
	time.Sleep(300 * time.Millisecond) // what a script would have asked for
	mu.Lock()
	defer mu.Unlock()
	for asked := range ran {
		if strings.HasPrefix(asked, "/ran") {
			t.Errorf("a file of a stranger ran: %s was asked", asked)
		}
	}
	err := filepath.WalkDir(filepath.Dir(s.Folder), func(path string, _ os.DirEntry, _ error) error {
		if strings.Contains(path, "escaped-by") {
			t.Errorf("%s was written", path)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}
