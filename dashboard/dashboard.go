// Package dashboard is the page for people who would rather look than call:
// instances with their state, the code to scan, and what the program is doing.
//
// The page and its files are the same for everybody and hold nothing secret.
// What it shows it asks of the HTTP interface, with the API key that its user
// types; the key stays in the browser's tab. It loads nothing from elsewhere,
// and its policy forbids it to.
package dashboard

import (
	"bytes"
	"embed"
	"net/http"
	"time"
)

//go:embed index.html app.js pairing.js style.css
var files embed.FS

// policy lets the page run its own script and talk to its own server only.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src data:; " +
	"base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

// Pages returns the handler of each path: the page itself at "/", and its
// files. They answer GET. All references are relative to the page, so that it works
// below any path that ends with a slash.
func Pages() map[string]http.Handler {
	return map[string]http.Handler{
		"/":                     page("index.html"),
		"/dashboard/app.js":     page("app.js"),
		"/dashboard/pairing.js": page("pairing.js"),
		"/dashboard/style.css":  page("style.css"),
	}
}

func page(name string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		content, err := files.ReadFile(name)
		if err != nil { // it is embedded
			http.Error(w, "the page is missing from this build", http.StatusInternalServerError)
			return
		}
		h := w.Header()
		h.Set("Content-Security-Policy", policy)
		h.Set("Referrer-Policy", "no-referrer")
		h.Set("Cache-Control", "no-cache")
		http.ServeContent(w, r, name, time.Time{}, bytes.NewReader(content))
	})
}
