package sends

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"os"
	"strconv"

	"postern/event"
	"postern/httpapi/ref"
	"postern/httpapi/rest"
	"postern/httpapi/strict"
	"postern/media/display"
	"postern/messages"
)

// mediaDataRequest names a stored message in one of three ways, or has the content of a message from an event; a
// KeyID beside the content identifies the message.
type mediaDataRequest struct {
	MessageID   *ref.Message   `json:"messageId" doc:"The stored message: its id here, or its id at WhatsApp." example:"42"`
	ID          *ref.Message   `json:"id" doc:"The stored message, as in messageId." example:"42"`
	KeyID       string         `json:"keyId"`
	MessageType string         `json:"messageType"`
	Content     *strict.Object `json:"content" doc:"The content of a message as in an event, with its messageType."`
}

// ofMedia returns the message that a request is about.
func (a *API) ofMedia(c *rest.Call, in *mediaDataRequest) (event.Message, error) {
	inBody := in.MessageType != "" || in.Content != nil
	ways := 0
	for _, given := range []bool{in.MessageID != nil, in.ID != nil, in.KeyID != "" && !inBody, inBody} {
		if given {
			ways++
		}
	}
	switch {
	case ways != 1:
		return event.Message{}, strict.Missing("messageId", "or id, keyId, or messageType with content must be given, and only one of them")
	case in.MessageID != nil:
		return ref.Find(a.Messages, c.Instance.ID, *in.MessageID)
	case in.ID != nil:
		return ref.Find(a.Messages, c.Instance.ID, *in.ID)
	case !inBody:
		return a.Messages.MessageByKey(c.Instance.ID, in.KeyID)
	case in.MessageType == "" || in.Content == nil:
		return event.Message{}, strict.Missing("messageType", "and content belong together")
	}
	m := event.Message{}
	if in.KeyID != "" { // what the phone needs to know to upload the file again
		stored, err := a.Messages.MessageByKey(c.Instance.ID, in.KeyID)
		if err != nil && !errors.Is(err, messages.ErrNoMessage) {
			return m, err
		}
		m = stored
	}
	m.KeyID, m.MessageType, m.Content = in.KeyID, in.MessageType, json.RawMessage(*in.Content)
	return m, nil
}

// storedFile is the description of a file in a stored message.
type storedFile struct {
	kind     event.MediaKind
	MimeType string `json:"mimetype"`
	FileName string `json:"fileName"`
	Caption  string `json:"caption"`
	Voice    bool   `json:"ptt"`
	Width    int    `json:"width"`
	Height   int    `json:"height"`
}

// fileOf describes the file of a message. If there is none, the error wraps event.ErrNoMedia.
func fileOf(m event.Message) (f storedFile, err error) {
	if f.kind = display.KindOf(m.MessageType); f.kind == "" {
		return f, fmt.Errorf("%w: it is of type %s", event.ErrNoMedia, m.MessageType)
	}
	if err := json.Unmarshal(m.Content, &f); err != nil {
		return f, fmt.Errorf("%w: its content cannot be read: %w", event.ErrNoMedia, err)
	}
	if f.Voice {
		f.kind = event.MediaVoice
	}
	// Untrusted values go into headers: only those that parse are used.
	kind, params, err := mime.ParseMediaType(f.MimeType)
	if err != nil {
		kind, params = rest.MediaBytes, nil
	}
	if f.MimeType = mime.FormatMediaType(kind, params); f.MimeType == "" {
		f.MimeType = rest.MediaBytes
	}
	if f.FileName = event.CleanName(f.FileName); f.FileName == "" {
		f.FileName = cmp.Or(m.KeyID, string(f.kind)) + suffixOf(kind)
	}
	return f, nil
}

// suffixOf returns the file name extension of the types that WhatsApp's clients make. The type tables of systems
// differ.
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

// mediaData sends the file of a stored message through the spool folder: the answer starts only when the file is
// complete and verified.
func (a *API) mediaData(c *rest.Call) error {
	raw, err := c.Flag("binary")
	if err != nil {
		return err
	}
	var in mediaDataRequest
	if err := c.Decode(&in, rest.MaxBody); err != nil {
		return err
	}
	m, err := a.ofMedia(c, &in)
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
	return a.answerJSON(c, file, about)
}

// download returns the file of a message, open at its beginning; closeSpooled closes and removes it.
func (a *API) download(c *rest.Call, m event.Message) (*os.File, error) {
	account, err := a.Supervisor.Account(c.Request.Context(), c.Instance.ID)
	if err != nil {
		return nil, err
	}
	file, err := a.Media.Create()
	if err != nil {
		return nil, err
	}
	if err = account.Download(c.Request.Context(), m, file, a.MaxMedia); err == nil {
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

// answerFile answers with the bytes alone. The Content-Length lets a client detect a truncated answer.
func (a *API) answerFile(c *rest.Call, file *os.File, about storedFile) error {
	info, err := file.Stat()
	if err != nil {
		return fmt.Errorf("media data: %w", err)
	}
	h := c.Response.Header()
	h.Set("Content-Type", about.MimeType)
	h.Set("Content-Length", strconv.FormatInt(info.Size(), 10))
	h.Set("Content-Disposition", mime.FormatMediaType("attachment", map[string]string{"filename": about.FileName}))
	c.Response.WriteHeader(http.StatusOK)
	_, err = io.Copy(c.Response, file)
	return a.ended(c, err)
}

// ended handles an error after the answer has started: after a disk error the answer
// must not look complete; after a disconnect of the client nothing is needed.
func (a *API) ended(c *rest.Call, err error) error {
	if err == nil || c.Response.Lost {
		return err
	}
	return c.BreakOff(err)
}

// FileAnswer is a file in JSON.
type FileAnswer struct {
	Kind     event.MediaKind `json:"mediaType"`
	FileName string          `json:"fileName"`
	MimeType string          `json:"mimetype"`
	Caption  string          `json:"caption,omitempty"`
	Size     FileSize        `json:"size" doc:"The size of the file."`
	Base64   string          `json:"base64" doc:"The file." example:"/9j/4AAQSkZJRg=="`
}

// FileSize is the size of a file; width and height, in pixels, are those stated by its sender.
type FileSize struct {
	FileLength int64 `json:"fileLength" doc:"The file's length in bytes." example:"48213" rules:"minimum=0"`
	Height     int   `json:"height,omitempty"`
	Width      int   `json:"width,omitempty"`
}

// answerJSON answers with a FileAnswer. It streams the file, because otherwise a large file would be in memory
// several times.
func (a *API) answerJSON(c *rest.Call, file *os.File, about storedFile) error {
	info, err := file.Stat()
	if err != nil {
		return fmt.Errorf("media data: %w", err)
	}
	frame, err := event.Marshal(FileAnswer{
		Kind: about.kind, FileName: about.FileName, MimeType: about.MimeType, Caption: about.Caption,
		Size: FileSize{info.Size(), about.Height, about.Width},
	})
	if err != nil {
		return err
	}
	const end = `"}` // of base64, which is last
	begin := bytes.TrimSuffix(frame, []byte(end))
	h := c.Response.Header()
	h.Set("Content-Type", rest.ContentTypeJSON)
	h.Set("Content-Length", strconv.Itoa(len(begin)+base64.StdEncoding.EncodedLen(int(info.Size()))+len(end)))
	c.Response.WriteHeader(http.StatusOK)
	if _, err = c.Response.Write(begin); err == nil {
		pieces := bufio.NewWriterSize(c.Response, rest.WritePiece)
		encoder := base64.NewEncoder(base64.StdEncoding, pieces)
		_, err = io.Copy(encoder, file)
		err = errors.Join(err, encoder.Close(), pieces.Flush())
	}
	if err == nil {
		_, err = io.WriteString(c.Response, end)
	}
	return a.ended(c, err)
}
