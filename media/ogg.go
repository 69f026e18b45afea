package media

import (
	"bufio"
	"encoding/binary"
	"errors"
	"io"

	"postern/event"
)

const (
	opusRate      = 48_000 // granules a second, independent of the file's rate
	waveformSize  = 64
	waveformTop   = 100
	longest       = 1 << 31 // seconds; longer values are treated as unknown
	maxOggPackets = 1 << 20 // six hours of 20 ms; a longer file has no waveform
)

var errOgg = errors.New("media: not an OGG file")

// describeAudio reads the length of an OGG/Opus file and computes its waveform. The
// length of other audio stays unknown: clients read it from the file.
func describeAudio(file *meter, f *event.MediaFile) error {
	granules, packets, err := readOgg(bufio.NewReaderSize(file, 64<<10))
	if err != nil || granules <= 0 || granules/opusRate >= longest {
		return err
	}
	f.Seconds = int(max(1, (granules+opusRate/2)/opusRate))
	if f.Kind == event.MediaVoice {
		f.Waveform = waveform(packets)
	}
	return nil
}

// readOgg walks the pages of an OGG file (RFC 3533) with one Opus stream (RFC
// 7845) and returns its length and the size of each audio packet.
func readOgg(r *bufio.Reader) (granules int64, packets []int, err error) {
	var skip int64
	size, headers := 0, 0
	for {
		page, err := readPage(r)
		if errors.Is(err, io.EOF) {
			return granules - skip, packets, nil
		}
		if err != nil {
			return 0, nil, err
		}
		if headers == 0 && len(page.body) >= 12 && string(page.body[:8]) == "OpusHead" {
			skip = int64(binary.LittleEndian.Uint16(page.body[10:12]))
		}
		if page.granule > granules {
			granules = page.granule
		}
		for _, lace := range page.laces {
			size += int(lace)
			if lace == 255 {
				continue // the packet continues
			}
			if headers < 2 {
				headers++ // OpusHead and OpusTags
			} else if len(packets) < maxOggPackets {
				packets = append(packets, size)
			}
			size = 0
		}
	}
}

type oggPage struct {
	granule int64 // -1: no packet ends here
	laces   []byte
	body    []byte
}

func readPage(r *bufio.Reader) (p oggPage, err error) {
	var head [27]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		if errors.Is(err, io.ErrUnexpectedEOF) {
			err = io.EOF // a cut file is as long as what is there
		}
		return p, err
	}
	if string(head[:4]) != "OggS" {
		return p, errOgg
	}
	p.granule = int64(binary.LittleEndian.Uint64(head[6:14])) //nolint:gosec // -1 is written as all ones
	p.laces = make([]byte, head[26])
	if _, err := io.ReadFull(r, p.laces); err != nil {
		return p, io.EOF
	}
	total := 0
	for _, l := range p.laces {
		total += int(l)
	}
	p.body = make([]byte, total)
	if _, err := io.ReadFull(r, p.body); err != nil {
		return p, io.EOF
	}
	return p, nil
}

// waveform draws the size of the packets: with a variable bit rate, which
// every encoder of speech uses, they are large where it is loud. Decoding the
// audio would tell more and cost a decoder.
func waveform(packets []int) []byte {
	if len(packets) == 0 {
		return nil
	}
	out := make([]byte, waveformSize)
	sums := make([]int, waveformSize)
	top := 1
	for i := range sums {
		from := i * len(packets) / waveformSize
		to := max(from+1, (i+1)*len(packets)/waveformSize)
		for _, n := range packets[from:min(to, len(packets))] {
			sums[i] += n
		}
		sums[i] /= max(1, to-from)
		top = max(top, sums[i])
	}
	for i, sum := range sums {
		out[i] = byte(sum * waveformTop / top) //nolint:gosec // 0 to 100
	}
	return out
}
