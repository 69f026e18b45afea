package display

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"mime"
	"net/url"
	"strconv"
	"time"

	"postern/event"
)

// File is the file of a stored message, as its sender describes it.
type File struct {
	Kind     event.MediaKind
	MimeType string // the sender's, in its canonical form; Bytes if it is none
	Name     string // safe, see the package comment
	Size     int64  // the sender's
	SHA256   [sha256.Size]byte
}

// Hex returns the hash in hexadecimal.
func (f File) Hex() string { return hex.EncodeToString(f.SHA256[:]) }

// Link returns the address of the file below the address of the program, with its
// description. until ends the token.
func (f File) Link(base, token string, until time.Time) event.MediaLink {
	return event.MediaLink{
		URL: base + "/media/" + token + "/" + url.PathEscape(f.Name), ExpiresAt: event.At(until),
		Kind: f.Kind, MimeType: f.MimeType, FileName: f.Name, Size: f.Size, SHA256: f.Hex(),
	}
}

// Of describes the file of a message. The error wraps event.ErrNoMedia if the message has
// none, or one that cannot be verified.
func Of(m *event.Message) (f File, err error) {
	if f.Kind = KindOf(m.MessageType); f.Kind == "" {
		return f, fmt.Errorf("%w: it is of type %s", event.ErrNoMedia, m.MessageType)
	}
	var sent struct {
		MimeType string `json:"mimetype"`
		FileName string `json:"fileName"`
		Voice    bool   `json:"ptt"`
		Length   string `json:"fileLength"`
		SHA256   []byte `json:"fileSha256"`
		Path     string `json:"directPath"`
	}
	if err := json.Unmarshal(m.Content, &sent); err != nil {
		return f, fmt.Errorf("%w: its content cannot be read: %w", event.ErrNoMedia, err)
	}
	if len(sent.SHA256) != sha256.Size || sent.Path == "" {
		return f, fmt.Errorf("%w: it has no path to its file, or no hash", event.ErrNoMedia)
	}
	if sent.Voice {
		f.Kind = event.MediaVoice
	}
	f.SHA256 = [sha256.Size]byte(sent.SHA256)
	if size, err := strconv.ParseInt(sent.Length, 10, 64); err == nil && size > 0 {
		f.Size = size
	}
	f.MimeType = plainType(sent.MimeType)
	f.Name = nameOf(sent.FileName, string(f.Kind), m.ID, sent.MimeType)
	return f, nil
}

// plainType returns a declared type in its canonical form.
func plainType(declared string) string {
	kind, params, err := mime.ParseMediaType(declared)
	if err == nil {
		kind = mime.FormatMediaType(kind, params)
	}
	if err != nil || kind == "" {
		return Bytes
	}
	return kind
}

// KindOf returns the kind of the messages of a type, empty if they have no file. A voice
// note is an audio message with a mark.
func KindOf(messageType string) event.MediaKind {
	switch messageType {
	case "imageMessage":
		return event.MediaImage
	case "videoMessage":
		return event.MediaVideo
	case "ptvMessage":
		return event.MediaPTV
	case "audioMessage":
		return event.MediaAudio
	case "documentMessage":
		return event.MediaDocument
	case "stickerMessage":
		return event.MediaSticker
	}
	return ""
}
