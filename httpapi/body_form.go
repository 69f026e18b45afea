package httpapi

import (
	"bytes"
	"errors"
	"io"
	"mime"
	"mime/multipart"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"postern/event"
	"postern/httpapi/idempotency"
	"postern/httpapi/strict"
	"postern/internal/nesting"
	"postern/media"
)

const (
	maxFormField  = 64 << 10 // bytes of a field that is no file
	formOverhead  = 2 << 20  // what a multipart body may have beside its file
	uploadTimeout = 15 * time.Minute
)

// form is a multipart body: its fields, and its one file in the spool folder.
type form struct {
	fields   map[string]string
	how      strict.Options // of the JSON in it
	path     string         // of the file; the receiver of the form removes it
	fileName string         // as the client calls it, without a folder
}

// formReader reads a multipart body part by part; the file goes to the disk as
// it arrives.
type formReader struct {
	parts   *multipart.Reader
	known   []string
	ignored *strict.Ignored // as of how
	spool   func(io.Reader) (path string, err error)
	digest  *idempotency.Parts
	form    form
}

// fileField is the name of the part that is the file; otherFileField is taken too.
const (
	fileField      = "attachment"
	otherFileField = "file"
)

func isFile(name string) bool { return name == fileField || name == otherFileField }

// jsonFields are the fields of forms that hold JSON, each a document of its own.
var jsonFields = []string{"options", "quotedMessage", "externalAttributes"}

// readForm reads a body with a file and the named fields, each at most once,
// and claims the request's Idempotency-Key for it.
func (c *call) readForm(spool func(io.Reader) (string, error), maxFile int64, known ...string) (f form, err error) {
	boundary, err := formBoundary(c.r.Header)
	if err != nil {
		return form{}, err
	}
	if c.r.ContentLength > maxFile+formOverhead {
		return form{}, malformedForm(&http.MaxBytesError{Limit: maxFile + formOverhead})
	}
	_ = http.NewResponseController(c.w).SetReadDeadline(time.Now().Add(uploadTimeout))
	body := http.MaxBytesReader(c.w, c.r.Body, maxFile+formOverhead)
	r := &formReader{
		parts: multipart.NewReader(body, boundary), known: known, spool: spool,
		digest: idempotency.NewParts(), form: form{fields: map[string]string{}, how: c.options()},
	}
	r.ignored = r.form.how.Ignored
	defer func() {
		if err != nil && r.form.path != "" {
			_ = os.Remove(r.form.path)
		}
	}()
	if err := r.all(); err != nil {
		return form{}, err
	}
	// Otherwise the server itself would read the rest before it answers, and
	// without a deadline: that is lifted below.
	if _, err := io.Copy(io.Discard, body); err != nil {
		return form{}, malformedForm(err)
	}
	if r.form.path == "" {
		return form{}, strict.Missing(fileField, "is required: it is the file")
	}
	_ = http.NewResponseController(c.w).SetReadDeadline(time.Time{})
	c.warn(r.ignored)
	return r.form, c.claim(r.digest.Sum())
}

// isForm reports whether a request has a multipart body.
func isForm(h http.Header) bool {
	kind, _, err := mime.ParseMediaType(h.Get("Content-Type"))
	return err == nil && kind == "multipart/form-data"
}

func formBoundary(h http.Header) (string, error) {
	kind, params, err := mime.ParseMediaType(h.Get("Content-Type"))
	if err != nil || kind != "multipart/form-data" || params["boundary"] == "" || len(h.Values("Content-Type")) > 1 {
		return "", refuse(http.StatusUnsupportedMediaType, codeContentType, "the Content-Type must be multipart/form-data; curl sends it with -F")
	}
	return params["boundary"], nil
}

func (r *formReader) all() error {
	for {
		part, err := r.parts.NextRawPart()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return malformedForm(err)
		}
		if err := r.part(part); err != nil {
			return err
		}
	}
}

func malformedForm(err error) error {
	return &strict.Error{Code: codeMalformedForm, Text: "is not a valid multipart form", Err: err}
}

func (r *formReader) part(p *multipart.Part) (err error) {
	name := p.FormName()
	_, again := r.form.fields[name]
	known := isFile(name) || slices.Contains(r.known, name)
	switch {
	case !known && r.ignored == nil:
		unknown := strict.Unknown(name)
		unknown.Text += meant(name, r.known)
		return unknown
	case again || isFile(name) && r.form.path != "":
		return strict.Duplicate(name)
	}
	body := &failingReader{r: p}
	content := io.TeeReader(body, r.digest.Next(name, p.FileName()))
	if !known {
		r.ignored.Add(name)
	}
	if isFile(name) {
		// Windows clients send a path.
		name := strings.ToValidUTF8(p.FileName(), "\uFFFD")
		r.form.fileName = filepath.Base(strings.ReplaceAll(name, `\`, "/"))
		r.form.path, err = r.spool(content)
		switch {
		case body.err != nil:
			return malformedForm(body.err)
		case errors.Is(err, media.ErrTooLarge):
			return refuse(http.StatusRequestEntityTooLarge, codeBodyTooLarge, err.Error())
		}
		return err
	}
	text, err := io.ReadAll(io.LimitReader(content, maxFormField+1))
	switch {
	case err != nil:
		return malformedForm(err)
	case len(text) > maxFormField:
		return refuse(http.StatusRequestEntityTooLarge, codeBodyTooLarge, name+" is larger than 64 KiB")
	}
	switch {
	case !known:
		return nil // whatever it is, and however many there are
	case !utf8.Valid(text):
		return strict.WrongType("text in UTF-8").In(name)
	case slices.Contains(jsonFields, name) && nesting.Check(text) != nil:
		return strict.TooDeep().In(name)
	}
	if slices.Contains(jsonFields, name) && string(bytes.TrimSpace(text)) == "null" {
		text = nil // absent, as a null is everywhere
	}
	r.form.fields[name] = string(text)
	return nil
}

// failingReader remembers why its reader failed: the spool's error is about the
// file, this one about the request.
type failingReader struct {
	r   io.Reader
	err error
}

// Read implements io.Reader.
func (f *failingReader) Read(p []byte) (int, error) {
	n, err := f.r.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		f.err = err
	}
	return n, err
}

// discard removes the file of a form, unless it was taken over.
func (f form) discard() {
	if f.path != "" {
		_ = os.Remove(f.path)
	}
}

// flag reads a field that is true or false; absent or empty is false.
func (f form) flag(name string) (bool, error) {
	switch f.fields[name] {
	case "", "false":
		return false, nil
	case "true":
		return true, nil
	}
	return false, strict.WrongType("true or false").In(name)
}

// number reads a field that is an integer; absent or empty is 0.
func (f form) number(name string) (int64, error) {
	if f.fields[name] == "" {
		return 0, nil
	}
	n, err := strconv.ParseInt(f.fields[name], 10, 64)
	if err != nil {
		return 0, strict.WrongType("an integer").In(name)
	}
	return n, nil
}

// json reads a field that is a JSON object into v, a pointer to a struct. given is
// false when the field is absent or empty.
func (f form) json(name string, v any) (given bool, err error) {
	if f.fields[name] == "" {
		return false, nil
	}
	return true, strict.Under(strict.Decode(strings.NewReader(f.fields[name]), v, f.how), name)
}

// mediaType reads the field of that name, which every form that has it needs.
func (f form) mediaType() (event.MediaKind, error) {
	kind, ok := f.fields["mediaType"]
	if !ok {
		return "", strict.Missing("mediaType", "is required")
	}
	return event.MediaKind(kind), nil
}

// filled is given for a field that is none when it is empty: tools for forms send
// all that they know of.
func (f form) filled(name string) *string {
	if f.fields[name] == "" {
		return nil
	}
	return f.given(name)
}

// given is a field as an optional one of JSON.
func (f form) given(name string) *string {
	if text, ok := f.fields[name]; ok {
		return &text
	}
	return nil
}
