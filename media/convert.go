package media

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"image/jpeg"
	"os"
	"slices"
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
	case aviType:
		return "avi"
	case gifType:
		return "gif"
	case jpegType:
		return "jpeg_pipe"
	case pngType:
		return "png_pipe"
	case webpType:
		return "webp_pipe"
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

// convertible are the types that can be converted to a kind; the audio of videos too, when asked for.
func convertible(w Wish) []string {
	audio := []string{mp3Type, m4aType, aacType, amrType, flacType, wavType, aiffType, oggOther, opusType, mp4Type, gp3Type, movType, webmType}
	switch w.Kind {
	case event.MediaVoice, event.MediaAudio:
		if w.Convert {
			return append(audio, aviType)
		}
		return audio
	case event.MediaVideo, event.MediaPTV:
		if w.Convert {
			return []string{mp4Type, gp3Type, movType, webmType, aviType, gifType}
		}
		if w.Loops {
			return []string{gifType}
		}
	case event.MediaSticker:
		return []string{jpegType, pngType, gifType, mp4Type, webpType}
	default:
	}
	return nil
}

// convert makes of a file what WhatsApp's clients show as the kind that is asked for.
func (l *Library) convert(ctx context.Context, w Wish, f *event.MediaFile) error {
	if !slices.Contains(convertible(w), f.MimeType) {
		types := accepted(f.Kind)
		if l.cfg.FFmpeg != "" {
			types = append(types, convertible(w)...)
			slices.Sort(types)
			types = slices.Compact(types)
		}
		return fmt.Errorf("%w: %s cannot be sent as %s; accepted types are %s", event.ErrMedia, f.MimeType, f.Kind, strings.Join(types, ", "))
	}
	switch w.Kind {
	case event.MediaSticker:
		return l.toSticker(ctx, w, f)
	case event.MediaVideo, event.MediaPTV:
		return l.toVideo(ctx, w, f)
	default:
		return l.toVoice(ctx, w, f)
	}
}

// toVoice converts the audio of a file to OGG/Opus.
func (l *Library) toVoice(ctx context.Context, w Wish, f *event.MediaFile) error {
	if l.cfg.FFmpeg == "" {
		return fmt.Errorf("%w: %s must be converted to OGG/Opus, but ffmpeg is not on the PATH of the server; send OGG/Opus, or install ffmpeg", event.ErrMediaType, f.MimeType)
	}
	return l.transcode(ctx, w.Instance, f, opusType, l.cfg.MaxBytes, "-vn", "-map_metadata", "-1", "-map", "0:a:0",
		"-c:a", "libopus", "-b:a", "32k", "-ac", "1", "-ar", "48000", "-f", "ogg")
}

// toVideo converts a video, or an animated GIF, to an MP4 of H.264 and AAC.
func (l *Library) toVideo(ctx context.Context, w Wish, f *event.MediaFile) error {
	if l.cfg.FFmpeg == "" {
		return fmt.Errorf("%w: %s must be converted to MP4, but ffmpeg is not on the PATH of the server; send MP4, or install ffmpeg", event.ErrMedia, f.MimeType)
	}
	return l.transcode(ctx, w.Instance, f, mp4Type, l.cfg.MaxBytes, "-map_metadata", "-1", "-map", "0:v:0", "-map", "0:a:0?",
		"-vf", "scale='min(1280,iw)':'min(1280,ih)':force_original_aspect_ratio=decrease:force_divisible_by=2,setsar=1",
		"-c:v", "libx264", "-preset", "veryfast", "-crf", "24", "-pix_fmt", "yuv420p", "-c:a", "aac", "-b:a", "96k", "-ac", "2", "-movflags", "+faststart", "-f", "mp4")
}

// transcode replaces a file by what ffmpeg makes of it, of a type and of at most limit bytes.
func (l *Library) transcode(ctx context.Context, instance int64, f *event.MediaFile, to string, limit int64, args ...string) error {
	out, err := l.spare()
	if err != nil {
		return err
	}
	all := append([]string{"-f", demuxer(f.MimeType), "-i", "file:" + f.Path}, args...)
	err = l.ffmpeg(ctx, instance, l.cfg.Timeout, append(all, "-fs", strconv.FormatInt(limit, 10), "file:"+out)...)
	if err == nil {
		err = l.whole(out, limit, to)
	}
	if err != nil {
		err = errors.Join(l.admit(), err) // before the disk space is freed
		_ = os.Remove(out)
		return unconverted(err, to)
	}
	_ = os.Remove(f.Path)
	f.Path, f.MimeType = out, to
	return nil
}

// unconverted wraps a conversion error in event.ErrMedia, unless it does already or the
// disk was full, which is not the file's fault.
func unconverted(err error, to string) error {
	switch {
	case errors.Is(err, store.ErrDiskFull):
		return store.ErrDiskFull
	case errors.Is(err, event.ErrMedia):
		return err
	}
	return fmt.Errorf("%w: the file could not be converted to %s: %w", event.ErrMedia, to, err)
}

// whole checks that a converted file is complete: ffmpeg stops at the limit without an
// error.
func (l *Library) whole(path string, limit int64, to string) error {
	info, err := os.Stat(path)
	switch {
	case err != nil || info.Size() < limit:
		return err
	case limit == l.cfg.MaxBytes:
		return fmt.Errorf("%w, converted to %s", l.tooLarge(), to)
	}
	return fmt.Errorf("%w: converted to %s, %w than %d bytes", event.ErrMedia, to, ErrTooLarge, limit-1)
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
