package media

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"golang.org/x/image/webp"

	"postern/event"
)

// A sticker as WhatsApp's clients show it.
const (
	stickerSide      = 512 // pixels
	maxSticker       = 100 << 10
	maxMovingSticker = 500 << 10
	stickerTime      = 10 * time.Second

	maxPacked = 1 << 20 // bytes of a WebP file that the names of a pack are written into
)

// stickerInfo describes a WebP file.
type stickerInfo struct {
	moving bool
	wrong  string // what clients do not show as it is; empty: nothing
}

func (l *Library) stickerInfo(ctx context.Context, instance int64, path string) (s stickerInfo, err error) {
	err = l.look(ctx, instance, path, func(file *meter) error {
		size, err := webp.DecodeConfig(file)
		if err != nil {
			return fmt.Errorf("%w: the WebP file cannot be read: %w", event.ErrMedia, err)
		}
		info, err := file.Stat()
		if err != nil {
			return err
		}
		s.moving = animated(file)
		switch {
		case size.Width > stickerSide || size.Height > stickerSide:
			s.wrong = fmt.Sprintf("it has %d × %d pixels", size.Width, size.Height)
		case info.Size() > stickerLimit(s.moving):
			s.wrong = fmt.Sprintf("it has %d bytes", info.Size())
		case s.moving:
			content := make([]byte, info.Size())
			if _, err := file.ReadAt(content, 0); err != nil {
				return err
			}
			plays, err := playingTime(content)
			if err != nil {
				return fmt.Errorf("%w: %w", event.ErrMedia, err)
			}
			if plays > stickerTime {
				s.wrong = fmt.Sprintf("it plays for %s", plays)
			}
		}
		return nil
	})
	return s, err
}

func stickerLimit(moving bool) int64 {
	if moving {
		return maxMovingSticker
	}
	return maxSticker
}

// stickerRule says what a WebP file must be to be sent as it is.
func stickerRule(moving bool) string {
	rule := fmt.Sprintf("at most %d × %d pixels and %d KiB", stickerSide, stickerSide, stickerLimit(moving)>>10)
	if moving {
		rule += fmt.Sprintf(", and plays for at most %s", stickerTime)
	}
	return rule
}

// toSticker makes a sticker of a picture or a video. A WebP file that is one already stays as it is. One that is not
// is converted if it does not move: ffmpeg does not read an animated one.
func (l *Library) toSticker(ctx context.Context, w Wish, f *event.MediaFile) error {
	if f.MimeType == webpType {
		s, err := l.stickerInfo(ctx, w.Instance, f.Path)
		if err != nil || s.wrong == "" {
			return err
		}
		if s.moving {
			return fmt.Errorf("%w: an animated WebP is sent as it is, and %s; a moving sticker has %s", event.ErrMedia, s.wrong, stickerRule(true))
		}
	}
	if l.cfg.FFmpeg == "" {
		return fmt.Errorf("%w: a sticker is made of %s by ffmpeg with libwebp, which is not on the PATH of the server; send a WebP of %s, or install ffmpeg",
			event.ErrMedia, f.MimeType, stickerRule(false))
	}
	ctx, cancel := context.WithTimeout(ctx, l.cfg.Timeout)
	defer cancel()
	moving := f.MimeType == gifType || f.MimeType == mp4Type
	tries := []drawing{{"80", "1"}, {"50", "1"}, {"20", "1"}, {"5", "1"}}
	if moving {
		tries = []drawing{{"70", "15"}, {"20", "8"}} // each takes seconds
	}
	var err error
	for _, d := range tries {
		if err = l.drawSticker(ctx, w.Instance, f, moving, d); err == nil || !errors.Is(err, ErrTooLarge) {
			return err
		}
	}
	return err
}

// drawing is how a sticker is drawn: its quality, of 100, and its pictures a second.
type drawing struct{ quality, rate string }

// drawSticker makes a sticker of at most the size for its kind.
func (l *Library) drawSticker(ctx context.Context, instance int64, f *event.MediaFile, moving bool, d drawing) error {
	side := fmt.Sprint(stickerSide)
	filter := "scale=" + side + ":" + side + ":force_original_aspect_ratio=decrease,format=rgba,pad=" + side + ":" + side + ":(ow-iw)/2:(oh-ih)/2:color=black@0"
	args := []string{"-frames:v", "1", "-c:v", "libwebp"}
	if moving {
		filter = "fps=" + d.rate + "," + filter
		args = []string{"-t", fmt.Sprint(stickerTime.Seconds()), "-c:v", "libwebp_anim", "-loop", "0"}
	}
	args = append(args, "-an", "-map_metadata", "-1", "-vf", filter, "-compression_level", "2", "-quality", d.quality, "-f", "webp")
	return l.transcode(ctx, instance, f, webpType, stickerLimit(moving)+1, args...)
}

// pack writes the pack of a sticker into its file.
func (l *Library) pack(f *event.MediaFile, p event.StickerPack) error {
	info, err := os.Stat(f.Path)
	if err != nil {
		return fmt.Errorf("media: %w", err)
	}
	if info.Size() > maxPacked {
		return fmt.Errorf("%w: %w than %d bytes, the limit for a packName", event.ErrMedia, ErrTooLarge, maxPacked)
	}
	file, err := os.ReadFile(f.Path)
	if err != nil {
		return fmt.Errorf("media: %w", err)
	}
	packed, err := withPack(file, p)
	if err != nil {
		return fmt.Errorf("%w: %w", event.ErrMedia, err)
	}
	path, err := l.Spool(bytes.NewReader(packed))
	if err != nil {
		return err
	}
	_ = os.Remove(f.Path)
	f.Path = path
	return nil
}
