package media

import (
	"encoding/binary"
	"io"

	"postern/event"
)

// maxBoxes bounds the boxes of a video that are read: a hostile file could have millions.
const maxBoxes = 4096

// describeVideo reads length and size of an ISO base media file (ISO/IEC 14496-12): the
// movie's duration and the first video track.
func describeVideo(file *meter, f *event.MediaFile) error {
	info, err := file.Stat()
	if err != nil {
		return err
	}
	w := &boxWalker{r: file, info: &f.MediaInfo}
	w.walk(0, info.Size(), 0)
	return nil
}

type boxWalker struct {
	r    io.ReaderAt
	info *event.MediaInfo
	seen int
}

// walk reads the boxes between two offsets.
func (w *boxWalker) walk(from, to int64, depth int) {
	for from+8 <= to && w.seen < maxBoxes && depth < 4 {
		w.seen++
		var head [16]byte
		if n, _ := w.r.ReadAt(head[:], from); n < 8 {
			return
		}
		size, body := int64(binary.BigEndian.Uint32(head[:4])), from+8
		switch size {
		case 0:
			size = to - from
		case 1:
			size, body = int64(binary.BigEndian.Uint64(head[8:16])), from+16 //nolint:gosec // checked below
		}
		if size < body-from || size > to-from {
			return
		}
		w.box(string(head[4:8]), body, from+size, depth)
		from += size
	}
}

func (w *boxWalker) box(kind string, from, to int64, depth int) {
	switch kind {
	case "moov", "trak":
		w.walk(from, to, depth+1)
	case "mvhd":
		w.movieHeader(from, to)
	case "tkhd":
		w.trackHeader(from, to)
	}
}

// movieHeader reads the time scale and the duration, in 32 or 64 bits.
func (w *boxWalker) movieHeader(from, to int64) {
	var b [32]byte
	if to-from < int64(len(b)) {
		return
	}
	if _, err := w.r.ReadAt(b[:], from); err != nil {
		return
	}
	scale, duration := uint64(binary.BigEndian.Uint32(b[12:16])), uint64(binary.BigEndian.Uint32(b[16:20]))
	if b[0] == 1 {
		scale, duration = uint64(binary.BigEndian.Uint32(b[20:24])), binary.BigEndian.Uint64(b[24:32])
	}
	if scale > 0 && duration/scale < longest {
		w.info.Seconds = int((duration + scale/2) / scale) //nolint:gosec // below 2^31
	}
}

// trackHeader ends with width and height in 16.16 fixed point.
func (w *boxWalker) trackHeader(from, to int64) {
	var b [8]byte
	if to-from < 84 || w.info.Width > 0 {
		return
	}
	if _, err := w.r.ReadAt(b[:], to-8); err != nil {
		return
	}
	w.info.Width = int(binary.BigEndian.Uint32(b[:4]) >> 16)
	w.info.Height = int(binary.BigEndian.Uint32(b[4:]) >> 16)
}
