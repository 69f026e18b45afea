package media

import (
	"bufio"
	"image"
	"image/color"
	"io"
)

// memoryOf estimates the bytes that a picture takes while it is decoded. It
// reads from the beginning of the file.
func memoryOf(file io.ReadSeeker, c image.Config, format string) int64 {
	pixels := int64(c.Width) * int64(c.Height)
	if pixels > maxPicture {
		return pixels // and more, which might be more than can be counted
	}
	if _, err := file.Seek(0, io.SeekStart); err != nil {
		return pixels * 16
	}
	switch format {
	case "jpeg":
		return jpegMemory(bufio.NewReader(file), pixels, c.ColorModel)
	case "png":
		return pixels * pngBytes(file, c.ColorModel)
	}
	return pixels * 8 // WebP: the pixels, and what they are made from
}

func pngBytes(file io.Reader, model color.Model) int64 {
	size := int64(4)
	switch model {
	case color.RGBA64Model, color.NRGBA64Model:
		size = 8
	case color.GrayModel:
		size = 1
	case color.Gray16Model:
		size = 2
	}
	var head [29]byte
	if _, err := io.ReadFull(file, head[:]); err != nil || head[28] != 0 {
		size *= 2 // interlaced: its passes are pictures too
	}
	return size
}

// jpegMemory counts samples: of colours there may be fewer than pixels. A
// progressive picture keeps 32 bits of each until its last scan.
func jpegMemory(r *bufio.Reader, pixels int64, model color.Model) int64 {
	kind, frame := jpegFrame(r)
	if len(frame) < 6 || len(frame) < 6+3*int(frame[5]) {
		return pixels * 16
	}
	var areas, widest, highest int64 = 0, 1, 1
	for i := range int(frame[5]) {
		h, v := int64(frame[7+3*i]>>4), int64(frame[7+3*i]&15)
		areas, widest, highest = areas+h*v, max(widest, h), max(highest, v)
	}
	each := int64(1)
	if kind == sofProgressive {
		each = 5
	}
	size := pixels * areas * each / (widest * highest)
	if model != color.YCbCrModel && model != color.GrayModel {
		size += 4 * pixels // converted at the end
	}
	return size
}

// Markers of JPEG files (ITU-T T.81, table B.1).
const (
	sofBaseline    = 0xc0
	sofProgressive = 0xc2
	startOfScan    = 0xda
)

// jpegFrame returns the marker and the content of the frame header, nothing
// when there is none before the first scan.
func jpegFrame(r *bufio.Reader) (kind byte, content []byte) {
	for {
		kind, err := nextMarker(r)
		if err != nil || kind == startOfScan {
			return 0, nil
		}
		if kind == 1 || kind >= 0xd0 && kind <= 0xd9 {
			continue // no segment
		}
		var head [2]byte
		if _, err := io.ReadFull(r, head[:]); err != nil {
			return 0, nil
		}
		size := max(0, int(head[0])<<8+int(head[1])-2)
		if kind >= sofBaseline && kind <= sofProgressive {
			content = make([]byte, size)
			_, _ = io.ReadFull(r, content) // what is missing counts as nothing
			return kind, content
		}
		if _, err := r.Discard(size); err != nil {
			return 0, nil
		}
	}
}

// nextMarker reads up to the next marker and returns its kind.
func nextMarker(r *bufio.Reader) (kind byte, err error) {
	for begun := false; ; {
		b, err := r.ReadByte()
		switch {
		case err != nil:
			return 0, err
		case b == 0xff:
			begun = true
		case begun && b != 0:
			return b, nil
		default:
			begun = false
		}
	}
}
