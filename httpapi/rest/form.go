package rest

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
)

// Bounds of a multipart body.
const (
	MaxFormField  = 64 << 10 // bytes of a field that is no file
	FormOverhead  = 2 << 20  // what a multipart body may have beside its file
	UploadTimeout = 15 * time.Minute
)

// Form is a multipart body: its fields, and its one file in the spool folder.
type Form struct {
	Fields   map[string]string
	how      strict.Options // of the JSON in it
	Path     string         // of the file; the receiver of the form removes it
	FileName string         // as the client calls it, without a folder
}

// formReader reads a multipart body part by part and writes the file to the disk as it arrives.
type formReader struct {
	known   []string
	ignored *strict.Ignored // as of how
	spool   func(io.Reader) (path string, err error)
	digest  *idempotency.Parts
	// tooLarge is the error of the spool for a file above its limit.
	tooLarge error
	form     Form
}

// fileField is the name of the file's part; otherFileField is accepted too.
const (
	FileField      = "attachment"
	otherFileField = "file"
)

func isFile(name string) bool { return name == FileField || name == otherFileField }

// jsonFields are the fields of forms that hold JSON, each a document of its own.
var jsonFields = []string{"options", "quotedMessage", "externalAttributes"}

// ReadForm reads a body with a file and the named fields, each at most once,
// and claims the request's Idempotency-Key for it.
func (c *Call) ReadForm(spool func(io.Reader) (string, error), maxFile int64, known ...string) (f Form, err error) {
	r := &formReader{
		tooLarge: c.Server.ErrTooLarge, known: known, spool: spool,
		digest: idempotency.NewParts(), form: Form{Fields: map[string]string{}, how: c.Options()},
	}
	r.ignored = r.form.how.Ignored
	defer func() {
		if err != nil && r.form.Path != "" {
			_ = os.Remove(r.form.Path)
		}
	}()
	if err := c.eachPart(maxFile+FormOverhead, r.part); err != nil {
		return Form{}, err
	}
	if r.form.Path == "" {
		return Form{}, strict.Missing(FileField, "is required: it is the file")
	}
	c.warn(r.ignored)
	return r.form, c.Claim(r.digest.Sum())
}

// eachPart reads a multipart body of at most limit bytes part by part.
func (c *Call) eachPart(limit int64, read func(*multipart.Part) error) error {
	boundary, err := formBoundary(c.Request.Header)
	if err != nil {
		return err
	}
	if c.Request.ContentLength > limit {
		return malformedForm(&http.MaxBytesError{Limit: limit})
	}
	_ = http.NewResponseController(c.Response).SetReadDeadline(time.Now().Add(UploadTimeout))
	body := http.MaxBytesReader(c.Response, c.Request.Body, limit)
	parts := multipart.NewReader(body, boundary)
	for {
		part, err := parts.NextRawPart()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return malformedForm(err)
		}
		if err := read(part); err != nil {
			return err
		}
	}
	// Otherwise the server itself would read the rest before it answers, without a deadline, because
	// that is lifted below.
	if _, err := io.Copy(io.Discard, body); err != nil {
		return malformedForm(err)
	}
	_ = http.NewResponseController(c.Response).SetReadDeadline(time.Time{})
	return nil
}

// Part is a part of a multipart body that is read as it arrives.
type Part struct {
	Name     string
	Optional bool
	Read     func(content io.Reader) error // its errors are about the content, not about the connection
}

// ReadParts reads a multipart body of at most limit bytes, whose parts come in the order of parts, each at
// most once, and claims the request's Idempotency-Key for it.
func (c *Call) ReadParts(limit int64, parts ...Part) error {
	digest := idempotency.NewParts()
	seen := map[string]bool{}
	next := 0
	names := make([]string, len(parts))
	for i, p := range parts {
		names[i] = p.Name
	}
	err := c.eachPart(limit, func(p *multipart.Part) error {
		name := p.FormName()
		at := slices.Index(names, name)
		switch {
		case at < 0:
			return strict.Unknown(name)
		case seen[name]:
			return strict.Duplicate(name)
		case at < next:
			return &strict.Error{Code: CodeMalformedForm, Path: name, Text: "must come before " + names[next-1]}
		}
		if err := missingPart(parts[next:at], " before "+name); err != nil {
			return err
		}
		seen[name], next = true, at+1
		body := &failingReader{r: p}
		content := io.TeeReader(body, digest.Next(name, ""))
		err := parts[at].Read(content)
		if err == nil {
			_, err = io.Copy(io.Discard, content)
		}
		if body.err != nil {
			return malformedForm(body.err)
		}
		return err
	})
	if err == nil {
		err = missingPart(parts[next:], "")
	}
	if err != nil {
		return err
	}
	return c.Claim(digest.Sum())
}

// missingPart fails if one of the parts is required.
func missingPart(parts []Part, where string) error {
	for _, p := range parts {
		if !p.Optional {
			return strict.Missing(p.Name, "is required, as a part of the form"+where)
		}
	}
	return nil
}

// IsForm reports whether a request has a multipart body.
func IsForm(h http.Header) bool {
	kind, _, err := mime.ParseMediaType(h.Get("Content-Type"))
	return err == nil && kind == "multipart/form-data"
}

func formBoundary(h http.Header) (string, error) {
	kind, params, err := mime.ParseMediaType(h.Get("Content-Type"))
	if err != nil || kind != "multipart/form-data" || params["boundary"] == "" || len(h.Values("Content-Type")) > 1 {
		return "", Refuse(http.StatusUnsupportedMediaType, CodeContentType, "the Content-Type must be multipart/form-data; curl sends it with -F")
	}
	return params["boundary"], nil
}

func malformedForm(err error) error {
	return &strict.Error{Code: CodeMalformedForm, Text: "is not a valid multipart form", Err: err}
}

func (r *formReader) part(p *multipart.Part) (err error) {
	name := p.FormName()
	_, again := r.form.Fields[name]
	known := isFile(name) || slices.Contains(r.known, name)
	switch {
	case !known && r.ignored == nil:
		unknown := strict.Unknown(name)
		unknown.Text += meant(name, r.known)
		return unknown
	case again || isFile(name) && r.form.Path != "":
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
		r.form.FileName = filepath.Base(strings.ReplaceAll(name, `\`, "/"))
		r.form.Path, err = r.spool(content)
		switch {
		case body.err != nil:
			return malformedForm(body.err)
		case r.tooLarge != nil && errors.Is(err, r.tooLarge):
			return Refuse(http.StatusRequestEntityTooLarge, CodeBodyTooLarge, err.Error())
		}
		return err
	}
	text, err := io.ReadAll(io.LimitReader(content, MaxFormField+1))
	switch {
	case err != nil:
		return malformedForm(err)
	case len(text) > MaxFormField:
		return Refuse(http.StatusRequestEntityTooLarge, CodeBodyTooLarge, name+" is larger than 64 KiB")
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
	r.form.Fields[name] = string(text)
	return nil
}

// failingReader keeps the error of its reader: the spool's error is about the file, this one about
// the request.
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

// Discard removes the file of a form, unless it was taken over.
func (f Form) Discard() {
	if f.Path != "" {
		_ = os.Remove(f.Path)
	}
}

// Flag reads a field that is true or false; absent or empty means false.
func (f Form) Flag(name string) (bool, error) {
	switch f.Fields[name] {
	case "", "false":
		return false, nil
	case "true":
		return true, nil
	}
	return false, strict.WrongType("true or false").In(name)
}

// Number reads a field that is an integer; absent or empty means 0.
func (f Form) Number(name string) (int64, error) {
	if f.Fields[name] == "" {
		return 0, nil
	}
	n, err := strconv.ParseInt(f.Fields[name], 10, 64)
	if err != nil {
		return 0, strict.WrongType("an integer").In(name)
	}
	return n, nil
}

// JSON reads a field that is a JSON object into v, a pointer to a struct. given is false if the
// field is absent or empty.
func (f Form) JSON(name string, v any) (given bool, err error) {
	if f.Fields[name] == "" {
		return false, nil
	}
	return true, strict.Under(strict.Decode(strings.NewReader(f.Fields[name]), v, f.how), name)
}

// MediaType reads the field of that name, which is required.
func (f Form) MediaType() (event.MediaKind, error) {
	kind, ok := f.Fields["mediaType"]
	if !ok {
		return "", strict.Missing("mediaType", "is required")
	}
	return event.MediaKind(kind), nil
}

// Filled is Given for a field that counts as absent if it is empty: form tools send all fields that
// they know.
func (f Form) Filled(name string) *string {
	if f.Fields[name] == "" {
		return nil
	}
	return f.Given(name)
}

// Given returns a field as an optional JSON value.
func (f Form) Given(name string) *string {
	if text, ok := f.Fields[name]; ok {
		return &text
	}
	return nil
}

// NeedKind fails if the kind of message for a file is missing.
func NeedKind(m *event.MediaContent) error {
	if m.Kind == "" && m.UploadID == "" {
		return strict.Missing("mediatype", "is required: only an upload has its own")
	}
	return nil
}
