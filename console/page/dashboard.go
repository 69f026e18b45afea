// Package page is the console: the page for people who would rather look
// than call. docs/console.md says by which ideas it is made.
//
// The page and its files are the same for everybody and hold nothing secret.
// What it shows it asks of the HTTP interface, with the session that its user
// signs in to; the key is kept nowhere. It loads nothing from elsewhere, and its
// policy forbids it to.
package page

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"encoding/hex"
	"io/fs"
	"mime"
	"net/http"
	"path"
	"regexp"
	"strconv"
	"strings"
	"sync"
)

// What is served: the page's own files, and the modules of others beside them.
//
//go:embed console vendored
var files embed.FS

// below is where every file but the page itself is served.
const below = "/dashboard/"

// medias are the types of what is served, so that they do not depend on the
// tables of the machine.
var medias = map[string]string{
	".html": "text/html; charset=utf-8", ".css": "text/css; charset=utf-8",
	".js": "text/javascript; charset=utf-8", ".mjs": "text/javascript; charset=utf-8", ".svg": "image/svg+xml",
}

// Pages returns the handler of each path: the page itself at "/", and its
// files below /dashboard/. They answer GET. All references are relative to the
// page, so that it works below any path that ends with a slash.
func Pages() map[string]http.Handler {
	pages := map[string]http.Handler{}
	policy := sync.OnceValue(Policy)
	_ = fs.WalkDir(files, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || medias[path.Ext(name)] == "" { // it is embedded; texts about the modules are not for the page
			return err
		}
		if name == "console/portal.html" {
			return nil // it is nowhere without a link
		}
		if strings.HasPrefix(name, wordsFolder+"/") {
			name = path.Dir(name) + ".js" // its parts are sent as one
		}
		if isPartOfStyles(name) {
			name = stylesFile
		}
		served := below + strings.TrimPrefix(name, "console/")
		if name == "console/index.html" {
			served = "/"
		}
		pages[served] = &file{name: name, policy: policy, load: sync.OnceValue(func() content { return read(name) })}
		return nil
	})
	return pages
}

// Portal returns the handler of the page that a portal link leads to, below a path
// of two words beside the console.
func Portal() http.Handler {
	const name = "console/portal.html"
	return &file{name: name, policy: sync.OnceValue(func() string { return policyOf(name) }), load: sync.OnceValue(func() content { return read(name) })}
}

// Policy is the Content-Security-Policy of the console.
func Policy() string { return policyOf("console/index.html") }

// policyOf is the Content-Security-Policy of a page: it runs its own modules
// and talks to its own server only. What the page has inside it is the map of its
// modules' names, which the policy names by its hash.
func policyOf(name string) string {
	page, _ := files.ReadFile(name)
	var inline strings.Builder
	for _, script := range regexp.MustCompile(`(?s)<script[^>]*>(.+?)</script>`).FindAllSubmatch(page, -1) {
		sum := sha256.Sum256(script[1])
		inline.WriteString(" 'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'")
	}
	return "default-src 'none'; script-src 'self'" + inline.String() + "; style-src 'self'; connect-src 'self'; img-src 'self' data: blob:; " +
		"media-src blob:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
}

// content is a file as it is sent.
type content struct {
	plain, packed []byte // packed by gzip; nil when that saves nothing
	tag           string
}

// source is what is sent of a file of the page: less than what is written, see [squeeze].
func source(name string) ([]byte, error) {
	if language, is := strings.CutPrefix(name, wordsFolder+"/"); is {
		return wordsModule(strings.TrimSuffix(language, ".js"))
	}
	if name == stylesFile {
		return allStyles()
	}
	raw, err := files.ReadFile(name)
	return squeeze(name, raw), err
}

func read(name string) content {
	raw, err := source(name)
	if err != nil { // it is embedded
		return content{}
	}
	sum := sha256.Sum256(raw)
	c := content{plain: raw, tag: hex.EncodeToString(sum[:12])}
	var packed bytes.Buffer
	w, _ := gzip.NewWriterLevel(&packed, gzip.BestCompression) // the level is one that it knows
	_, _ = w.Write(raw)                                        // to memory
	_ = w.Close()
	if packed.Len() < len(raw) {
		c.packed = packed.Bytes()
	}
	return c
}

type file struct {
	name   string
	policy func() string
	load   func() content
}

// ServeHTTP sends the file, packed when the client takes that, or nothing but
// 304 when the client has it.
func (f *file) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	c := f.load()
	body, tag := c.plain, `"`+c.tag+`"`
	h := w.Header()
	if c.packed != nil {
		h.Set("Vary", "Accept-Encoding")
		if takesGzip(r) {
			body, tag = c.packed, `"`+c.tag+`-gzip"`
			h.Set("Content-Encoding", "gzip")
		}
	}
	h.Set("ETag", tag)
	h.Set("Cache-Control", "no-cache")
	h.Set("Content-Security-Policy", f.policy())
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("X-Content-Type-Options", "nosniff")
	if has(r, tag) {
		h.Del("Content-Encoding")
		w.WriteHeader(http.StatusNotModified)
		return
	}
	h.Set("Content-Type", medias[path.Ext(f.name)])
	h.Set("Content-Length", strconv.Itoa(len(body)))
	_, _ = w.Write(body) // a client that is gone needs no answer
}

// takesGzip tells whether the client named gzip, or everything, and did not
// take it back with q=0.
func takesGzip(r *http.Request) bool {
	takes := false
	for _, header := range r.Header.Values("Accept-Encoding") {
		for one := range strings.SplitSeq(header, ",") {
			coding, params, err := mime.ParseMediaType("x/" + strings.TrimSpace(one))
			if err != nil || coding != "x/gzip" && coding != "x/*" {
				continue
			}
			q, err := strconv.ParseFloat(params["q"], 64)
			takes = params["q"] == "" || err == nil && q > 0
			if coding == "x/gzip" {
				return takes
			}
		}
	}
	return takes
}

// has tells whether the client named the file's tag as one that it has.
func has(r *http.Request, tag string) bool {
	for _, header := range r.Header.Values("If-None-Match") {
		for one := range strings.SplitSeq(header, ",") {
			if one = strings.TrimSpace(one); one == "*" || strings.TrimPrefix(one, "W/") == tag {
				return true
			}
		}
	}
	return false
}
