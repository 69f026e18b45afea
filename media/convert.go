package media

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"image/jpeg"
	"os"
	"strconv"
	"strings"
	"time"

	"postern/event"
	"postern/store"
)

// thumbnailTime bounds the search for the first picture of a video: without one, ffmpeg
// would decode the whole file.
const thumbnailTime = 10 * time.Second

// demuxer returns ffmpeg's reader for a type. It is always given: when guessing, ffmpeg
// may take a file for a playlist and read the files it lists.
func demuxer(mimeType string) string {
	switch mimeType {
	case mp4Type, m4aType, gp3Type, movType:
		return "mov"
	case webmType:
		return "matroska"
	case mp3Type:
		return "mp3"
	case aacType:
		return "aac"
	case amrType:
		return "amr"
	case flacType:
		return "flac"
	case wavType:
		return "wav"
	case aiffType:
		return "aiff"
	case opusType, oggOther:
		return "ogg"
	}
	return ""
}

// convert converts audio that WhatsApp's clients do not play to OGG/Opus. Other files
// remain unchanged.
func (l *Library) convert(ctx context.Context, instance int64, f *event.MediaFile) error {
	audio := f.Kind == event.MediaVoice || f.Kind == event.MediaAudio
	reader := demuxer(f.MimeType)
	switch {
	case !audio || reader == "":
		return fmt.Errorf("%w: %s cannot be sent as %s; accepted types are %s", event.ErrMedia, f.MimeType, f.Kind, strings.Join(accepted(f.Kind), ", "))
	case l.cfg.FFmpeg == "":
		return fmt.Errorf("%w: %s must be converted to OGG/Opus, but ffmpeg is not on the PATH of the server; send OGG/Opus, or install ffmpeg", event.ErrMediaType, f.MimeType)
	}
	out, err := l.spare()
	if err != nil {
		return err
	}
	err = l.ffmpeg(ctx, instance, l.cfg.Timeout, "-f", reader, "-i", "file:"+f.Path, "-vn", "-map_metadata", "-1", "-map", "0:a:0",
		"-c:a", "libopus", "-b:a", "32k", "-ac", "1", "-ar", "48000", "-f", "ogg", "-fs", strconv.FormatInt(l.cfg.MaxBytes, 10), "file:"+out)
	if err == nil {
		err = l.wholeAudio(out)
	}
	if err != nil {
		err = errors.Join(l.admit(), err) // before the disk space is freed
		_ = os.Remove(out)
		return unconverted(err)
	}
	_ = os.Remove(f.Path)
	f.Path, f.MimeType = out, opusType
	return nil
}

// unconverted wraps a conversion error in event.ErrMedia, unless it does already or the
// disk was full, which is not the file's fault.
func unconverted(err error) error {
	switch {
	case errors.Is(err, store.ErrDiskFull):
		return store.ErrDiskFull
	case errors.Is(err, event.ErrMedia):
		return err
	}
	return fmt.Errorf("%w: the audio could not be converted: %w", event.ErrMedia, err)
}

// wholeAudio checks that a converted file is complete: ffmpeg stops at the limit without
// an error.
func (l *Library) wholeAudio(path string) error {
	info, err := os.Stat(path)
	if err == nil && info.Size() >= l.cfg.MaxBytes {
		err = fmt.Errorf("%w, converted to OGG/Opus", l.tooLarge())
	}
	return err
}

// videoThumbnail extracts the first picture of a video if ffmpeg is available.
func (l *Library) videoThumbnail(ctx context.Context, instance int64, f *event.MediaFile) {
	reader := demuxer(f.MimeType)
	if l.cfg.FFmpeg == "" || reader == "" {
		return
	}
	out, err := l.spare()
	if err != nil {
		return
	}
	defer func() { _ = os.Remove(out) }()
	side := strconv.Itoa(thumbnailSide)
	err = l.ffmpeg(ctx, instance, min(l.cfg.Timeout, thumbnailTime), "-f", reader, "-i", "file:"+f.Path, "-an", "-frames:v", "1",
		"-vf", "scale="+side+":"+side+":force_original_aspect_ratio=decrease", "-c:v", "mjpeg", "-f", "image2pipe", "file:"+out)
	if err != nil {
		l.cfg.Logger.Warn("no thumbnail of a video; it is sent without one: postern doctor looks at ffmpeg", "error", err)
		return
	}
	picture, err := os.ReadFile(out)
	if err != nil {
		return
	}
	if _, err := jpeg.DecodeConfig(bytes.NewReader(picture)); err == nil {
		f.Thumbnail = picture
	}
}

// spare creates an empty file as ffmpeg's output.
func (l *Library) spare() (string, error) {
	f, err := l.Create()
	if err != nil {
		return "", err
	}
	return f.Name(), f.Close()
}
