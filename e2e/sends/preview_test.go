package sends

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"postern/e2e/rig"
)

// pages is a web server whose paths say what they answer.
func pages(t *testing.T) *httptest.Server {
	t.Helper()
	photo, err := os.ReadFile(filepath.Join("media", "testdata", "photo.jpg"))
	if err != nil {
		t.Fatal(err)
	}
	html := func(w http.ResponseWriter, kind, text string) {
		w.Header().Set("Content-Type", kind)
		_, _ = w.Write([]byte(text))
	}
	mux := http.NewServeMux()
	for path, text := range map[string]string{
		"/open": `<html><head><title>no</title><meta property="og:title" content="Caf&eacute; &amp; more"><meta content="Until
			Sunday" property="og:description"><meta property="og:image" content="/photo.jpg"></head>`,
		"/plain":  `<title>Only a title</title><script>alert("<title>no</title>")</script>`,
		"/long":   `<title>` + strings.Repeat("ä", 400) + `</title>`,
		"/big":    `<title>Big</title>` + strings.Repeat("x", 3<<20),
		"/empty":  `<p>hello</p>`,
		"/nopic":  `<title>No picture</title><meta property="og:image" content="file:///etc/passwd">`,
		"/bigpic": `<title>Big picture</title><meta property="og:image" content="/big">`,
	} {
		mux.HandleFunc(path, func(w http.ResponseWriter, _ *http.Request) { html(w, "text/html; charset=utf-8", text) })
	}
	mux.HandleFunc("/latin", func(w http.ResponseWriter, _ *http.Request) {
		html(w, "text/html", "<meta charset=iso-8859-1><title>Gr\xfc\xdfe</title>")
	})
	mux.HandleFunc("/greek", func(w http.ResponseWriter, _ *http.Request) {
		html(w, "text/html; charset=shift_jis", "<title>\x83\x65</title>")
	})
	mux.HandleFunc("/json", func(w http.ResponseWriter, _ *http.Request) { html(w, "application/json", `{"title":"no"}`) })
	mux.HandleFunc("/photo.jpg", func(w http.ResponseWriter, _ *http.Request) { html(w, "image/jpeg", string(photo)) })
	mux.HandleFunc("/hop/{n}", func(w http.ResponseWriter, r *http.Request) {
		to := map[string]string{"1": "/plain", "2": "/hop/1", "3": "/hop/2", "4": "/hop/3"}[r.PathValue("n")]
		http.Redirect(w, r, to, http.StatusFound)
	})
	mux.HandleFunc("/slow", func(w http.ResponseWriter, r *http.Request) {
		select {
		case <-time.After(20 * time.Second):
		case <-r.Context().Done():
		}
	})
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	return server
}

// TestLinkPreviewShowsWhatThePageNames is seen at the phone.
func TestLinkPreviewShowsWhatThePageNames(t *testing.T) {
	t.Parallel()
	s := rig.NewSendScene(t)
	s.Vars["pages"] = pages(t).URL
	type row struct{ path, body, want string }
	text := func(link string) string { return `"textMessage":{"text":"see ` + link + `, ok"}` }
	for _, r := range []row{
		{"text", text("$pages/open"), `{"text":"see $pages/open, ok","matchedText":"$pages/open","title":"Café & more","description":"Until Sunday","thumbnailWidth":160}`},
		{"text", text("$pages/plain"), `{"matchedText":"$pages/plain","title":"Only a title"}`},
		{"text", text("$pages/hop/3"), `{"matchedText":"$pages/hop/3","title":"Only a title"}`},
		{"text", text("$pages/latin"), `{"title":"Grüße"}`},
		{"text", text("$pages/long"), `{"title":"` + strings.Repeat("ä", 300) + `"}`},
		{"text", text("$pages/big"), `{"title":"Big"}`},
		{"text", text("$pages/nopic"), `{"title":"No picture"}`},
		{"text", text("$pages/bigpic"), `{"title":"Big picture"}`},
		{"link", `"linkMessage":{"link":"$pages/open","title":"Mine"}`, `{"text":"$pages/open","matchedText":"$pages/open","title":"Mine","description":"Until Sunday","thumbnailWidth":160}`},
	} {
		a := s.PostJSON(t, s.Fill("/instance/$name/send/"+r.path), `{"number":"$anne",`+r.body+`,"options":{"linkPreview":true}}`)
		m := s.Sent(t, 0, a, `{"messageType":"extendedTextMessage"}`)
		s.DecryptedAs(t, rig.AnneNumber, m.KeyID, `{"extendedTextMessage":`+r.want+`}`)
		if w := a.Header.Get("warning"); w != "" {
			t.Errorf("%s: warning %s", r.body, w)
		}
	}
	m := s.Sent(t, 0, s.PostJSON(t, s.Fill("/instance/$name/send/text"), `{"number":"$anne",`+text("$pages/open")+`}`), `{"messageType":"conversation"}`)
	s.DecryptedAs(t, rig.AnneNumber, m.KeyID, `{"conversation":"see $pages/open, ok"}`) // without the option
}

// TestLinkPreviewThatFailsCostsOnlyThePreview names the reason in the header warning.
func TestLinkPreviewThatFailsCostsOnlyThePreview(t *testing.T) {
	t.Parallel()
	s := rig.NewSendScene(t)
	s.Vars["pages"] = pages(t).URL
	for text, reason := range map[string]string{
		"$pages/empty":       "neither a title",
		"$pages/json":        "not text/html",
		"$pages/greek":       "encoding",
		"$pages/missing":     "status 404",
		"$pages/hop/4":       "redirects",
		"$pages/slow":        "did not arrive within 5s",
		"no link at all":     "no http or https URL",
		"http://[::1]:1/off": "could not be fetched",
	} {
		body := fmt.Sprintf(`{"number":"$anne","textMessage":{"text":"%s"},"options":{"linkPreview":true}}`, text)
		a := s.PostJSON(t, s.Fill("/instance/$name/send/text"), body)
		m := s.Sent(t, 0, a, `{"messageType":"conversation"}`)
		s.DecryptedAs(t, rig.AnneNumber, m.KeyID, `{"conversation":"`+text+`"}`)
		if w := a.Header.Get("warning"); !strings.Contains(w, reason) || !strings.Contains(w, "linkPreview") || strings.Contains(w, s.Vars["pages"]) {
			t.Errorf("%s: warning %q does not say %q", text, w, reason)
		}
	}
}

// TestLinkPreviewReadsNoPrivateAddress unless the operator allows those.
func TestLinkPreviewReadsNoPrivateAddress(t *testing.T) {
	t.Parallel()
	s := rig.NewSendScene(t, "MEDIA_ALLOW_PRIVATE=false")
	web := pages(t)
	a := s.PostJSON(t, s.Fill("/instance/$name/send/text"), `{"number":"$anne","textMessage":{"text":"`+web.URL+`/open"},"options":{"linkPreview":true}}`)
	s.Sent(t, 0, a, `{"messageType":"conversation"}`)
	if w := a.Header.Get("warning"); !strings.Contains(w, "could not be fetched") {
		t.Errorf("warning %q", w)
	}
}
