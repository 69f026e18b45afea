package whatsapp

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"time"

	"go.mau.fi/whatsmeow"
	"go.mau.fi/whatsmeow/proto/waE2E"

	"postern/event"
	"postern/store"
	"postern/whatsapp/translate"
)

// sealOverhead is the greatest difference in size between an encrypted file and its
// plaintext: a block of padding and the MAC.
const sealOverhead = 16 + 10

// Download implements instance.Files. It decrypts inside the file, so that only a
// buffer of it is in memory. A file that WhatsApp no longer has is requested from the
// account's phone. It takes at most Config.UploadTimeout.
func (fs *Files) Download(ctx context.Context, m event.Message, to *os.File, limit int64) error {
	ctx, cancel := context.WithTimeout(ctx, fs.conn.cfg.UploadTimeout)
	defer cancel()
	source, err := fs.hosted(ctx, m, to, limit)
	if !errors.Is(err, event.ErrMediaGone) {
		return err
	}
	path, err := fs.uploadedAgain(ctx, m, source)
	if err != nil {
		return err
	}
	return fs.fetch(ctx, movedFile{source, path, whatsmeow.GetMediaType(source)}, to, limit)
}

// DownloadHosted implements instance.Files.
func (fs *Files) DownloadHosted(ctx context.Context, m event.Message, to *os.File, limit int64) (event.Uploaded, error) {
	ctx, cancel := context.WithTimeout(ctx, fs.conn.cfg.UploadTimeout)
	defer cancel()
	source, err := fs.hosted(ctx, m, to, limit)
	if err != nil {
		return event.Uploaded{}, err
	}
	return hostedAs(source, m), nil
}

// hostedAs returns the file of a message as WhatsApp has it.
func hostedAs(source whatsmeow.DownloadableMessage, m event.Message) event.Uploaded {
	u := event.Uploaded{
		DirectPath: source.GetDirectPath(), MediaKey: source.GetMediaKey(),
		FileSHA256: source.GetFileSHA256(), FileEncSHA256: source.GetFileEncSHA256(),
	}
	at := m.MessageTimestamp
	if s, ok := source.(interface{ GetMediaKeyTimestamp() int64 }); ok && s.GetMediaKeyTimestamp() > 0 {
		at = s.GetMediaKeyTimestamp()
	}
	u.UploadedAt = event.At(time.Unix(at, 0))
	if s, ok := source.(interface{ GetURL() string }); ok {
		u.URL = s.GetURL()
	}
	switch source.(type) {
	case *waE2E.ImageMessage, *waE2E.StickerMessage:
		u.Kind = event.MediaImage
	case *waE2E.VideoMessage:
		u.Kind = event.MediaVideo
	case *waE2E.AudioMessage:
		u.Kind = event.MediaAudio
	default:
		u.Kind = event.MediaDocument
	}
	return u
}

// hosted downloads the file of a message that WhatsApp has.
func (fs *Files) hosted(ctx context.Context, m event.Message, to *os.File, limit int64) (whatsmeow.DownloadableMessage, error) {
	source, err := downloadable(m)
	if err != nil {
		return nil, err
	}
	if size, ok := source.(interface{ GetFileLength() uint64 }); ok && size.GetFileLength() > uint64(max(0, limit)) {
		return source, tooLarge(limit)
	}
	return source, fs.fetch(ctx, source, to, limit)
}

// Fetch implements instance.Files, like Download.
func (fs *Files) Fetch(ctx context.Context, u event.Uploaded, to *os.File, limit int64) error {
	ctx, cancel := context.WithTimeout(ctx, fs.conn.cfg.UploadTimeout)
	defer cancel()
	return fs.fetch(ctx, uploadedFile{u}, to, limit)
}

// uploadedFile adapts an upload to the library's downloads.
type uploadedFile struct{ u event.Uploaded }

// GetDirectPath implements whatsmeow.DownloadableMessage.
func (f uploadedFile) GetDirectPath() string { return f.u.DirectPath }

// GetMediaKey implements whatsmeow.DownloadableMessage.
func (f uploadedFile) GetMediaKey() []byte { return f.u.MediaKey }

// GetFileSHA256 implements whatsmeow.DownloadableMessage.
func (f uploadedFile) GetFileSHA256() []byte { return f.u.FileSHA256 }

// GetFileEncSHA256 implements whatsmeow.DownloadableMessage.
func (f uploadedFile) GetFileEncSHA256() []byte { return f.u.FileEncSHA256 }

// GetMediaType implements whatsmeow.MediaTypeable.
func (f uploadedFile) GetMediaType() whatsmeow.MediaType { return uploadType(f.u.Kind) }

// fetch downloads a file.
func (fs *Files) fetch(ctx context.Context, source whatsmeow.DownloadableMessage, to *os.File, limit int64) error {
	if !fs.conn.isOnline() {
		return event.ErrNotConnected
	}
	capped := &cappedFile{File: to, limit: limit + sealOverhead}
	err := fs.conn.client().DownloadToFile(ctx, source, capped)
	switch {
	case errors.Is(err, errOverLimit):
		return tooLarge(limit)
	case capped.broken != nil:
		return classifyDownload(capped.broken)
	case corrupt(err) && capped.rewinds > downloadTries:
		return fmt.Errorf("%w: the server of files did not answer in %d attempts", event.ErrNoAnswer, downloadTries)
	}
	return classifyDownload(err)
}

// downloadable returns the file of a message.
func downloadable(m event.Message) (whatsmeow.DownloadableMessage, error) {
	message, err := translate.Rebuild(m.MessageType, m.Content)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", event.ErrNoMedia, err)
	}
	var source whatsmeow.DownloadableMessage
	switch inner := translate.Unwrap(message); {
	case inner.GetImageMessage() != nil:
		source = inner.GetImageMessage()
	case inner.GetVideoMessage() != nil:
		source = inner.GetVideoMessage()
	case inner.GetPtvMessage() != nil:
		source = inner.GetPtvMessage()
	case inner.GetAudioMessage() != nil:
		source = inner.GetAudioMessage()
	case inner.GetDocumentMessage() != nil:
		source = inner.GetDocumentMessage()
	case inner.GetStickerMessage() != nil:
		source = inner.GetStickerMessage()
	default:
		return nil, fmt.Errorf("%w: it is of type %s", event.ErrNoMedia, m.MessageType)
	}
	return source, isComplete(source)
}

// isComplete checks that a message contains the path and the hash of its file. The keys
// may be missing: files of newsletters are not encrypted.
func isComplete(m whatsmeow.DownloadableMessage) error {
	if !strings.HasPrefix(m.GetDirectPath(), "/") || len(m.GetFileSHA256()) == 0 {
		return fmt.Errorf("%w: it has no path to its file", event.ErrNoMedia)
	}
	return nil
}

// classifyDownload wraps the error of a download in its sentinel.
func classifyDownload(err error) error {
	var status whatsmeow.DownloadHTTPError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &status) && gone(status.StatusCode):
		return fmt.Errorf("%w: WhatsApp answers %d", event.ErrMediaGone, status.StatusCode)
	case errors.As(err, &status):
		return fmt.Errorf("%w: WhatsApp answers %d", event.ErrNoAnswer, status.StatusCode)
	case corrupt(err):
		return fmt.Errorf("%w: the file at WhatsApp is not that of the message: %w", event.ErrMedia, err)
	case store.IsFull(err):
		return fmt.Errorf("download: %w", store.ErrDiskFull)
	case isDiskError(err):
		return fmt.Errorf("download: %w", err)
	}
	return fmt.Errorf("download: %w", classifyAnswer(err))
}

func gone(status int) bool {
	return status == http.StatusForbidden || status == http.StatusNotFound || status == http.StatusGone
}

func corrupt(err error) bool {
	for _, c := range []error{
		whatsmeow.ErrTooShortFile, whatsmeow.ErrInvalidMediaHMAC, whatsmeow.ErrInvalidMediaEncSHA256,
		whatsmeow.ErrInvalidMediaSHA256, whatsmeow.ErrInvalidUnencryptedMediaSHA256,
	} {
		if errors.Is(err, c) {
			return true
		}
	}
	return false
}

// isDiskError reports whether err is an error of our disk, not of the network.
func isDiskError(err error) bool {
	var path *os.PathError
	return errors.As(err, &path)
}

var errOverLimit = errors.New("the file is too large")

func tooLarge(limit int64) error {
	return fmt.Errorf("%w: it is larger than %d bytes (media.max_bytes)", event.ErrMedia, limit)
}

// downloadTries is how often the library tries to download a file. It rewinds the file
// after each failed attempt. After the last one it forgets the error, and verifies a file
// that it does not have.
const downloadTries = 5

var errDisk = errors.New("the file cannot be written")

// cappedFile does not grow beyond its limit, whatever length the message states. It
// hides from the library that it is a file: the library would preallocate the length
// that a server announces. It also hides errors of the disk, which the library takes for
// errors of the network, since they have the methods of these.
type cappedFile struct {
	whatsmeow.File // not *os.File: its ReadFrom would bypass Write

	limit   int64
	broken  error // of the disk
	rewinds int   // since the last read
	read    bool
}

// Seek implements io.Seeker.
func (f *cappedFile) Seek(offset int64, whence int) (int64, error) {
	if whence == io.SeekStart {
		if f.read {
			f.rewinds, f.read = 0, false
		}
		f.rewinds++
	}
	return f.File.Seek(offset, whence)
}

// Read implements io.Reader.
func (f *cappedFile) Read(p []byte) (int, error) {
	f.read = true
	return f.File.Read(p)
}

// WriteAt implements io.WriterAt.
func (f *cappedFile) WriteAt(p []byte, at int64) (n int, err error) {
	n, err = f.File.WriteAt(p, at)
	return n, f.failed(err)
}

// Truncate implements whatsmeow.File.
func (f *cappedFile) Truncate(size int64) error { return f.failed(f.File.Truncate(size)) }

func (f *cappedFile) failed(err error) error {
	if err == nil {
		return nil
	}
	f.broken = err
	return errDisk
}

// Write implements io.Writer.
func (f *cappedFile) Write(p []byte) (int, error) {
	at, err := f.Seek(0, io.SeekCurrent)
	if err != nil {
		return 0, err
	}
	if at+int64(len(p)) > f.limit {
		return 0, errOverLimit
	}
	n, err := f.File.Write(p)
	return n, f.failed(err)
}
