package rest

import (
	"bufio"
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"

	"postern/event"
	"postern/httpapi/strict"
)

// Inline are the files that a JSON body had in base64. In the decoded body each is a URL, which [Inline.Path] knows.
type Inline struct {
	prefix string
	paths  []string
}

// Path returns the spooled file of a URL in the decoded body, "" if it is an ordinary URL. The caller owns the file.
func (f *Inline) Path(url string) string {
	n, is := strings.CutPrefix(url, f.prefix)
	i, err := strconv.Atoi(n)
	if !is || err != nil || i < 0 || i >= len(f.paths) {
		return ""
	}
	return f.paths[i]
}

// Discard removes the files.
func (f *Inline) Discard() {
	for _, path := range f.paths {
		_ = os.Remove(path)
	}
}

// InlineRules say which files a body may have.
type InlineRules struct {
	Fields []string // the paths of the fields that may be a file, as in albumMessage.items[].media
	Files  int      // how many
	Max    int64    // bytes of each
	Spool  func(io.Reader) (string, error)
}

// minInline is the shortest text that is taken for a file in base64 without the words of a data URL, in characters.
const minInline = 64

// DecodeWithFiles is Decode for a body whose fields may be files in base64 instead of URLs: data:<type>;base64, and
// the content, or the bare content. They go to the spool folder while they are read. The caller discards them.
func (c *Call) DecodeWithFiles(v any, rules InlineRules) (*Inline, error) {
	if err := checkContentType(c.Request.Header); err != nil {
		return nil, err
	}
	limit := MaxBody + int64(rules.Files)*(rules.Max/3*4+minInline)
	if c.Request.ContentLength > MaxBody {
		_ = http.NewResponseController(c.Response).SetReadDeadline(time.Now().Add(UploadTimeout))
	}
	x := &inlineReader{
		in: bufio.NewReaderSize(c.Once.Body(http.MaxBytesReader(c.Response, c.Request.Body, limit)), 32<<10), rules: rules,
		files: &Inline{prefix: "https://inline.invalid/" + uuid.NewString() + "/"},
	}
	err := c.decodeFrom(x, c.Options(), v)
	if x.refusal != nil {
		err = x.refusal
	}
	if err != nil {
		x.files.Discard()
		return nil, err
	}
	return x.files, nil
}

// inlineReader passes on a JSON body in which a URL takes the place of each file.
type inlineReader struct {
	in      *bufio.Reader
	rules   InlineRules
	files   *Inline
	out     bytes.Buffer // to be read
	passed  int64        // bytes that were passed on
	last    string       // the string before: the name of the field when a colon follows
	value   bool         // a colon was the last token
	place   []byte       // the path of the object or array that is read, with a dot before each name
	ends    []int        // for each that is open, the length of the path around it
	err     error        // the end of in
	refusal error        // of a file
}

// Read implements io.Reader.
func (x *inlineReader) Read(p []byte) (int, error) {
	for x.out.Len() == 0 && x.err == nil {
		x.token()
	}
	if x.out.Len() == 0 {
		return 0, x.err
	}
	if x.passed += int64(x.out.Len()); x.passed > MaxBody {
		x.err = &http.MaxBytesError{Limit: MaxBody}
		return 0, x.err
	}
	n, _ := x.out.Read(p)
	x.passed -= int64(x.out.Len())
	return n, nil
}

// token passes on a string or another byte.
func (x *inlineReader) token() {
	b, err := x.in.ReadByte()
	if err != nil {
		x.err = err
		return
	}
	if b == '"' {
		if x.value && x.isFile() {
			x.file()
		} else {
			x.text()
		}
		x.value = false
		return
	}
	switch b {
	case '{', '[':
		x.open(b)
	case '}', ']':
		x.close()
	}
	x.out.WriteByte(b)
	x.value = b == ':' || x.value && (b == ' ' || b == '\t' || b == '\n' || b == '\r')
}

// open notes that an object or an array begins.
func (x *inlineReader) open(b byte) {
	x.ends = append(x.ends, len(x.place))
	if x.value {
		x.place = append(append(x.place, '.'), x.last...)
	}
	if b == '[' {
		x.place = append(x.place, "[]"...)
	}
}

// close notes that an object or an array ends.
func (x *inlineReader) close() {
	if last := len(x.ends) - 1; last >= 0 {
		x.place, x.ends = x.place[:x.ends[last]], x.ends[:last]
	}
}

// text passes on a string whose first quote was read.
func (x *inlineReader) text() {
	x.out.WriteByte('"')
	begin, escaped := x.out.Len(), false
	for {
		b, err := x.in.ReadByte()
		if err != nil {
			x.err = err
			return
		}
		x.out.WriteByte(b)
		if b == '"' && !escaped {
			break
		}
		escaped = b == '\\' && !escaped
		if int64(x.out.Len()) > MaxBody { // the limit of everything that is passed on
			x.last = ""
			return
		}
	}
	x.last = string(x.out.Bytes()[begin : x.out.Len()-1])
}

// isFile reports whether the value that begins is a file in base64.
func (x *inlineReader) isFile() bool {
	if !slices.ContainsFunc(x.rules.Fields, func(path string) bool {
		outer, in := strings.CutSuffix("."+path, "."+x.last)
		return in && outer == string(x.place)
	}) {
		return false
	}
	head, _ := x.in.Peek(minInline)
	if bytes.HasPrefix(head, []byte("data:")) {
		return true
	}
	for _, b := range head {
		if !isBase64(b) && b != '\\' { // "\/" is a slash
			return false
		}
	}
	return len(head) == minInline
}

func isBase64(b byte) bool {
	return b >= 'A' && b <= 'Z' || b >= 'a' && b <= 'z' || b >= '0' && b <= '9' || b == '+' || b == '/' || b == '-' || b == '_'
}

// file spools the file that begins, and passes on its URL.
func (x *inlineReader) file() {
	path, err := x.spool(&base64Text{in: x.in})
	if err != nil {
		x.refusal, x.err = err, err
		return
	}
	fmt.Fprintf(&x.out, "%q", x.files.prefix+strconv.Itoa(len(x.files.paths)))
	x.files.paths = append(x.files.paths, path)
}

func (x *inlineReader) spool(text *base64Text) (string, error) {
	name := x.last
	if len(x.files.paths) == x.rules.Files {
		return "", fmt.Errorf("%w: %s: at most %d files of a body may be in base64", event.ErrContent, name, x.rules.Files)
	}
	if head, _ := x.in.Peek(5); string(head) == "data:" {
		words, err := text.header()
		if err != nil {
			return "", fmt.Errorf("%w: %s must be data:<type>;base64,<content>", event.ErrMedia, name)
		}
		if !strings.HasSuffix(words, ";base64") {
			return "", fmt.Errorf("%w: %s must be data:<type>;base64,<content>: only base64 is taken", event.ErrMedia, name)
		}
	}
	file := &counted{r: io.LimitReader(base64.NewDecoder(base64.RawStdEncoding, text), x.rules.Max+1)}
	path, err := x.rules.Spool(file)
	if err == nil && !text.ended { // the decoder stops before the closing quote
		_, err = io.Copy(io.Discard, text)
	}
	broken := text.broken || errorIs[base64.CorruptInputError](file.err) || errorIs[base64.CorruptInputError](err) || errors.Is(file.err, io.ErrUnexpectedEOF) && text.ended
	switch {
	case file.n > x.rules.Max:
		err = Refuse(http.StatusRequestEntityTooLarge, CodeBodyTooLarge, fmt.Sprintf("%s is larger than %d bytes (media.max_inline); give a URL, or upload the file", name, x.rules.Max))
	case text.failed != nil:
		err = bodyError(text.failed)
	case broken:
		err = fmt.Errorf("%w: %s is not valid base64", event.ErrMedia, name)
	case err != nil:
		err = fmt.Errorf("%s: %w", name, err)
	}
	if err != nil && path != "" {
		_ = os.Remove(path)
	}
	return path, err
}

// bodyError returns the refusal for an error of reading the body.
func bodyError(err error) error {
	if errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF
	}
	return &strict.Error{Code: strict.CodeMalformed, Text: "ends early", Err: err}
}

func errorIs[E error](err error) bool {
	_, is := errors.AsType[E](err)
	return is
}

// counted counts what it reads, and keeps the error.
type counted struct {
	r   io.Reader
	n   int64
	err error
}

// Read implements io.Reader.
func (c *counted) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	c.n += int64(n)
	if err != nil && !errors.Is(err, io.EOF) {
		c.err = err
	}
	return n, err
}

// base64Text reads the characters of a JSON string up to its closing quote, as the standard alphabet without padding.
type base64Text struct {
	in     *bufio.Reader
	padded bool  // only padding may follow
	ended  bool  // the closing quote was read
	broken bool  // it has other characters
	failed error // of in
}

// header reads the words before the content of a data URL.
func (t *base64Text) header() (string, error) {
	var words []byte
	for len(words) < 256 {
		b, err := t.in.ReadByte()
		if err != nil || b == '"' {
			return "", io.ErrUnexpectedEOF
		}
		if b == ',' {
			return string(words), nil
		}
		if b != '\\' {
			words = append(words, b)
		}
	}
	return "", io.ErrUnexpectedEOF
}

// Read implements io.Reader.
func (t *base64Text) Read(p []byte) (n int, err error) {
	for n < len(p) && !t.ended && t.failed == nil && !t.broken {
		b, err := t.in.ReadByte()
		switch {
		case err != nil:
			t.failed = err
		case b == '"':
			t.ended = true
		case b == '\\':
			t.escape(p, &n)
		default:
			t.take(b, p, &n)
		}
	}
	if n > 0 {
		return n, nil
	}
	return 0, io.EOF
}

// escape reads what follows a backslash: a slash, or the end of a line, which does not count.
func (t *base64Text) escape(p []byte, n *int) {
	b, err := t.in.ReadByte()
	switch {
	case err != nil:
		t.failed = err
	case b == '/':
		t.take(b, p, n)
	case b == 'n' || b == 'r':
	default:
		t.broken = true
	}
}

func (t *base64Text) take(b byte, p []byte, n *int) {
	switch {
	case b == '=':
		t.padded = true
		return
	case t.padded || !isBase64(b):
		t.broken = true
		return
	case b == '-':
		b = '+'
	case b == '_':
		b = '/'
	}
	p[*n] = b
	*n++
}
