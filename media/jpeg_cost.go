package media

import (
	"bufio"
	"errors"
	"image"
	"image/color"
	"io"
)

// maxBlocks bounds the blocks of 8 × 8 samples that the scans of a JPEG process, each at
// most a sixth of a microsecond: more than four times those of the largest progressive
// photograph. A scan without changes takes only some dozen bytes.
const maxBlocks = 8 << 20

// Markers of JPEG files (ITU-T T.81, table B.1).
const (
	sofBaseline    = 0xc0
	sofProgressive = 0xc2
	endOfImage     = 0xd9
	startOfScan    = 0xda
)

// jpegFrame is the frame header of a JPEG.
type jpegFrame struct {
	kind          byte
	width, height int64
	components    []jpegComponent
}

type jpegComponent struct {
	id   byte
	h, v int64 // samples per sample of the least sampled component
}

// parseFrame returns false for frames that no decoder accepts.
func parseFrame(kind byte, b []byte) (f jpegFrame, ok bool) {
	if len(b) < 6 || len(b) < 6+3*int(b[5]) {
		return f, false
	}
	f = jpegFrame{kind: kind, height: int64(b[1])<<8 | int64(b[2]), width: int64(b[3])<<8 | int64(b[4])}
	for c := b[6 : 6+3*int(b[5])]; len(c) > 0; c = c[3:] {
		f.components = append(f.components, jpegComponent{id: c[0], h: max(1, int64(c[1]>>4)), v: max(1, int64(c[1]&15))})
	}
	if len(f.components) == 1 {
		f.components[0].h, f.components[0].v = 1, 1 // a single component is not subsampled
	}
	return f, len(f.components) > 0
}

// memory returns the memory for decoding, in bytes. Colours may have fewer samples than
// pixels. A progressive picture keeps 32 bits of each until its last scan.
func (f jpegFrame) memory(model color.Model) int64 {
	var areas, widest, highest int64 = 0, 1, 1
	for _, c := range f.components {
		areas, widest, highest = areas+c.h*c.v, max(widest, c.h), max(highest, c.v)
	}
	pixels, each := f.width*f.height, int64(1)
	if f.kind == sofProgressive {
		each = 5
	}
	size := pixels * areas * each / (widest * highest)
	if model != color.YCbCrModel && model != color.GrayModel {
		size += 4 * pixels // converted at the end
	}
	return size
}

// blocks returns the number of blocks that a scan with this header processes.
func (f jpegFrame) blocks(header []byte) int64 {
	first := f.components[0]
	units := ((f.width + 8*first.h - 1) / (8 * first.h)) * ((f.height + 8*first.v - 1) / (8 * first.v))
	var each int64
	for i := 1; i+1 < len(header) && i < 1+2*int(header[0]); i += 2 {
		for _, c := range f.components {
			if c.id == header[i] {
				each += c.h * c.v
			}
		}
	}
	return units * each
}

var errNoFrame = errors.New("a JPEG without a frame")

// jpegCost estimates the cost of decoding a JPEG from its markers: bytes of memory, and
// blocks processed by its scans, counted up to maxBlocks. It reads the file once.
func jpegCost(file io.Reader, c image.Config) (memory, blocks int64, err error) {
	r := bufio.NewReaderSize(file, 16<<10)
	var frame *jpegFrame
	for blocks <= maxBlocks {
		kind, content, err := nextSegment(r)
		switch {
		case frame != nil && (errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || kind == endOfImage):
			return memory, blocks, nil
		case err != nil:
			return 0, 0, err
		case kind == startOfScan && frame == nil:
			return 0, 0, errNoFrame
		case kind == startOfScan:
			blocks += frame.blocks(content)
		case kind >= sofBaseline && kind <= sofProgressive && frame == nil:
			f, ok := parseFrame(kind, content)
			if !ok {
				return 0, 0, errNoFrame
			}
			frame, memory = &f, f.memory(c.ColorModel)
		}
	}
	return memory, blocks, nil
}

// nextSegment reads up to the next marker that has a segment or ends the picture, and the
// segment if it is relevant.
func nextSegment(r *bufio.Reader) (kind byte, content []byte, err error) {
	for {
		kind, err := nextMarker(r)
		if err != nil || kind == endOfImage {
			return kind, nil, err
		}
		if kind == 1 || kind >= 0xd0 && kind < endOfImage {
			continue // no segment
		}
		var head [2]byte
		if _, err := io.ReadFull(r, head[:]); err != nil {
			return 0, nil, err
		}
		size := max(0, int(head[0])<<8+int(head[1])-2)
		if kind == startOfScan || kind >= sofBaseline && kind <= sofProgressive {
			content = make([]byte, size)
			_, err := io.ReadFull(r, content)
			return kind, content, err
		}
		if _, err := r.Discard(size); err != nil {
			return 0, nil, err
		}
	}
}

// nextMarker reads up to the next marker and returns its kind.
func nextMarker(r *bufio.Reader) (kind byte, err error) {
	for {
		if _, err := r.ReadSlice(0xff); errors.Is(err, bufio.ErrBufferFull) {
			continue
		} else if err != nil {
			return 0, err
		}
		for kind = 0xff; kind == 0xff; { // any number of fill bytes
			if kind, err = r.ReadByte(); err != nil {
				return 0, err
			}
		}
		if kind != 0 { // an 0xff in the data
			return kind, nil
		}
	}
}
