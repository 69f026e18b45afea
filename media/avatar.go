package media

import (
	"bytes"
	"context"
	"fmt"
	"image"
	"image/color"
	"image/jpeg"

	"golang.org/x/image/draw"

	"postern/event"
)

const (
	avatarSide    = 640 // pixels; as WhatsApp's clients send
	avatarQuality = 85
)

// Avatar makes the picture of an account or a group from an image that [Library.Open] or
// [Library.Prepare] returned: a JPEG of its central square, at most 640 pixels wide,
// transparency on white. It waits for the instance's turn as Prepare does. Errors wrap
// event.ErrMedia.
func (l *Library) Avatar(ctx context.Context, instance int64, f event.MediaFile) (avatar []byte, err error) {
	err = l.look(ctx, instance, f.Path, func(file *meter) error {
		picture, err := decode(file)
		if err == nil {
			avatar, err = squareOf(picture)
		}
		return err
	})
	return avatar, err
}

func squareOf(picture image.Image) ([]byte, error) {
	square := middle(picture.Bounds())
	if square.Empty() {
		return nil, fmt.Errorf("%w: the image is empty", event.ErrMedia)
	}
	side := min(avatarSide, square.Dx())
	scaled := image.NewRGBA(image.Rect(0, 0, side, side))
	draw.Draw(scaled, scaled.Bounds(), image.NewUniform(color.White), image.Point{}, draw.Src)
	draw.ApproxBiLinear.Scale(scaled, scaled.Bounds(), picture, square, draw.Over, nil)
	var out bytes.Buffer
	if err := jpeg.Encode(&out, scaled, &jpeg.Options{Quality: avatarQuality}); err != nil {
		return nil, fmt.Errorf("media: %w", err)
	}
	return out.Bytes(), nil
}

// middle returns the largest centered square of a rectangle.
func middle(r image.Rectangle) image.Rectangle {
	side := min(r.Dx(), r.Dy())
	from := image.Pt(r.Min.X+(r.Dx()-side)/2, r.Min.Y+(r.Dy()-side)/2)
	return image.Rectangle{Min: from, Max: from.Add(image.Pt(side, side))}
}
