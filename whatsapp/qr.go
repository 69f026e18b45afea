package whatsapp

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"strings"

	"rsc.io/qr"
)

const (
	qrScale = 6 // pixels per module: about 450 pixels for WhatsApp's codes
	qrQuiet = 4 // modules of light border, required by the QR standard
)

// palette is the two colours of a code.
type palette struct{ light, dark color.RGBA }

func newPalette(light, dark string) (palette, error) {
	l, err := parseColour(light)
	if err != nil {
		return palette{}, err
	}
	d, err := parseColour(dark)
	if err != nil {
		return palette{}, err
	}
	return palette{l, d}, nil
}

func parseColour(s string) (color.RGBA, error) {
	digits, ok := strings.CutPrefix(s, "#")
	b, err := hex.DecodeString(digits)
	if !ok || err != nil || len(b) != 3 {
		return color.RGBA{}, fmt.Errorf("colour %q is not #rrggbb", s)
	}
	return color.RGBA{b[0], b[1], b[2], 0xff}, nil
}

// dataURL returns text as a QR code: a PNG in a data URL.
func (p palette) dataURL(text string) (string, error) {
	code, err := qr.Encode(text, qr.L)
	if err != nil {
		return "", fmt.Errorf("encode QR code: %w", err)
	}
	side := (code.Size + 2*qrQuiet) * qrScale
	img := image.NewPaletted(image.Rect(0, 0, side, side), color.Palette{p.light, p.dark})
	for y := range side {
		for x := range side {
			if code.Black(x/qrScale-qrQuiet, y/qrScale-qrQuiet) {
				img.SetColorIndex(x, y, 1)
			}
		}
	}
	var buf bytes.Buffer
	if err := png.Encode(&buf, img); err != nil {
		return "", fmt.Errorf("encode QR image: %w", err)
	}
	return "data:image/png;base64," + base64.StdEncoding.EncodeToString(buf.Bytes()), nil
}
