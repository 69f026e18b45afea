package httpapi

import (
	"fmt"
	"net/http"
	"slices"
	"strings"

	"postern/httpapi/rest"
)

// Below serves h below a path such as /postern, for a reverse proxy that keeps the path, and also at its own
// paths, for a proxy that strips it. base has no slash at its end; empty means none. Below fails if base
// begins with the first word of an API path, because requests would be ambiguous.
func Below(h http.Handler, base string) (http.Handler, error) {
	if base == "" {
		return h, nil
	}
	if word := firstWord(base); slices.ContainsFunc(ownWords(), func(own string) bool { return strings.EqualFold(own, word) }) {
		return nil, fmt.Errorf("server.base_path: /%s is a path of the API itself; choose another first word", word)
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		path, below := strings.CutPrefix(r.URL.Path, base)
		raw, escaped := strings.CutPrefix(r.URL.RawPath, base)
		switch {
		case !below || path != "" && path[0] != '/' || r.URL.RawPath != "" && !escaped:
			h.ServeHTTP(w, r)
			return
		case path == "" && (r.Method == http.MethodGet || r.Method == http.MethodHead): // what the page refers to is relative to the slash
			to := base + "/"
			if r.URL.RawQuery != "" {
				to += "?" + r.URL.RawQuery
			}
			w.Header().Set("Location", to)
			w.Header().Set(rest.RequestIDHeader, rest.RequestID(r.Header))
			w.WriteHeader(http.StatusPermanentRedirect)
			return
		case path == "":
			path = "/"
		}
		at := *r.URL
		at.Path, at.RawPath = path, raw
		stripped := r.WithContext(r.Context())
		stripped.URL = &at
		h.ServeHTTP(w, stripped)
	}), nil
}

// ownWords returns the first words of all paths.
func ownWords() (words []string) {
	for _, r := range slices.Concat(routes(), unlisted()) {
		words = append(words, firstWord(r.Path))
	}
	for _, a := range slices.Concat(aliases(), notOfferedAliases()) {
		words = append(words, firstWord(a.From))
	}
	return append(words, "sandbox", "dashboard", "mcp")
}

func firstWord(path string) string {
	word, _, _ := strings.Cut(strings.TrimPrefix(path, "/"), "/")
	return word
}
