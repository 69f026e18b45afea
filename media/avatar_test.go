package media

import (
	"bytes"
	"errors"
	"image"
	"image/color"
	"image/jpeg"
	"image/png"
	"testing"

	"postern/event"
)

func TestAvatarIsCroppedSquare(t *testing.T) {
	l := newLibrary(t, nil)
	for rule, tc := range map[string]struct {
		w, h, side int
	}{
		"wide":   {90, 30, 30},
		"tall":   {30, 90, 30},
		"large":  {700, 700, avatarSide},
		"square": {30, 30, 30},
	} {
		wide := image.NewRGBA(image.Rect(0, 0, tc.w, tc.h))
		for y := range tc.h {
			for x := range tc.w {
				if x >= (tc.w-tc.side)/2 && x < (tc.w+tc.side)/2 && y >= (tc.h-tc.side)/2 && y < (tc.h+tc.side)/2 {
					wide.Set(x, y, color.RGBA{R: 200, A: 255}) // the middle; the rest is transparent
				}
			}
		}
		var raw bytes.Buffer
		if err := png.Encode(&raw, wide); err != nil {
			t.Fatal(err)
		}
		f, err := l.prepares(t, raw.Bytes(), Wish{Kind: event.MediaImage})
		if err != nil {
			t.Fatal(err)
		}
		avatar, err := l.Avatar(t.Context(), 1, f)
		if err != nil {
			t.Fatalf("%s: %v", rule, err)
		}
		got, err := jpeg.Decode(bytes.NewReader(avatar))
		if err != nil || got.Bounds().Dx() != tc.side || got.Bounds().Dy() != tc.side {
			t.Fatalf("%s: %v, %v", rule, got.Bounds(), err)
		}
		if r, g, _, _ := got.At(tc.side/2, tc.side/2).RGBA(); r>>8 < 180 || g>>8 > 40 {
			t.Errorf("%s: the middle has colour %d, %d", rule, r>>8, g>>8)
		}
		Remove(f)
	}
}

func TestAnAvatarOfABrokenImageIsRefused(t *testing.T) {
	l := newLibrary(t, nil)
	f, err := l.prepares(t, []byte("\xff\xd8\xff\xe0 and then nothing"), Wish{Kind: event.MediaImage})
	if err != nil {
		t.Fatal(err)
	}
	defer Remove(f)
	if _, err := l.Avatar(t.Context(), 1, f); !errors.Is(err, event.ErrMedia) {
		t.Errorf("got %v", err)
	}
	f.Width, f.Height = 10_000, 10_000
	if _, err := l.Avatar(t.Context(), 1, f); !errors.Is(err, event.ErrMedia) {
		t.Errorf("too large: %v", err)
	}
}
