package httpapi

import (
	"bytes"
	"compress/gzip"
	"net/http"
	"strings"
)

// document serves bytes that do not change, compressed to those who take that:
// the documents are long and repeat themselves.
func document(media, policy string, content []byte) func(*api, *call) error {
	var small bytes.Buffer
	zip := gzip.NewWriter(&small)
	_, _ = zip.Write(content) // a buffer takes everything
	_ = zip.Close()
	return func(_ *api, c *call) error {
		h := c.w.Header()
		h.Set("Content-Type", media)
		h.Set("Cache-Control", "no-cache")
		h.Set("Content-Security-Policy", policy)
		h.Set("Vary", "Accept-Encoding")
		body := content
		if takesGzip(c.r.Header) {
			h.Set("Content-Encoding", "gzip")
			body = small.Bytes()
		}
		_, err := c.w.Write(body)
		return err
	}
}

// takesGzip reports whether the client names gzip, and not with the weight 0.
func takesGzip(h http.Header) bool {
	for _, line := range h.Values("Accept-Encoding") {
		for coding := range strings.SplitSeq(line, ",") {
			name, weight, _ := strings.Cut(coding, ";")
			if strings.EqualFold(strings.TrimSpace(name), "gzip") {
				_, q, _ := strings.Cut(strings.ReplaceAll(weight, " ", ""), "=")
				return strings.Trim(q, "0.") != "" || q == ""
			}
		}
	}
	return false
}
