package page

import (
	"bytes"
	"compress/gzip"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"path"
	"regexp"
	"strings"
	"testing"
)

func get(t *testing.T, page http.Handler, header http.Header) (*http.Response, []byte) {
	t.Helper()
	rec := httptest.NewRecorder()
	req := httptest.NewRequest(http.MethodGet, "/", nil)
	req.Header = header
	page.ServeHTTP(rec, req)
	res := rec.Result()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res, body
}

// at returns the address of a file of this release.
func at(name string) string { return "/dashboard/" + release() + "/" + name }

func TestOnlyTheShellIsAskedForAgain(t *testing.T) {
	pages := Pages()
	pages["/portal/secret"] = Portal()
	for name, page := range pages {
		want := "public, max-age=31536000, immutable"
		if name == "/" || name == "/portal/secret" || name == "/dashboard/mark.svg" {
			want = "no-cache"
		} else if !regexp.MustCompile(`^/dashboard/[0-9a-f]{16}/`).MatchString(name) {
			t.Errorf("%s has no digest in its address", name)
		}
		if res, _ := get(t, page, nil); res.Header.Get("Cache-Control") != want {
			t.Errorf("%s: %q, want %q", name, res.Header.Get("Cache-Control"), want)
		}
	}
}

func TestPageLoadsNoExternalOrInlineCode(t *testing.T) {
	// A link loads nothing by itself.
	link := []byte(`href="https://web.whatsapp.com/" target="_blank" rel="noreferrer"`)
	forbidden := regexp.MustCompile(`(?:src|href|from|import\(?|url\()[=: ]*["']?(?:https?:)?//|@import|\son[a-z]+="|style="|innerHTML|dangerouslySetInnerHTML|eval\(|new Function`)
	for name, page := range Pages() {
		res, body := get(t, page, nil)
		if res.StatusCode != http.StatusOK || res.Header.Get("Content-Type") != medias[path.Ext(name+map[bool]string{true: ".html"}[name == "/"])] {
			t.Errorf("%s: %d %s", name, res.StatusCode, res.Header.Get("Content-Type"))
		}
		if p := res.Header.Get("Content-Security-Policy"); p != Policy() || strings.Contains(p, "unsafe") || !strings.HasPrefix(p, "default-src 'none'; script-src 'self' 'sha256-") {
			t.Errorf("%s has the policy %s", name, p)
		}
		if strings.HasPrefix(name, at("vendored/")) {
			continue // checked against their releases
		}
		if found := forbidden.Find(bytes.ReplaceAll(body, link, nil)); found != nil {
			t.Errorf("%s has %q", name, found)
		}
	}
}

func TestCompressionAndETag(t *testing.T) {
	page := Pages()[at("main.js")]
	plain, raw := get(t, page, nil)
	packed, body := get(t, page, http.Header{"Accept-Encoding": {"br, gzip;q=0.8"}})
	unpacked, err := gzip.NewReader(bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	if text, err := io.ReadAll(unpacked); err != nil || !bytes.Equal(text, raw) || len(body) >= len(raw) {
		t.Errorf("%d bytes packed, %d plain: %v", len(body), len(raw), err)
	}
	tags := map[string]http.Header{plain.Header.Get("ETag"): nil, packed.Header.Get("ETag"): {"Accept-Encoding": {"gzip"}}}
	if len(tags) != 2 || packed.Header.Get("Vary") != "Accept-Encoding" || packed.Header.Get("Content-Encoding") != "gzip" || plain.Header.Get("Content-Encoding") != "" {
		t.Errorf("%v %v", plain.Header, packed.Header)
	}
	for tag, header := range tags {
		again := header.Clone()
		if again == nil {
			again = http.Header{}
		}
		again.Set("If-None-Match", `"other", W/`+tag)
		if res, body := get(t, page, again); res.StatusCode != http.StatusNotModified || len(body) > 0 || res.Header.Get("Content-Encoding") != "" {
			t.Errorf("%s again: %d and %d bytes", tag, res.StatusCode, len(body))
		}
	}
	for _, refusing := range []string{"gzip;q=0", "identity", "*;q=0", "br", ";;", "*, gzip;q=0.0"} {
		if res, _ := get(t, page, http.Header{"Accept-Encoding": {refusing}}); res.Header.Get("Content-Encoding") != "" {
			t.Errorf("%q gets %s", refusing, res.Header.Get("Content-Encoding"))
		}
	}
}

// budget is the limit of all served files, compressed, in bytes.
const budget = 150_000

func TestAllOfItIsSmall(t *testing.T) {
	sum := 0
	for _, page := range Pages() {
		_, body := get(t, page, http.Header{"Accept-Encoding": {"gzip"}})
		sum += len(body)
	}
	t.Logf("%d bytes packed in %d files", sum, len(Pages()))
	if sum > budget {
		t.Errorf("%d bytes packed, want at most %d", sum, budget)
	}
}

// TestEveryFileIsServedAndAskedFor follows the references of the page, of its modules
// and its styles.
func TestEveryFileIsServedAndAskedFor(t *testing.T) {
	pages := Pages()
	reading := maps.Clone(pages)
	reading["/portal/secret"] = Portal()
	known := map[string]string{"preact": at("vendored/preact/preact.mjs"), "preact/hooks": at("vendored/preact/hooks.mjs"), "htm": at("vendored/htm/htm.module.js"), "docs": "/"}
	asked := map[string]bool{"/": true}
	reference := regexp.MustCompile(`(?m)(?:src|href)[=:] ?"((?:\.\./)?[a-z][\w./-]*)"|(?:^|;)import[^"]*"([^"]+)"|import\("([^"]+)"\)`)
	for name, page := range reading {
		_, body := get(t, page, nil)
		for _, found := range reference.FindAllSubmatch(body, -1) {
			to := string(found[1]) + string(found[2]) + string(found[3])
			at := path.Join("/", to) // relative to the page
			switch {
			case known[to] != "":
				at = known[to]
			case len(found[1]) == 0:
				at = path.Join(path.Dir(name), to)
			}
			if pages[at] == nil {
				t.Errorf("%s refers to %s, which is not served", name, to)
			}
			asked[at] = true
		}
	}
	for name := range pages {
		if !asked[name] {
			t.Errorf("nothing refers to %s", name)
		}
	}
}

// TestPagePreloadsEveryStartModule checks that the browser can request all start modules at
// once.
func TestPagePreloadsEveryStartModule(t *testing.T) {
	page, err := files.ReadFile("console/index.html")
	if err != nil {
		t.Fatal(err)
	}
	named := map[string]bool{}
	for _, found := range regexp.MustCompile(`rel="modulepreload" href="dashboard/([^"]+)"`).FindAllSubmatch(page, -1) {
		named[string(found[1])] = !strings.HasPrefix(string(found[1]), "vendored/")
	}
	needed, next := map[string]bool{}, []string{"main.js"}
	for len(next) > 0 {
		name := next[0]
		next = next[1:]
		_, module := get(t, Pages()[at(name)], nil)
		for _, found := range regexp.MustCompile(`(?:^|;)import[^"]*"(\.[^"]+)"`).FindAllSubmatch(module, -1) {
			if to := path.Join(path.Dir(name), string(found[1])); !needed[to] {
				needed[to] = true
				next = append(next, to)
			}
		}
	}
	for name := range needed {
		if !named[name] {
			t.Errorf("the page does not preload %s", name)
		}
	}
	for name, ours := range named {
		if ours && !needed[name] {
			t.Errorf("the page preloads %s, which is no start module", name)
		}
	}
}
