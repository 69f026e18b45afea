package media

import (
	"bytes"
	"compress/zlib"
	"encoding/binary"
	"hash/crc32"
)

// The files of this file are small to send and dear to look at.

// segment returns a segment of a JPEG file.
func segment(marker byte, content ...byte) []byte {
	return append([]byte{0xff, marker, byte((len(content) + 2) >> 8), byte(len(content) + 2)}, content...)
}

// greyFrame returns the beginning of a grey JPEG up to its first scan: its frame, and
// for DC and AC a code of one bit for one symbol each.
func greyFrame(sof byte, w, h uint16, dc, ac byte) []byte {
	out := []byte{0xff, 0xd8}
	table := make([]byte, 65)
	for i := range table[1:] {
		table[i+1] = 1
	}
	out = append(out, segment(0xdb, table...)...)
	out = append(out, segment(sof, 8, byte(h>>8), byte(h), byte(w>>8), byte(w), 1, 1, 0x11, 0)...)
	for class, symbol := range []byte{dc, ac} {
		code := make([]byte, 18)
		code[0], code[1], code[17] = byte(class)<<4, 1, symbol
		out = append(out, segment(0xc4, code...)...)
	}
	return out
}

func blocksOf(w, h uint16) int { return (int(w) + 7) / 8 * ((int(h) + 7) / 8) }

// emptyScans returns a progressive JPEG whose scans say that nothing changes, in
// some bytes for each 32 767 blocks.
func emptyScans(w, h uint16, scans int) []byte {
	out := greyFrame(sofProgressive, w, h, 0, 0xe0) // a run of 2^14 blocks, and 14 bits more
	runs := blocksOf(w, h)/32767 + 1
	var data []byte
	var held, bits uint
	for range runs {
		held, bits = held<<15|0x3fff, bits+15
		for bits >= 8 {
			b := byte(held >> (bits - 8))
			if data = append(data, b); b == 0xff {
				data = append(data, 0)
			}
			bits -= 8
		}
	}
	data = append(data, byte(held<<(8-bits))|byte(1<<(8-bits)-1)>>1)
	for range scans {
		out = append(out, segment(startOfScan, 1, 1, 0, 1, 63, 0x10)...) // one more bit of all that is there
		out = append(out, data...)
	}
	return append(out, 0xff, 0xd9)
}

// manyScans returns a JPEG that draws the whole picture again and again, in two bits
// a block.
func manyScans(w, h uint16, scans int) []byte {
	out := greyFrame(sofBaseline, w, h, 0, 0)
	data := make([]byte, (2*blocksOf(w, h)+7)/8)
	for range scans {
		out = append(out, segment(startOfScan, 1, 1, 0, 0, 63, 0)...)
		out = append(out, data...)
	}
	return append(out, 0xff, 0xd9)
}

// manySegments returns a JPEG with nothing but segments of one kind before its scan.
func manySegments(marker byte, content []byte, n int) []byte {
	out := greyFrame(sofBaseline, 8, 8, 0, 0)
	out = append(out, bytes.Repeat(segment(marker, content...), n)...)
	out = append(out, segment(startOfScan, 1, 1, 0, 0, 63, 0)...)
	return append(out, 0, 0xff, 0xd9)
}

func chunk(kind string, content []byte) []byte {
	out := binary.BigEndian.AppendUint32(nil, uint32(len(content))) //nolint:gosec // small
	out = append(append(out, kind...), content...)
	return binary.BigEndian.AppendUint32(out, crc32.ChecksumIEEE(out[4:]))
}

// pngWith returns a grey PNG of 8 bits with the pixels that the zlib stream holds.
func pngWith(w, h uint32, interlaced byte, stream []byte, more ...[]byte) []byte {
	head := binary.BigEndian.AppendUint32(nil, w)
	head = binary.BigEndian.AppendUint32(head, h)
	out := append([]byte("\x89PNG\r\n\x1a\n"), chunk("IHDR", append(head, 8, 0, 0, 0, interlaced))...)
	for _, c := range more {
		out = append(out, c...)
	}
	return append(append(out, chunk("IDAT", stream)...), chunk("IEND", nil)...)
}

func deflated(n int) []byte {
	var out bytes.Buffer
	w := zlib.NewWriter(&out)
	for zeros := make([]byte, 1<<20); n > 0; n -= len(zeros) {
		_, _ = w.Write(zeros[:min(n, len(zeros))])
	}
	_ = w.Close()
	return out.Bytes()
}

// thinPNG has one pixel a row.
func thinPNG(rows uint32) []byte { return pngWith(1, rows, 0, deflated(2*int(rows))) }

// emptyBlocks returns a zlib stream of blocks that hold nothing but new codes.
func emptyBlocks(n int) []byte {
	b := &bitWriter{out: []byte{0x78, 0x01}}
	for range n {
		b.put(0, 1)  // not the last
		b.put(2, 2)  // with codes of its own
		b.put(0, 5)  // 257 of literals and lengths
		b.put(0, 5)  // one of distances
		b.put(14, 4) // 18 lengths of the codes of lengths: 16 17 18 0 8 7 9 6 10 5 11 4 12 3 13 2 14 1
		for i := range 18 {
			length := map[int]uint{2: 1, 17: 1}[i] // 18: a run of zeros; 1: a length of one
			b.put(length, 3)
		}
		// Codes: 1 -> 0, 18 -> 1. Literal 256 and distance 0 get a length of one.
		b.put(1, 1)
		b.put(138-11, 7)
		b.put(1, 1)
		b.put(118-11, 7)
		b.put(0, 1)
		b.put(0, 1)
		b.put(0, 1) // the end of the block
	}
	b.put(0, 7)
	return b.out
}

type bitWriter struct {
	out  []byte
	held uint
	bits uint
}

func (b *bitWriter) put(value, bits uint) {
	b.held |= value << b.bits
	for b.bits += bits; b.bits >= 8; b.bits -= 8 {
		b.out = append(b.out, byte(b.held))
		b.held >>= 8
	}
}

// manyGroups returns a lossless WebP of one pixel that announces 65 536 groups of
// codes, a kilobyte of memory for each of five in each.
func manyGroups() []byte {
	b := &bitWriter{}
	b.put(0x2f, 8)
	b.put(0, 14)
	b.put(0, 14)
	b.put(0, 1)
	b.put(0, 3)
	b.put(0, 1) // no transform
	b.put(0, 1) // no cache of colours
	b.put(1, 1) // groups of codes
	b.put(0, 3)
	b.put(0, 1)                                          // a picture of one pixel names them, without a cache
	for _, symbol := range []uint{0xff, 0xff, 0, 0, 0} { // green, red: the number of the group
		b.put(1, 1) // a simple code
		b.put(0, 1) // of one symbol
		b.put(1, 1) // of eight bits
		b.put(symbol, 8)
	}
	b.put(0, 64)
	b.put(0, 32)
	content := append([]byte("WEBPVP8L"), binary.LittleEndian.AppendUint32(nil, uint32(len(b.out)))...) //nolint:gosec // small
	content = append(content, b.out...)
	if len(content)%2 == 1 {
		content = append(content, 0)
	}
	return append(binary.LittleEndian.AppendUint32([]byte("RIFF"), uint32(len(content))), content...) //nolint:gosec // small
}

// oggPages are pages after the two that begin an Opus stream.
func oggPages(n int, laces []byte, granule uint64) []byte {
	page := func(granule uint64, laces, body []byte) []byte {
		out := append([]byte("OggS\x00\x00"), binary.LittleEndian.AppendUint64(nil, granule)...)
		out = append(append(out, make([]byte, 12)...), byte(len(laces)))
		return append(append(out, laces...), body...)
	}
	head := append([]byte("OpusHead\x01\x01"), make([]byte, 9)...)
	out := page(0, []byte{byte(len(head))}, head)
	out = append(out, page(0, []byte{8}, []byte("OpusTags"))...)
	size := 0
	for _, l := range laces {
		size += int(l)
	}
	return append(out, bytes.Repeat(page(granule, laces, make([]byte, size)), n)...)
}

// boxes are MP4 boxes, each within the one before or one after the other.
func boxes(n int, nested bool) []byte {
	out := append([]byte{0, 0, 0, 16}, "ftypisom\x00\x00\x00\x00"...)
	for i := range n {
		size := uint32(8)
		if nested {
			size = uint32(8 * (n - i)) //nolint:gosec // small
		}
		out = append(binary.BigEndian.AppendUint32(out, size), "moov"...)
	}
	return out
}
