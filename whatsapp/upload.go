package whatsapp

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"
	"time"

	"go.mau.fi/whatsmeow"
	"go.mau.fi/whatsmeow/proto/waE2E"

	"postern/event"
	"postern/internal/netfault"
	"postern/store"
)

// Media opens the files of media messages. Its methods may be called from any
// goroutine. After an error, nothing was sent.
type Media interface {
	// Open returns the content of a message: either a file to upload, with a function
	// that removes it, or an earlier upload.
	Open(ctx context.Context, instance int64, m *event.Media) (event.MediaSource, error)
	// Create returns a new file in the folder of Open's files. The caller removes it.
	Create() (*os.File, error)
	// Preview fetches an image and makes a thumbnail of it.
	Preview(ctx context.Context, instance int64, url string) (event.MediaInfo, error)
	// Page reads a web page for the preview of a link to it. The error says why there is none.
	Page(ctx context.Context, instance int64, url string) (event.LinkPreview, error)
}

// Uploads of batch contents are reused for sharedFor: WhatsApp keeps files for weeks,
// but the file at a URL may change.
const (
	sharedFor   = 30 * time.Minute
	maxSharings = 64
)

// shared holds the uploads of one session that many messages use.
type shared struct {
	mu  sync.Mutex
	all map[event.Media]event.Uploaded
}

func (s *shared) get(m event.Media) (event.Uploaded, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	u, ok := s.all[fileOf(m)]
	return u, ok && time.Since(u.UploadedAt.Time) < sharedFor
}

func (s *shared) put(m event.Media, u event.Uploaded) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.all == nil || len(s.all) >= maxSharings {
		s.all = map[event.Media]event.Uploaded{}
	}
	s.all[fileOf(m)] = u
}

// fileOf returns what decides the upload of a file: recipients may get it with different captions.
func fileOf(m event.Media) event.Media {
	m.Caption, m.ViewOnce = "", false
	return m
}

// Files transfers files to and from WhatsApp. It implements instance.Files.
type Files struct {
	conn      *connection
	shared    shared
	reuploads reuploads
}

// Upload encrypts and uploads a file as a stream: neither the file nor its encrypted
// form is in memory as a whole. Errors wrap [event.ErrNotConnected] or
// [event.ErrSendRefused], and also store.ErrDiskFull if there is no room for the
// encrypted form.
func (fs *Files) Upload(ctx context.Context, f event.MediaFile) (event.Uploaded, error) {
	if !fs.conn.isOnline() {
		return event.Uploaded{}, event.ErrNotConnected
	}
	plain, err := os.Open(f.Path)
	if err != nil {
		return event.Uploaded{}, classifyUpload(err)
	}
	defer func() { _ = plain.Close() }()
	sealed, err := beside(f.Path)
	if err != nil {
		return event.Uploaded{}, classifyUpload(err)
	}
	defer func() {
		_ = sealed.Close()
		_ = os.Remove(sealed.Name())
	}()
	ctx, cancel := context.WithTimeout(ctx, fs.conn.cfg.UploadTimeout)
	defer cancel()
	resp, err := fs.conn.client().UploadReader(ctx, plain, sealed, uploadType(f.Kind))
	if err != nil {
		return event.Uploaded{}, classifyUpload(err)
	}
	f.Size = int64(resp.FileLength) //nolint:gosec // the size of a file
	return event.Uploaded{
		MediaInfo: f.MediaInfo, URL: resp.URL, DirectPath: resp.DirectPath, MediaKey: resp.MediaKey,
		FileSHA256: resp.FileSHA256, FileEncSHA256: resp.FileEncSHA256, UploadedAt: event.At(time.Now()),
	}, nil
}

// classifyUpload wraps the error of an upload in its sentinel.
func classifyUpload(err error) error {
	switch {
	case store.IsFull(err):
		return fmt.Errorf("%w: upload: %w", event.ErrSendRefused, store.ErrDiskFull)
	case lostConnection(err):
		return fmt.Errorf("%w: upload: %w", event.ErrNotConnected, netfault.Plain(err))
	}
	return fmt.Errorf("%w: upload: %w", event.ErrSendRefused, netfault.Plain(err))
}

// beside creates a file for the encrypted form of another one, in the same folder,
// which is on a disk and which the next start clears. The system's temporary folder may
// be in memory.
func beside(path string) (*os.File, error) {
	return os.CreateTemp(filepath.Dir(path), filepath.Base(path)+"-sealed-*")
}

func uploadType(k event.MediaKind) whatsmeow.MediaType {
	switch k {
	case event.MediaImage, event.MediaSticker:
		return whatsmeow.MediaImage
	case event.MediaVideo, event.MediaPTV:
		return whatsmeow.MediaVideo
	case event.MediaAudio, event.MediaVoice:
		return whatsmeow.MediaAudio
	default:
		return whatsmeow.MediaDocument
	}
}

// compose uploads the file, unless it has been uploaded, and builds the message that
// points to it.
func (fs *Files) compose(ctx context.Context, m *event.Media) (*waE2E.Message, error) {
	u, err := fs.uploaded(ctx, m)
	if err != nil {
		return nil, err
	}
	return messageOf(m, u)
}

// messageOf builds the message of an uploaded file, whose kind is that of the upload where none is given.
func messageOf(m *event.Media, u event.Uploaded) (*waE2E.Message, error) {
	if m.Kind == "" {
		known := *m
		known.Kind = u.Kind
		m = &known
	}
	return mediaMessage(m, u)
}

func (fs *Files) uploaded(ctx context.Context, m *event.Media) (event.Uploaded, error) {
	if m.Done != nil {
		return *m.Done, nil
	}
	if u, ok := fs.shared.get(*m); m.Shared && ok {
		return u, nil
	}
	if fs.conn.cfg.Media == nil {
		return event.Uploaded{}, errors.New("media cannot be sent: no file source is configured")
	}
	source, err := fs.conn.cfg.Media.Open(ctx, fs.conn.instance, m)
	if err != nil {
		return event.Uploaded{}, err
	}
	defer source.Close()
	if source.Uploaded != nil {
		return *source.Uploaded, nil
	}
	if u, ok, err := unchanged(m, *source.File); ok || err != nil {
		return u, err
	}
	u, err := fs.Upload(ctx, *source.File)
	if err == nil && m.Shared {
		fs.shared.put(*m, u)
	}
	return u, err
}

// unchanged returns the file at WhatsApp that a file to send is, if ok.
func unchanged(m *event.Media, f event.MediaFile) (u event.Uploaded, ok bool, err error) {
	h := m.Hosted
	if h == nil || len(h.MediaKey) == 0 || len(h.FileEncSHA256) == 0 || uploadType(h.Kind) != uploadType(f.Kind) {
		return u, false, nil
	}
	file, err := os.Open(f.Path)
	if err != nil {
		return u, false, classifyUpload(err)
	}
	defer func() { _ = file.Close() }()
	sum := sha256.New()
	if _, err := io.Copy(sum, file); err != nil {
		return u, false, classifyUpload(err)
	}
	if !bytes.Equal(sum.Sum(nil), h.FileSHA256) {
		return u, false, nil
	}
	u = *h
	u.MediaInfo = f.MediaInfo
	return u, true, nil
}

// mediaMessage builds the message of an uploaded file.
func mediaMessage(m *event.Media, u event.Uploaded) (*waE2E.Message, error) {
	length, at := uint64(max(0, u.Size)), keyTime(u)
	switch m.Kind {
	case event.MediaImage:
		return viewOnce(m, &waE2E.Message{ImageMessage: &waE2E.ImageMessage{
			URL: &u.URL, DirectPath: &u.DirectPath, MediaKey: u.MediaKey, FileSHA256: u.FileSHA256,
			FileEncSHA256: u.FileEncSHA256, FileLength: &length, MediaKeyTimestamp: at, Mimetype: &u.MimeType,
			Caption: event.OrNull(m.Caption), Width: uint32Of(u.Width), Height: uint32Of(u.Height),
			JPEGThumbnail: u.Thumbnail, ViewOnce: onlyTrue(m.ViewOnce),
		}}), nil
	case event.MediaVideo:
		v := videoMessage(u)
		v.Caption, v.ViewOnce, v.GifPlayback = event.OrNull(m.Caption), onlyTrue(m.ViewOnce), onlyTrue(m.GIF)
		return viewOnce(m, &waE2E.Message{VideoMessage: v}), nil
	case event.MediaPTV:
		v := videoMessage(u)
		v.Caption = event.OrNull(m.Caption)
		return &waE2E.Message{PtvMessage: v}, nil
	case event.MediaAudio, event.MediaVoice:
		if err := applyVoice(m, &u); err != nil {
			return nil, err
		}
		return viewOnce(m, &waE2E.Message{AudioMessage: &waE2E.AudioMessage{
			URL: &u.URL, DirectPath: &u.DirectPath, MediaKey: u.MediaKey, FileSHA256: u.FileSHA256,
			FileEncSHA256: u.FileEncSHA256, FileLength: &length, MediaKeyTimestamp: at, Mimetype: &u.MimeType,
			Seconds: uint32Of(u.Seconds), PTT: onlyTrue(m.Kind == event.MediaVoice), Waveform: u.Waveform,
			ViewOnce: onlyTrue(m.ViewOnce),
		}}), nil
	case event.MediaSticker:
		return &waE2E.Message{StickerMessage: &waE2E.StickerMessage{
			URL: &u.URL, DirectPath: &u.DirectPath, MediaKey: u.MediaKey, FileSHA256: u.FileSHA256,
			FileEncSHA256: u.FileEncSHA256, FileLength: &length, MediaKeyTimestamp: at, Mimetype: &u.MimeType,
			Width: uint32Of(u.Width), Height: uint32Of(u.Height), IsAnimated: onlyTrue(u.Animated),
		}}, nil
	case event.MediaDocument:
		return documentMessage(m, u), nil
	}
	return nil, fmt.Errorf("a file cannot be sent as %q", m.Kind)
}

// keyTime is when the key of a file was made, nil for one without.
func keyTime(u event.Uploaded) *int64 {
	if len(u.MediaKey) == 0 {
		return nil
	}
	return new(u.UploadedAt.Unix())
}

// applyVoice applies the caller's duration and waveform of a voice note.
func applyVoice(m *event.Media, u *event.Uploaded) error {
	if m.Seconds > 0 {
		u.Seconds = m.Seconds
	}
	if m.Waveform == "" {
		return nil
	}
	waveform, err := base64.StdEncoding.DecodeString(m.Waveform)
	if err != nil {
		return fmt.Errorf("%w: waveform: %w", event.ErrContent, err)
	}
	u.Waveform = waveform
	return nil
}

func videoMessage(u event.Uploaded) *waE2E.VideoMessage {
	length, at := uint64(max(0, u.Size)), keyTime(u)
	return &waE2E.VideoMessage{
		URL: &u.URL, DirectPath: &u.DirectPath, MediaKey: u.MediaKey, FileSHA256: u.FileSHA256,
		FileEncSHA256: u.FileEncSHA256, FileLength: &length, MediaKeyTimestamp: at, Mimetype: &u.MimeType,
		Seconds: uint32Of(u.Seconds), Width: uint32Of(u.Width), Height: uint32Of(u.Height), JPEGThumbnail: u.Thumbnail,
	}
}

// documentMessage wraps a document that has a caption: without the wrapper, WhatsApp's
// clients do not show the caption.
func documentMessage(m *event.Media, u event.Uploaded) *waE2E.Message {
	length, at := uint64(max(0, u.Size)), keyTime(u)
	name := event.CleanName(m.FileName)
	if name == "" {
		name = event.CleanName(u.FileName)
	}
	doc := &waE2E.Message{DocumentMessage: &waE2E.DocumentMessage{
		URL: &u.URL, DirectPath: &u.DirectPath, MediaKey: u.MediaKey, FileSHA256: u.FileSHA256,
		FileEncSHA256: u.FileEncSHA256, FileLength: &length, MediaKeyTimestamp: at, Mimetype: &u.MimeType,
		FileName: event.OrNull(name), Title: event.OrNull(name), Caption: event.OrNull(m.Caption), JPEGThumbnail: u.Thumbnail,
	}}
	if m.Caption == "" {
		return doc
	}
	return &waE2E.Message{DocumentWithCaptionMessage: &waE2E.FutureProofMessage{Message: doc}}
}

// viewOnce wraps a message that can be opened once. Voice notes have a wrapper of their
// own.
func viewOnce(m *event.Media, inner *waE2E.Message) *waE2E.Message {
	switch {
	case !m.ViewOnce:
		return inner
	case m.Kind == event.MediaVoice:
		return &waE2E.Message{ViewOnceMessageV2Extension: &waE2E.FutureProofMessage{Message: inner}}
	}
	return &waE2E.Message{ViewOnceMessageV2: &waE2E.FutureProofMessage{Message: inner}}
}

// onlyTrue returns nil for false.
func onlyTrue(b bool) *bool {
	if !b {
		return nil
	}
	return &b
}
