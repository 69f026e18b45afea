package media

import (
	"bytes"
	"errors"
	"fmt"
	"image"
	"image/color"
	"image/jpeg"
	"image/png"
	"io"

	"golang.org/x/image/draw"
	_ "golang.org/x/image/webp" // registers its decoder, for sticker sizes

	"postern/event"
)

const (
	// maxPicture bounds the memory for making a picture's thumbnail: that of a photograph
	// with 30 to 80 million pixels. A larger one is sent without a thumbnail.
	maxPicture = 120_000_000

	maxSide = 1<<16 - 1 // pixels; a PNG could have a hundred million rows of one

	thumbnailSide    = 72 // pixels; as WhatsApp's clients send
	thumbnailQuality = 60
)

// describePicture reads the size of a picture and makes its thumbnail.
func describePicture(file *meter, f *event.MediaFile) error {
	size, _, err := image.DecodeConfig(file)
	if err != nil {
		return err
	}
	f.Width, f.Height = size.Width, size.Height
	if f.Kind == event.MediaSticker {
		f.Animated = animated(file)
		return nil
	}
	picture, err := decode(file)
	if err == nil {
		f.Thumbnail = thumbnail(picture, thumbnailSide)
	}
	return err
}

// decode reads a JPEG or a PNG unless that needs too much memory or time. Other
// registered formats are rejected. Errors wrap event.ErrMedia.
func decode(file *meter) (image.Image, error) {
	size, format, err := configOf(file)
	if err != nil {
		return nil, unreadable(err)
	}
	memory, blocks, err := costOf(file, size, format)
	if err != nil {
		return nil, unreadable(err)
	}
	switch {
	case memory > maxPicture || max(size.Width, size.Height) > maxSide:
		return nil, fmt.Errorf("%w: the image has too many pixels, %d × %d", event.ErrMedia, size.Width, size.Height)
	case blocks > maxBlocks:
		return nil, fmt.Errorf("%w: the image has too many scans", event.ErrMedia)
	}
	if err := rewind(file); err != nil {
		return nil, err
	}
	read := png.Decode
	if format == "jpeg" {
		read = jpeg.Decode
	}
	picture, err := read(file)
	if err != nil {
		return nil, unreadable(err)
	}
	return picture, nil
}

// costOf estimates the memory for decoding a picture, in bytes, and counts the blocks of
// a JPEG's scans. It fails for formats other than JPEG and PNG.
func costOf(file *meter, c image.Config, format string) (memory, blocks int64, err error) {
	if err := rewind(file); err != nil {
		return 0, 0, err
	}
	switch format {
	case "jpeg":
		return jpegCost(file, c)
	case "png":
		return pngMemory(file, c), 0, nil
	}
	return 0, 0, image.ErrFormat
}

func configOf(file *meter) (image.Config, string, error) {
	if err := rewind(file); err != nil {
		return image.Config{}, "", err
	}
	return image.DecodeConfig(file)
}

// unreadable wraps a decoder's error in event.ErrMedia, unless it is the meter's, which
// does already.
func unreadable(err error) error {
	if errors.Is(err, event.ErrMedia) {
		return err
	}
	return fmt.Errorf("%w: the image cannot be read: %w", event.ErrMedia, err)
}

func rewind(file io.Seeker) error {
	if _, err := file.Seek(0, io.SeekStart); err != nil {
		return fmt.Errorf("media: %w", err)
	}
	return nil
}

// pngMemory estimates the memory for decoding a PNG, in bytes.
func pngMemory(file io.ReaderAt, c image.Config) int64 {
	pixels := int64(c.Width) * int64(c.Height)
	if pixels > maxPicture {
		return pixels // at least; the exact value might overflow
	}
	size := int64(4)
	switch c.ColorModel {
	case color.RGBA64Model, color.NRGBA64Model:
		size = 8
	case color.GrayModel:
		size = 1
	case color.Gray16Model:
		size = 2
	}
	var interlace [1]byte
	if _, err := file.ReadAt(interlace[:], 28); err != nil || interlace[0] != 0 {
		size *= 2 // interlaced passes are pictures too
	}
	return pixels * size
}

// thumbnail returns a small JPEG of a picture, whose longer side has that many pixels, transparency on white.
func thumbnail(picture image.Image, side int) []byte {
	b := picture.Bounds()
	w, h := side, side
	if b.Dx() >= b.Dy() {
		h = max(1, side*b.Dy()/max(1, b.Dx()))
	} else {
		w = max(1, side*b.Dx()/max(1, b.Dy()))
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
func animated(file io.ReaderAt) bool {
	var head [21]byte
	if _, err := file.ReadAt(head[:], 0); err != nil {
		return false
	}
	return string(head[12:16]) == "VP8X" && head[20]&animationFlag != 0
}
