package media

import (
	"bytes"
	"context"
	"fmt"
	"image"
	"image/color"
	"image/jpeg"
	_ "image/png" // registers its decoder
	"io"
	"os"

	"golang.org/x/image/draw"
	_ "golang.org/x/image/webp" // registers its decoder

	"postern/event"
)

const (
	// maxPicture bounds the bytes of memory that a picture takes while its
	// thumbnail is made: of a photograph, 30 to 80 million pixels. A larger one
	// is sent without.
	maxPicture = 120_000_000

	thumbnailSide    = 72 // pixels; what WhatsApp's clients send
	thumbnailQuality = 60
)

// describePicture finds the size of a picture and makes its thumbnail.
func (l *Library) describePicture(ctx context.Context, f *event.MediaFile) {
	file, err := os.Open(f.Path)
	if err != nil {
		return
	}
	defer func() { _ = file.Close() }()
	size, _, err := image.DecodeConfig(file)
	if err != nil {
		return
	}
	f.Width, f.Height = size.Width, size.Height
	if f.Kind == event.MediaSticker {
		f.Animated = animated(file)
		return
	}
	_ = l.withPicture(ctx, file, func(picture image.Image) error {
		f.Thumbnail = thumbnail(picture)
		return nil
	})
}

// withPicture decodes a picture for use, unless it takes too much memory.
// Errors wrap event.ErrMedia.
func (l *Library) withPicture(ctx context.Context, file io.ReadSeeker, use func(image.Image) error) error {
	if _, err := file.Seek(0, io.SeekStart); err != nil {
		return fmt.Errorf("media: %w", err)
	}
	size, format, err := image.DecodeConfig(file)
	if err != nil {
		return fmt.Errorf("%w: the image cannot be read: %w", event.ErrMedia, err)
	}
	if memoryOf(file, size, format) > maxPicture {
		return fmt.Errorf("%w: the image has too many pixels, %d × %d", event.ErrMedia, size.Width, size.Height)
	}
	if _, err := file.Seek(0, io.SeekStart); err != nil {
		return fmt.Errorf("media: %w", err)
	}
	leave, err := turn(ctx, l.decoding)
	if err != nil {
		return err
	}
	defer leave()
	picture, _, err := image.Decode(file)
	if err != nil {
		return fmt.Errorf("%w: the image cannot be read: %w", event.ErrMedia, err)
	}
	return use(picture)
}

// thumbnail is a small JPEG of a picture, on white where that is transparent.
func thumbnail(picture image.Image) []byte {
	b := picture.Bounds()
	w, h := thumbnailSide, thumbnailSide
	if b.Dx() >= b.Dy() {
		h = max(1, thumbnailSide*b.Dy()/max(1, b.Dx()))
	} else {
		w = max(1, thumbnailSide*b.Dx()/max(1, b.Dy()))
	}
	small := image.NewRGBA(image.Rect(0, 0, w, h))
	draw.Draw(small, small.Bounds(), image.NewUniform(color.White), image.Point{}, draw.Src)
	draw.ApproxBiLinear.Scale(small, small.Bounds(), picture, b, draw.Over, nil)
	var out bytes.Buffer
	if err := jpeg.Encode(&out, small, &jpeg.Options{Quality: thumbnailQuality}); err != nil {
		return nil
	}
	return out.Bytes()
}

// animated reads the flag of a WebP file's extended header.
func animated(file io.ReadSeeker) bool {
	var head [21]byte
	if _, err := file.Seek(0, io.SeekStart); err != nil {
		return false
	}
	if _, err := io.ReadFull(file, head[:]); err != nil {
		return false
	}
	const animationFlag = 0x02
	return string(head[12:16]) == "VP8X" && head[20]&animationFlag != 0
}
