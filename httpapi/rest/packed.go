package rest

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"sync"

	"github.com/klauspost/compress/gzip"

	"postern/httpapi/openapi"
)

// packFrom is the size in bytes from which on answers are compressed.
const packFrom = 1024

// packers compress at a level that takes some milliseconds for a megabyte.
var packers = sync.Pool{New: func() any {
	w, _ := gzip.NewWriterLevel(nil, gzip.BestSpeed) // a valid level
	return w
}}

// negotiates notes how the answer to a request may be encoded.
func (w *Response) negotiates(r Route, req *http.Request) {
	w.packs = !r.Secret && TakesGzip(req.Header)
	w.lists = req.Method == http.MethodGet || req.Method == http.MethodHead
	w.known = req.Header.Get("If-None-Match")
}

// TakesGzip reports whether the client accepts gzip, with a weight other than 0.
func TakesGzip(h http.Header) bool {
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

// MoreAnswers returns the answers of a route beside that of its success: Also and, of a list, that nothing changed.
func (r Route) MoreAnswers() []openapi.Answer {
	if r.Method != http.MethodGet || !listType(r.Out) {
		return r.Also
	}
	return append(slices.Clone(r.Also), openapi.Answer{Status: http.StatusNotModified, About: "Nothing has changed since the answer with the ETag of If-None-Match."})
}

// isList reports whether an answer is a list: an array, or an object with records.
func isList(v any) bool { return listType(reflect.TypeOf(v)) }

func listType(t reflect.Type) bool {
	if t == nil {
		return false
	}
	if t.Kind() == reflect.Slice {
		return true
	}
	if t.Kind() != reflect.Struct {
		return false
	}
	_, records := t.FieldByName("Records")
	return records
}

// tag sets the ETag of a list, which is another one for another credential, and reports whether the client has the
// list already.
func (w *Response) tag(body []byte) (known bool) {
	sum := sha256.New()
	_, _ = sum.Write(body) // neither fails
	_, _ = sum.Write([]byte("\x00" + w.key))
	return w.Tagged(`W/"` + hex.EncodeToString(sum.Sum(nil)[:12]) + `"`)
}

// Tagged sets an ETag, and reports whether the client has what it stands for.
func (w *Response) Tagged(tag string) (known bool) {
	w.Header().Set("ETag", tag)
	for one := range strings.SplitSeq(w.known, ",") {
		if one = strings.TrimSpace(one); one == "*" || strings.TrimPrefix(one, "W/") == strings.TrimPrefix(tag, "W/") {
			return true
		}
	}
	return false
}

// pack compresses a body.
func pack(body []byte) []byte {
	var small bytes.Buffer
	w, _ := packers.Get().(*gzip.Writer)
	defer packers.Put(w)
	w.Reset(&small)
	_, _ = w.Write(body) // a buffer takes everything
	_ = w.Close()
	return small.Bytes()
}
