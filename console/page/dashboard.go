// Package page serves the web console. docs/console.md describes its design.
//
// The page and its files are the same for all users and contain no secrets. The page
// gets its data from the HTTP API with the session of the signed-in user; it does not
// store the key. It loads nothing from other origins, and its Content-Security-Policy
// forbids that.
package page

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"io/fs"
	"maps"
	"mime"
	"net/http"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/klauspost/compress/gzip"
)

// files holds the page's own files and the vendored modules.
//
//go:embed console vendored
var files embed.FS

// below is the path prefix of all files but the page itself.
const below = "/dashboard/"

// medias maps file extensions to media types, independent of the system's tables.
var medias = map[string]string{
	".html": "text/html; charset=utf-8", ".css": "text/css; charset=utf-8",
	".js": "text/javascript; charset=utf-8", ".mjs": "text/javascript; charset=utf-8", ".svg": "image/svg+xml",
}

// shells are the pages that load the others. The browser asks for them each time.
var shells = []string{"console/index.html", "console/portal.html"}

// mark is the logo, to which modules refer relative to the page, without a release.
const mark = "console/mark.svg"

// Pages returns the handlers by path: the page at "/", its files below /dashboard/RELEASE/,
// which browsers keep, and the logo. They answer GET. All references are relative, so the page
// works below any path that ends with a slash.
func Pages() map[string]http.Handler {
	pages := map[string]http.Handler{}
	policy := sync.OnceValue(Policy)
	for name := range served() {
		at := below + release() + "/" + strings.TrimPrefix(name, "console/")
		if name == mark {
			at = below + "mark.svg"
		}
		pages[at] = &file{name: name, kept: name != mark, policy: policy, load: sync.OnceValue(func() content { return read(name) })}
	}
	pages["/"] = &file{name: shells[0], policy: policy, load: sync.OnceValue(func() content { return read(shells[0]) })}
	return pages
}

// served returns the names of all files but the shells.
func served() map[string]bool {
	names := map[string]bool{}
	_ = fs.WalkDir(files, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || medias[path.Ext(name)] == "" { // embedded, so err is nil; other files such as READMEs are not served
			return err
		}
		if slices.Contains(shells, name) {
			return nil
		}
		if strings.HasPrefix(name, wordsFolder+"/") {
			name = path.Dir(name) + ".js" // its parts are sent as one file
		}
		if isPartOfStyles(name) {
			name = stylesFile
		}
		names[groupOf(name)] = true // sent with the others of its group
		return nil
	})
	return names
}

// release is the digest of all files but the shells, and part of their addresses: a module
// imports only those of its own release.
var release = sync.OnceValue(func() string {
	h := sha256.New()
	for _, name := range slices.Sorted(maps.Keys(served())) {
		raw, _ := part(name) // embedded files can be read
		_, _ = fmt.Fprintf(h, "%s %d\n%s", name, len(raw), raw)
	}
	return hex.EncodeToString(h.Sum(nil)[:8])
})

// shell returns a page with the addresses of this release.
func shell(raw []byte) []byte {
	raw = bytes.ReplaceAll(raw, []byte("dashboard/"), []byte("dashboard/"+release()+"/"))
	return bytes.ReplaceAll(raw, []byte(release()+"/mark.svg"), []byte("mark.svg"))
}

// Portal returns the handler of the portal link page. Its references assume a path of two
// segments beside the console.
func Portal() http.Handler {
	name := shells[1]
	return &file{name: name, policy: sync.OnceValue(func() string { return policyOf(name) }), load: sync.OnceValue(func() content { return read(name) })}
}

// Policy returns the Content-Security-Policy of the console.
func Policy() string { return policyOf("console/index.html") }

// policyOf returns the Content-Security-Policy of a page. It allows only the page's own
// modules and server, and the inline import map by its hash.
func policyOf(name string) string {
	page, _ := source(name) // embedded
	var inline strings.Builder
	for _, script := range regexp.MustCompile(`(?s)<script[^>]*>(.+?)</script>`).FindAllSubmatch(page, -1) {
		sum := sha256.Sum256(script[1])
		inline.WriteString(" 'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'")
	}
	return "default-src 'none'; script-src 'self'" + inline.String() + "; style-src 'self'; connect-src 'self'; img-src 'self' data: blob:; " +
		"media-src blob:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
}

// content is a file in the forms in which it is sent.
type content struct {
	plain, packed []byte // packed is gzip, nil if that is not smaller
	tag           string
}

// source returns the served form of a file.
func source(name string) ([]byte, error) {
	raw, err := part(name)
	if slices.Contains(shells, name) {
		return shell(raw), err
	}
	return raw, err
}

// part returns a file or group of modules, those of the console [minified] or [squeezed].
func part(name string) ([]byte, error) {
	if language, is := strings.CutPrefix(name, wordsFolder+"/"); is {
		return wordsModule(strings.TrimSuffix(language, ".js"))
	}
	if name == stylesFile {
		return allStyles()
	}
	own := strings.HasPrefix(name, "console/")
	if own && path.Ext(name) == ".js" {
		return module(name)
	}
	raw, err := files.ReadFile(name)
	if own && path.Ext(name) == ".css" {
		raw = squeezed(raw)
	}
	return raw, err
}

func read(name string) content {
	raw, err := source(name)
	if err != nil { // embedded files can be read
		return content{}
	}
	sum := sha256.Sum256(raw)
	c := content{plain: raw, tag: hex.EncodeToString(sum[:12])}
	var packed bytes.Buffer
	w, _ := gzip.NewWriterLevel(&packed, gzip.BestCompression) // a valid level
	_, _ = w.Write(raw)                                        // in memory
	_ = w.Close()
	if packed.Len() < len(raw) {
		c.packed = packed.Bytes()
	}
	return c
}

type file struct {
	name   string
	kept   bool // its address names its content
	policy func() string
	load   func() content
}

// ServeHTTP sends the file, compressed if the client accepts gzip, or 304 if the client
// has the current version.
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
	if f.kept {
		h.Set("Cache-Control", "public, max-age=31536000, immutable")
	}
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
	_, _ = w.Write(body) // the client may have disconnected
}

// takesGzip reports whether the client accepts gzip or *, with q above 0.
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

// has reports whether If-None-Match names the tag.
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
