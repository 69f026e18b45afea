package httpapi

import (
	"encoding/json"
	"fmt"
	"io"
	"mime"
	"mime/multipart"
	"net/http"
	"net/textproto"
	"os"
	"strconv"

	"postern/event"
)

// mediaDataRequest names a stored message.
type mediaDataRequest struct {
	MessageID messageRef `json:"messageId" strict:"required"`
}

// storedFile is what a stored message says about its file.
type storedFile struct {
	kind     event.MediaKind
	MimeType string `json:"mimetype"`
	FileName string `json:"fileName"`
	Caption  string `json:"caption"`
	Voice    bool   `json:"ptt"`
}

// fileOf describes the file of a message. The error wraps event.ErrNoMedia
// when it has none.
func fileOf(m event.Message) (f storedFile, err error) {
	if f.kind = mediaKindOf(m.MessageType); f.kind == "" {
		return f, fmt.Errorf("%w: it is of type %s", event.ErrNoMedia, m.MessageType)
	}
	if err := json.Unmarshal(m.Content, &f); err != nil {
		return f, fmt.Errorf("%w: its content cannot be read: %w", event.ErrNoMedia, err)
	}
	if f.Voice {
		f.kind = event.MediaVoice
	}
	// What a stranger wrote goes into headers: only what parses.
	kind, params, err := mime.ParseMediaType(f.MimeType)
	if err != nil {
		kind, params = "application/octet-stream", nil
	}
	if f.MimeType = mime.FormatMediaType(kind, params); f.MimeType == "" {
		f.MimeType = "application/octet-stream"
	}
	if f.FileName = event.CleanName(f.FileName); f.FileName == "" {
		f.FileName = m.KeyID + suffixOf(kind)
	}
	return f, nil
}

// suffixOf is the end of a file's name, for the types that WhatsApp's clients make
// themselves; a system's table of types would differ from one to the next.
func suffixOf(kind string) string {
	switch kind {
	case "image/jpeg":
		return ".jpg"
	case "image/png":
		return ".png"
	case "image/webp":
		return ".webp"
	case "video/mp4":
		return ".mp4"
	case "audio/ogg":
		return ".ogg"
	case "audio/mp4":
		return ".m4a"
	case "application/pdf":
		return ".pdf"
	}
	return ""
}

func mediaKindOf(messageType string) event.MediaKind {
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

// mediaData brings the file of a stored message to the caller, by way of the
// spool folder: an answer is begun only when the file is whole and proved.
func (a *api) mediaData(c *call) error {
	q, err := c.query([]string{"binary"})
	if err != nil {
		return err
	}
	raw := q.Get("binary") == "true"
	if q.Has("binary") && !raw && q.Get("binary") != "false" {
		return invalidQuery("binary must be true or false")
	}
	var in mediaDataRequest
	if err := c.decode(&in, maxBody); err != nil {
		return err
	}
	m, err := a.message(c.instance.ID, in.MessageID)
	if err != nil {
		return err
	}
	about, err := fileOf(m)
	if err != nil {
		return err
	}
	file, err := a.download(c, m)
	if err != nil {
		return err
	}
	defer closeSpooled(file)
	if raw {
		return a.answerFile(c, file, about)
	}
	return a.answerForm(c, file, about)
}

// download is the file of a message, open at its beginning; closeSpooled ends
// it.
func (a *api) download(c *call, m event.Message) (*os.File, error) {
	account, err := a.account(c)
	if err != nil {
		return nil, err
	}
	file, err := a.Media.Create()
	if err != nil {
		return nil, err
	}
	if err = account.Download(c.r.Context(), m, file, a.MaxMedia); err == nil {
		_, err = file.Seek(0, io.SeekStart)
	}
	if err != nil {
		closeSpooled(file)
		return nil, err
	}
	return file, nil
}

func closeSpooled(f *os.File) {
	_ = f.Close()
	_ = os.Remove(f.Name())
}

// answerFile answers with the bytes alone. A client that gets fewer than were
// announced knows that the answer broke off.
func (a *api) answerFile(c *call, file *os.File, about storedFile) error {
	info, err := file.Stat()
	if err != nil {
		return fmt.Errorf("media data: %w", err)
	}
	h := c.w.Header()
	h.Set("Content-Type", about.MimeType)
	h.Set("Content-Length", strconv.FormatInt(info.Size(), 10))
	h.Set("Content-Disposition", mime.FormatMediaType("attachment", map[string]string{"filename": about.FileName}))
	c.w.WriteHeader(http.StatusOK)
	_, err = io.Copy(c.w, file)
	return a.ended(c, err)
}

// ended is the end of an answer that is begun: one that our disk broke off must
// not look whole, and one that the client broke off needs nothing more.
func (a *api) ended(c *call, err error) error {
	if err == nil || c.w.lost {
		return err
	}
	return a.breakOff(c, err)
}

// answerForm answers with a multipart body: what the message says of the file,
// then the file.
func (a *api) answerForm(c *call, file *os.File, about storedFile) error {
	info, err := file.Stat()
	if err != nil {
		return fmt.Errorf("media data: %w", err)
	}
	w := multipart.NewWriter(c.w)
	c.w.Header().Set("Content-Type", w.FormDataContentType())
	c.w.WriteHeader(http.StatusOK)
	for _, f := range [][2]string{
		{"mediaType", string(about.kind)},
		{"fileName", about.FileName},
		{"size", strconv.FormatInt(info.Size(), 10)},
		{"mimetype", about.MimeType},
		{"caption", about.Caption},
	} {
		if f[1] == "" {
			continue
		}
		if err := w.WriteField(f[0], f[1]); err != nil {
			return a.ended(c, err)
		}
	}
	part, err := w.CreatePart(textproto.MIMEHeader{
		"Content-Disposition": {mime.FormatMediaType("form-data", map[string]string{"name": "file", "filename": about.FileName})},
		"Content-Type":        {about.MimeType},
	})
	if err == nil {
		_, err = io.Copy(part, file)
	}
	if err == nil {
		err = w.Close()
	}
	return a.ended(c, err)
}
