package display

import (
	"unicode/utf8"

	"postern/media"
)

// The types of [Type] other than those of [media.TypeOf].
const (
	PlainText = "text/plain; charset=utf-8"
	Bytes     = "application/octet-stream"
)

// extensions are the types that are served as what they are, with the extension of files
// that have no name.
func extensions() map[string]string {
	return map[string]string{
		"image/jpeg": ".jpg", "image/png": ".png", "image/gif": ".gif", "image/webp": ".webp",
		"video/mp4": ".mp4", "video/3gpp": ".3gp",
		"audio/ogg": ".ogg", "audio/mpeg": ".mp3", "audio/mp4": ".m4a", "audio/amr": ".amr",
		"application/pdf": ".pdf", "text/plain": ".txt",
	}
}

// Inline reports whether a browser may show a file of a type of Type on its own page.
func Inline(contentType string) bool {
	switch contentType {
	case "application/pdf", PlainText, Bytes:
		return false
	}
	return extensions()[contentType] != ""
}

// Examiner finds the type of a file that is written to it. It keeps its first bytes only.
type Examiner struct {
	head    []byte
	rest    []byte // the beginning of a character
	notText bool
}

const headSize = 512

// Write implements io.Writer. It returns no error.
func (e *Examiner) Write(p []byte) (int, error) {
	if room := headSize - len(e.head); room > 0 {
		e.head = append(e.head, p[:min(room, len(p))]...)
	}
	if !e.notText {
		e.read(p)
	}
	return len(p), nil
}

func (e *Examiner) read(p []byte) {
	text := p
	if len(e.rest) > 0 {
		text = append(e.rest, p...)
	}
	for len(text) > 0 {
		if text[0] < utf8.RuneSelf {
			if c := text[0]; c < ' ' && c != '\t' && c != '\n' && c != '\r' || c == 0x7f {
				e.notText = true
				return
			}
			text = text[1:]
			continue
		}
		if !utf8.FullRune(text) {
			break
		}
		r, size := utf8.DecodeRune(text)
		if r == utf8.RuneError && size == 1 || r < 0xa0 {
			e.notText = true
			return
		}
		text = text[size:]
	}
	e.rest = append([]byte(nil), text...)
}

// Type returns the content type of the bytes written so far.
func (e *Examiner) Type() string {
	kind := media.TypeOf(e.head)
	if _, known := extensions()[kind]; known && kind != "text/plain" {
		return kind
	}
	if len(e.head) > 0 && !e.notText && len(e.rest) == 0 {
		return PlainText
	}
	return Bytes
}
